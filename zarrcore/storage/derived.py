"""Stores that users make from one of zarrcore: no call passes by a method that they have replaced."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from zarrcore._extension import has_users, hide, is_of_a_user, owner_of

_SIZES = ("_size", "getsize", "getsize_prefix", "_list_sizes")
_EXISTS = ("exists", "_which_exist")
_PARTS = ("_get_parts", "_get_part")
_LISTED = (
    *("list_dir", "is_empty", "_first_names", "_names_of_keys"),
    *("getsize_prefix", "_list_sizes", "_list_stored", "_lists_once", "_walked_keys"),
)
# For each method what does the same in another way: it is built on the method where that alone is replaced.
_SHORTCUTS = {
    "get": (
        *("get_partial_values", "get_many", "_get_chunks", "_get_noticed", "_has_lost"),
        *(*_PARTS, *_EXISTS, *_SIZES),
    ),
    "exists": ("_which_exist",),
    "get_partial_values": ("get_many", "_get_chunks", "_get_noticed", *_PARTS),
    "get_many": ("_get_chunks", "_get_noticed"),
    "set": ("set_if_not_exists", "set_partial_values"),
    "delete": ("erase_values", "erase_prefix", "clear"),
    "erase_values": ("erase_prefix", "clear"),
    "list": ("list_prefix", *_LISTED),
    "list_prefix": _LISTED,
}
MOVING = ("get", "get_partial_values", "get_many", "set", "set_if_not_exists")
_DEFAULTS = ("zarrcore.storage.base", "zarrcore.storage.wrapper")  # wrappers look after this themselves
_BYTES = (*MOVING, "delete", "exists")
# What goes past them, to values as they are stored: where a user has replaced one, all of it is the default.
_STORED = (
    *("_native_source", "_get_chunks", "_get_parts", "_get_part", "_in_parts", "_takes_parts"),
    *("_which_exist", "_version", "_versioned", "_compares", "_bounds_chunks", "_claim", "_alone"),
    *("_rename_prefix", "_list_sizes", "_list_stored", "_lend_chunks", "_recheck", "_serve", "_awaiting"),
    "_set_lent",
)


def hide_shortcuts(cls: type, plain: type) -> None:
    """Put defaults of the `plain` store, built on a few methods, in the place of what passes by a user's."""
    if not is_of_a_user(cls):
        return

    is_users = partial(has_users, cls)
    replaced = [name for method, names in _SHORTCUTS.items() if is_users(method) for name in names]
    if any(map(is_users, _BYTES)):
        replaced += _STORED
    if any(map(is_users, MOVING)):
        replaced.append("_knows_documents")
    passing = [name for name in replaced if getattr(owner_of(cls, name), "__module__", "") not in _DEFAULTS]
    hide(cls, {name: vars(plain)[name] for name in passing})


def replaces(store: object, kind: type, methods: Iterable[str]) -> bool:
    """Return whether the class of a store replaces one of some methods of `kind`, which it derives from."""
    return any(getattr(type(store), name) is not getattr(kind, name) for name in methods)


def is_itself(store: object, kind: type) -> bool:
    """Return whether a store is of a class, and lists and moves values as that does."""
    return isinstance(store, kind) and not replaces(store, kind, (*_BYTES, "list", "list_prefix"))
