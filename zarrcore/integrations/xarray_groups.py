"""Groups that a call of xarray makes, and takes back if it fails before anything is in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from zarrcore.errors import BaseZarrError
from zarrcore.nodes.create import delete_node
from zarrcore.nodes.documents import ALL_NAMES
from zarrcore.nodes.find import read_node
from zarrcore.storage import Store, StorePath, make_store_path
from zarrcore.storage.validation import key_prefix

#: Places of the groups that a call has made.
_made: ContextVar[list[StorePath] | None] = ContextVar("_made", default=None)


@contextmanager
def taking_back() -> Iterator[None]:
    """Remove the groups that a call has made if it fails before anything is in them."""
    made: list[StorePath] = []
    token = _made.set(made)
    try:
        yield
    except BaseException:
        for place in sorted(made, key=lambda place: place.path.count("/") + bool(place.path), reverse=True):
            with suppress(BaseZarrError, OSError):
                if _is_bare(place):
                    delete_node(place)
        raise
    finally:
        _made.reset(token)


def note_made(store: Store, paths: Sequence[str]) -> None:
    """Note that groups are there now."""
    made = _made.get()
    if made is not None:
        made += [StorePath(store, path) for path in paths]


def _is_bare(place: StorePath) -> bool:
    """Return whether a store can say that nothing but a node's own documents is at a place."""
    store, prefix = place.store, key_prefix(place.path)
    if not (store.supports_listing and store.supports_deletes):
        return False
    return all(key[len(prefix) :] in ALL_NAMES for key in store._keys_listed(prefix))


def look_above(
    store: Any, mode: str, options: dict[str, Any], *, needs_format: bool
) -> tuple[list[str], int | None]:
    """Return the paths of a group, and of those above it, that are not there yet, and the format of the root.

    A root of format 3 would hide all of format 2 below it, so a new group gets the format of a root above it.
    Nothing is looked for where no group is made or, unless one `needs_format`, none would be taken back.
    """
    missing: list[str] = []
    if mode[0] == "r" or not (needs_format or _made.get() is not None):
        return missing, None
    with suppress(BaseZarrError, OSError):  # opening it will fail, too
        path, storage_options = options.get("group"), options.get("storage_options")
        place = make_store_path(store, path=path, storage_options=storage_options)
        for group in (place, *reversed(place._above())):
            if (found := read_node(group)) is not None:
                break
            missing.append(group.path)
        if place.path and needs_format and (missing or mode[0] == "w"):
            root = read_node(StorePath(place.store)) if group.path else found
            return missing, None if root is None else root.zarr_format
    return missing, None
