"""Copies of metadata that open groups hold, and what happens when this process changes the nodes in them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

from zarrcore._locks import RLock, forkable
from zarrcore.nodes.places import address

if TYPE_CHECKING:
    from zarrcore.metadata import ConsolidatedMetadata
    from zarrcore.storage import StorePath

__all__ = ["CHANGES", "KeptCopy", "is_known_stale", "note_change", "note_move", "note_stale"]

CHANGES = forkable(RLock())
"""Held by changes of metadata that depend on what they find, so that no thread undoes another one's."""


class KeptCopy:
    """Somebody holds a copy of the metadata of all nodes below a place.

    Parameters
    ----------
    place : StorePath
        The group whose document has the copy.
    copy : ConsolidatedMetadata
        The copy.

    Attributes
    ----------
    path : str
        Its path.
    is_stale : bool
        Whether this process has changed one of those nodes since.
    """

    __slots__ = ("__weakref__", "_address", "_copy", "is_stale", "path")

    def __init__(self, place: StorePath, copy: ConsolidatedMetadata) -> None:
        self.path = place.path
        self.is_stale = False
        self._copy = copy
        self._address = address(place)
        with CHANGES:
            _copies.add(ref(self, _copies.discard))

    def note(self, changed: str, *, removed: bool) -> None:
        """Take notice of a change at an address; the document of the group itself is not in the copy."""
        below = changed != self._address and changed.startswith(self._address)
        if below or (removed and self._address.startswith(changed)):
            self.is_stale = True
            _stale[self._address] = self._copy

    def is_in_store(self) -> None:
        """Take notice that the group's document has this copy, and that what it says is true."""
        with CHANGES:
            _stale.pop(self._address, None)


_copies: set[ref[KeptCopy]] = set()  # a WeakSet fails where one goes while another thread walks it
_stale: dict[str, ConsolidatedMetadata] = {}
"""Address of a group -> its copy, of which this process has changed nodes since it was stored."""


def note_stale(place: StorePath, copy: ConsolidatedMetadata) -> None:
    """Take notice that a group's document has a copy that is not true."""
    with CHANGES:
        _stale[address(place)] = copy


def is_known_stale(place: StorePath, copy: ConsolidatedMetadata) -> bool:
    """Whether this process has changed nodes of the copy that was found with a group."""
    if not _stale:
        return False
    with CHANGES:
        known = _stale.get(address(place))
        return known is not None and known.says_the_same(copy)


def note_change(place: StorePath, *, removed: bool = False) -> None:
    if _copies:
        changed = address(place)
        with CHANGES:
            for kept in _copies.copy():
                copy = kept()
                if copy is not None:
                    copy.note(changed, removed=removed)


def note_move(source: StorePath, dest: StorePath) -> None:
    """Tell holders of copies that a node is going to be moved."""
    note_change(source, removed=True)
    note_change(dest)
