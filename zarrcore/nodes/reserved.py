"""Places at which this process is creating a node with its values: one creator at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from zarrcore._locks import Rank, forkable, lock, ranked
from zarrcore.errors import ChunkLockError
from zarrcore.storage.path import StorePath

_TABLE = forkable(lock(Rank.TABLE))
_creating = 0  # how many nodes
_NAME = "//new"  # which no key is called


@contextmanager
def reserved(place: StorePath) -> Iterator[None]:
    """Enclose the creation of a node with its values, from before anything there is looked at.

    Chunks are stored before the document that makes the node: those of two creators would be mixed, and one
    that fails would remove those of the other.  A creator in this process waits for the one before; others
    are not noticed.
    """
    global _creating
    with _TABLE:
        _creating += 1
    try:
        with _locked(place):
            yield
    finally:
        with _TABLE:
            _creating -= 1


def after_others(place: StorePath) -> Any:
    """Enclose the creation of a node without values: it waits as well, which costs nothing if it need not."""
    return _locked(place) if _creating else nullcontext()


@contextmanager
def _locked(place: StorePath) -> Iterator[None]:
    from zarrcore._core.engine import KeyLock, Place

    is_held = False
    try:
        with ranked(KeyLock(Place(place.store._scope(place.path)), _NAME), Rank.CREATION):
            is_held = True
            yield
    except ChunkLockError as error:
        if is_held:
            raise
        raise ChunkLockError(
            f"a node is created {place._located} while the values of another one are stored there: the "
            "source, or progress(), of that one wants the place that it is going to have"
        ) from error
