"""Creating and removing nodes: their documents, and those of the groups above them that are missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from zarrcore._locks import holding
from zarrcore._log import debug
from zarrcore._typed import NamedTuple
from zarrcore._typing import Overwrite
from zarrcore._validate import MAX_LEVELS
from zarrcore.errors import (
    BaseZarrError,
    ContainsArrayError,
    ContainsGroupError,
    InvalidKeyError,
    StoreError,
)
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON
from zarrcore.nodes import documents as node_documents
from zarrcore.nodes import users
from zarrcore.nodes.copies import (
    follow_documents,
    follow_removal,
    follow_tree,
    followed_at_once,
    is_unchanged,
    note_change,
    note_group,
)
from zarrcore.nodes.documents import Metadata, is_array_metadata
from zarrcore.nodes.find import parse_node, read_node
from zarrcore.nodes.foreign import refuse_foreign
from zarrcore.nodes.reading import at_once, reading, several_at_once, writing
from zarrcore.nodes.reserved import after_others, among_processes, reserved
from zarrcore.nodes.users import note_loss, wait_for_writes
from zarrcore.nodes.versions import Versions, store_version
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, key_prefix

if TYPE_CHECKING:
    from zarrcore.metadata import GroupMetadata

_DECIDING = {ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON}  # the documents that make a place a node
_V2_KINDS = {ZARRAY_JSON, ZGROUP_JSON}
_ATTEMPTS = 3
_EXISTS = ContainsArrayError, ContainsGroupError
_REPLACE = "; overwrite=True replaces it"  # the way out of an error
_CANNOT_ERASE = ", and this store cannot remove it: write to another path, or to another store"


def store_documents(place: StorePath, documents: dict[str, bytes], versions: Versions | None = None) -> None:
    """Store the metadata documents of a node, replacing those that are there.

    If another process has replaced one of the `versions` that were read, by name, Outdated is raised.
    """
    store_unfollowed(place, documents, versions)
    follow_documents([place], documents)


def store_unfollowed(place: StorePath, documents: dict[str, bytes], versions: Versions | None = None) -> None:
    """Store documents as :func:`store_documents`; the caller has consolidated metadata above follow."""
    note_change(place)
    for name in sorted(documents, key=_DECIDING.__contains__):  # last what makes it a node
        store_version(place, name, documents[name], versions)


def create_node(
    place: StorePath, metadata: Metadata, *, overwrite: Overwrite = False, group: StorePath | None = None
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

    Raises
    ------
    ContainsArrayError, ContainsGroupError
        If there is a node already, or an array above the place.
    ForeignDataError, InvalidKeyError
        If what would be removed is not Zarr's alone; if no node can have the name.
    """
    documents = metadata.to_documents()  # first: nothing is removed for metadata that cannot be stored
    with after_others(place):
        for attempts_left in reversed(range(_ATTEMPTS)):
            replaces, _, made = _clear_the_way(place, metadata.zarr_format, overwrite=overwrite, group=group)
            try:
                with among_processes(place):
                    _store_new(place, documents, replaces=replaces)
                break
            except BaseException as error:
                if overwrite and attempts_left and isinstance(error, _EXISTS):
                    continue  # somebody was faster after the place was cleared: that is replaced as well
                _note_removal(error, place, replaces)
                raise
    # To see that groups which have just been made have no copies would take another wave.
    follow_documents([place], documents, without=made if place.store._concurrent_requests() else ())
    debug("created %s", place)


@holding
def new_node(place: StorePath, metadata: Metadata, *, overwrite: Overwrite = False) -> Iterator[bool]:
    """A place for a node whose documents are stored when the block ends, once all its chunks are there.

    Transactions that take no chunks without a node, and show nothing before they end, get them first.

    If the block fails there is no node, and what it stored is removed again where nothing else can have
    been.  The parameters and errors are those of :func:`create_node`; the block receives whether nothing lies
    at the place yet.
    """
    documents = metadata.to_documents()
    with (
        reserved(place),
        _cleared(place, metadata.zarr_format, overwrite) as (replaces, is_new),
        # Who removes or moves what is above waits for the end: else chunks from before would be missing.
        users.writing(users.Made(place)),
    ):
        yield from _made_last(place, documents, replaces, is_new)


