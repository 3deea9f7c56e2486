"""Consolidated metadata follow the changes that this process makes to nodes below their groups.

Copies that open groups have are marked as stale.  Those in stores are changed as JSON, so that members of
other programs stay as they are, and one node whose document is not valid keeps nobody from changing another.
A node's own documents are stored first: a change that is interrupted leaves a copy of what was there before.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from operator import attrgetter
from typing import Any

from zarrcore._locks import Rank, holding, ranked
from zarrcore._typed import NamedTuple
from zarrcore._weak import WeakSet
from zarrcore.errors import BaseZarrError, ZarrUserWarning, shown
from zarrcore.metadata import (
    ZARR_JSON,
    ZARRAY_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    dump_document,
    load_document,
)
from zarrcore.metadata.documents import stored_bytes
from zarrcore.nodes import users
from zarrcore.nodes.reading import begun, document_at, get_many, reading
from zarrcore.nodes.versions import Versions, repeated, store_version
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, key_prefix

Nodes = dict[str, Any]
_Change = Callable[[Nodes, str], None]

_V2_NAMES = (ZARRAY_JSON, ZGROUP_JSON, ZATTRS_JSON)
_MARK = b'"consolidated_metadata"'
_MOST_KNOWN = 1000


# --- locks of documents, and copies in open groups ---


def document_lock(place: StorePath, name: str = ZARR_JSON) -> Any:
    """Return the lock of the metadata of a node, for a ``with`` statement.

    Held by changes that depend on what they find, so that no thread undoes another one's.  It is a lock of a
    key (see ``engine.KeyLock``), so changes of other nodes do not wait for it, and who has it cannot take it
    again.  Who has that of a node takes no other locks of metadata than those of the groups above it.  In
    format 2, consolidated metadata are a document (`name`) that has a lock of its own.
    """
    from zarrcore._core.engine import KeyLock

    return ranked(KeyLock(place.store._place(place.path, documents=True), name), Rank.DOCUMENTS)


class KeptCopy:
    """A copy of the metadata of all nodes below a place, that of an open group.

    `is_stale`: this process has changed one of those nodes since.
    """

    __slots__ = ("__weakref__", "_address", "is_stale")

    def __init__(self, place: StorePath) -> None:
        self.is_stale = False
        self._address = place._address
        _copies.add(self)


_copies: WeakSet[KeptCopy] = WeakSet()


def look_back(copy: KeptCopy, known: tuple[bytes, int]) -> None:
    """Mark a copy as stale if this process has changed anything since."""
    process, changes = known
    if process == users.process() and changes != users.changes:
        copy.is_stale = True


def copy_since(place: StorePath, known: tuple[bytes, int]) -> KeptCopy:
    """Return the copy below a place that was read since then."""
    copy = KeptCopy(place)
    look_back(copy, known)
    return copy


_consolidations = object()  # another one when this process begins to collect nodes for a copy, or stores one


def consolidations() -> object:
    """Return what is another object when a copy was made in this process since."""
    return _consolidations


def note_consolidation() -> None:
    """Note that nodes are about to be collected for a copy, or a copy stored: others have to look for it."""
    global _consolidations
    _consolidations = object()


def note_change(place: StorePath, *, removed: bool = False) -> None:
    """Mark the copies of a node's documents as stale, in open groups and where they are being made."""
    users.note_documents()  # first: copies that begin to be known meanwhile look for that
    if _copies:
        changed = place._address
        for copy in _copies:
            ours = copy._address  # the document of the group itself is not in the copy
            if (changed != ours and changed.startswith(ours)) or (removed and ours.startswith(changed)):
                copy.is_stale = True


# --- copies in stores ---


Follow = Callable[[], None]
"""Brings copies up to date, once what was announced has been stored or removed."""


def follow_documents(
    places: Sequence[StorePath], documents: dict[str, bytes], without: Sequence[StorePath] = ()
) -> None:
    """Bring the copies above nodes up to date after the documents that all of them have were stored.

    Each of several places lies above the next one.  The groups `without` a copy are not looked at.
    """
    documents_follow(places, documents, without)()


