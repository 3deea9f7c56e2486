"""Creating members of a group.

What makes arrays is imported when it is used: groups are opened more often.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from zarrcore._typing import Overwrite
from zarrcore.arrays.opened import OpenArray
from zarrcore.errors import ContainsArrayError, ContainsGroupError
from zarrcore.groups.members import find, member_path
from zarrcore.groups.opened import OpenGroup, opened_node
from zarrcore.metadata import GroupMetadata
from zarrcore.nodes.above import refuse_hidden
from zarrcore.nodes.create import create_node
from zarrcore.nodes.create_many import create_nodes
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.find import implied_group, read_node
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import normalize_path


def create_group_at(
    place: StorePath,
    zarr_format: int,
    attributes: Mapping[str, Any] | None,
    *,
    overwrite: Overwrite,
    group: StorePath | None = None,
) -> OpenGroup:
    """Create a group at a place; `group` is a group above it that has been read."""
    metadata = GroupMetadata(attributes=dict(attributes or {}), zarr_format=zarr_format)
    create_node(place, metadata, overwrite=overwrite, group=group)
    return OpenGroup(metadata, place)


def _place_for(group: OpenGroup, name: str) -> StorePath:
    """Return the place of a member that is going to be created, or found in the store."""
    group.look_in_store()
    return group.place / member_path(name)


def create_group(
    group: OpenGroup, name: str, attributes: Mapping[str, Any] | None, *, overwrite: Overwrite
) -> OpenGroup:
    """Create a group below another one, and the groups between them."""
    place = _place_for(group, name)
    return create_group_at(place, group.zarr_format, attributes, overwrite=overwrite, group=group.place)


def require_group(
    group: OpenGroup, name: str, attributes: Mapping[str, Any] | None, *, overwrite: Overwrite
) -> OpenGroup:
    """Return the group of a name, the group itself for ``"/"``; create it if it is missing."""
    group.look_in_store()
    if name and not normalize_path(name):
        return _itself(group, attributes, overwrite=overwrite)
    found = None if overwrite else find(group, name)
    if found is None:
        return create_group(group, name, attributes, overwrite=overwrite)
    place = group.place / found.path
    return OpenGroup(_of_group(found.metadata, place), place, found.copy)


def _itself(group: OpenGroup, attributes: Mapping[str, Any] | None, *, overwrite: Overwrite) -> OpenGroup:
    """Return the group, which somebody may have removed after it was opened."""
    place, zarr_format = group.place, group.zarr_format
    found = None if overwrite else read_node(place, zarr_format) or implied_group(place, zarr_format)
    if found is None:
        return create_group_at(place, zarr_format, attributes, overwrite=overwrite)
    return OpenGroup(_of_group(found, place).without_consolidated(), place)


def _of_group(found: Metadata, place: StorePath) -> GroupMetadata:
    if is_array_metadata(found):
        raise ContainsArrayError(f"an array exists {place._located}")
    return found


def create_array(group: OpenGroup, name: str, options: Any, compressor: Any) -> OpenArray:
    """Create an array below a group."""
    from zarrcore.arrays.creation import create_array_at

    shared = {"zarr_format": group.zarr_format, "compressor": compressor, "group": group.place}
    return create_array_at(_place_for(group, name), options, **shared)


def require_array(
    group: OpenGroup, name: str, shape: Any, dtype: Any, *, exact: bool, config: Any, options: dict[str, Any]
) -> OpenArray:
    """Return the array of a name; create it with the options if it is missing."""
    group.look_in_store()
    found = find(group, name)
    dtype = "float64" if dtype is None else dtype
    if found is None:
        compressor = options.pop("compressor", "auto")
        described = {"shape": shape, "dtype": dtype, "config": config, **options}
        return create_array(group, name, described, compressor)
    place = group.place / found.path
    if not is_array_metadata(found.metadata):
        raise ContainsGroupError(f"a group exists {place._located}")
    from zarrcore.arrays.creation import check_existing

    array = OpenArray(found.metadata, place, config, losses=found.losses)
    check_existing(array, shape, dtype, exact=exact)
    return array


def create_hierarchy(
    group: OpenGroup, nodes: Mapping[str, Metadata], *, overwrite: Overwrite
) -> Iterator[tuple[str, OpenArray | OpenGroup]]:
    """Create many nodes below a group from their metadata, parents first."""
    group.look_in_store()
    return hierarchy_at(group.place, nodes, overwrite=overwrite)


def hierarchy_at(
    place: StorePath, nodes: Mapping[str, Metadata], *, overwrite: Overwrite
) -> Iterator[tuple[str, OpenArray | OpenGroup]]:
    """Do the same at a place."""
    created = create_nodes(place, nodes, overwrite=overwrite)
    return ((path, opened_node(where, metadata)) for path, where, metadata in created)


def set_member(group: OpenGroup, key: str, value: Any) -> None:
    """Store an array-like under a name, in place of the array of that name."""
    from zarrcore.arrays.legacy import array_at

    refuse_hidden(group.place, group.zarr_format)
    place, found = _place_for(group, key), find(group, key)
    overwrite = found is not None and is_array_metadata(found.metadata)
    array_at(place, value, zarr_format=group.zarr_format, overwrite=overwrite)


def filled(group: OpenGroup, name: str, shape: Any, fill_value: Any, options: dict[str, Any]) -> OpenArray:
    """Return a new array of `fill_value`, or of the default one (``...``)."""
    from zarrcore.arrays.legacy import create_at

    options.setdefault("zarr_format", group.zarr_format)
    refuse_hidden(group.place, group.zarr_format)
    if fill_value is not ...:
        options["fill_value"] = fill_value
    return create_at(_place_for(group, name), shape, **options)


def like(group: OpenGroup, name: str, data: Any, fill_value: Any, options: dict[str, Any]) -> OpenArray:
    """The same for an array like `data`."""
    from zarrcore.arrays.derived import like_arguments

    arguments = like_arguments(data, group.zarr_format, options)
    if fill_value is not ...:
        arguments["fill_value"] = fill_value
    return filled(group, name, arguments.pop("shape"), ..., arguments)