@holding
def _cleared(place: StorePath, zarr_format: int, overwrite: Overwrite) -> Iterator[tuple[bool, bool]]:
    """Clear the way, and keep other processes away; what one of them has created before is cleared as well.

    Yields whether the new node replaces whatever was there, and whether it is certain that nothing was.
    """
    for attempts_left in reversed(range(_ATTEMPTS)):
        replaces, is_new, _ = _clear_the_way(place, zarr_format, overwrite=overwrite)
        with among_processes(place, with_values=True):
            if overwrite and attempts_left and place.store._is_near and read_node(place) is not None:
                continue
            yield replaces, is_new
            return


def _made_last(place: StorePath, documents: dict[str, bytes], replaces: bool, is_new: bool) -> Iterator[bool]:
    store = place.store
    if store._is_near:  # where another process may have been waited for
        refuse_existing(place, _REPLACE)
    with writing(place, key_prefix(place.path)):
        is_new = is_new or (store.supports_listing and store.is_empty(place.path))
    is_made = False
    try:
        if store._nodes_first:
            _store_new(place, documents, replaces=replaces)
            is_made = True
            follow_documents([place], documents)
        yield is_new
        if not is_made:
            _store_new(place, documents, replaces=replaces)
            follow_documents([place], documents)
    except BaseException as error:  # if there is a node that is not ours, somebody else made it
        _note_removal(error, place, replaces)
        if is_new and store.supports_deletes and (is_made or read_node(place) is None):
            with writing(place, key_prefix(place.path)):
                store.erase_prefix(place.path)
        raise


def _note_removal(error: BaseException, place: StorePath, replaces: bool) -> None:
    if replaces:
        error.add_note(f"overwrite had removed already whatever was {place._located}")


def _clear_the_way(
    place: StorePath, zarr_format: int, *, overwrite: Overwrite, group: StorePath | None = None
) -> tuple[bool, bool, list[StorePath]]:
    """Make sure that a node can be stored at a place: nothing is there any more, and groups are above it.

    Returns whether the new node replaces whatever was there, whether it is certain that nothing was, and the
    groups that were made.
    """
    store = place.store
    store._check_writable()
    if isinstance(overwrite, str) and overwrite != "all":
        raise ValueError(f'overwrite: expected True, False or "all", got {overwrite!r}')
    refuse_bad_name(place.path)
    with writing(place):
        missing, is_new = _look_above(place, zarr_format, group, claims=True)
    replaces = bool(overwrite) and not is_new and store._can_erase(place.path)
    if replaces:
        with among_processes(place):
            if overwrite != "all":
                refuse_foreign(place)
            delete_node(place)
    elif not is_new:
        refuse_existing(place, _CANNOT_ERASE if overwrite else _REPLACE)
    return replaces, is_new, _store_parents(missing, zarr_format)


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
    found = read_node(place)
    if found is None:
        return
    if is_array_metadata(found):
        raise ContainsArrayError(f"an array exists {place._located}{hint}")
    raise ContainsGroupError(f"a group exists {place._located}{hint}")


def _store_new(place: StorePath, documents: dict[str, bytes], *, replaces: bool) -> None:
    """Store the documents of a new node, only if nobody was faster; consolidated metadata do not follow yet.

    In format 3, one that replaces what was there is stored in any case where looking costs a request.
    """
    if replaces and ZARR_JSON in documents and not place.store._is_near:
        store_unfollowed(place, documents)
        return
    if replaces:  # so that it is never seen without its attributes: who is faster is replaced as well
        store_unfollowed(place, {name: documents[name] for name in documents.keys() - _DECIDING})
        documents = {name: documents[name] for name in documents.keys() & _DECIDING}
    # Where it costs next to nothing, creators in the other format are looked for as well.
    _store_alone(place, documents, rivals=_DECIDING if place.store._is_near else _V2_KINDS)


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
        for delay in (
            0.001,
            0.01,
            0.1,
        ):  # for the other creators to withdraw theirs, if they are not finished
            time.sleep(delay)
            if not _existing(store, others):
                break
    return True


def _existing(store: Store, keys: Sequence[str]) -> list[str]:
    return [key for key, exists in zip(keys, store._which_exist(keys), strict=True) if exists]


# --- the groups above ---


def create_parents(place: StorePath, zarr_format: int) -> list[StorePath]:
    """Create the groups above a place that are missing, and return them; no array may be among them."""
    missing, _ = _look_above(place, zarr_format)
    return _store_parents(missing, zarr_format)


