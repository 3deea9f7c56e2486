"""From formats 1 and 2 to format 3, in place: new metadata documents for the chunks that are there.

No chunk is read, moved or written.  Everything is converted before anything is stored, so that a hierarchy
that cannot be converted as a whole is left as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from zarrcore._log import info
from zarrcore._records import dataclass
from zarrcore.errors import BaseZarrError, ConflictError, GroupNotFoundError, shown
from zarrcore.metadata import (
    ZARR_JSON,
    ZARRAY_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    ConsolidatedMetadata,
    GroupMetadata,
)
from zarrcore.metadata.upgrade import upgraded
from zarrcore.nodes import documents
from zarrcore.nodes.copies import document_lock, follow_tree
from zarrcore.nodes.create import store_unfollowed
from zarrcore.nodes.find import leads_on, read_documents, refuse_level
from zarrcore.nodes.open import absent
from zarrcore.nodes.reading import has_value, keys_below, names_below, reading, remove_values
from zarrcore.nodes.walk import documents_below
from zarrcore.progress import Progress, Step, reporting
from zarrcore.storage import StoreLike, StorePath, make_store_path
from zarrcore.storage.validation import join_path, key_prefix, node_names

__all__ = [
    "MigratedNode",
    "MigrationError",
    "MigrationReport",
    "migrate",
    "migrate_v2_to_v3",
    "remove_metadata",
]

_OLD_NAMES = {2: (ZARRAY_JSON, ZGROUP_JSON, ZATTRS_JSON, ZMETADATA_V2_JSON), 1: ("meta", "attrs")}
_OLD_NAMES[3] = _OLD_NAMES[2]
_IMPLIED = GroupMetadata(attributes={}, zarr_format=3)


@dataclass(frozen=True)
class MigratedNode:
    """What becomes of one node.

    Attributes
    ----------
    path : str
        Path of the node in the store.
    node_type : str
        ``"array"`` or ``"group"``.
    zarr_format : int or None
        The oldest format of its documents; None for a group that has none.
    metadata : ArrayV3Metadata or GroupMetadata or None
        Its metadata in format 3; None if it cannot have any.
    reason : str or None
        Why it cannot.
    is_stored : bool
        Whether its document of format 3 is in the store.
    notes : tuple of str
        What does not come along.

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.zeros(4, store=store, zarr_format=2)
    >>> print(migrate(store, dry_run=True).nodes[0])
    /: array, format 2 -> can be format 3
    """

    path: str
    node_type: str
    zarr_format: int | None
    metadata: Any = None
    reason: str | None = None
    is_stored: bool = False
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        state = (
            f"refused: {self.reason}" if self.reason else "format 3" if self.is_stored else "can be format 3"
        )
        was = "no document" if self.zarr_format is None else f"format {self.zarr_format}"
        change = "format 3 already" if self.zarr_format == 3 and not self.reason else f"{was} -> {state}"
        notes = "".join(f"; {note}" for note in self.notes)
        return shown(f"/{self.path}: {self.node_type}, {change}{notes}")


@dataclass(frozen=True, repr=False)
class MigrationReport:
    """What :func:`migrate` found and did.

    Attributes
    ----------
    nodes : tuple of MigratedNode
        All nodes, a group before what is in it.
    removed : tuple of str
        Keys of old documents that were removed, or would be.

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.zeros(4, store=store, zarr_format=2)
    >>> migrate(store)
    <MigrationReport: 1 nodes, 0 refused, 0 documents removed; print() shows each>
    """

    nodes: tuple[MigratedNode, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[MigratedNode, ...]:
        """The nodes that cannot be converted."""
        return tuple(node for node in self.nodes if node.reason is not None)

    def __repr__(self) -> str:
        counts = (
            f"{len(self.nodes)} nodes, {len(self.refused)} refused, {len(self.removed)} documents removed"
        )
        return f"<MigrationReport: {counts}; print() shows each>"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.nodes), *(shown(f"/{key}: removed") for key in self.removed)])


class MigrationError(BaseZarrError):
    """Some nodes cannot be converted, and nothing has been written.

    Attributes
    ----------
    report : MigrationReport
        All nodes, with the reasons.

    Examples
    --------
    >>> store = {}
    >>> dtype = zarrcore.dtype.PythonObject(object_codec_id="json2")
    >>> array = zarrcore.create_array(store, shape=4, dtype=dtype, zarr_format=2)
    >>> migrate(store)
    Traceback (most recent call last):
        ...
    zarrcore.migration.MigrationError: nothing was written:
    /: array, format 2 -> refused: dtype: Python objects cannot be stored in Zarr format 3
    """

    def __init__(self, report: MigrationReport) -> None:
        super().__init__("nothing was written:\n" + "\n".join(map(str, report.refused)))
        self.report = report

    def __reduce__(self) -> Any:
        return type(self), (self.report,)


def migrate(
    store: StoreLike,
    *,
    path: str = "",
    dry_run: bool = False,
    remove_old: bool = False,
    overwrite: bool = False,
    storage_options: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> MigrationReport:
    """Convert the metadata of a hierarchy of format 1 or 2 to format 3, in place.

    Chunks stay where and as they are.  Groups that only the paths of other nodes imply get a document.  Where
    there was consolidated metadata there is some in format 3.

    Parameters
    ----------
    store : store-like
        The store.
    path : str
        Path of the node at which to begin.
    dry_run : bool
        Write nothing, and raise nothing for nodes that cannot be converted: the report has them.
    remove_old : bool
        Remove the documents of the old format after all new ones have been stored.
    overwrite : bool
        Replace existing documents of format 3 that differ.
    storage_options : dict, optional
        Options of a remote store.
    progress : callable or True, optional
        Called as ``progress(done, total)`` with numbers of nodes, those known so far in `total`.  True shows
        a bar, which takes rich or tqdm.  What it raises ends the call; a later one goes on.

    Returns
    -------
    MigrationReport
        Every node, and what became of it.

    Raises
    ------
    GroupNotFoundError
        If there is no node.
    MigrationError
        If a node cannot be converted: its data type, fill value or codecs have no form in format 3 that reads
        the same bytes.  Nothing has been written.
    ConflictError
        If a node was changed after it was read.  Nothing has been removed, and its old documents hold.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.create_array(store, name="a", shape=4, dtype="i2", zarr_format=2)[...] = [1, 2, 3, 4]
    >>> print(zarrcore.migrate(store))
    /: group, format 2 -> format 3
    /a: array, format 2 -> format 3
    >>> zarrcore.open_array(store, path="a", zarr_format=3)[...]
    array([1, 2, 3, 4], dtype=int16)
    """
    mode = "r" if dry_run else "r+"
    place = make_store_path(store, path=path, mode=mode, storage_options=storage_options)
    with reporting(progress, "migrating", of_bytes=False) as step:
        return _migrate(
            place, place, dry_run=dry_run, remove_old=remove_old, overwrite=overwrite, step=step or _no_step
        )


def migrate_v2_to_v3(
    *, input_store: StoreLike, output_store: StoreLike = None, dry_run: bool = False
) -> MigrationReport:
    """Convert the metadata of a whole store to format 3; see :func:`migrate`.

    Parameters
    ----------
    input_store : store-like
        The store.
    output_store : store-like, optional
        Where the new documents go.  Default: next to the old ones.
    dry_run : bool
        Write nothing.

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.zeros(4, store=store, zarr_format=2)
    >>> migrate_v2_to_v3(input_store=store)
    <MigrationReport: 1 nodes, 0 refused, 0 documents removed; print() shows each>
    >>> zarrcore.open_array(store, zarr_format=3).metadata.zarr_format
    3
    """
    place = make_store_path(input_store, mode="r" if dry_run or output_store is not None else "r+")
    target = place if output_store is None else make_store_path(output_store, mode="r" if dry_run else "a")
    return _migrate(place, target, dry_run=dry_run)


def _no_step(done: int, total: int) -> None:
    pass


def _migrate(
    place: StorePath,
    target: StorePath,
    *,
    dry_run: bool,
    remove_old: bool = False,
    overwrite: bool = False,
    step: Step = _no_step,
) -> MigrationReport:
    if not dry_run:
        target.store._check_writable()
    found = [_checked(node, target, overwrite=overwrite) for node in _nodes(place)]
    step(0, len(found))
    if not found:
        raise absent(GroupNotFoundError, "array or group", place, None)
    nodes = tuple(_with_consolidated(place, found))
    removed = tuple(_old_keys(place, nodes)) if remove_old else ()
    report = MigrationReport(nodes, removed)
    if dry_run:
        step(len(nodes), len(nodes))
        return report
    if report.refused:
        raise MigrationError(report)
    seen: dict[str, list[Any]] = {}
    # The root comes last: as long as its document is missing, the hierarchy is opened in its old format.
    for done, node in enumerate(reversed(nodes)):
        step(done, len(nodes))
        if not node.is_stored:
            below, here = node.path[len(place.path) :].strip("/"), StorePath(place.store, node.path)
            with document_lock(here):
                seen[node.path] = _versions(here, node)
                _refuse_changed(here, node)
                store_unfollowed(target / below if below else target, node.metadata.to_documents())
    follow_tree(target, lambda: documents_below(target))
    for node in nodes:
        here = StorePath(place.store, node.path)
        if removed or (node.path in seen and seen[node.path] != _versions(here, node)):
            _refuse_changed(here, node)
    remove_values(place, removed)
    step(len(nodes), len(nodes))
    info("migrated %s to format 3: %s nodes", place, len(nodes))
    return replace(report, nodes=tuple(replace(node, is_stored=True) for node in nodes))


def _refuse_changed(place: StorePath, node: MigratedNode) -> None:
    """Refuse a node that somebody has changed since it was converted, such as by appending rows to it."""
    if node.zarr_format is None:  # a mere directory
        return
    now = _node(place)
    if now is None or now.reason or _documents(now) != _documents(node):
        raise ConflictError(
            f"{place}: the {node.node_type} was changed, replaced or removed while it was migrated, and its "
            "documents of the old format are those that hold: migrate once more"
        )


def _versions(place: StorePath, node: MigratedNode) -> list[Any]:
    """Return what differs once somebody has replaced old documents of a node, where that costs no request."""
    names = _OLD_NAMES.get(node.zarr_format or 0, ())
    return [place.store._noticed(join_path(place.path, name)) for name in names]


def _documents(node: MigratedNode) -> Any:
    return node.zarr_format, _plain(node.metadata).to_documents()


# --- finding the nodes


def _nodes(place: StorePath) -> list[MigratedNode]:
    """Return all nodes at and below a place, groups before what is in them."""
    nodes: list[MigratedNode] = []
    linked: set[str] = set()
    without: list[StorePath] = []  # the innermost places without a document that the current one is in
    stack = [place]  # and not calls, because a hierarchy may be nested more deeply than Python can call
    while stack:
        here = stack.pop()
        refuse_level(place, 1 + here.path[len(place.path) :].strip("/").count("/"))
        while without and not here.path.startswith(key_prefix(without[-1].path)):
            without.pop()
        node = _node(here)
        if node is None:
            without.append(here)
        else:  # in format 2 a group need not have a document
            nodes += (MigratedNode(group.path, "group", None, _IMPLIED) for group in without)
            without.clear()
            nodes.append(node)
        if node is not None and node.node_type == "array":
            continue  # what is below it are its chunks
        names = {*node_names(names_below(here))} - {*documents.ALL_NAMES}
        stack += (child for name in sorted(names, reverse=True) if leads_on(child := here / name, linked))
    return _without_directories(nodes)


def _without_directories(nodes: list[MigratedNode]) -> list[MigratedNode]:
    """Leave out implied groups with nodes of format 3 alone: in that format they are mere directories."""
    with_old = {""}
    for node in nodes:
        path = node.path if node.zarr_format in (1, 2) else ""
        while path not in with_old:
            with_old.add(path)
            path = path.rpartition("/")[0]
    has_old = any(node.zarr_format in (1, 2) for node in nodes)
    return [node for node in nodes if node.zarr_format is not None or (has_old and node.path in with_old)]


def _node(place: StorePath) -> MigratedNode | None:
    """Return the node at a place, converted; None if there is none.

    One of format 3 alone is such as an earlier call may have left.
    """
    for number in (2, 1, 3):
        values = read_documents(place, number)
        if not values:
            continue
        node_type = "array" if ZARRAY_JSON in values or "meta" in values else "group"
        try:
            metadata = documents.parse(number, values, path=place.path)
            if metadata is None:
                continue
            if number == 3:
                return MigratedNode(place.path, metadata.node_type, 3, _plain(metadata))
            if isinstance(metadata, GroupMetadata):
                made: documents.Metadata = GroupMetadata(attributes=metadata.attributes, zarr_format=3)
            else:
                made = upgraded(metadata)  # type: ignore[arg-type]
            made.to_documents()  # it can be stored
            return MigratedNode(place.path, node_type, number, made, notes=_notes(metadata))
        except (BaseZarrError, ValueError, TypeError) as error:
            return MigratedNode(place.path, node_type, number, reason=str(error))
    return None


def _notes(metadata: documents.Metadata) -> tuple[str, ...]:
    names = ", ".join(sorted(metadata.extra_fields))
    return (f"without the members {names}",) if names else ()


def _checked(node: MigratedNode, target: StorePath, *, overwrite: bool) -> MigratedNode:
    """Return the node, compared with a document of format 3 that is there already."""
    key = join_path(node.path, ZARR_JSON)
    with reading(StorePath(target.store, node.path), key):
        stored = target.store.get(key) if node.reason is None else None
    if stored is None:
        return node
    try:
        same = _plain(documents.parse(3, {ZARR_JSON: stored}, path=node.path)) == node.metadata
    except BaseZarrError:
        same = False
    if same or node.zarr_format is None:
        return replace(node, is_stored=True)
    return node if overwrite else replace(node, reason=f"{key} exists and differs")


def _plain(metadata: Any) -> Any:
    is_group = isinstance(metadata, GroupMetadata)
    return replace(metadata, consolidated_metadata=None) if is_group else metadata


def _with_consolidated(place: StorePath, nodes: list[MigratedNode]) -> Iterator[MigratedNode]:
    """Yield the nodes, groups that had consolidated metadata with some of format 3."""
    for node in nodes:
        key = join_path(node.path, ZMETADATA_V2_JSON)
        if node.node_type == "group" and node.metadata is not None and has_value(place, key):
            prefix = key_prefix(node.path)
            below = {
                other.path.removeprefix(prefix): other.metadata
                for other in nodes
                if other is not node and other.path.startswith(prefix) and other.metadata is not None
            }
            metadata = replace(node.metadata, consolidated_metadata=ConsolidatedMetadata(below))
            node = replace(node, metadata=metadata)
        yield node


def _old_keys(place: StorePath, nodes: Iterable[MigratedNode]) -> Iterator[str]:
    """Yield the keys of old documents of the nodes, including leftovers of an earlier call that failed."""
    for node in nodes:
        keys = [join_path(node.path, name) for name in _OLD_NAMES[node.zarr_format or 2]]
        yield from (key for key in keys if has_value(place, key))


# --- removing documents


def remove_metadata(
    store: StoreLike,
    zarr_format: int,
    *,
    force: bool = False,
    dry_run: bool = False,
    storage_options: dict[str, Any] | None = None,
) -> tuple[str, ...]:
    """Remove the metadata documents of one format from a whole store, or from what is below a place in one.

    Parameters
    ----------
    store : store-like
        The store, or the place.
    zarr_format : {2, 3}
        The format whose documents are removed.
    force : bool
        Also where a node then has no document at all.
    dry_run : bool
        Remove nothing.
    storage_options : dict, optional
        Options of a remote store.

    Returns
    -------
    tuple of str
        The keys of the documents.

    Raises
    ------
    ValueError
        If a node would have no document any more; nothing has been removed.

    Examples
    --------
    >>> store = {}
    >>> array = zarrcore.zeros(4, store=store, zarr_format=2)
    >>> report = migrate(store)
    >>> remove_metadata(store, 2)
    ('.zarray', '.zattrs')
    """
    if zarr_format not in (2, 3):
        raise ValueError(f"expected the zarr_format 2 or 3, got {zarr_format!r}")
    place = make_store_path(store, mode="r" if dry_run else "r+", storage_options=storage_options)
    names = _OLD_NAMES[2] if zarr_format == 2 else (ZARR_JSON,)
    others = (ZARR_JSON,) if zarr_format == 2 else (ZARRAY_JSON, ZGROUP_JSON)
    keys = tuple(sorted(key for key in keys_below(place) if key.rpartition("/")[2] in names))
    for key in keys if not force else ():
        path = key.rpartition("/")[0]
        if not any(has_value(place, join_path(path, name)) for name in others):
            raise ValueError(f"{key} is the only document of its node; force=True removes it all the same")
    if not dry_run:
        place.store._check_writable()
        remove_values(place, keys)
    return keys
