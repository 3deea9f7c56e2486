"""Writing consolidated metadata, and comparing them with the nodes that they describe."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from zarrcore._log import info
from zarrcore._records import dataclass
from zarrcore.errors import BaseZarrError, NodeIOError, ZarrUserWarning
from zarrcore.metadata import ZMETADATA_V2_JSON, ConsolidatedMetadata, GroupMetadata
from zarrcore.nodes.consolidated import bare, difference, lookup
from zarrcore.nodes.copies import KeptCopy, document_lock, note_consolidation, note_copied, number_waiting
from zarrcore.nodes.create import refuse_bad_name, store_documents
from zarrcore.nodes.find import Unreadable, parse_node, read_documents, readable
from zarrcore.nodes.versions import Outdated, Versions
from zarrcore.nodes.walk import Found, walk
from zarrcore.progress import Step
from zarrcore.storage.path import StorePath

_ATTEMPTS = 5
_STEP = 100  # nodes, between which progress is shown


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
        raise ValueError(f"the group {place._located} has no consolidated metadata")
    zarr_format = metadata.zarr_format
    stored = {below.path: below.metadata for below in _walk_all(place, zarr_format)}
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
        elif isinstance(stored[path], Unreadable):
            if isinstance(stored[path].error, NodeIOError):  # nothing is known of this node
                raise stored[path].error
            found.append(ConsolidatedDifference(path, "changed", "the node's own documents cannot be read"))
        elif bare(copy) != bare(stored[path]):
            found.append(ConsolidatedDifference(path, "changed", difference(copy, stored[path])))
    return tuple(found)


def consolidate(place: StorePath, metadata: GroupMetadata, progress: Step | None = None) -> GroupMetadata:
    """Collect the metadata of all nodes below a group and store them with the group.

    `progress` is called with the number of nodes found, and with one more as long as there may be others.
    """
    if not place.store.supports_consolidated_metadata:
        raise TypeError(f"{type(place.store).__name__} does not support consolidated metadata")
    place.store._check_writable()
    zarr_format = metadata.zarr_format
    compares = place.store._compares
    others_change = place.store._lock_file(place.path) is not None
    note_consolidation()
    for attempt in range(_ATTEMPTS):
        kept = KeptCopy(place)  # notices nodes that other threads change meanwhile
        n_before = number_waiting()
        versions = Versions()
        if compares:  # before the nodes: others who change one change the copy too, if there is one
            metadata = _own(place, metadata, versions)
        nodes = _all_nodes(place, zarr_format, progress)
        copy = ConsolidatedMetadata(nodes)
        with (
            document_lock(place),
            nullcontext() if zarr_format == 3 else document_lock(place, ZMETADATA_V2_JSON),
        ):
            if not compares:
                metadata = _own(place, metadata)
            documents = replace(metadata, consolidated_metadata=copy).to_documents()
            note_consolidation()
            try:
                store_documents(place, documents, versions)
            except Outdated:
                if attempt + 1 < _ATTEMPTS:
                    continue
                raise
        # From now on other processes change the copy too; what they changed before is seen by looking again.
        if not kept.is_stale and not (others_change and _all_nodes(place, zarr_format) != nodes):
            note_copied(place, n_before)
            break
    else:
        warnings.warn(
            f"nodes below {place} are being changed: its consolidated metadata may lack some of the changes",
            ZarrUserWarning,
            stacklevel=2,
        )
    if progress is not None:
        progress(len(nodes), len(nodes))
    info("consolidated %s: %s nodes", place, len(nodes))
    return replace(metadata, consolidated_metadata=copy)


def _own(place: StorePath, metadata: GroupMetadata, versions: Versions | None = None) -> GroupMetadata:
    """Return a group's own metadata as they are stored now: others may have changed its attributes."""
    values = read_documents(place, metadata.zarr_format, versions)
    found = parse_node(place, metadata.zarr_format, values)
    return (
        found.without_consolidated() if isinstance(found, GroupMetadata) else metadata.without_consolidated()
    )


def _all_nodes(place: StorePath, zarr_format: int, progress: Step | None = None) -> dict[str, Any]:
    """Paths and metadata of all nodes below a group, groups included that only the paths of others imply."""
    nodes: dict[str, Any] = {}
    for below in _walk_all(place, zarr_format):
        refuse_bad_name(below.path)
        nodes[below.path] = bare(readable(below.metadata))
        if progress is not None and len(nodes) % _STEP == 0:
            progress(len(nodes), len(nodes) + 1)
    return nodes


def _walk_all(place: StorePath, zarr_format: int) -> Iterator[Found]:
    return walk(place, GroupMetadata({}, zarr_format), use_consolidated=False)
