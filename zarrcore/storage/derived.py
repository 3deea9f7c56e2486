"""Stores that users make from one of zarrcore: no call passes by a method that they have replaced."""

from __future__ import annotations

from collections.abc import Iterable
from functools import wraps
from typing import Any

from zarrcore._extension import is_of_a_user, owner_of

_SIZES = ("_size", "getsize", "getsize_prefix", "_list_sizes")
_EXISTS = ("exists", "_which_exist")
_PARTS = ("_get_parts", "_get_part")
_LISTED = (
    *("list_dir", "is_empty", "_first_names", "_names_of_keys"),
    *("getsize_prefix", "_list_sizes", "_list_stored"),
)
# For each method what does the same in another way: it is built on the method where that alone is replaced.
_SHORTCUTS = {
    "get": ("get_partial_values", "get_many", "_get_chunks", *_PARTS, *_EXISTS, *_SIZES, "_has_lost"),
    "exists": ("_which_exist",),
    "get_partial_values": ("get_many", "_get_chunks", *_PARTS),
    "get_many": ("_get_chunks",),
    "set": ("set_if_not_exists", "set_partial_values"),
    "delete": ("erase_values", "erase_prefix", "clear"),
    "erase_values": ("erase_prefix", "clear"),
    "list": ("list_prefix", *_LISTED),
    "list_prefix": _LISTED,
}
MOVING = ("get", "get_partial_values", "get_many", "set", "set_if_not_exists")
_DEFAULTS = ("zarrcore.storage.base", "zarrcore.storage.wrapper")  # wrappers look after this themselves
_FLAGS = ("_bounds_chunks", "_versioned", "_compares", "_knows_documents")  # of values as they are stored


def hide_shortcuts(cls: type, plain: type) -> None:
    """Put defaults of the `plain` store, built on a few methods, in the place of what passes by a user's."""
    if not is_of_a_user(cls):
        return

    def is_users(name: str) -> bool:
        owner = owner_of(cls, name)
        return owner is not None and is_of_a_user(owner)

    def passes_by(name: str) -> bool:
        owner = owner_of(cls, name)
        return owner is not None and not is_of_a_user(owner) and owner.__module__ not in _DEFAULTS

    replaced = [name for method, names in _SHORTCUTS.items() if is_users(method) for name in names]
    for name in filter(passes_by, replaced):
        default = vars(plain)[name]
        method: Any = wraps(default)(_calling(default))
        method.hides = getattr(cls, name)
        setattr(cls, name, method)
    if any(map(is_users, MOVING)):
        for name in filter(passes_by, _FLAGS):
            setattr(cls, name, False)


def replaces(store: object, kind: type, methods: Iterable[str]) -> bool:
    """Return whether the class of a store replaces one of some methods of `kind`, which it derives from."""
    return any(getattr(type(store), name) is not getattr(kind, name) for name in methods)


def overrides(store: object, kind: type) -> bool:
    """Return whether a subclass replaces a method that moves bytes, which the engine must then call."""
    return type(store) is not kind and replaces(store, kind, (*MOVING, "delete", "exists"))


def is_itself(store: object, kind: type) -> bool:
    """Return whether a store is of a class, and lists and moves values as that does."""
    lists = ("list", "list_prefix")
    return isinstance(store, kind) and not (overrides(store, kind) or replaces(store, kind, lists))


def _calling(method: Any) -> Any:
    return lambda self, *args, **options: method(self, *args, **options)
