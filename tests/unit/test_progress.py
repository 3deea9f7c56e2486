# SPDX-License-Identifier: MIT
"""Progress of long calls: functions are called, and True shows a bar of rich or tqdm."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.progress import reporting


def source() -> zarrcore.Group:
    root = zarrcore.create_group({})
    root.create_array("a", data=np.arange(100, dtype="i4"), chunks=10, compressors=None)
    return root


def old() -> dict[str, bytes]:
    store: dict[str, bytes] = {}
    zarrcore.create_array(store, name="a", shape=4, dtype="i2", zarr_format=2)
    return store


#: The words of the bars.
WORDS = ("verifying", "copying", "writing", "reading", "migrating", "consolidating")

CALLS: dict[str, Callable[[Any], object]] = {
    "copy": lambda progress: zarrcore.copy(source()["a"], zarrcore.create_group({}), progress=progress),
    "copy_all": lambda progress: zarrcore.copy_all(source(), zarrcore.create_group({}), progress=progress),
    "copy_store": lambda progress: zarrcore.copy_store(source().store, {}, progress=progress),
    "from_array": lambda progress: zarrcore.from_array({}, data=source()["a"], chunks=7, progress=progress),
    "migrate": lambda progress: zarrcore.migrate(old(), progress=progress),
    "migrate dry": lambda progress: zarrcore.migrate(old(), dry_run=True, progress=progress),
    "consolidate": lambda progress: zarrcore.consolidate_metadata(source().store, progress=progress),
    "read": lambda progress: source()["a"].read(progress=progress),
    "write": lambda progress: source()["a"].write(..., 7, progress=progress),
    "verify": lambda progress: zarrcore.verify(source().store, on_progress=progress),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_is_called_to_the_end(name: str) -> None:
    steps: list[tuple[int, int]] = []
    CALLS[name](lambda done, total: steps.append((done, total)))
    assert steps and steps[-1][0] == steps[-1][1] > 0


@pytest.mark.parametrize("name", CALLS)
def test_true_shows_a_bar(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    CALLS[name](True)
    out, err = capsys.readouterr()
    assert out == "" and any(word in err for word in WORDS)


@pytest.mark.parametrize(("of_bytes", "unit"), [(True, r"\d MiB/s"), (False, r"\d/s")])
def test_rate_and_time_left_are_shown_after_one_step(
    of_bytes: bool, unit: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy of one large chunk may take as long as all that is left."""
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "120")
    with reporting(True, "copying", of_bytes=of_bytes) as step:
        assert step is not None
        step(1 << 24, 1 << 26)
    assert re.search(rf"{unit} \d+:\d\d:\d\d", capsys.readouterr().err)


@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_shown_by_default(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (None, False):
        CALLS[name](progress)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_function_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="expected a function, True or None, got 'yes'"):
        CALLS[name]("yes")


def test_a_function_that_raises_ends_the_call() -> None:
    def stop(done: int, total: int) -> None:
        raise InterruptedError("enough")

    for name in CALLS:
        with pytest.raises(InterruptedError, match="enough"):
            CALLS[name](stop)


def test_tqdm_where_there_is_no_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    class Bar:
        def __init__(self, **options: Any) -> None:
            self.options, self.n, self.total = options, 0, None
            shown.append(self)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def update(self, more: int) -> None:
            self.n += more

    auto = ModuleType("tqdm.auto")
    auto.tqdm = Bar  # type: ignore[attr-defined]
    modules = {"rich": None, "rich.progress": None, "tqdm": ModuleType("tqdm"), "tqdm.auto": auto}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    CALLS["from_array"](True)
    (one,) = shown
    assert one.n == one.total == 400 and one.options["desc"] == "writing"


def test_without_either_the_message_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rich", "rich.progress", "tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="needs rich or tqdm"):
        CALLS["copy_all"](True)
    with reporting(None, "nothing") as step:
        assert step is None


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "selection",
    [
        ...,
        np.s_[::-3, 2:],
        np.s_[5, :],
        np.s_[:, 7],
        np.s_[[3, 1, 17], :],
        np.s_[1:1],
        np.s_[-1:3:-1, ::2],
        np.s_[np.arange(20) % 3 == 0],
    ],
)
@pytest.mark.parametrize("chunks", [(3, 5), [[4, 9, 7], [30]]])
def test_steps_read_and_write_what_one_call_does(
    selection: Any, chunks: Any, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zarrcore.arrays.steps.STEP_BYTES", 64)
    values = np.arange(600, dtype="i4").reshape(20, 30)
    array = zarrcore.create_array({}, shape=(20, 30), chunks=chunks, dtype="i4")
    array[...] = values
    steps: list[tuple[int, int]] = []
    found = array.read(selection, progress=lambda done, total: steps.append((done, total)))
    np.testing.assert_array_equal(found, values[selection], strict=True)
    assert steps == sorted(set(steps)) and all(total == found.nbytes for _, total in steps)
    if found.size:
        assert steps[-1] == (found.nbytes, found.nbytes)
        out = np.empty(found.shape, "i4", order=order)
        array.read(selection, out=out, progress=lambda done, total: None)
        np.testing.assert_array_equal(out, found)
    array.write(selection, -values[selection], progress=lambda done, total: None)
    expected = values.copy()
    expected[selection] = -values[selection]
    np.testing.assert_array_equal(array[...], expected)


def test_no_chunk_is_decoded_twice_by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zarrcore.arrays.steps.STEP_BYTES", 64)
    array = zarrcore.create_array({}, data=np.arange(600).reshape(20, 30), chunks=(3, 5))
    for selection in (..., np.s_[::-1, 3:], np.s_[2::3]):
        before = zarrcore.metrics()
        array.read(selection)
        once = zarrcore.metrics() - before
        array.read(selection, progress=lambda done, total: None)
        assert (zarrcore.metrics() - before).chunks == 2 * once.chunks


def test_fields_and_points_in_one_step() -> None:
    records = np.zeros(10, [("a", "i4"), ("b", "f8")])
    array = zarrcore.create_array({}, data=records, chunks=3)
    steps: list[tuple[int, int]] = []
    array.read("a", progress=lambda done, total: steps.append((done, total)))
    array.write("b", 1.5, progress=lambda done, total: steps.append((done, total)))
    assert steps[-1][0] == steps[-1][1] and array["b"].tolist() == [1.5] * 10


def test_progress_is_for_reads_that_raise() -> None:
    with pytest.raises(ValueError, match="progress"):
        source()["a"].read(on_error="fill", progress=True)
