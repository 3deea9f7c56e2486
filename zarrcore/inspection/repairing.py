"""Putting right what verify has found, as far as nothing is lost by it.

What changes a kind of things is imported when one of them is to be changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from zarrcore._log import info
from zarrcore._records import dataclass
from zarrcore.arrays.opened import open_array_at
from zarrcore.errors import StoreError
from zarrcore.inspection.report import Finding, VerifyReport, reason
from zarrcore.metadata.departures import collected
from zarrcore.nodes.open import open_group_node
from zarrcore.nodes.users import writing
from zarrcore.storage.base import Store
from zarrcore.storage.path import StoreLike, StorePath, make_store_path
from zarrcore.storage.validation import as_view

if TYPE_CHECKING:
    from zarrcore.inspection.encoded import EncodedChunk

_DAMAGED = ("chunk", "size", "index")


@dataclass(frozen=True)
class Repair:
    """One thing that was done, would be done, or could not be done.

    Attributes
    ----------
    action : {"remove", "refresh", "quarantine"}
        Remove a temporary file, write a consolidated copy again, or move a damaged chunk aside.
    key : str
        The key that it is about.
    done : bool
        Whether it was done; always False in a dry run.
    message : str
        What was done or would be done, or why it was not.
    """

    action: str
    key: str
    done: bool
    message: str

    def __str__(self) -> str:
        return f"{'done' if self.done else '-':<5}{self.action:<11} {self.key}: {self.message}"


def repair(
    report: VerifyReport,
    *,
    dry_run: bool = True,
    quarantine: StoreLike | None = None,
    min_age: float = 3600.0,
) -> list[Repair]:
    """Repair what :func:`zarrcore.verify` has found, where nothing is lost by it.

    Temporary files of writers that did not end are removed, and stale consolidated copies are written again.
    Damaged chunks are moved to another store if one is given, and then read as the fill value.  Of a damaged
    inner chunk the whole shard is copied there, and only the inner chunk is removed from the shard; of one
    that is a shard itself, those of its inner chunks that cannot be decoded.  Nothing else is touched:
    indexes of shards and documents are never guessed.  Every finding is looked at again before anything is
    changed, so that a report may be old.

    Parameters
    ----------
    report : VerifyReport
        What was found.
    dry_run : bool
        Change nothing, and return what would be done.
    quarantine : store-like, optional
        Where damaged chunks are moved, under the keys that they have; a place outside of the store.  Default:
        they stay where they are.
    min_age : float
        Seconds since a temporary file was last written; a younger one may belong to a writer at work.

    Returns
    -------
    list of Repair
        What was done, would be done, or could not be done and why.

    Raises
    ------
    ReadOnlyError
        If the store is read-only.
    TypeError
        If `report` is something else, such as a store.
    ValueError
        If the quarantine is in the store.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> array = zarrcore.create_array(store, name="a", shape=4, chunks=2, dtype="i4", compressors=None)
    >>> array[:] = [1, 2, 3, 4]
    >>> store["a/c/1"] = b"damaged"
    >>> aside = {}
    >>> for action in zarrcore.repair(zarrcore.verify(store), quarantine=aside, dry_run=False):
    ...     print(action)
    done quarantine  a/c/1: moved aside
    >>> array[:], aside
    (array([1, 2, 0, 0], dtype=int32), {'a/c/1': b'damaged'})
    """
    if not isinstance(report, VerifyReport):
        raise TypeError(f"repair: expected the report of verify(store), got {type(report).__name__}")
    place = report._place
    if place is None:
        return []
    place = StorePath(place.store.with_read_only(False), place.path)
    place.store._check_writable()
    aside = None if quarantine is None else _durable(make_store_path(quarantine), place.store)
    # Of a report about one node, too: moved to the root of its store, a chunk would be moved onto itself.
    if aside is not None and aside._address.startswith(StorePath(place.store, "")._address):
        raise ValueError(
            f"quarantine: {aside} is in the store that is repaired; choose a place outside of it"
        )
    with collected():  # departures of documents were findings
        actions = [*_Repairs(place, aside, dry_run, min_age).run(report)]
    for action in actions:
        info("repair of %s: %s", place, action)
    return actions


def _durable(aside: StorePath, store: Store) -> StorePath:
    """Return the quarantine with ``fsync``, if what the store removes is gone for good."""
    if not getattr(store, "fsync", False) or getattr(aside.store, "fsync", True):
        return aside
    durable = aside.store.with_read_only(aside.store.read_only)
    durable.fsync = True  # type: ignore[attr-defined]
    return StorePath(durable, aside.path)


class _Repairs:
    def __init__(self, place: StorePath, aside: StorePath | None, dry_run: bool, min_age: float) -> None:
        self._place, self._aside, self._dry_run, self._min_age = place, aside, dry_run, min_age

    def run(self, report: VerifyReport) -> Iterator[Repair]:
        """Yield what is done about each finding."""
        refreshed: set[str] = set()
        moved: set[tuple[Any, ...]] = set()
        for finding in report:
            key = finding.key or ""
            if finding.kind == "temporary":
                yield self._try("remove", key, self._remove, key)
            elif finding.kind == "consolidated" and finding.severity == "error" and key not in refreshed:
                refreshed.add(key)
                yield self._try("refresh", key, self._refresh, finding)
            elif finding.kind in _DAMAGED and finding.chunk is not None:
                one = (key, finding.inner_chunk)
                if finding.severity == "error" and one not in moved and (key, None) not in moved:
                    moved.add(one)
                    yield self._try("quarantine", key, self._quarantine, finding)

    def _try(self, action: str, key: str, call: Any, argument: Any) -> Repair:
        try:
            done, message = call(argument)
        except Exception as error:
            done, message = False, reason(error)
        return Repair(action, key, done, message)

    def _remove(self, key: str) -> tuple[bool, str]:
        remove = getattr(self._place.store, "_remove_temporary", None)
        if remove is None:
            return False, "not a file of this store's writers"
        return remove(key, self._min_age, self._dry_run)  # type: ignore[no-any-return]

    def _refresh(self, finding: Finding) -> tuple[bool, str]:
        from zarrcore.nodes.consolidate import check, consolidate

        group = StorePath(self._place.store, finding.path)
        zarr_format = 2 if finding.key is not None and finding.key.endswith(".zmetadata") else 3
        place, metadata = open_group_node(group, zarr_format, use_consolidated=True)
        differences = check(place, metadata)
        missing = [item.path for item in differences if item.kind == "missing"]
        if missing:
            named = ", ".join(map(repr, missing[:3]))
            return False, f"the copy alone describes {named}; consolidate_metadata() drops what is not there"
        if not differences:
            return False, "the copy is not stale any more"
        if self._dry_run:
            return False, f"would be written again: {differences[0]}"
        consolidate(place, metadata)
        return True, "written again"

    def _quarantine(self, finding: Finding) -> tuple[bool, str]:
        from zarrcore.inspection.encoded import EncodedChunk, chunk_lock

        array = open_array_at(StorePath(self._place.store, finding.path))
        key = finding.key or ""
        chunk = EncodedChunk(array, finding.chunk or (), finding.inner_chunk)
        with writing(array), chunk_lock(array, key):
            if not chunk.is_damaged():
                return False, "is not damaged any more"
            if self._aside is None:
                return False, "damaged; quarantine= moves it aside"
            if self._dry_run:
                return False, "would be moved aside"
            moved: list[tuple[bytes, bytes]] = []
            chunk.replace_under_lock(None, lambda value: moved.append(self._keep(chunk, bytes(value))))
            self._check_kept(key, moved)
        if finding.inner_chunk is None:
            return True, "moved aside"
        what = f"inner chunk {finding.inner_chunk}"
        if chunk.is_shard:
            what = f"what cannot be decoded of {what}"
        return True, f"the shard was copied aside, {what} removed from it"

    def _keep(self, chunk: EncodedChunk, value: bytes) -> tuple[bytes, bytes]:
        """Store a value in the quarantine, and see whether it is there; returns it, and what is there.

        That may be an older state of a shard, from which another inner chunk has been removed since.
        """
        assert self._aside is not None
        target = self._aside / chunk.key
        target.store.set_if_not_exists(target.path, value)
        kept = self._kept(chunk.key)
        if kept is None or (kept != value and not chunk.is_same_in(kept, value)):
            raise StoreError(f"{target} has another value already, or does not keep what is stored there")
        return value, kept

    def _kept(self, key: str) -> bytes | None:
        """Return what the quarantine has under a key."""
        assert self._aside is not None
        target = self._aside / key
        found = target.store.get(target.path)
        return None if found is None else bytes(as_view(found, target.path))

    def _check_kept(self, key: str, moved: list[tuple[bytes, bytes]]) -> None:
        """Put a value back that went from the quarantine too: that is the store by another name.

        Such as a directory that is mounted twice, or one bucket at two addresses.
        """
        for value, kept in moved:
            if self._kept(key) != kept:
                self._place.store.set(key, value)
                where = f"{self._aside} is the store that is repaired"
                raise StoreError(f"{where}: the value is back in its place")
