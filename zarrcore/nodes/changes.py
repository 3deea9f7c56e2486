"""What this process changes: the lock for changes of metadata, and the copies that open groups hold."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from zarrcore._locks import Rank, forkable, lock
from zarrcore.nodes.places import address

if TYPE_CHECKING:
    from zarrcore.storage import StorePath

CHANGES = forkable(lock(Rank.DOCUMENTS))
"""Held by changes of metadata that depend on what they find, so that no thread undoes another one's."""


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
        with CHANGES:
            _copies.add(ref(self, _copies.discard))

    def note(self, changed: str, *, removed: bool) -> None:
        """Take notice of a change at an address; the document of the group itself is not in the copy."""
        below = changed != self._address and changed.startswith(self._address)
        if below or (removed and self._address.startswith(changed)):
            self.is_stale = True


_copies: set[ref[KeptCopy]] = set()  # a WeakSet fails where one goes while another thread walks it


def note_change(place: StorePath, *, removed: bool = False) -> None:
    """Tell open groups that hold copies that the documents of a node are going to be changed."""
    if _copies:
        changed = address(place)
        with CHANGES:
            for kept in _copies.copy():
                copy = kept()
                if copy is not None:
                    copy.note(changed, removed=removed)


def note_move(source: StorePath, dest: StorePath) -> None:
    """Do the same for a node that is going to be moved."""
    note_change(source, removed=True)
    note_change(dest)
