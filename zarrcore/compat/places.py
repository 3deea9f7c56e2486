"""Places in stores, as ``zarr.storage._common`` has them: what makes them is awaited there."""

from __future__ import annotations

from typing import Any

from zarrcore.api.nodes import open
from zarrcore.arrays.array import Array
from zarrcore.compat.coroutines import Store
from zarrcore.compat.faces import StorePath, face_of, face_of_place
from zarrcore.groups.group import Group
from zarrcore.storage import path as places
from zarrcore.storage.path import StoreLike

__all__ = ["StoreLike", "StorePath", "get_node", "make_store", "make_store_path"]


async def make_store(store_like: StoreLike, **options: Any) -> Store:
    """Return a store; see :func:`zarrcore.storage.make_store`."""
    return face_of(places.make_store(store_like, **options))  # type: ignore[no-any-return]


async def make_store_path(store_like: StoreLike, **options: Any) -> StorePath:
    """Return a place in a store; see :func:`zarrcore.storage.make_store_path`."""
    return face_of_place(places.make_store_path(store_like, **options))


def get_node(store: StoreLike, path: str, zarr_format: int) -> Array | Group:
    """Return the array or the group at a path in a store, which decides whether it can be written to.

    Raises
    ------
    NodeNotFoundError
        If there is none of that format.
    """
    return open(
        store, path=path, zarr_format=zarr_format, mode="r" if places.make_store(store).read_only else "r+"
    )
