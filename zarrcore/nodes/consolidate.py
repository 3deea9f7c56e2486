"""Writing consolidated metadata, and comparing them with the nodes that they describe."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from zarrcore.errors import BaseZarrError
from zarrcore.metadata import ConsolidatedMetadata, GroupMetadata
from zarrcore.nodes.consolidated import bare, difference, lookup
from zarrcore.nodes.create import write_documents
from zarrcore.nodes.find import readable
from zarrcore.nodes.places import located
from zarrcore.nodes.walk import walk

if TYPE_CHECKING:
    from zarrcore.storage import StorePath


@dataclass(frozen=True)
class ConsolidatedDifference:
    """Where consolidated metadata and a node's own documents do not agree.

    Attributes
    ----------
    path : str
        Path of the node below the group.
    kind : {"added", "missing", "changed"}
        The node is not in the copy, only in the copy, or described otherwise.
    members : str
        What has changed, such as ``"attributes, shape"``.
    """

    path: str
    kind: str
    members: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}{f' ({self.members})' if self.members else ''}"


def check(place: StorePath, metadata: GroupMetadata) -> tuple[ConsolidatedDifference, ...]:
    """Compare the consolidated metadata of a group with all nodes below it."""
    consolidated = metadata.consolidated_metadata
    if consolidated is None:
        raise ValueError(f"the group {located(place)} has no consolidated metadata")
    zarr_format = metadata.zarr_format
    stored = _all_nodes(place, zarr_format)
    found: list[ConsolidatedDifference] = []
    for path in sorted(stored.keys() | set(consolidated.metadata)):
        try:
            copy = lookup(consolidated, path, zarr_format)
        except BaseZarrError:
            found.append(ConsolidatedDifference(path, "changed", "the copy cannot be read"))
            continue
        if path not in stored:
            found.append(ConsolidatedDifference(path, "missing"))
        elif copy is None:
            found.append(ConsolidatedDifference(path, "added"))
        elif bare(copy) != bare(stored[path]):
            found.append(ConsolidatedDifference(path, "changed", difference(copy, stored[path])))
    return tuple(found)


def consolidate(place: StorePath, metadata: GroupMetadata) -> GroupMetadata:
    """Collect the metadata of all nodes below a group and store them with the group."""
    if not place.store.supports_consolidated_metadata:
        raise TypeError(f"{type(place.store).__name__} does not support consolidated metadata")
    place.store._check_writable()
    copy = ConsolidatedMetadata(_all_nodes(place, metadata.zarr_format))
    metadata = replace(metadata.without_consolidated(), consolidated_metadata=copy)
    write_documents(place, metadata)
    return metadata


def _all_nodes(place: StorePath, zarr_format: int) -> dict[str, Any]:
    """Paths and metadata of all nodes below a group, groups included that only the paths of others imply."""
    found = walk(place, GroupMetadata({}, zarr_format), use_consolidated=False)
    return {path: bare(readable(metadata)) for path, metadata, _ in found}