def _store_parents(missing: Sequence[StorePath], zarr_format: int) -> list[StorePath]:
    made: list[StorePath] = []
    if not missing:
        return made
    documents = _empty_group(zarr_format).to_documents()
    try:
        for place in missing:
            try:
                # Whoever is making an array there removes all that is there, if that fails.
                with after_others(place), among_processes(place):
                    _store_alone(place, documents)
            except ContainsGroupError:  # somebody else has just made it
                continue
            made.append(place)
    finally:
        if made:  # once for all: each of them would have all groups above it looked at
            follow_documents(made, documents)
    return made


def _empty_group(zarr_format: int) -> GroupMetadata:
    from zarrcore.metadata import GroupMetadata

    return GroupMetadata(attributes={}, zarr_format=zarr_format)


class _Above(NamedTuple):
    """A place above a new node of which it is not known whether a group is there."""

    place: StorePath
    key: str  # of the document that a group has there
    version: Any  # of that, before it is read
    is_opened: bool  # by whoever creates: there was a group then


def _unknown_above(place: StorePath, zarr_format: int, group: StorePath | None) -> list[_Above]:
    """Return the places above that have to be looked at, from the place up; see :func:`create_node`."""
    unknown: list[_Above] = []
    name = ZARR_JSON if zarr_format == 3 else ZGROUP_JSON
    store, is_slow = place.store, place.store._concurrent_requests() > 0
    while place.path:
        place = place.parent
        key = join_path(place.path, name)
        is_opened = group is not None and place.path == group.path
        # Before it is read.  In format 2 nobody notes documents of groups that have been read already.
        version = None if is_opened and zarr_format == 2 else store._version(key)
        is_known = is_unchanged(store, key, version, is_group=not is_opened)
        if is_opened and (is_known or (not is_slow and store.exists(key))):
            break
        if not is_known:
            unknown.append(_Above(place, key, version, is_opened))
        if is_opened and is_slow:  # it is looked at together with all else, and most probably there
            break
    return unknown


def _look_above(
    place: StorePath, zarr_format: int, group: StorePath | None = None, *, claims: bool = False
) -> tuple[list[StorePath], bool]:
    """Return the places above that have no node yet, from the root down, and whether the place is empty.

    That is certain or False, and looked for if this `claims` the place.  No array may be above, and no node
    of format 2 where a group of format 3 would be made, which would hide all that is there.
    """
    store, unknown = place.store, _unknown_above(place, zarr_format, group)
    claim: Callable[[], bool] = partial(store._claim, place.path) if claims else bool
    if store._concurrent_requests():
        missing, is_new = _look_at_once(store, unknown, zarr_format, claim)
        if group is not None and group in missing:  # somebody has removed it, and perhaps those above
            return _look_above(place, zarr_format, claims=claims)
        return missing, is_new
    missing = _missing(unknown, (read_node(above.place, zarr_format) for above in unknown), zarr_format)
    for above, name in _hidden(missing[::-1], zarr_format):
        if store.exists(join_path(above.path, name)):
            raise _hides(above, name)
    return missing, claim()


def _look_at_once(
    store: Store, unknown: Sequence[_Above], zarr_format: int, claim: Callable[[], bool]
) -> tuple[list[StorePath], bool]:
    """Return what :func:`_look_above` does; a slow store is asked for everything in one wave."""
    places, names = [above.place for above in unknown], node_documents.NAMES[zarr_format]
    hidden = _hidden([above.place for above in unknown if not above.is_opened], zarr_format)
    looks: list[Callable[[], Any]] = [
        *(partial(_document, above, name) for above in places for name in names),
        *(partial(store.exists, join_path(above.path, name)) for above, name in hidden),
        claim,
    ]
    *found, is_new = at_once(store, lambda look: look(), looks)
    values = iter(found)
    stored = [{name: value for name in names if (value := next(values)) is not None} for _ in places]
    nodes = (parse_node(above, zarr_format, each) for above, each in zip(places, stored, strict=True))
    missing = _missing(unknown, nodes, zarr_format)
    for (above, name), is_there in zip(hidden, values, strict=True):
        if is_there and above in missing:
            raise _hides(above, name)
    return missing, is_new


def _document(place: StorePath, name: str) -> Any:
    key = join_path(place.path, name)
    with reading(place, key):
        return place.store.get(key)


