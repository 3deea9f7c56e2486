"""The state of an open group; it knows no operation, these are functions that take it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from weakref import ref

from zarrcore.arrays.opened import OpenArray, array_read
from zarrcore.metadata import GroupMetadata
from zarrcore.node import Node
from zarrcore.nodes.consolidated import with_consolidated
from zarrcore.nodes.copies import KeptCopy, copy_since
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.open import open_group_node
from zarrcore.storage.path import StorePath


class _Seen:
    """Metadata of a group, and the copy that consolidated metadata in them come from: of one time.

    Consolidated metadata are only taken out of them, and the copy after that, so that no thread needs a lock
    that reads the copy first.
    """

    __slots__ = ("copy", "metadata")

    def __init__(self, metadata: GroupMetadata, copy: KeptCopy | None) -> None:
        self.metadata, self.copy = metadata, copy


class OpenGroup(Node):
    """A group that is open.

    `metadata` are as they were read, with consolidated metadata if these are used; see :meth:`current`.
    """

    __slots__ = ("_seen", "listing", "place")

    def __init__(self, metadata: GroupMetadata, place: StorePath, copy: KeptCopy | None = None) -> None:
        self.place = place
        is_copied = metadata.consolidated_metadata is not None
        self._seen = _Seen(metadata, (copy or KeptCopy(place)) if is_copied else None)
        self.listing: ref[Any] | None = None  # the last iterator over the names, see `members.Names`

    @property
    def _store_path(self) -> StorePath:
        return self.place

    @property
    def metadata(self) -> GroupMetadata:
        return self._seen.metadata

    @property
    def copy(self) -> KeptCopy | None:
        """The copy, of this group or of one above, that consolidated metadata come from."""
        return self._seen.copy

    @property
    def zarr_format(self) -> int:
        """The format of the group and of all its members."""
        return self.metadata.zarr_format

    def current(self) -> GroupMetadata:
        """Return the metadata, without consolidated metadata if this process has changed nodes in them."""
        seen = self._seen
        return seen.metadata if seen.copy is None else self.seen()[0]

    def seen(self) -> tuple[GroupMetadata, KeptCopy | None]:
        """Return the same, and the copy that consolidated metadata in them come from."""
        seen = self._seen
        copy = seen.copy
        if copy is not None and copy.is_stale:
            self.look_in_store(seen)
            copy = None
        return seen.metadata, copy

    def adopt(self, metadata: GroupMetadata, copy: KeptCopy | None) -> None:
        """Continue with other metadata; `copy` is the one that was there when their copy was taken over."""
        self._seen = _Seen(metadata, copy)

    def look_in_store(self, seen: _Seen | None = None) -> None:
        """From now on, look for members in the store: they are going to be changed, or have been."""
        # The consolidated metadata in the store follow the change; those that were read before do not.
        seen = seen or self._seen
        if seen.metadata.consolidated_metadata is not None:
            seen.metadata = replace(seen.metadata, consolidated_metadata=None)
        if seen.copy is not None and seen.copy.is_stale:
            seen.copy = None  # last


def opened_node(
    place: StorePath,
    metadata: Metadata,
    *,
    config: Any = None,
    copy: KeptCopy | None = None,
    losses: int | None = None,
) -> OpenArray | OpenGroup:
    """Return the array or group that metadata describe; `copy` and `losses` are as in `nodes.walk.Found`."""
    if is_array_metadata(metadata):
        return array_read(metadata, place, config, losses=losses, is_copy=copy is not None)
    return OpenGroup(metadata, place, copy)


def group_of(
    place: StorePath, metadata: GroupMetadata, changes: Any, *, use_consolidated: bool | str | None = None
) -> OpenGroup:
    """Return the group of metadata that were read when `changes` were those of :func:`changes_known`."""
    copy = copy_since(place, changes)
    return OpenGroup(with_consolidated(place, metadata, use_consolidated), place, copy)


def open_group_at(
    place: StorePath, zarr_format: int | None = None, *, use_consolidated: bool | str | None = None
) -> OpenGroup:
    """Open the group at a place; parameters and errors are those of `open_group_node`."""
    copy = KeptCopy(place)  # it sees what changes meanwhile
    place, metadata = open_group_node(place, zarr_format, use_consolidated=use_consolidated)
    return OpenGroup(metadata, place, copy)