def documents_follow(
    places: Sequence[StorePath],
    documents: dict[str, bytes],
    without: Sequence[StorePath] = (),
    since: object = None,
) -> Follow:
    """Begin to look for copies above nodes whose documents are about to be stored; see `follow_documents`.

    A slow store has answered by the time when the documents are there.  A first copy that another process
    makes within that time may lack the change, as one may that is made during any change.  One that this
    process has begun to make since the `since` of `consolidations` is looked for, `without` or not.
    """
    last, name = places[-1], ZARR_JSON if ZARR_JSON in documents else ZMETADATA_V2_JSON
    groups = [*last._above()]
    if not documents.keys() & {ZARR_JSON, ZARRAY_JSON}:
        if ZMETADATA_V2_JSON in documents:
            return _nothing_follows
        groups.append(last)  # in format 2 the copy has the group's own attributes as well

    def change(nodes: Nodes, path: str) -> None:
        skip = len(last.path) - len(path)
        group = last.path[:skip].rstrip("/")
        for place in places:
            if len(place.path) > skip:
                _put_stored(nodes, place.path[skip:], place, documents)
            elif place.path == group and name == ZMETADATA_V2_JSON:
                _put(nodes, "", documents)

    return _follow(last, groups, (name,), change, without=without, since=since)


def follow_removal(place: StorePath) -> None:
    """Take a node, and all below it, out of the copies above it after they have been removed."""
    removal_follows(place)()


def removal_follows(place: StorePath) -> Follow:
    """Begin to look for the copies of :func:`follow_removal`."""
    return _follow(place, place._above(), (ZARR_JSON, ZMETADATA_V2_JSON), _remove, removed=True)


def follow_tree(place: StorePath, documents_below: Callable[[], dict[str, dict[str, bytes]]]) -> None:
    """Bring the copies above a place up to date after nodes have come there.

    `documents_below` returns the documents of all nodes at the place and below, by path in the store; it is
    called only if there is a copy.
    """
    tree_follows(place, documents_below)()


def tree_follows(place: StorePath, documents_below: Callable[[], dict[str, dict[str, bytes]]]) -> Follow:
    """Begin to look for the copies of :func:`follow_tree`."""

    def change(nodes: Nodes, path: str) -> None:
        _remove(nodes, path)
        for below, documents in documents_below().items():
            _put(nodes, below[len(place.path) - len(path) :], documents)

    return _follow(place, place._above(), (ZARR_JSON, ZMETADATA_V2_JSON), change)


def _nothing_follows() -> None:
    pass


def _follow(
    place: StorePath,
    groups: Sequence[StorePath],
    names: Sequence[str],
    change: _Change,
    *,
    removed: bool = False,
    without: Sequence[StorePath] = (),
    since: object = None,
) -> Follow:
    """Begin to look for the copies of some groups; a change of a place is applied to them when that is made.

    The change gets the path of the place below each group.
    """
    if not groups or not place.store.supports_consolidated_metadata:
        return _nothing_follows
    since = consolidations() if since is None else since
    followed = _Followed(place, tuple(groups), tuple(names), change, removed, tuple(without), since)
    waiting = _waiting.get()
    following = _Following([followed]) if waiting is None else None

    def follow() -> None:
        # Whoever has read the node before it was stored may be about to make a copy of what was there.
        note_change(place, removed=removed)
        if following is not None:
            following.bring_up_to_date()
        elif waiting is not None:
            waiting.append(followed._replace(groups=followed.asked()))

    return follow


class _Followed(NamedTuple):
    """A change of a place that some documents of the groups above are to follow."""

    place: StorePath
    groups: tuple[StorePath, ...]
    names: tuple[str, ...]
    change: _Change
    removed: bool
    without: tuple[StorePath, ...]  # groups that had no copy when `consolidations` was
    since: object

    def asked(self) -> tuple[StorePath, ...]:
        """Return the groups that may have a copy: all of them if this process has begun to make one since."""
        is_known = consolidations() == self.since
        return tuple(group for group in self.groups if not (is_known and group in self.without))


