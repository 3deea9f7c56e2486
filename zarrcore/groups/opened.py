"""The state of an open group; it knows no operation, these are functions that take it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zarrcore.nodes.changes import KeptCopy

if TYPE_CHECKING:
    from zarrcore.metadata import GroupMetadata
    from zarrcore.storage import StorePath

__all__ = ["OpenGroup"]


class OpenGroup:
    """A group that is open.

    Parameters
    ----------
    metadata : GroupMetadata
        Its metadata, with consolidated metadata if these are used.
    place : StorePath
        Where it is.
    copy : KeptCopy, optional
        The copy that a group above holds and that the metadata come from.

    Attributes
    ----------
    metadata : GroupMetadata
        The metadata as they were read; see :meth:`current`.
    place : StorePath
        Where it is.
    copy : KeptCopy or None
        The copy that the consolidated metadata are, or come from.
    """

    __slots__ = ("copy", "metadata", "place")

    def __init__(self, metadata: GroupMetadata, place: StorePath, copy: KeptCopy | None = None) -> None:
        self.metadata = metadata
        self.place = place
        if copy is None and metadata.consolidated_metadata is not None:
            copy = KeptCopy(place)
        self.copy = copy

    @property
    def zarr_format(self) -> int:
        """The format of the group and of all its members."""
        return self.metadata.zarr_format

    def current(self) -> GroupMetadata:
        """Return the metadata, without consolidated metadata if this process has changed nodes in them."""
        if self.copy is not None and self.copy.is_stale:
            self.look_in_store()
        return self.metadata

    def look_in_store(self) -> None:
        """From now on, look for members in the store: they are going to be changed, or have been.

        The consolidated metadata in the store follow the change; those that were read before do not.
        """
        if self.copy is not None and self.copy.is_stale:
            self.copy = None
        if self.metadata.consolidated_metadata is not None:
            self.metadata = replace(self.metadata, consolidated_metadata=None)
