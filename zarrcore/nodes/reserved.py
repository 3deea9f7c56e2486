"""Places at which this process is creating a node with its values: one creator at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from zarrcore._locks import Rank, fresh_in_child, holding, ranked
from zarrcore.errors import ChunkLockError
from zarrcore.storage.path import StorePath

if TYPE_CHECKING:
    from zarrcore.storage.alone import StillThere

_creating: dict[object, None] = {}  # an item for each node
fresh_in_child(globals(), "_creating")
# No key has these names; the lock of the second is noted in csrc/engine/keys.c.
_NAME, _MADE = "//new", "//made"


@holding
def reserved(place: StorePath) -> Iterator[None]:
    """Enclose the creation of a node with its values, from before anything there is looked at.

    Chunks are stored before the document that makes the node: those of two creators would be mixed, and one
    that fails would remove those of the other.  A creator in this process waits for the one before; those of
    other processes are kept away by :func:`among_processes`.
    """
    token, own = object(), _creating  # the same to its end, as a child has another
    try:
        own[token] = None
        with _locked(place):
            yield
    finally:
        own.pop(token, None)


def is_anyone_creating() -> bool:
    """Return whether this process is creating a node with its values, whose place may be waited for."""
    return bool(_creating)


def after_others(place: StorePath) -> Any:
    """Enclose the creation of a node without values: it waits as well, which costs nothing if it need not."""
    return _locked(place) if _creating else nullcontext()


@holding
def among_processes(place: StorePath, *, with_values: bool = False) -> Iterator[StillThere | None]:
    """Enclose the clearing of a place, or the storing of a new node: processes do it one after the other.

    What is there has to be looked at again.  The lock is one of the directory, as far as the system has such
    locks, and, if processes are to ask for it, one of a file in it as well, which a creator of a node without
    values does not make.  The block receives what that of :meth:`Store._alone` does.
    """
    with place.store._alone(place.path) as still_there, _lock_asked_for(place, with_values):
        yield still_there


def _lock_asked_for(place: StorePath, with_values: bool) -> Any:
    found = place.store._lock_file(place.path)
    if found is None or not (with_values or os.path.exists(found[0])):
        return nullcontext()
    from zarrcore._core.engine import KeyLock

    return ranked(KeyLock(place.store._place(place.path), _MADE), Rank.CREATION)


@holding
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
