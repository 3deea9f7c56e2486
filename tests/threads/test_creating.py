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
from zarrcore.errors import BaseZarrError, ChunkLockError, ContainsArrayError
from zarrcore.nodes import reserved

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
    assert reserved._creating == 0
    other = threading.Thread(
        target=lambda: zarrcore.create_array(store, name="b", data=np.arange(3)), daemon=True
    )
    other.start()
    other.join(60)
    assert not other.is_alive()
