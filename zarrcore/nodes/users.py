"""Who uses the arrays of this process: handles that have to notice a loss, and writes that are under way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import count
from typing import Any

from zarrcore._locks import Rank, RLock, forkable, fresh_in_child, holding, lock, owning
from zarrcore._typed import NamedTuple
from zarrcore._weak import WeakSet
from zarrcore.errors import ChunkLockError, NodeNotFoundError
from zarrcore.storage.path import StorePath

BINDING = forkable(lock(Rank.TABLE))
"""Held while an array takes over an engine that fits its metadata."""

COMPILED: WeakSet[Any] = WeakSet()
"""Open arrays that read and write by the metadata that they have now."""

losses = 0
"""How often this process has made an array shrink, or replaced or removed what was at a place."""

changes = 0
"""How often this process has changed documents of nodes, or removed some, see :func:`note_documents`."""

_changes = count(1)

_process = os.urandom(8)

writes: dict[Any, Any] = {}
"""Writes under way: a lock that the writing thread holds, and the open array or group."""

MOVING: dict[object, str] = {}
"""Scopes of nodes that are being moved: writes there fail, since what they store would stay there."""

GROWING: WeakSet[Any] = WeakSet()
"""Writers that were given rows which the document of their array does not have yet."""

fresh_in_child(globals(), "writes", "MOVING")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _renew())


def _renew() -> None:
    global _process
    _process = os.urandom(8)


def process() -> bytes:
    """Return bytes that are of this process alone, and not of its parent."""
    return _process


def changes_known() -> tuple[bytes, int]:
    """Return which changes of this process a copy knows of that is read, or pickled, from now on."""
    return _process, changes


def note_documents() -> None:
    """Note a change of documents: `changes` is a number that it has never been before."""
    global changes
    changes = next(_changes)


def pickled_losses(known: int) -> tuple[bytes, int] | None:
    """Return, for a pickle, of how many losses a handle knows; None if there was none."""
    return (_process, known) if losses else None


def unpickled_losses(pickled: tuple[bytes, int] | None) -> int:
    """Return of how many losses a handle knows whose pickle has `pickled`; -1: it has to look."""
    if pickled is None:  # by this process before there was one, or by another one
        return -1 if losses else 0
    return pickled[1] if pickled[0] == _process else losses


def note_loss(place: StorePath, *, is_shrinking: bool = False) -> None:
    """Have all handles of arrays at a place, or below it, look at their metadata again.

    Unless an array is only shrinking, another one may come to its place: what is being read is read again.
    """
    from zarrcore._core import engine

    global losses
    scope = _scope(place)
    with owning(BINDING):  # of two threads, the second one finds what the first one has told all others
        losses += 1  # before that of C, which asks for this one
        engine.note_loss()
        for array in COMPILED:
            if array.store_path is place or _scope(array.store_path).startswith(scope):
                (array.forget_engine if is_shrinking else array.leave_engine)()
            elif array.losses == losses - 1:
                array.losses = losses


def _scope(place: StorePath) -> str:
    scope = place.store._scope(place.path)
    return scope if scope.endswith("/") else f"{scope}/"


def growing_at(place: StorePath) -> list[Any]:
    """Return the writers that make the array at a place grow."""
    writers = [writer for writer in GROWING if writer._process == os.getpid()]
    return [writer for writer in writers if _scope(writer.array.store_path) == _scope(place)]


def note_growth(writer: Any, *, is_under_way: bool) -> None:
    """Note whether a writer makes its array grow."""
    (GROWING.add if is_under_way else GROWING.discard)(writer)


@holding
def writing(node: Any) -> Iterator[None]:
    """Enclose a write to an open array, from before it looks at the shape until its last chunk is stored.

    A change of the attributes of an array or a group is one as well.
    """
    under_way, own = RLock(), writes  # the same to its end, as a child has others
    own[under_way] = node
    try:
        with under_way:
            refuse_while_moving(node)
            yield
    finally:
        own.pop(under_way, None)


def is_changing(place: StorePath) -> bool:
    """Return whether a write to the array at a place is under way, or a change of its metadata."""
    scope = _scope(place)
    return any(_scope(node.store_path) == scope for node in writes.copy().values())


class Made(NamedTuple):
    """A node that is being made with its values: a write under way before there is an array."""

    store_path: StorePath


def refuse_while_moving(node: Any) -> None:
    """Raise an error if an open array or group, whose write has registered, is being moved."""
    if MOVING and _scope(node.store_path).startswith(tuple(MOVING.copy().values())):
        raise NodeNotFoundError(f"what is {node.store_path._located} is being moved")


def refuse_inside(place: StorePath) -> None:
    """Raise an error if this thread works for a write to the array at a place, or below it.

    It is in the ``set`` of a store, in a codec or in a signal handler.  That write would go on with chunks
    of an array that is another one by then; where another thread has begun it, each waited for the other.
    """
    if not writes:
        return
    from zarrcore._core import engine

    scope, in_call = _scope(place), engine.is_in_call()
    for under_way, node in writes.copy().items():
        if (in_call or under_way._is_owned()) and _scope(node.store_path).startswith(scope):
            raise ChunkLockError(
                f"what is {place._located} is to be resized, moved or removed while this thread writes to "
                "it, from its store's set(), from a codec or from a signal handler"
            )


@holding
def moving(place: StorePath) -> Iterator[None]:
    """Enclose the move of a node: writes under way at it and below are waited for, and others fail."""
    refuse_inside(place)
    # A write registers before it looks here: it is waited for, or sees that it must not begin.
    token, own = object(), MOVING
    own[token] = _scope(place)
    try:
        wait_for_writes(place)
        yield
    finally:
        del own[token]


def wait_for_writes(place: StorePath) -> bool:
    """Wait for writes under way at a place or below it; return whether there were any.

    They may go by what was there before :func:`note_loss`; those that begin later have seen the loss.  A
    write of this very thread is not waited for.
    """
    from zarrcore._core import engine

    scope, waited = _scope(place), False
    for under_way, node in writes.copy().items():
        if _scope(node.store_path).startswith(scope):
            waited = True
            with under_way:
                pass
    return engine.wait_for_writes(engine.Place(scope)) or waited
