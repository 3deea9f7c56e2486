# SPDX-License-Identifier: MIT
"""Progress of long calls: functions are called, and True shows a bar of rich or tqdm."""

from __future__ import annotations

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


CALLS: dict[str, Callable[[Any], object]] = {
    "copy": lambda progress: zarrcore.copy(source()["a"], zarrcore.create_group({}), progress=progress),
    "copy_all": lambda progress: zarrcore.copy_all(source(), zarrcore.create_group({}), progress=progress),
    "copy_store": lambda progress: zarrcore.copy_store(source().store, {}, progress=progress),
    "from_array": lambda progress: zarrcore.from_array({}, data=source()["a"], chunks=7, progress=progress),
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
    assert out == "" and ("verifying" in err or "copying" in err or "writing" in err)


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
