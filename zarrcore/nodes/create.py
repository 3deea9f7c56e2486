"""Creating and removing nodes: their documents, and those of the groups above them that are missing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from zarrcore._locks import holding
from zarrcore._log import debug
from zarrcore._typed import NamedTuple
from zarrcore._typing import Overwrite
from zarrcore._validate import MAX_LEVELS
from zarrcore.errors import (
    ContainsArrayError,
    ContainsGroupError,
    ForeignDataError,
    InvalidKeyError,
    NodeNotFoundError,
    StoreError,
    given,
)
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON
from zarrcore.nodes import documents as node_documents
from zarrcore.nodes import users
from zarrcore.nodes.above import Look, look_above, note_nodes
from zarrcore.nodes.copies import (
    Follow,
    consolidations,
    documents_follow,
    follow_documents,
    note_change,
    removal_follows,
    tree_follows,
)
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.find import read_node
from zarrcore.nodes.foreign import refuse_foreign
from zarrcore.nodes.reading import reading, several_at_once, writing
from zarrcore.nodes.reserved import after_others, among_processes, is_anyone_creating, reserved
from zarrcore.nodes.users import note_loss, refuse_inside, wait_for_writes
from zarrcore.nodes.versions import Versions, store_version
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, key_prefix

if TYPE_CHECKING:
    from zarrcore.metadata import GroupMetadata
    from zarrcore.storage.alone import StillThere

_DECIDING = {ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON}  # the documents that make a place a node
_V2_KINDS = {ZARRAY_JSON, ZGROUP_JSON}
_ATTEMPTS = 3
_REPLACEMENTS = 100  # of what others are creating at one place all the time
_EXISTS = ContainsArrayError, ContainsGroupError
_REPLACE = "; overwrite=True replaces it"  # the way out of an error
_CANNOT_ERASE = ", and this store cannot remove it: write to another path, or to another store"


def store_documents(place: StorePath, documents: dict[str, bytes], versions: Versions | None = None) -> None:
    """Store the metadata documents of a node, replacing those that are there.

    If another process has replaced one of the `versions` that were read, by name, Outdated is raised.
    """
    follow = documents_follow([place], documents)
    store_unfollowed(place, documents, versions)
    follow()


def store_unfollowed(place: StorePath, documents: dict[str, bytes], versions: Versions | None = None) -> None:
    """Store documents as :func:`store_documents`; the caller has consolidated metadata above follow."""
    note_change(place)
    for name in sorted(documents, key=_DECIDING.__contains__):  # last what makes it a node
        store_version(place, name, documents[name], versions)


def create_node(
    place: StorePath,
    metadata: Metadata,
    *,
    overwrite: Overwrite = False,
    group: StorePath | None = None,
    is_first: bool = False,
) -> None:
    """Store a new node and the groups above it that are missing.

    Of several that create a node at one place at the same time, one succeeds, as far as the store can store
    a value only where there is none.

    Parameters
    ----------
    overwrite : bool or "all"
        Remove what is at the place and below it first; ``"all"``: even if it belongs to no Zarr node.
    group : StorePath, optional
        A group above the place that has been read: if its document is still there, so is what is above it.
    is_first : bool
        The store was empty a moment ago, and the caller has made the groups above the place.

    Raises
    ------
    ContainsArrayError, ContainsGroupError
        If there is a node already, or an array above the place.
    ForeignDataError, InvalidKeyError
        If what would be removed is not Zarr's alone; if no node can have the name.
    """
    documents = metadata.to_documents()  # first: nothing is removed for metadata that cannot be stored
    is_slow, n_before = place.store._concurrent_requests() > 0, consolidations()
    with after_others(place):
        for attempts_left in reversed(range(_REPLACEMENTS)):
            look = Look([], is_first, is_first, place._above()) if is_first else None
            with _cleared(place, metadata, overwrite, group=group, look=look) as cleared:
                is_first = False
                _refuse_left(place, metadata, cleared)
                # New groups have no copies; to see that in a slow store would take another wave.
                without = (*cleared.made, *cleared.missing, *cleared.plain) if is_slow else ()
                follow = documents_follow([place], documents, without, n_before)
                try:
                    if cleared.missing:
                        _store_with_groups(place, documents, cleared.missing)
                    else:
                        _store_new(place, documents, replaces=cleared.replaces)
                    break
                except BaseException as error:
                    if not (overwrite and attempts_left and isinstance(error, _EXISTS)):
                        _note_removal(error, place, cleared.replaces)
                        raise
            # Somebody was faster after the place was cleared: that is replaced as well.
    if is_slow:
        note_nodes(place.store)
    follow()
    debug("created %s", place)


@holding
def new_node(
    place: StorePath, metadata: Metadata, *, overwrite: Overwrite = False, group: StorePath | None = None
) -> Iterator[bool]:
    """A place for a node whose documents are stored when the block ends, once all its chunks are there.

    Transactions that take no chunks without a node, and show nothing before they end, get them first.

    If the block fails there is no node, and what it stored is removed again where nothing else can have
    been.  The parameters and errors are those of :func:`create_node`; the block receives whether nothing lies
    at the place yet.
    """
    documents = metadata.to_documents()
    with (
        reserved(place),
        _cleared(place, metadata, overwrite, group=group, with_values=True) as cleared,
        # Who removes or moves what is above waits for the end: else chunks from before would be missing.
        users.writing(users.Made(place)),
    ):
        yield from _made_last(place, documents, cleared)


class _Cleared(NamedTuple):
    """A place at which a node can be stored."""

    replaces: bool  # whatever was there
    is_new: bool  # it is certain that nothing was
    made: list[StorePath]  # groups above it
    missing: list[StorePath]  # groups above it that are stored with the node: see :func:`_store_with_groups`
    still_there: StillThere | None  # see :meth:`Store._alone`
    plain: list[StorePath]  # groups above it that have just been read and have no consolidated metadata
    left: Any  # see :class:`Look`


@holding
def _cleared(
    place: StorePath,
    metadata: Metadata,
    overwrite: Overwrite,
    *,
    group: StorePath | None = None,
    with_values: bool = False,
    look: Look | None = None,
) -> Iterator[_Cleared]:
    """Make sure that a node can be stored at a place, and keep other processes away until the block ends.

    What one of them has created there before is cleared as well.  A `look` that was taken is not taken again.
    """
    may_replace, zarr_format = _is_replaced(place, overwrite), metadata.zarr_format
    find_left = None if with_values else partial(_chunk_left, place, metadata)
    for attempts_left in reversed(range(_REPLACEMENTS)):
        with writing(place):
            seen = look or look_above(
                place, zarr_format, group, claims=True, replaces=may_replace, find_left=find_left
            )
        missing, is_new, is_free, plain, left = seen
        replaces = may_replace and not is_new
        # Those who wait for a directory that is removed go on waiting until the new node is in another one:
        # each of them would create its own first, and have it replaced at once.
        with place.store._alone(place.path) if replaces else nullcontext():
            if replaces:
                _clear(place, overwrite)
            elif not is_free:
                refuse_existing(place, _CANNOT_ERASE if overwrite else _REPLACE)
            together = not (with_values or replaces) and is_stored_together(place.store)
            made = [] if together else _store_parents(missing, zarr_format)
            with among_processes(place, with_values=with_values) as still_there:
                if may_replace and place.store._is_near and read_node(place) is not None:
                    if attempts_left:
                        continue
                    refuse_existing(place, _REPLACE)
                new = missing if together else []
                yield _Cleared(replaces, is_new, made, new, still_there, [] if replaces else plain, left)
                return


def _made_last(place: StorePath, documents: dict[str, bytes], cleared: _Cleared) -> Iterator[bool]:
    replaces, is_new, _, _, still_there, *_ = cleared
    store = place.store
    if store._is_near:  # where another process may have been waited for
        refuse_existing(place, _REPLACE)
    with writing(place, key_prefix(place.path)):
        is_new = is_new or (store.supports_listing and store.is_empty(place.path))
    is_made, process = False, os.getpid()
    try:
        if store._nodes_first:
            _store_new(place, documents, replaces=replaces)
            is_made = True
            follow_documents([place], documents)
        yield is_new
        if still_there is not None and not still_there():
            is_new = False  # what is there now is somebody else's
            what = "has been removed, moved or replaced while values were stored there"
            raise NodeNotFoundError(f"what was {place._located} {what}")
        if not is_made:
            follow = documents_follow([place], documents)
            _store_new(place, documents, replaces=replaces, has_values=True)
            follow()
    except BaseException as error:  # if there is a node that is not ours, somebody else made it
        _note_removal(error, place, replaces)
        is_ours = is_new and os.getpid() == process  # not that of the parent, in a child that unwinds
        if is_ours and store.supports_deletes and (is_made or read_node(place) is None):
            with writing(place, key_prefix(place.path)):
                store.erase_prefix(place.path)
        raise


def _note_removal(error: BaseException, place: StorePath, replaces: bool) -> None:
    if replaces:
        error.add_note(f"overwrite had removed already whatever was {place._located}")


def _is_replaced(place: StorePath, overwrite: Overwrite) -> bool:
    """Return whether a node replaces whatever is at a place; an error if no node can be stored there."""
    place.store._check_writable()
    if isinstance(overwrite, str) and overwrite != "all":
        raise ValueError(f'overwrite: expected True, False or "all", got {given(overwrite)}')
    refuse_bad_name(place.path)
    return bool(overwrite) and place.store._can_erase(place.path)


def _chunk_left(place: StorePath, metadata: Metadata) -> str | None:
    """Return the key of a chunk at a place that a new node would have for its own; a group has none."""
    if not is_array_metadata(metadata):
        return None
    from zarrcore.nodes.left_over import chunk_left

    return chunk_left(place, metadata)


def _refuse_left(place: StorePath, metadata: Metadata, cleared: _Cleared) -> None:
    """Refuse a place without a node where chunks are that a new array would read as its own."""
    if cleared.replaces or cleared.is_new:
        return
    key = _chunk_left(place, metadata) if cleared.left is False else cleared.left
    if not key:
        return
    refuse_existing(place, _REPLACE)  # somebody else's array, made since the place was looked at
    document = join_path(place.path, node_documents.NAMES[metadata.zarr_format][0])
    raise ForeignDataError(
        f"chunks of an array without a document, such as {key!r}, lie {place._located}: a new array would "
        'read them as its own; overwrite=True, or "all", removes them; to have the array again, store its '
        f"document under {document!r}"
    )


def _clear(place: StorePath, overwrite: Overwrite) -> None:
    """Have nothing at a place any more."""
    with among_processes(place):
        follow = removal_follows(place)
        if overwrite != "all":
            refuse_foreign(place)
        delete_node(place, follow)


def refuse_bad_name(path: str) -> None:
    """Refuse paths that no node can have: through a metadata document, or with a name of dots alone.

    (Zarr v3, "Node names".)  Nor is a node made so deep that no walk would find it.
    """
    if path.count("/") >= MAX_LEVELS:
        names = path.count("/") + 1
        raise InvalidKeyError(f"{path[:60]!r}... is too long: {names:,} names, {MAX_LEVELS:,} are the most")
    for name in path.split("/"):
        if name in node_documents.ALL_NAMES:
            raise InvalidKeyError(
                f"{path!r}: {name!r} is the name of a metadata document, no node can have it"
            )
        if name and not name.strip("."):
            raise InvalidKeyError(f"{path!r}: {name!r} is all dots, no node can have such a name")


def refuse_existing(place: StorePath, hint: str = "") -> None:
    if place.store._in_process:  # to ask for the keys alone takes a fourth of the time of reading nothing
        with reading(place):
            keys = [join_path(place.path, name) for name in node_documents.DECIDING]
            if not any(place.store._which_exist(keys)):
                return
    found = read_node(place)
    if found is None:
        return
    if is_array_metadata(found):
        raise ContainsArrayError(f"an array exists {place._located}{hint}")
    raise ContainsGroupError(f"a group exists {place._located}{hint}")


def _store_new(
    place: StorePath, documents: dict[str, bytes], *, replaces: bool, has_values: bool = False
) -> None:
    """Store the documents of a new node, only if nobody was faster; consolidated metadata do not follow yet.

    In format 2, one that replaces what was there or has its chunks already gets its attributes first.  In
    format 3, one that replaces what was there is stored in any case where looking costs a request.
    """
    if replaces and ZARR_JSON in documents and not place.store._is_near:
        store_unfollowed(place, documents)
        return
    if replaces:  # so that it is never seen without its attributes: who is faster is replaced as well
        if place.store._is_near:
            refuse_existing(place, _REPLACE)  # before it gets them
        store_unfollowed(place, {name: documents[name] for name in documents.keys() - _DECIDING})
        documents = {name: documents[name] for name in documents.keys() & _DECIDING}
    elif has_values:  # for the same reason, but what is there may be another creator's
        documents = {name: v for name, v in documents.items() if not _is_stored_early(place, name, v)}
    # Where it costs next to nothing, creators in the other format are looked for as well.
    _store_alone(place, documents, rivals=_DECIDING if place.store._is_near else _V2_KINDS)


def _is_stored_early(place: StorePath, name: str, data: bytes) -> bool:
    """Store a document that makes no node, unless there is one of its name; return whether it was stored."""
    if name in _DECIDING:
        return False
    with writing(place, key := join_path(place.path, name)):
        return place.store._set_new(key, data)


def _store_alone(place: StorePath, documents: dict[str, bytes], rivals: Set[str] = _V2_KINDS) -> None:
    """Store the documents of a new node, which consolidated metadata above it do not have yet.

    Only one of the documents that are `rivals` may be there in the end.  (A group has one in each format
    where there are nodes of both below it.)
    """
    note_change(place)
    # The document that another creator may have stored already comes first.
    (deciding,) = documents.keys() & _DECIDING
    rivals = rivals - {deciding} if deciding in rivals else set()
    _store_deciding(place, deciding, documents[deciding], rivals)
    if len(documents) > 1:
        with _withdrawn_on_failure(place, deciding):
            for name in documents.keys() - _DECIDING:
                store, key = place.store, join_path(place.path, name)
                # One that is there is left over from another node.  A store of files has nothing to clean up
                # where it stores what is new.
                with writing(place, key):
                    if not (store._is_near and store._set_new(key, documents[name])):
                        store.set(key, documents[name])


def _store_deciding(place: StorePath, name: str, data: bytes, rivals: Set[str]) -> None:
    key = join_path(place.path, name)
    for _ in range(_ATTEMPTS):
        with writing(place, key):
            is_ours = place.store._set_new(key, data)
        if is_ours and not (rivals and _yields(place, name, rivals)):
            return
        refuse_existing(place, _REPLACE)  # what came first may be gone again
    raise StoreError(f"{place.store}: the key {key!r} is neither there nor can it be created", key=key)


@holding
def _withdrawn_on_failure(place: StorePath, name: str) -> Iterator[None]:
    """Remove the document that makes a new node if what follows fails: half a node would read as a whole."""
    try:
        yield
    except BaseException:
        if place.store.supports_deletes:
            with writing(place, key := join_path(place.path, name)):
                place.store.delete(key)
        raise


def _yields(place: StorePath, name: str, rivals: Set[str]) -> bool:
    """Withdraw the document of a new node if there is one of another kind or format; return if so."""
    # These have different documents, so a creator of each may have stored its own.  Whoever stored the last
    # one sees the others, so at least one of them withdraws.  Where all do, that of format 3 is tried again,
    # else the array, and the others fail.
    store, others = place.store, [join_path(place.path, rival) for rival in sorted(rivals)]
    with _withdrawn_on_failure(place, name), writing(place, key := join_path(place.path, name)):
        if not store.supports_deletes or not (found := _existing(store, others)):
            return False
        store.delete(key)
    # From now on a document of this name is somebody else's, and stays whatever fails.
    if name in _V2_KINDS and found[-1].endswith(ZARR_JSON):
        refuse_existing(place, _REPLACE)
        raise ContainsArrayError(f"a node of format 3 is created {place._located} at the same time")
    if name == ZGROUP_JSON:
        raise ContainsArrayError(f"an array exists {place._located}")
    with writing(place):
        for delay in (0.001, 0.01, 0.1):  # the other creators may not have withdrawn theirs yet
            time.sleep(delay)
            if not _existing(store, others):
                break
    return True


def _existing(store: Store, keys: Sequence[str]) -> list[str]:
    return [key for key, exists in zip(keys, store._which_exist(keys), strict=True) if exists]


# --- the groups above ---


def create_parents(place: StorePath, zarr_format: int) -> list[StorePath]:
    """Create the groups above a place that are missing, and return them; no array may be among them."""
    return _store_parents(look_above(place, zarr_format).missing, zarr_format)


def _store_parents(missing: Sequence[StorePath], zarr_format: int) -> list[StorePath]:
    """Store groups that are missing, and return those that nobody else has made meanwhile."""
    made: list[StorePath] = []
    if not missing:
        return made
    store, documents = missing[0].store, empty_group(zarr_format).to_documents()
    together = is_stored_together(store)
    follow = documents_follow(missing, documents, without=missing if together else ())

    def store_group(place: StorePath) -> None:
        if _store_parent(place, documents):
            made.append(place)

    try:
        if together:
            several_at_once(store, store_group, missing)
        else:
            for place in missing:
                store_group(place)
    finally:
        if made:  # once for all: each of them would have all groups above it looked at
            follow()
    return made


def is_stored_together(store: Store) -> bool:
    """Return whether new nodes, one above the other, are stored at the same time: in a slow store.

    Not while the place of one of them may have to be waited for, which other threads must not do.
    """
    return store._concurrent_requests() > 0 and not is_anyone_creating()


def _store_parent(place: StorePath, documents: dict[str, bytes]) -> bool:
    """Store a group that is missing; return whether it was not somebody else who has just made it."""
    try:
        # Whoever is making an array there removes all that is there, if that fails.
        with after_others(place), among_processes(place):
            _store_alone(place, documents)
    except ContainsGroupError:
        return False
    return True


def _store_with_groups(place: StorePath, documents: dict[str, bytes], missing: Sequence[StorePath]) -> None:
    """Store a new node at the same time as the groups above it that are missing, in a slow store.

    It is withdrawn if one of these cannot be stored, as where somebody makes an array there.
    """
    (deciding,) = documents.keys() & _DECIDING
    zarr_format = 3 if deciding == ZARR_JSON else 2
    groups: Callable[[], object] = partial(_store_parents, missing, zarr_format)
    node: Callable[[], object] = partial(_store_new, place, documents, replaces=False)
    of_groups, of_node = several_at_once(place.store, _error_of, (groups, node))
    if of_node is not None:
        raise of_groups or of_node
    with _withdrawn_on_failure(place, deciding):
        if of_groups is not None:
            raise of_groups


def _error_of(call: Callable[[], object]) -> BaseException | None:
    try:
        call()
    except BaseException as error:
        return error
    return None


def empty_group(zarr_format: int) -> GroupMetadata:
    from zarrcore.metadata import GroupMetadata

    return GroupMetadata(attributes={}, zarr_format=zarr_format)


# --- removing ---


def delete_node(place: StorePath, follow: Follow | None = None) -> None:
    """Remove a node and everything below it.

    `follow` is that of :func:`removal_follows`, where a slow store was asked for more at the same time.
    """
    place.store._check_writable()
    refuse_inside(place)
    note_change(place, removed=True)
    if place.store.supports_deletes:
        # First: a copy would show an array that a crash has left without some chunks.
        (follow or removal_follows(place))()
    from zarrcore.nodes.walk import documents_below

    follow_again = tree_follows(place, lambda: documents_below(place))
    try:
        _erase(place)
    except BaseException:
        follow_again()  # without documents, what is left are chunks
        if read_node(place) is None:
            note_loss(place)
        raise
    note_loss(place)
    if wait_for_writes(place):  # what they have stored since would be found by the next node here
        _erase(place)
    # Who was changing a document meanwhile has put it into the copy, and there may be a new node.
    follow_again()
    debug("removed %s", place)


def _erase(place: StorePath) -> None:
    """Remove all keys; who creates a node there with its values, in whichever process, is waited for."""
    with place.store._alone(place.path, makes=False), writing(place, key_prefix(place.path)):
        place.store.erase_prefix(place.path)
