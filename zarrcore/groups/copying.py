"""Copying and moving nodes: chunk bytes go as they are where both sides store them alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore import hierarchy
from zarrcore import node_documents as documents
from zarrcore.errors import ContainsArrayError, ContainsGroupError
from zarrcore.metadata import GroupMetadata
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrcore.groups.group import Group
    from zarrcore.storage import Store

__all__ = ["copy_keys", "copy_node", "move_node"]


def move_node(source: StorePath, dest: StorePath) -> None:
    """Move a node and everything below it within one store; metadata arrives last and leaves first."""
    store = source.store
    store._check_writable()
    if dest.path == source.path or dest.path.startswith(source.path + "/"):
        raise ValueError(f"{source.path!r} cannot be moved to {dest.path!r}, which lies in it")
    if hierarchy.read_node(dest) is not None or not store.is_empty(dest.path):
        kind = hierarchy.read_node(dest)
        error = (
            ContainsArrayError
            if kind is not None and hierarchy.is_array_metadata(kind)
            else ContainsGroupError
        )
        raise error(f"store {store} holds data at path {dest.path!r} already")
    metadata = hierarchy.read_node(source)
    if metadata is not None:
        for parent in hierarchy.missing_parents(dest, metadata.zarr_format):
            hierarchy.write_documents(
                parent, GroupMetadata(attributes={}, zarr_format=metadata.zarr_format)
            )
    keys = sorted(store.list_prefix(source.path + "/"), key=_is_document)
    for key in keys:
        store.set(dest.path + key[len(source.path) :], _value(store, key))
    store.erase_prefix(source.path)


def _is_document(key: str) -> bool:
    return key.rpartition("/")[2] in documents.ALL_NAMES


def _value(store: Store, key: str) -> Any:
    value = store.get(key)
    if value is None:
        raise FileNotFoundError(f"{key!r} vanished from {store} while it was copied")
    return value


def copy_keys(
    source: Store,
    dest: Store,
    *,
    source_path: str = "",
    dest_path: str = "",
    excludes: tuple[str, ...] = (),
    includes: tuple[str, ...] = (),
    if_exists: str = "raise",
    dry_run: bool = False,
    log: Callable[[str], None] | None = None,
) -> tuple[int, int, int]:
    """Copy keys and values as they are; see :func:`zarrcore.copy_store`."""
    import re

    if if_exists not in ("raise", "replace", "skip"):
        raise ValueError(f"if_exists: expected 'raise', 'replace' or 'skip', got {if_exists!r}")
    prefix = f"{source_path}/" if source_path else ""
    copied = skipped = nbytes = 0
    pairs = [(key, join_path(dest_path, key[len(prefix) :])) for key in sorted(source.list_prefix(prefix))]
    pairs = [pair for pair in pairs if _wanted(pair[0][len(prefix) :], includes, excludes, re.search)]
    existing = {target for _, target in pairs if dest.exists(target)}
    if existing and if_exists == "raise":
        raise ValueError(f"key {min(existing)!r} exists in {dest} already (if_exists='raise')")
    for key, target in pairs:
        if target in existing and if_exists == "skip":
            skipped += 1
            if log:
                log(f"skip {key}")
            continue
        copied += 1
        if log:
            log(f"copy {key}")
        if not dry_run:
            value = _value(source, key)
            dest.set(target, value)
            nbytes += memoryview(value).nbytes
    return copied, skipped, nbytes


def _wanted(key: str, includes: tuple[str, ...], excludes: tuple[str, ...], search: Any) -> bool:
    if includes and not any(search(pattern, key) for pattern in includes):
        return False
    return not any(search(pattern, key) for pattern in excludes)


def copy_node(
    source: Any,
    dest: Group,
    name: str,
    *,
    shallow: bool = False,
    without_attrs: bool = False,
    if_exists: str = "raise",
    dry_run: bool = False,
    log: Callable[[str], None] | None = None,
    **create_kwargs: Any,
) -> tuple[int, int, int]:
    """Copy an array or a group into a group; see :func:`zarrcore.copy`."""
    if if_exists not in ("raise", "replace", "skip"):
        raise ValueError(f"if_exists: expected 'raise', 'replace' or 'skip', got {if_exists!r}")
    is_array = hasattr(source, "shape")
    existing = dest.get(name)
    if existing is not None and (is_array or hasattr(existing, "shape")):
        if if_exists == "raise":
            raise ValueError(f"{name!r} exists in {dest!r} already (if_exists='raise')")
        if if_exists == "skip":
            if log:
                log(f"skip {name}")
            return 0, 1, 0
    if log:
        log(f"copy {name}")
    if is_array:
        if not dry_run:
            _copy_array(source, dest, name, without_attrs, create_kwargs)
        return 1, 0, 0 if dry_run else int(source.nbytes)
    return _copy_group(
        source,
        dest,
        name,
        shallow=shallow,
        without_attrs=without_attrs,
        if_exists=if_exists,
        dry_run=dry_run,
        log=log,
        **create_kwargs,
    )


def _copy_array(
    source: Any, dest: Group, name: str, without_attrs: bool, create_kwargs: dict[str, Any]
) -> None:
    from zarrcore.arrays.creation import from_array_at

    arguments: dict[str, Any] = {"zarr_format": dest.metadata.zarr_format, "overwrite": True, **create_kwargs}
    if without_attrs:
        arguments["attributes"] = {}
    from_array_at(dest.store_path / name, data=source, **arguments)


def _copy_group(
    source: Any,
    dest: Group,
    name: str,
    *,
    shallow: bool,
    without_attrs: bool,
    dry_run: bool,
    **options: Any,
) -> tuple[int, int, int]:
    target = dest
    if not dry_run:
        target = dest.require_group(name) if name else dest
        if not without_attrs:
            target.attrs.update(dict(source.attrs))
    copied, skipped, nbytes = 1, 0, 0
    members = () if shallow else source.members() if hasattr(source, "members") else tuple(source.items())
    for child, node in members:
        counts = copy_node(
            node,
            target if not dry_run else dest,
            child if not dry_run else join_path(name, child),
            shallow=shallow,
            without_attrs=without_attrs,
            dry_run=dry_run,
            **options,
        )
        copied, skipped, nbytes = copied + counts[0], skipped + counts[1], nbytes + counts[2]
    return copied, skipped, nbytes
