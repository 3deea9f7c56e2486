"""Creating many nodes: level by level, and in a slow store those of a level at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from time import monotonic as clock

from zarrcore._typing import Overwrite
from zarrcore.nodes.above import claims_all
from zarrcore.nodes.copies import followed_at_once
from zarrcore.nodes.create import create_node, create_parents, empty_group, refuse_bad_name
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.reading import several_at_once
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, key_prefix

_MOMENT = 2.0  # seconds, after which each node looks whether somebody else has made one at its place


def create_nodes(
    place: StorePath, nodes: Mapping[str, Metadata], *, overwrite: Overwrite = False
) -> Iterator[tuple[str, StorePath, Metadata]]:
    """Store many nodes, parents first; groups above them that are missing are created, and yielded, as well.

    Consolidated metadata of the given groups are not stored: those of groups which were opened show what is
    below these, and not what is here.
    """
    checked = {StorePath(place.store, path).path: _alone(metadata) for path, metadata in nodes.items()}
    formats = {metadata.zarr_format for metadata in checked.values()}
    if len(formats) > 1:
        raise ValueError(f"all nodes of a hierarchy must have one zarr_format, got {sorted(formats)}")
    for path in checked:
        refuse_bad_name(join_path(place.path, path))
        above = path.rpartition("/")[0]
        while path and above != path:
            if above in checked and is_array_metadata(checked[above]):
                raise ValueError(f"{path!r} cannot be created below the array {above!r}")
            path, above = above, above.rpartition("/")[0]

    store = place.store
    is_slow = store._concurrent_requests() > 0
    began = clock()
    is_empty = is_slow and claims_all(store)
    for _, level in groupby(sorted(checked, key=_by_depth), lambda path: _by_depth(path)[0]):
        targets = {path: place / path if path else place for path in level}
        with followed_at_once():
            made = _create_implied(place, targets, checked)
            if is_slow:
                until = began + _MOMENT if is_empty else 0
                _create_together(store, targets, checked, overwrite, until)
        yield from made
        for path, target in targets.items():
            if not is_slow:
                create_node(target, checked[path], overwrite=overwrite)
            yield path, target, checked[path]


def _create_implied(
    place: StorePath, targets: Mapping[str, StorePath], nodes: Mapping[str, Metadata]
) -> list[tuple[str, StorePath, Metadata]]:
    """Create missing groups above nodes of one depth that are not given; return those from `place` down."""
    # One node of each group: not everyone who is in it looks what is above.
    of_groups = {path.rpartition("/")[0]: path for path in targets if path}
    some = [path for group, path in of_groups.items() if group not in nodes]
    zarr_format = next(iter(nodes.values())).zarr_format

    def create_above(path: str) -> list[StorePath]:
        return create_parents(targets[path], zarr_format)

    made = {
        group.path: group for groups in several_at_once(place.store, create_above, some) for group in groups
    }
    prefix = key_prefix(place.path)
    return [
        (path[len(prefix) :], group, empty_group(zarr_format))
        for path, group in sorted(made.items())
        if path == place.path or path.startswith(prefix)
    ]


def _create_together(
    store: Store,
    targets: Mapping[str, StorePath],
    nodes: Mapping[str, Metadata],
    overwrite: Overwrite,
    until: float,
) -> None:
    """Create nodes of one depth in a slow store at the same time; the groups above them are there.

    Up to a time they are taken for the first ones in the store.
    """

    def create(path: str) -> None:
        target = targets[path]
        group = target.parent if target.path else None
        create_node(target, nodes[path], overwrite=overwrite, group=group, is_first=clock() < until)

    several_at_once(store, create, targets)


def _by_depth(path: str) -> tuple[int, str]:
    return len(path and path.split("/")), path


def _alone(metadata: Metadata) -> Metadata:
    return metadata if is_array_metadata(metadata) else metadata.without_consolidated()