def _missing(
    unknown: Sequence[_Above], nodes: Iterable[Metadata | None], zarr_format: int
) -> list[StorePath]:
    """Return the places at which no node was found, from the root down; no array may be there."""
    missing: list[StorePath] = []
    for (place, key, version, is_opened), found in zip(unknown, nodes, strict=True):
        if found is None:
            if is_opened:
                refuse_hidden(place, zarr_format)
            missing.append(place)
        elif is_array_metadata(found):
            raise ContainsArrayError(f"an array exists {place._located}; no node can be below it")
        elif found.without_consolidated() is found:
            note_group(place.store, key, version)
    return missing[::-1]


def refuse_hidden(group: StorePath, zarr_format: int) -> None:
    """Refuse to create nodes by a group of format 2 that has become one of format 3 and would hide them."""
    if zarr_format == 2 and group.store.exists(join_path(group.path, ZARR_JSON)):
        raise ContainsGroupError(f"the group {group._located} has become one of format 3: open it again")


def _hidden(places: Sequence[StorePath], zarr_format: int) -> list[tuple[StorePath, str]]:
    """Documents of format 2 that a new group of this format would hide at one of some places."""
    return [(place, name) for place in places for name in (ZARRAY_JSON, ZGROUP_JSON) if zarr_format == 3]


def _hides(place: StorePath, name: str) -> BaseZarrError:
    is_array = name == ZARRAY_JSON
    return (ContainsArrayError if is_array else ContainsGroupError)(
        f"{'an array' if is_array else 'a group'} of format 2 exists {place._located}, which a node "
        "of format 3 below it would hide: create it with zarr_format=2, or migrate that first"
    )


# --- many nodes ---


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

    is_slow = place.store._concurrent_requests() > 0
    for _, level in groupby(sorted(checked, key=_by_depth), lambda path: _by_depth(path)[0]):
        targets = {path: place / path if path else place for path in level}
        with followed_at_once():
            made = _create_implied(place, targets, checked)
            if is_slow:
                _create_together(targets, checked, overwrite)
        yield from made
        for path, target in targets.items():
            if not is_slow:
                create_node(target, checked[path], overwrite=overwrite)
            yield path, target, checked[path]


def _create_implied(
    place: StorePath, targets: Mapping[str, StorePath], nodes: Mapping[str, Metadata]
) -> list[tuple[str, StorePath, Metadata]]:
    """Create the groups that nodes of one depth need and nobody gives; return those from `place` down."""
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
        (path[len(prefix) :], group, _empty_group(zarr_format))
        for path, group in sorted(made.items())
        if path == place.path or path.startswith(prefix)
    ]


def _create_together(
    targets: Mapping[str, StorePath], nodes: Mapping[str, Metadata], overwrite: Overwrite
) -> None:
    """Create nodes of one depth in a slow store at the same time; the groups above them are there."""

    def create(path: str) -> None:
        target = targets[path]
        group = target.parent if target.path else None
        create_node(target, nodes[path], overwrite=overwrite, group=group)

    for _ in several_at_once(next(iter(targets.values())).store, create, targets):
        pass


def _by_depth(path: str) -> tuple[int, str]:
    return len(path and path.split("/")), path


def _alone(metadata: Metadata) -> Metadata:
    return metadata if is_array_metadata(metadata) else metadata.without_consolidated()


# --- removing ---


def delete_node(place: StorePath) -> None:
    """Remove a node and everything below it."""
    place.store._check_writable()
    note_change(place, removed=True)
    if place.store.supports_deletes:
        follow_removal(place)  # first: a copy would show an array that a crash has left without some chunks
    from zarrcore.nodes.walk import documents_below

    try:
        with writing(place, key_prefix(place.path)):
            place.store.erase_prefix(place.path)
    except BaseException:
        follow_tree(place, lambda: documents_below(place))  # without documents, what is left are chunks
        if read_node(place) is None:
            note_loss(place)
        raise
    note_loss(place)
    if wait_for_writes(place):  # what they have stored since would be found by the next node here
        with writing(place, key_prefix(place.path)):
            place.store.erase_prefix(place.path)
    # Again: who was changing a document meanwhile has put it into the copy, and there may be a new node.
    follow_tree(place, lambda: documents_below(place))
    debug("removed %s", place)
