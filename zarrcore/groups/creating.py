"""Creating members of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.arrays.array import Array
from zarrcore.arrays.creation import check_required
from zarrcore.arrays.derived import like_arguments
from zarrcore.arrays.legacy import create_at
from zarrcore.errors import ContainsArrayError, ContainsGroupError
from zarrcore.groups.nodes import member_path

if TYPE_CHECKING:
    from zarrcore._typing import Overwrite
    from zarrcore.groups.group import Group

__all__ = ["filled", "like", "require_array", "require_group"]


def require_group(group: Group, name: str, *, overwrite: Overwrite, options: dict[str, Any]) -> Group:
    """Return the group of a name; create it with the options if it is missing."""
    group._look_in_store()
    found = None if overwrite else group.get(name)
    if found is None:
        return group.create_group(name, overwrite=overwrite, **options)
    if isinstance(found, Array):
        raise ContainsArrayError(f"an array exists in store {group.store} at path {found.path!r}")
    return found  # type: ignore[no-any-return]


def require_array(
    group: Group, name: str, shape: Any, dtype: Any, *, exact: bool, config: Any, options: dict[str, Any]
) -> Array:
    """Return the array of a name; create it with the options if it is missing."""
    group._look_in_store()
    found = group.get(name)
    dtype = "float64" if dtype is None else dtype
    if found is None:
        return group.create_array(name, shape=shape, dtype=dtype, config=config, **options)
    if not isinstance(found, Array):
        raise ContainsGroupError(f"a group exists in store {group.store} at path {found.path!r}")
    check_required(found, shape, dtype, exact=exact)
    return found if config is None else found.with_config(config)


def filled(group: Group, name: str, shape: Any, fill_value: Any, options: dict[str, Any]) -> Array:
    """Return a new array of `fill_value`, or of the default one (``...``)."""
    group._look_in_store()
    options.setdefault("zarr_format", group._metadata.zarr_format)
    if fill_value is not ...:
        options["fill_value"] = fill_value
    return create_at(group._store_path / member_path(name), shape, **options)


def like(group: Group, name: str, data: Any, fill_value: Any, options: dict[str, Any]) -> Array:
    """The same for an array like `data`."""
    arguments = {**like_arguments(data, group._metadata.zarr_format), **options}
    if fill_value is not ...:
        arguments["fill_value"] = fill_value
    return filled(group, name, arguments.pop("shape"), ..., arguments)
