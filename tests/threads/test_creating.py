# SPDX-License-Identifier: MIT
"""Several threads that create arrays with their values at one place."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError, ChunkLockError, ContainsArrayError, ContainsGroupError
from zarrcore.metadata import GroupMetadata
from zarrcore.nodes import create, reserved, users
from zarrcore.storage import MemoryStore, WrapperStore

SHAPE = (40,)


class Source:
    """An array of another library that is read in four parts, and waits before the third."""

    shape, chunks, dtype = SHAPE, (10,), np.dtype("i4")

    def __init__(self) -> None:
        self.is_inside, self.may_go_on = threading.Event(), threading.Event()

    def __getitem__(self, region: tuple[slice, ...]) -> Any:
        if region[0].start == 20:
            self.is_inside.set()
            assert self.may_go_on.wait(60)
        return np.ones(SHAPE, "i4")[region]


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    return {} if request.param == "memory" else tmp_path / "s.zarr"


def both(
    monkeypatch: pytest.MonkeyPatch, first: Callable[[Source], Any], second: Callable[[], Any]
) -> list[Any]:
    """Run the second call while the first one waits for its source; return their results."""
    monkeypatch.setattr("zarrcore.arrays.copying.REGION_BYTES", 40)
    source, results = Source(), [None, None]

    def run(number: int, call: Callable[[], Any]) -> None:
        try:
            results[number] = call()
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(0, lambda: first(source)))]
    threads.append(threading.Thread(target=run, args=(1, second)))
    threads[0].start()
    if not source.is_inside.wait(60):
        frame = sys._current_frames().get(threads[0].ident or 0)
        pytest.fail(
            f"the source is not read: {results}\n{''.join(traceback.format_stack(frame)) if frame else ''}"
        )
    threads[1].start()
    threads[1].join(0.3)  # it waits, or it has done all that it does
    source.may_go_on.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return results


@pytest.mark.parametrize("with_values", [True, False])
def test_one_creator_wins_and_has_its_own_values(store: Any, with_values: bool, monkeypatch: Any) -> None:
    options: dict[str, Any] = (
        {"data": np.full(SHAPE, 2, "i4")} if with_values else {"shape": SHAPE, "dtype": "i4"}
    )
    first, second = both(
        monkeypatch,
        lambda source: zarrcore.from_array(store, name="x", data=source, threads=1),
        lambda: zarrcore.create_array(store, name="x", chunks=10, **options),
    )
    assert isinstance(second, ContainsArrayError)
    assert first[...].tolist() == zarrcore.open_array(store, path="x")[...].tolist() == [1] * 40


def test_of_two_that_replace_an_array_the_last_one_has_its_own_values(store: Any, monkeypatch: Any) -> None:
    zarrcore.save_array(store, np.zeros(SHAPE, "i4"), path="x")
    both(
        monkeypatch,
        lambda source: zarrcore.from_array(store, name="x", data=source, threads=1, overwrite=True),
        lambda: zarrcore.create_array(
            store, name="x", data=np.full(SHAPE, 2, "i4"), chunks=5, overwrite=True
        ),
    )
    assert zarrcore.open_array(store, path="x")[...].tolist() == [2] * 40
    assert zarrcore.verify(store).ok


def test_a_source_that_creates_what_is_made_of_it_is_an_error(store: Any) -> None:
    source = zarrcore.create_array({}, data=np.arange(40), chunks=10)
    with pytest.raises(
        ChunkLockError, match="a node is created .* while the values of another one are stored there"
    ):
        zarrcore.from_array(
            store, name="x", data=source, progress=lambda *_: zarrcore.save_array(store, np.ones(3), path="x")
        )
    with pytest.raises(BaseZarrError):
        zarrcore.open_array(store, path="x", mode="r")


def test_an_interrupt_at_any_step_of_a_creation_leaves_its_place_free(store: Any) -> None:
    """A signal handler raises after calls and where functions begin; so does this profile function."""
    steps = 0

    def interrupt(frame: Any, event: str, argument: Any) -> None:
        nonlocal steps
        if event != "c_call" and frame.f_code.co_filename.endswith(("reserved.py", "contextlib.py")):
            steps -= 1
            if steps == 0:
                raise KeyboardInterrupt

    for number in range(1, 400):
        steps = number
        zarrcore.open_group(store, mode="a")
        sys.setprofile(interrupt)
        try:
            zarrcore.create_array(store, name="a", data=np.arange(3), overwrite=True)
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        zarrcore.create_array(store, name="a", data=np.arange(3), overwrite=True)
        if steps > 0:
            break
    assert 5 < number < 399
    assert not reserved.is_anyone_creating()
    other = threading.Thread(
        target=lambda: zarrcore.create_array(store, name="b", data=np.arange(3)), daemon=True
    )
    other.start()
    other.join(60)
    assert not other.is_alive()


class Erasing(WrapperStore):
    """A store that calls a function, once, before it removes all that lies at a place."""

    before: Callable[[], object] = staticmethod(lambda: None)

    def erase_prefix(self, prefix: str) -> None:
        before, self.before = self.before, lambda: None
        before()
        super().erase_prefix(prefix)


@pytest.mark.parametrize("kind", ["array", "group"])
def test_what_is_made_below_an_array_that_fails_stays(kind: str) -> None:
    """Its creator removed all that lay at its place, with what another thread had just made below."""
    store = Erasing(MemoryStore())
    source = zarrcore.create_array({}, data=np.arange(100), chunks=10)
    root = zarrcore.create_group(store)
    made: list[Any] = []

    def make() -> None:
        made.append(
            root.create_group("x/y") if kind == "group" else root.create_array("x/y", data=np.ones(3))
        )

    def stop(done: int, total: int) -> None:
        if done > 40 * 8:
            raise RuntimeError("stop")

    def meanwhile() -> None:
        other.start()
        other.join(0.3)  # it waits, or it has done all that it does

    other = threading.Thread(target=make)
    store.before = meanwhile
    with pytest.raises(RuntimeError, match="stop"):
        zarrcore.from_array(store, name="x", data=source, chunks=7, progress=stop)
    other.join(60)
    assert made and [path for path, _ in root.members(None)] == ["x", "x/y"]


def test_no_group_is_made_of_a_place_where_an_array_is_being_made(store: Any, monkeypatch: Any) -> None:
    """It lay among the chunks of the array, which could not be created then, and which stayed."""
    first, second = both(
        monkeypatch,
        lambda source: zarrcore.from_array(store, name="x", data=source, threads=1),
        lambda: zarrcore.create_group(store, path="x/y"),
    )
    assert isinstance(first, zarrcore.Array) and isinstance(second, ContainsArrayError)
    assert first[...].tolist() == [1] * 40
    assert [path for path, _ in zarrcore.open_group(store, mode="r").members(None)] == ["x"]


@pytest.mark.parametrize("chunks", [1, 7], ids=["chunks as they are", "by regions"])
@pytest.mark.parametrize("how", ["moved", "removed", "replaced", "a target"])
def test_a_group_goes_while_an_array_is_made_in_it(
    store: Any, how: str, chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks that had been stored before were missing in an array that seemed complete, and in no group."""
    monkeypatch.setattr("zarrcore.arrays.copying.REGION_BYTES", 40)
    root = zarrcore.open_group(store)
    root.create_group("g")
    root.create_array("m", data=np.arange(3))
    values = np.arange(1, 101)
    source = zarrcore.create_array({}, data=values, chunks=1)
    is_inside, may_go_on = threading.Event(), threading.Event()
    results: dict[str, Any] = {}

    def progress(done: int, total: int) -> None:
        if done < total and not is_inside.is_set():
            is_inside.set()
            assert may_go_on.wait(60)

    def create() -> None:
        try:
            results["made"] = zarrcore.from_array(
                store, name="g/x", data=source, chunks=chunks, progress=progress, threads=1
            )
        except BaseZarrError as error:
            results["made"] = error

    def go() -> None:
        calls: dict[str, Callable[[], object]] = {
            "moved": lambda: root.move("g", "h"),
            "removed": lambda: root.__delitem__("g"),
            "replaced": lambda: root.create_group("g", overwrite=True),
            "a target": lambda: root.move("m", "g/x"),
        }
        try:
            results["gone"] = calls[how]()
        except BaseZarrError as error:
            results["gone"] = error

    threads = [threading.Thread(target=create), threading.Thread(target=go)]
    threads[0].start()
    assert is_inside.wait(60)
    threads[1].start()
    threads[1].join(0.3)  # it waits, or it has done all that it does
    may_go_on.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    left = {path: node for path, node in root.members(None) if path != "m"}
    expected = {"moved": ["h", "h/x"], "removed": [], "replaced": ["g"], "a target": ["g", "g/x"]}
    assert list(left) == expected[how]
    for node in left.values():
        if isinstance(node, zarrcore.Array):
            np.testing.assert_array_equal(node[...], values)
    assert isinstance(results["gone"], ContainsArrayError) == (how == "a target")
    assert zarrcore.verify(store).ok
    if how != "a target":
        with pytest.raises(BaseZarrError):
            zarrcore.open_array(store, path="g/x", mode="r")


