"""What this process changes: locks of metadata documents, and the copies that open groups hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

from zarrcore._locks import Rank, forkable, lock, ranked
from zarrcore.metadata import ZARR_JSON
from zarrcore.nodes.places import address

if TYPE_CHECKING:
    from zarrcore.storage import StorePath

_TABLE = forkable(lock(Rank.TABLE))


def document_lock(place: StorePath, name: str = ZARR_JSON) -> Any:
    """Return the lock of the metadata of a node, for a ``with`` statement.

    Held by changes that depend on what they find, so that no thread undoes another one's.  It is a lock of a
    key (see ``engine.KeyLock``), so changes of other nodes do not wait for it, and who has it cannot take it
    again.  Who has that of a node takes no other locks of metadata than those of the groups above it.

    Parameters
    ----------
    name : str
        In format 2, consolidated metadata are a document that has a lock of its own.
    """
    from zarrcore._core.engine import KeyLock, Place

    return ranked(KeyLock(Place(place.store._scope(place.path)), name), Rank.DOCUMENTS)


class KeptCopy:
    """A copy of the metadata of all nodes below a place, in an open group.

    Parameters
    ----------
    place : StorePath
        The group whose document has the copy.

    Attributes
    ----------
    path : str
        Its path.
    is_stale : bool
        Whether this process has changed one of those nodes since.
    """

    __slots__ = ("__weakref__", "_address", "is_stale", "path")

    def __init__(self, place: StorePath) -> None:
        self.path = place.path
        self.is_stale = False
        self._address = address(place)
        with _TABLE:
            _copies.add(ref(self, _copies.discard))

    def note(self, changed: str, *, removed: bool) -> None:
        """Note a change at an address; the document of the group itself is not in the copy."""
        below = changed != self._address and changed.startswith(self._address)
        if below or (removed and self._address.startswith(changed)):
            self.is_stale = True


_copies: set[ref[KeptCopy]] = set()  # a WeakSet fails where one goes while another thread walks it


def note_change(place: StorePath, *, removed: bool = False) -> None:
    """Mark the copies of a node's documents as stale, in open groups and where they are being made."""
    if _copies:
        changed = address(place)
        with _TABLE:
            for kept in _copies.copy():
                copy = kept()
                if copy is not None:
                    copy.note(changed, removed=removed)


def note_move(source: StorePath, dest: StorePath) -> None:
    """Do the same for a node that is going to be moved."""
    note_change(source, removed=True)
    note_change(dest)