#: Changes that the copies follow later.
_waiting: ContextVar[list[_Followed] | None] = ContextVar("_waiting", default=None)


@holding
def followed_at_once() -> Iterator[None]:
    """Have the copies in stores follow all changes of a block at its end, in one step for each document.

    Others who read them see the nodes as they were before the block or as they are after it, not half of
    its changes.
    """
    waiting: list[_Followed] = []
    outer = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(outer)
        of_stores: dict[int, list[_Followed]] = {}
        for followed in filter(attrgetter("groups"), waiting):
            of_stores.setdefault(id(followed.place.store), []).append(followed)
        for changes in of_stores.values():
            _Following(changes).bring_up_to_date()


def number_waiting() -> int:
    """Return how many changes the copies follow later."""
    return len(_waiting.get() or ())


def note_copied(group: StorePath, n: int) -> None:
    """Note that a new copy of all nodes below a group has the first n of the changes that it would follow."""
    waiting = _waiting.get() or []
    for number, followed in enumerate(waiting[:n]):
        if followed.place.store is group.store:
            others = tuple(above for above in followed.groups if above.path != group.path)
            waiting[number] = followed._replace(groups=others)


class _Following:
    """Changes in one store, and the documents that may have copies of what they change.

    A slow store is asked for these at once, and has answered when the changes have been made.
    """

    def __init__(self, changes: list[_Followed]) -> None:
        self._changes = changes
        self._following: dict[tuple[str, str], tuple[StorePath, list[_Followed]]] = {}
        for followed in changes:
            for group in followed.groups:
                for name in followed.names:
                    of_document = self._following.setdefault((group.path, name), (group, []))
                    of_document[1].append(followed)
        self._n_before, store = consolidations(), changes[0].place.store
        self._asked: list[tuple[StorePath, str]] = []
        self._values: Callable[[], Sequence[Any]] | None = None
        if store._concurrent_requests():
            found = ((group, name) for each in changes for group in each.asked() for name in each.names)
            self._asked = [*{(group.path, name): (group, name) for group, name in found}.values()]
            self._values = begun(store, lambda document: document_at(*document), self._asked)

    def _found(self) -> list[tuple[StorePath, str]]:
        """Return the documents, by group and name, that have copies."""
        values = None if self._values is None else self._values()
        if values is None or consolidations() != self._n_before:  # new copies may lack what was stored since
            return _with_copies([(group, name) for (_, name), (group, _) in self._following.items()])
        each = zip(self._asked, values, strict=True)
        return [(group, name) for (group, name), value in each if _has_copy(name, value)]

    def bring_up_to_date(self) -> None:
        """Apply the changes, in their order, to the copies in each document that follows them."""
        place = self._changes[-1].place
        found: list[tuple[StorePath, str]] = []
        try:
            found = self._found()
            for group, name in found:
                with document_lock(group, name):
                    repeated(partial(_apply, self._following[group.path, name][1], group, name))
        except (BaseZarrError, OSError) as error:
            warnings.warn(
                f"the change of {place} is stored, but consolidated metadata above it could not be updated: "
                f"{shown(error)}; call consolidate_metadata() to refresh them",
                ZarrUserWarning,
                stacklevel=2,
            )
        finally:  # who has read a document just before has what it was
            for changed in self._changes if found else ():
                note_change(changed.place, removed=changed.removed)


def _has_copy(name: str, value: Any) -> bool:
    return value is not None and (name != ZARR_JSON or _MARK in stored_bytes(value, where=name))


