"""Copying nodes and keys.

What is to be copied, and what is in its way, is known before anything is written.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import field
from functools import partial
from itertools import compress, groupby, islice
from operator import attrgetter
from typing import Any, TypeAlias

from zarrcore._locks import RLock
from zarrcore._records import dataclass
from zarrcore._typed import NamedTuple
from zarrcore.arrays.chunks import is_within, stored_chunks
from zarrcore.arrays.creation import NewArray, create_new
from zarrcore.arrays.derived import array_from
from zarrcore.arrays.description import grid_axes
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.sources import attributes_of, is_of_hdf5, places_within
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, CopyError, ZarrUserWarning, shown
from zarrcore.groups import changing, creating, members
from zarrcore.groups.opened import OpenGroup
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON
from zarrcore.metadata.departures import level_of_caller
from zarrcore.metadata.documents import stored_bytes
from zarrcore.metadata.layout import grid_edges
from zarrcore.nodes.create import refuse_bad_name
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import Unreadable, leads_on, read_node, readable
from zarrcore.nodes.hidden import keys_to_copy
from zarrcore.nodes.move import copy_value
from zarrcore.nodes.reading import batches, moving, reading, several_at_once, which_exist
from zarrcore.nodes.walk import Found
from zarrcore.progress import Step
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, normalize_path, storing_order

Log = Callable[[str], object]

_NODE_CHOICES = ("raise", "replace", "skip", "skip_initialized")
_KEY_CHOICES = ("raise", "replace", "skip")
_ERROR_CHOICES = ("raise", "skip")
_MOST_PATHS = 100  # to one group of HDF5, each of which becomes a copy
_OF_SOURCES = (CopyError, ChunkDecodeError, ChunkEncodeError)


class Counts(NamedTuple):
    """What a copy did."""

    copied: int
    skipped: int
    nbytes: int


@dataclass(frozen=True, kw_only=True)
class CopyOptions:
    """How keys are copied; see :func:`zarrcore.copy_store`."""

    if_exists: str = "raise"
    dry_run: bool = False
    log: Log = lambda line: None
    threads: int = 0
    progress: Step | None = None


@dataclass(frozen=True, kw_only=True)
class NodeCopyOptions(CopyOptions):
    """How nodes are copied; see :func:`zarrcore.copy`."""

    shallow: bool = False
    without_attrs: bool = False
    on_error: str = "raise"
    create_kws: dict[str, Any] = field(default_factory=dict)


class _Step(NamedTuple):
    """One node that is to be copied to a path in the target group, or left out."""

    source: Any
    path: str
    new: NewArray | None
    attributes: dict[str, Any]
    skip: bool
    replace: bool

    @property
    def nbytes(self) -> int:
        return 0 if self.new is None or self.skip else int(self.source.nbytes)

    def __str__(self) -> str:
        name = _name(self.source, self.path)
        return f"{name} {self.source.shape} {self.source.dtype}" if _is_array(self.source) else name


def _check_choice(options: CopyOptions, name: str, choices: tuple[str, ...]) -> None:
    if (value := getattr(options, name)) not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")


# --- nodes


def copy_node(source: Any, dest: OpenGroup, name: str, options: NodeCopyOptions) -> Counts:
    """Copy an array or a group into a group."""
    return _Copy(source, dest, options).run([(normalize_path(name), source, None)])


def copy_members(source: Any, dest: OpenGroup, options: NodeCopyOptions) -> Counts:
    """Copy the members of a group, and its attributes, into another group."""
    refuse_own_source(source, dest.place)
    copy = _Copy(source, dest, options)
    attributes = copy.attributes(source, "")
    counts = copy.run([(name, node, (source, None)) for name, node in _members(source)])
    if attributes and not options.dry_run:
        _add_attributes(dest, attributes)
    return counts


_Above: TypeAlias = "tuple[Any, _Above] | None"  # the groups that a node is in, the innermost first
_Found: TypeAlias = "tuple[str, Any, _Above]"


class _Copy:
    """One call of :func:`copy_node` or :func:`copy_members`: all is planned, then copied node by node."""

    def __init__(self, source: Any, dest: OpenGroup, options: NodeCopyOptions) -> None:
        _check_choice(options, "if_exists", _NODE_CHOICES)
        _check_choice(options, "on_error", _ERROR_CHOICES)
        self.source, self.dest, self.options = source, dest, options
        dest.look_in_store()  # a copy that was killed may have left what consolidated metadata lack
        self.left_out: list[str] = []
        self.failed = 0  # nodes, without the attributes
        self.linked: set[str] = set()
        self.existing: dict[str, Any] = {}  # in the target, by path, as far as it is known
        self.groups = {""}  # in the target, by path, that have been read or made
        self.paths: Counter[Any] = Counter()  # to groups of HDF5

    def run(self, found: list[_Found]) -> Counts:
        """Copy nodes and all that is below them."""
        counts = self._copied(list(self._planned(found)))
        if self.left_out:
            import warnings

            text = "; ".join(self.left_out[:20]) + ("; ..." if len(self.left_out) > 20 else "")
            warnings.warn(f"not copied: {text}", ZarrUserWarning, stacklevel=level_of_caller())
        return counts

    def leave_out(self, name: str, reason: object) -> None:
        """Note a node or an attribute that Zarr has no form for, or that cannot be read."""
        text = shown(reason if str(reason).startswith(name) else f"{name}: {reason}")
        self.left_out.append(text)
        self.options.log(f"cannot copy {text}")

    def attributes(self, source: Any, path: str) -> dict[str, Any]:
        """Return the user attributes that are copied."""
        if self.options.without_attrs:
            return {}
        if isinstance(source, OpenArray | OpenGroup):
            return dict(source.metadata.attributes)  # NaN that stands there may be stored again
        skipped = partial(self.leave_out, _name(source, path)) if self.options.on_error == "skip" else None
        return attributes_of(source, self.dest.zarr_format, skipped=skipped)

    def _planned(self, found: list[_Found]) -> Iterator[_Step]:
        """Yield the steps in the order of the source, groups before their members."""
        self._look_for([path for path, _, _ in found])
        waiting = found[::-1]
        while waiting:
            path, source, above = waiting.pop()
            is_array = _is_array(source)
            is_group = not is_array and source is not None and not isinstance(source, Unreadable)
            if self.options.shallow and above is not None and is_group:
                continue
            skip, replace = self._in_the_way(source, path, is_array)
            new, attributes = None, {}
            try:
                refuse_bad_name(path)
                _refuse_unusable(source, above, _name(source, path))
                self._count_paths(source, is_array)
                if not skip:
                    attributes = self.attributes(source, path)
                    new = self._new(source, attributes, replace) if is_array else None
            except (TypeError, ValueError) as error:
                name = _name(source, path)
                if self.options.on_error == "raise":
                    note = "cannot be copied, and nothing has been written; on_error='skip' leaves it out"
                    error.add_note(f"{name} {note}")
                    raise
                self.leave_out(name, error)
                self.failed += 1
                continue
            yield _Step(source, path, new, attributes, skip, replace)
            if not is_array and not skip and self._leads_on(source, above):
                inside = (source, above)
                below = [(join_path(path, name), node, inside) for name, node in _members(source)]
                self._look_for([path for path, _, _ in below])
                waiting += below[::-1]

    def _count_paths(self, node: Any, is_array: bool) -> None:
        """Refuse a group that too many links lead to: n levels of two each are 2**n paths."""
        if is_of_hdf5(node) and not is_array:
            self.paths[node] += 1
            if self.paths[node] > _MOST_PATHS:
                raise CopyError(f"it is one of more than {_MOST_PATHS} links to one group")

    def _leads_on(self, group: Any, above: _Above) -> bool:
        return above is None or not isinstance(group, OpenGroup) or leads_on(group.place, self.linked)

    def _look_for(self, paths: list[str]) -> None:
        """Find what is in the way of several nodes at the same time, in a slow store."""
        store = self.dest.store
        if store._concurrent_requests():
            found = several_at_once(store, lambda path: members.get(self.dest, path), paths)
            self.existing.update(zip(paths, found, strict=True))

    def _in_the_way(self, source: Any, path: str, is_array: bool) -> tuple[bool, bool]:
        """Return whether a node is left out, and whether it replaces another, because of what is there."""
        target = self.dest.place / path
        refuse_own_source(self.source, target)  # else a part of it is replaced before it is copied
        refuse_own_source(source, target)
        existing = self.existing.pop(path) if path in self.existing else members.get(self.dest, path)
        if existing is None or not (is_array or isinstance(existing, OpenArray)):
            return False, False
        reason = f"{path!r} exists in {self.dest.place}"
        return _left_out(source, target, existing, self.options.if_exists, reason)

    def _new(self, source: Any, attributes: dict[str, Any], replace: bool) -> NewArray:
        """Return the array that is going to be stored; what cannot be stored is found here."""
        arguments = {"zarr_format": self.dest.zarr_format, **self.options.create_kws}
        arguments.setdefault("attributes", attributes)
        arguments.setdefault("overwrite", replace)
        if "compressor" in arguments:  # as zarr 2 has it
            arguments["compressors"] = arguments.pop("compressor")
        new = array_from(source, **arguments)
        new.metadata.to_documents()  # which refuses what the format has no name for
        return new

    def _copied(self, steps: list[_Step]) -> Counts:
        """Do what is planned, array by array; through a network several at the same time."""
        options, store = self.options, self._slow_store()
        report = _Reports(options.progress, sum(step.nbytes for step in steps))
        copied: list[_Step] = []
        for some in ([step] for step in steps) if store is None else batches(steps, attrgetter("nbytes")):
            for step in some:
                options.log(f"{'skip' if step.skip else 'copy'} {step}")
            wanted = [step for step in some if not step.skip]
            if options.dry_run:
                copied += wanted
                continue
            for step, error in self._outcomes(wanted, store, report):
                if error is None:
                    copied.append(step)
                elif options.on_error == "skip" and isinstance(error, _OF_SOURCES):
                    self.leave_out(_name(step.source, step.path), error)
                    self.failed += 1
                else:
                    complete = ", ".join(repr(done.path) for done in copied) or "nothing"
                    error.add_note(f"while {step.path!r} was copied; complete are: {complete}")
                    try:
                        raise error
                    finally:
                        del error  # which has this frame, and so what the caller holds open
        skipped = sum(step.skip for step in steps)
        nbytes = 0 if options.dry_run else sum(step.nbytes for step in copied)
        return Counts(len(copied), skipped + self.failed, nbytes)

    def _slow_store(self) -> Any:
        """Return a store that is a network away, if both sides may be asked by several threads."""
        if self.options.threads == 1 or not isinstance(self.source, OpenArray | OpenGroup):
            return None
        return next((s for s in (self.dest.store, self.source.store) if s._concurrent_requests()), None)

    def _outcomes(
        self, steps: list[_Step], store: Any, report: _Reports
    ) -> Iterator[tuple[_Step, BaseException | None]]:
        """Do some steps, groups first; yield each with its error, those that failed last."""
        call = partial(self._error_of, report)
        for step in steps:
            if step.new is None:
                yield step, call(step)
        arrays = [step for step in steps if step.new is not None]
        errors = map(call, arrays) if store is None else several_at_once(store, call, arrays)
        yield from sorted(zip(arrays, errors, strict=True), key=lambda outcome: outcome[1] is not None)

    def _error_of(self, report: _Reports, step: _Step) -> BaseException | None:
        try:
            self._copy_one(step, report.of_one())
        except BaseException as error:
            return error
        return None

    def _copy_one(self, step: _Step, progress: Step | None) -> None:
        if step.new is None:
            if step.replace:
                changing.remove(self.dest, step.path)
            elif members.find(self.dest, step.path) is not None:
                group = creating.require_group(self.dest, step.path, None, overwrite=False)
                if step.attributes:
                    _add_attributes(group, step.attributes)
                self.groups.add(step.path)
                return
            creating.create_group(self.dest, step.path, step.attributes, overwrite=False)
            self.groups.add(step.path)
            return
        place, above = self.dest.place / step.path, step.path.rpartition("/")[0]
        known = self.dest.place / above if above in self.groups else None
        create_new(place, step.new, threads=self.options.threads, progress=progress, group=known)


def is_left_out(source: Any, target: StorePath, if_exists: str) -> tuple[bool, bool]:
    """Return whether the copy of one array is left out, and whether it replaces what is at its place."""
    refuse_own_source(source, target)
    found = read_node(target)
    if found is None:
        return False, False
    existing = OpenArray(found, target) if is_array_metadata(found) else None
    return _left_out(source, target, existing, if_exists, f"{target} exists")


def _left_out(source: Any, target: StorePath, existing: Any, choice: str, reason: str) -> tuple[bool, bool]:
    """Return the same where there is something already, which `reason` says."""
    if choice == "raise":
        raise CopyError(f"{reason} already (if_exists='raise')")
    skip = choice == "skip"
    if choice == "skip_initialized":
        if _is_array(source) != isinstance(existing, OpenArray):  # what no copy has left there
            kind = "an array" if isinstance(existing, OpenArray) else "a group"
            raise CopyError(f"{reason} and is {kind}, which no copy of {_name(source, '')} has left there")
        skip = _is_complete(existing, source)
    if not skip:
        refuse_own_source(source, target, replace=True)
    return skip, True


def _is_array(node: Any) -> bool:
    return hasattr(node, "shape")


def _is_complete(array: OpenArray, source: Any) -> bool:
    """Return whether all chunks of an array are stored, or all that its source has in the same grid."""
    stored = _stored(array)
    if len(stored) == math.prod(axis.nchunks for axis in grid_axes(array)):
        return True
    return isinstance(source, OpenArray) and _grid(source) == _grid(array) and stored >= _stored(source)


def _stored(array: OpenArray) -> set[tuple[int, ...]]:
    axes = grid_axes(array)
    return {coords for coords, _ in stored_chunks(array, axes) if is_within(coords, axes)}


def _grid(array: OpenArray) -> tuple[Any, Any]:
    return array.shape, grid_edges(array.metadata)


def _name(node: Any, path: str) -> str:
    """Return the name of a node in its own hierarchy."""
    return str(getattr(node, "name", None) or f"/{path}")


def _refuse_unusable(node: Any, above: _Above, name: str) -> None:
    """Refuse what is in a group of another library, but is neither an array nor a group that ends."""
    if isinstance(node, OpenArray | OpenGroup):
        return
    readable(node)
    if node is None:
        raise CopyError(f"{name}: it is a link to nothing")
    if _is_array(node):
        if node.shape is None:
            raise CopyError(f"{name}: it is an empty data set of HDF5, which has no shape")
        return
    if not hasattr(node, "members") and not hasattr(node, "items"):
        raise CopyError(f"{name}: expected an array or a group, found {type(node).__name__}")
    while above is not None:
        group, above = above
        if node is group or (is_of_hdf5(node) and node == group):
            raise CopyError(f"{name}: it is a link to {_name(group, '')}, the group that it is in")


def refuse_own_source(source: Any, target: StorePath, *, replace: bool = False) -> None:
    """Refuse a target that is the source, is inside the source, or contains the source and is removed."""
    for place in places_within(source):
        ours, theirs = place._address, target._address
        if theirs.startswith(ours) or (replace and ours.startswith(theirs)):
            raise CopyError(f"{place} cannot be copied to {target}: one of them lies in the other")


def _members(group: Any) -> Iterable[tuple[str, Any]]:
    """Names and nodes of the direct members; of foreign groups those that behave like a mapping.

    Members of ours whose documents cannot be used are Unreadable.
    """
    if isinstance(group, OpenGroup):
        return ((found.path, _opened(group, found)) for found in members.as_opened(group))
    found: Iterable[tuple[str, Any]] = group.members() if hasattr(group, "members") else group.items()
    return found


def _opened(group: OpenGroup, found: Found) -> Any:
    return found.metadata if isinstance(found.metadata, Unreadable) else members.opened(group, found)


class _Reports:
    """Progress of several arrays, perhaps at the same time, as that of all of them."""

    def __init__(self, progress: Step | None, total: int) -> None:
        self._progress, self._total = progress, total
        self._done = 0
        self._lock = RLock()

    def of_one(self) -> Step | None:
        """Return what the copy of one array calls."""
        progress, before = self._progress, 0
        if progress is None:
            return None

        def step(done: int, _: int) -> None:
            nonlocal before
            with self._lock:
                self._done += done - before
                before = done
                progress(self._done, self._total)

        return step


def _add_attributes(group: OpenGroup, attributes: dict[str, Any]) -> None:
    changing.change_attributes(group, lambda stored: {**stored, **attributes})


# --- keys


def copy_keys(
    source: StorePath, dest: StorePath, options: CopyOptions, wanted: Callable[[str], bool]
) -> Counts:
    """Copy keys that are wanted, and their values, as they are."""
    _check_choice(options, "if_exists", _KEY_CHOICES)
    ours, theirs = source._address, dest._address
    if theirs.startswith(ours):
        raise CopyError(f"{source} cannot be copied to {dest}, which lies in it")
    start = len(source.path) + 1 if source.path else 0
    keys = sorted(keys_to_copy(source, wanted), key=storing_order)
    pairs = [(key, join_path(dest.path, key[start:])) for key in keys]
    if options.if_exists == "replace" and ours.startswith(theirs):
        _refuse_own_keys(source, {key[start:] for key in keys}, ours[len(theirs) :])
    existing: set[str] = set()
    if options.if_exists != "replace":
        targets = [new for _, new in pairs]
        with reading(dest):
            existing = {*compress(targets, which_exist(dest.store, targets))}
    if existing and options.if_exists == "raise":
        raise CopyError(f"key {min(existing)!r} exists in {dest.store} already (if_exists='raise')")
    chosen = [pair for pair in pairs if pair[1] not in existing]
    for key, new in pairs:
        options.log(f"{'skip' if new in existing else 'copy'} {key}{f' -> {new}' if new != key else ''}")
    nbytes = 0 if options.dry_run else _copy_pairs(source, dest, chosen, options)
    return Counts(len(chosen), len(existing), nbytes)


def _refuse_own_keys(source: StorePath, keys: set[str], inner: str) -> None:
    """Refuse to replace keys that are copied as well, if the source lies at `inner` in the target."""
    for key in sorted(keys):
        if key.startswith(inner) and key[len(inner) :] in keys:
            other = key[len(inner) :]
            raise CopyError(f"{source}: the copy of its key {key!r} would replace its key {other!r}")


def _arrays_noticed(store: Store, pairs: list[tuple[str, str]]) -> dict[str, tuple[Any, bytes]]:
    """Return documents of arrays, and what differs once they are replaced; none where that costs a wait."""
    found: dict[str, tuple[Any, bytes]] = {}
    for key, _ in pairs:
        if key.rpartition("/")[2] in (ZARR_JSON, ZARRAY_JSON) and (noticed := store._noticed(key)):
            text = _document(store, key)
            if _layout(text) is not None:
                found[key] = noticed, text
    return found


def _refuse_replaced(store: Store, arrays: dict[str, tuple[Any, bytes]]) -> None:
    """Raise a CopyError if keys of two arrays may have been copied: only attributes may have changed."""
    for key, (noticed, text) in arrays.items():
        seen = store._noticed(key)
        if seen != noticed:
            now = _document(store, key)
            is_other = now == text and seen is not None  # None: the system does not say
            if is_other or _layout(now) != _layout(text):
                name = key.rpartition("/")[0] or "/"
                raise CopyError(
                    f"array {name!r} was replaced by another one, or has another shape, while it was copied"
                )


def _document(store: Store, key: str) -> bytes:
    with moving(store, key):
        value = store.get(key)
        return b"" if value is None else stored_bytes(value, where=key)


def _layout(document: bytes) -> dict[str, Any] | None:
    """Return the members of an array's document without its attributes; None for other documents."""
    try:
        members = json.loads(document)
    except ValueError:
        return None
    if not isinstance(members, dict) or members.get("node_type", "array") != "array":
        return None
    return {name: value for name, value in members.items() if name != "attributes"}


def _copy_pairs(
    source: StorePath, dest: StorePath, pairs: list[tuple[str, str]], options: CopyOptions
) -> int:
    """Copy values and return their size."""
    from zarrcore._threads import in_threads
    from zarrcore.arrays.copying import threads_to_move

    def copy(pair: tuple[str, str]) -> int:
        return copy_value(source.store, pair[0], dest.store, pair[1])

    dest.store._check_writable()
    threads = options.threads or threads_to_move(source.store, dest.store)
    arrays = _arrays_noticed(source.store, pairs)
    nbytes = done = 0
    try:
        # Documents are stored when all else is there.
        for _, some in groupby(pairs, lambda pair: storing_order(pair[0])[0]):
            with closing(in_threads(copy, some, threads)) as sizes:
                for size in sizes:
                    nbytes += size
                    done += 1
                    if options.progress is not None:
                        options.progress(done, len(pairs))
        _refuse_replaced(source.store, arrays)
    except BaseException as error:
        last = ", ".join(repr(new) for _, new in islice(pairs, max(0, done - 3), done)) or "none"
        error.add_note(f"{done} of {len(pairs)} keys have been copied, the last ones: {last}")
        raise
    return nbytes
