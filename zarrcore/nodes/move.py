"""Moving nodes within a store: at any time either the source or the target is whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import groupby
from typing import Any

from zarrcore._log import debug
from zarrcore._typing import Buffer
from zarrcore.errors import ContainsArrayError, ContainsGroupError, NodeNotFoundError, StoreError, shown
from zarrcore.nodes.copies import follow_removal, follow_tree, note_change
from zarrcore.nodes.create import create_parents, refuse_bad_name, refuse_existing
from zarrcore.nodes.documents import Metadata
from zarrcore.nodes.find import read_node
from zarrcore.nodes.hidden import keys_to_copy
from zarrcore.nodes.reading import keys_below, moving, reading, several_at_once, writing
from zarrcore.nodes.reserved import among_processes, reserved
from zarrcore.nodes.users import moving as moving_node
from zarrcore.nodes.users import note_loss
from zarrcore.nodes.walk import documents_below
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import DECISIVE, as_view, is_document, key_prefix, lasting, storing_order


def move_node(source: StorePath, dest: StorePath) -> None:
    """Move a node and everything below it within one store, to where nothing is yet."""
    # A store that can rename does so, in one step.  In others everything is copied, metadata last, and then
    # removed, metadata first.
    store = source.store
    store._check_writable()
    if f"{dest.path}/".startswith(f"{source.path}/"):
        raise ValueError(f"{source.path!r} cannot be moved to {dest.path!r}, which lies in it")
    refuse_bad_name(dest.path)
    with reserved(dest):  # else chunks of an array that is being made there would be mixed with those moved
        _move(source, dest)


def _move(source: StorePath, dest: StorePath) -> None:
    store = source.store
    goes_on = _goes_on(source, dest)
    if not store.supports_deletes:
        raise StoreError(f"{store} cannot remove keys, so {source.path!r} cannot be moved, only copied")
    metadata = read_node(source)
    if metadata is not None:
        create_parents(dest, metadata.zarr_format)
    note_change(source, removed=True)
    note_change(dest)
    with among_processes(dest), moving_node(source):
        if store._is_near and not goes_on:  # where another process may have been waited for
            goes_on = _goes_on(source, dest)
        # Seen before it is waited for: nothing else comes to the target then, so of moves in a circle one
        # finds nothing to move.
        _refuse_removed(source, metadata)
        with store._alone(source.path, makes=False):  # who removes it would leave chunks at the target
            _refuse_removed(source, metadata)
            chunks_stay = _carry(source, dest, goes_on)
        note_loss(source)
    _follow(source, dest)
    if chunks_stay is not None:
        raise chunks_stay
    debug("moved %s to %s", source, dest)


def _refuse_removed(source: StorePath, metadata: Metadata | None) -> None:
    """Notice that another process has removed a node that was there, where looking costs next to nothing."""
    if source.store._is_near and metadata is not None and read_node(source) is None:
        raise NodeNotFoundError(f"the node {source._located} was removed while it was moved")


def _goes_on(source: StorePath, dest: StorePath) -> bool:
    """Return whether a move that broke off has begun; raise if there is anything else at the target."""
    try:
        refuse_existing(dest)
        with reading(dest, key_prefix(dest.path)):
            is_empty = dest.is_empty()
        if not is_empty:
            raise ContainsGroupError(f"there is something {dest._located} already")
    except (ContainsArrayError, ContainsGroupError):
        if not _is_begun(source, dest):
            raise
        return True
    return False


def _is_begun(source: StorePath, dest: StorePath) -> bool:
    """Return whether all that is at the target is what a move copies there, and in its order."""
    store = source.store
    if not store.supports_listing:
        return False
    own = {key[len(source.path) :] for key in keys_below(source)}
    there = {key[len(dest.path) :] for key in keys_below(dest)}
    has_documents = any(map(is_document, there))
    chunks = {key for key in own if not is_document(key)}
    # Documents come last, and go before the chunks of the source: what makes a node of all, last and first.
    is_copying = there <= own and (chunks <= there or not has_documents)
    is_copying = is_copying and (own <= there or not any(map(_is_decisive, there)))
    is_removing = own <= there and not any(map(_is_decisive, own))
    if is_removing and any(map(is_document, own)):
        is_removing = {key for key in there if not is_document(key)} <= own
    common = own & there
    return (
        (is_copying or is_removing)
        and bool(common)
        and all(_are_alike(store, source.path + key, dest.path + key) for key in common)
    )


def _is_decisive(key: str) -> bool:
    """Return whether a key, less the path of a node, is that of the document that makes it one."""
    return key.strip("/") in DECISIVE


def _follow(source: StorePath, dest: StorePath) -> None:
    """Bring consolidated metadata up to date after a node has come from a source to a place."""
    follow_removal(source)
    follow_tree(dest, lambda: documents_below(dest))


def _carry(source: StorePath, dest: StorePath, goes_on: bool) -> Exception | None:
    """Move all keys; return why some chunks stay at the source as well."""
    with writing(source):
        is_renamed = source.store._rename_prefix(source.path, dest.path)
    if is_renamed:
        return None
    _copy(source, dest, goes_on)
    try:
        with writing(source, key_prefix(source.path)):
            source.delete_dir()
    except Exception as error:
        error.add_note(f"{source.path!r} has been moved to {dest.path!r}, but some of its chunks stay")
        return error
    return None


def is_copied(source: StorePath, dest: StorePath) -> bool:
    """Return whether there are keys at a place, and all their values are at another place as well."""
    store, skip = source.store, len(source.path)
    pairs = [(key, dest.path + key[skip:]) for key in keys_below(source)]
    return bool(pairs) and all(_are_alike(store, key, copy) for key, copy in pairs)


def _are_alike(store: Store, key: str, copy: str) -> bool:
    """Return whether two keys have the same value, or neither has one."""
    with moving(store, key):
        value = lasting(store.get(key))
    with moving(store, copy):
        return bool(value == lasting(store.get(copy)))


def _copy(source: StorePath, dest: StorePath, goes_on: bool) -> None:
    """Copy all keys, documents last, and then remove the documents of the source.

    After a failure nothing is left of the copy, unless it is the rest of one that had begun before.
    """
    # An array without its document is no array; one without its chunks would read as fill values.
    store, skip = source.store, len(source.path)

    def step(key: str) -> tuple[bool, int]:
        return _is_decisive(key[skip:]), storing_order(key)[0]

    keys = sorted(keys_to_copy(source), key=lambda key: (step(key), key))
    documents: dict[str, Any] = {}

    def copy(key: str) -> None:
        target = dest.path + key[skip:]
        if not is_document(key):
            copy_value(store, key, store, target)
            return
        documents[key] = stored_value(store, key)
        with moving(store, target):
            store.set(target, documents[key])

    try:
        for _, alike in groupby(keys, step):
            several_at_once(store, copy, alike)
        _follow(source, dest)  # a copy would show the source while its chunks are removed
        # A source that has less than its copy is no node any more, whatever the order within one request.
        with writing(source):
            store.erase_values([key for key in documents if _is_decisive(key[skip:])])
            store.erase_values([key for key in keys if key in documents][::-1])
    except BaseException as error:
        if goes_on:  # and may again; another process may be at it
            raise
        try:  # to restore the documents of the source, and to remove its copy
            for key, value in documents.items():
                store.set_if_not_exists(key, value)
            _follow(dest, source)
            store.erase_prefix(dest.path)
        except Exception as second:
            error.add_note(f"the copy in {dest.path!r} could not be removed again: {shown(second)}")
        raise


def copy_value(source: Store, key: str, dest: Store, target: str) -> int:
    """Copy a value that has been listed, a large one part by part where stores can; returns its size."""
    with moving(source, key):
        found = source._in_parts(key) if dest._takes_parts else None
    if found is None:
        return _copy_whole(source, key, dest, target)
    with ExitStack() as opened:
        with moving(source, key):
            nbytes, parts = opened.enter_context(found)

        def named_parts() -> Iterator[Buffer]:
            with moving(source, key):
                yield from parts

        with moving(dest, target):
            dest._set_parts(target, nbytes, named_parts())
    return nbytes


def _copy_whole(source: Store, key: str, dest: Store, target: str) -> int:
    value = stored_value(source, key)
    with moving(dest, target):
        dest.set(target, value)
    return memoryview(value).nbytes


def stored_value(store: Store, key: str) -> Any:
    """Return the value at a key that has been listed."""
    with moving(store, key):
        value = store.get(key)
        value = None if value is None else lasting(as_view(value, key))
    if value is None:
        raise NodeNotFoundError(f"{key!r} vanished from {store} while it was copied")
    return value