def _with_copies(documents: Sequence[tuple[StorePath, str]]) -> list[tuple[StorePath, str]]:
    """Return those documents, by group and name, that have consolidated metadata."""
    # Where it costs next to nothing to see that a document has not changed, it is not read again.
    place = documents[0][0]
    known = _without_copy(place.store)
    unknown: dict[str, tuple[StorePath, str, Any]] = {}
    for group, name in documents:
        key = key_prefix(group.path) + name
        version = place.store._version(key)
        if version is None or (version and known.get(key) != version):
            unknown[key] = group, name, version
    found = []
    values = get_many(place, [*unknown]) if unknown else ()
    for key, value in zip(unknown, values, strict=True):
        group, name, version = unknown[key]
        if _has_copy(name, value):
            found.append((group, name))
        elif version is not None:
            _note(known, key, version)
    return found


def _without_copy(store: Store) -> dict[str, Any]:
    """Return the versions of documents of a store that were found to have no consolidated metadata."""
    return vars(store).setdefault("_documents_without_copy", {})  # type: ignore[no-any-return]


def _note(known: dict[str, Any], key: str, version: object) -> None:
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[key] = version


def note_group(store: Store, key: str, version: object) -> None:
    """Note that a document was, in a version, that of a group without consolidated metadata."""
    if version:
        _note(_without_copy(store), key, version)
        _note(vars(store).setdefault("_groups_without_copy", {}), key, version)


def is_unchanged(store: Store, key: str, version: object, *, is_group: bool) -> bool:
    """Return whether a document had this version when it was last read, if it is known that it is a group's.

    Without `is_group` the caller knows that, and documents that nobody has noted as such count too.
    """
    name = "_groups_without_copy" if is_group else "_documents_without_copy"
    return bool(version) and vars(store).get(name, {}).get(key) == version


def _apply(changes: list[_Followed], group: StorePath, name: str, versions: Versions) -> None:
    prefix = key_prefix(group.path)
    key = prefix + name
    with reading(group, key):
        data, versions[name] = group.store._get_version(key)
    if data is None:
        return
    document = load_document(data, where=key)
    nodes = _nodes_in(document, is_v3=name == ZARR_JSON)
    if nodes is None:
        return
    before = dict(nodes)
    for followed in changes:
        followed.change(nodes, followed.place.path[len(prefix) :])
    if nodes != before:
        store_version(group, name, dump_document(document, where=key), versions)


def _nodes_in(document: dict[str, Any], *, is_v3: bool) -> Nodes | None:
    """Path (format 3) or key (format 2) -> document; None if the document has no copy of a known form."""
    holder: Any = document.get("consolidated_metadata") if is_v3 else document
    if not isinstance(holder, dict) or (is_v3 and holder.get("kind") != "inline"):
        return None
    nodes = holder.get("metadata")
    return nodes if isinstance(nodes, dict) else None


def _put(nodes: Nodes, path: str, documents: dict[str, bytes]) -> None:
    """Replace the entry of one node in a copy by its documents."""
    for name, data in documents.items():
        key = join_path(path, name)
        if name == ZARR_JSON:
            nodes[path] = load_document(data, where=key)
            nodes[path].pop("consolidated_metadata", None)
        elif name in _V2_NAMES:
            nodes[key] = load_document(data, where=key)


def _put_stored(nodes: Nodes, path: str, place: StorePath, documents: dict[str, bytes]) -> None:
    """Replace the entry of one node, some of whose documents were stored, by what is there now.

    Another thread may have removed or replaced the node since, and have brought the copy up to date before.
    """
    names = (ZARR_JSON,) if ZARR_JSON in documents else _V2_NAMES
    values = get_many(place, [join_path(place.path, name) for name in names])
    found = zip(names, values, strict=True)
    stored = {name: stored_bytes(value, where=name) for name, value in found if value is not None}
    if ZARRAY_JSON in stored:  # which is what a reader sees
        stored.pop(ZGROUP_JSON, None)
    for name in names:
        if name not in stored:
            nodes.pop(path if name == ZARR_JSON else join_path(path, name), None)
    _put(nodes, path, stored)


def _remove(nodes: Nodes, path: str) -> None:
    for name in [name for name in nodes if name == path or name.startswith(f"{path}/")]:
        del nodes[name]