@pytest.mark.parametrize("times", [1, 3, create._REPLACEMENTS])
@pytest.mark.parametrize("others_format", [2, 3])
@pytest.mark.parametrize("with_values", [True, False])
@pytest.mark.parametrize("was_there", [True, False])
def test_what_is_made_at_a_place_that_was_cleared_is_replaced_too(
    store: Any,
    was_there: bool,
    with_values: bool,
    others_format: Any,
    times: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A group that another thread made then was left beside the array: .zgroup beside .zarray."""
    store_parents, left = create._store_parents, times

    def cleared(*args: Any) -> Any:
        nonlocal left
        made = store_parents(*args)
        if left:
            left -= 1
            name = ".zgroup" if others_format == 2 else "zarr.json"
            document = GroupMetadata(attributes={}, zarr_format=others_format).to_documents()[name]
            assert zarrcore.storage.make_store(store).set_if_not_exists(f"x/{name}", document)
        return made

    if was_there:
        zarrcore.save_array(store, np.zeros(2), path="x", zarr_format=2)
    monkeypatch.setattr(create, "_store_parents", cleared)
    options: dict[str, Any] = {"data": np.ones(3)} if with_values else {"shape": 3, "dtype": "f8"}
    if times == create._REPLACEMENTS:
        with pytest.raises(ContainsGroupError, match="overwrite=True replaces it"):
            zarrcore.create_array(store, name="x", zarr_format=2, overwrite=True, **options)
        assert isinstance(zarrcore.open(store, path="x", mode="r"), zarrcore.Group)
    else:
        found = zarrcore.create_array(store, name="x", zarr_format=2, overwrite=True, **options)[...]
        assert found.tolist() == [float(with_values)] * 3
    assert zarrcore.verify(store).ok


def test_an_array_that_was_being_made_was_not_found_once_another_one_was_removed(store: Any) -> None:
    """It looked for its document, which is stored last, before its first chunk."""
    root = zarrcore.create_group(store)
    root.create_array("other", shape=4, dtype="i4")

    class Removing(Source):
        def __getitem__(self, region: tuple[slice, ...]) -> Any:
            if "other" in root:
                del root["other"]
            return np.ones(SHAPE, "i4")[region]

    assert root.create_array("a", data=Removing())[...].tolist() == [1] * 40


def test_an_array_that_nobody_touched_seemed_to_be_replaced_where_two_threads_removed_others() -> None:
    """The second loss was told before the first one, and who knew neither could not know both."""
    root = zarrcore.create_group({})
    arrays = [root.create_array(f"kept{k}", shape=4, dtype="i4") for k in range(20)]
    assert all(array[0] == 0 for array in arrays)
    gone = root.create_array("gone", shape=4, dtype="i4").store_path

    def lose() -> None:
        for _ in range(100):
            users.note_loss(gone)

    threads = [threading.Thread(target=lose) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not any(array._opened.lost_since() for array in arrays)
