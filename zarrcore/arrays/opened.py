"""The state of an opened array: what all operations on arrays take, and none of the operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore._locks import owning
from zarrcore.arrays.config import ArrayConfig, ArrayConfigLike, parse_array_config
from zarrcore.arrays.description import ArrayDescription
from zarrcore.engine.build import build_engine, document_key
from zarrcore.engine.projection import axes_of
from zarrcore.errors import ArrayNotFoundError, ReadOnlyError
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.metadata.layout import grid_edges, is_resized, starts_alike
from zarrcore.nodes import users
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import noticed_of, parse_node, read_documents
from zarrcore.nodes.open import open_array_node
from zarrcore.nodes.users import BINDING, COMPILED
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import lasting

if TYPE_CHECKING:
    from zarrcore._core.engine import ChunkCache
    from zarrcore.engine.base import Engine
    from zarrcore.nodes.versions import Versions


class OpenArray(ArrayDescription):
    """An array that is open; users hold it as an :class:`zarrcore.Array` or :class:`zarrcore.AsyncArray`.

    It knows its metadata, its place, its settings, its cache of decoded chunks and its engine, but no
    operation: these are functions that take it.

    Attributes
    ----------
    get : callable or None
        Reads a basic selection, or returns ``NotImplemented``: the engine's own short way for small reads.
        None as long as there is no engine, and for arrays that are read in the order F.
    dtype_in_memory : dtype
        The data type, as the very object that the engine compares with; None as long as there is no engine.
    documented : bool
        Whether the array's own document was read, or is about to be stored: where that is gone, so is the
        array.  Others may be known from consolidated metadata alone.
    stored : tuple
        Metadata that were stored by this object, and the documents that they became.
    seen : tuple or None
        The document, and what distinguished it when it was read, until an engine looks itself.
    """

    __slots__ = (
        "__weakref__",
        "_awaited",
        "_config",
        "_engine",
        "_metadata",
        "_store_path",
        "cache",
        "documented",
        "dtype_in_memory",
        "get",
        "losses",
        "seen",
        "stored",
    )

    _metadata: ArrayMetadata
    _config: ArrayConfig
    _store_path: StorePath

    def __init__(
        self,
        metadata: ArrayMetadata,
        store_path: StorePath,
        config: ArrayConfigLike | None = None,
        cache: ChunkCache | None = None,
        *,
        losses: int | None = None,
        documented: bool = False,
        seen: tuple[str, Any] | None = None,
    ) -> None:
        self._store_path = store_path
        self.documented = documented
        self.seen = seen
        self._config = parse_array_config(config)
        self.cache = cache
        self._awaited: OpenArray | None = None
        self.stored: tuple[ArrayMetadata | None, dict[str, bytes]] = (None, {})
        self.dtype_in_memory: np.dtype[Any] = None  # type: ignore[assignment]
        self.adopt(metadata, losses=losses)

    def _with(self, config: ArrayConfigLike, cache: ChunkCache | None = None, place: Any = None) -> OpenArray:
        """Return the same array with other settings, or in a store that stands for its own."""
        losses = self.losses  # before the metadata, which know of at least so many
        place = self._store_path if place is None else place
        documented, seen = self.documented, self.seen
        return OpenArray(
            self._metadata, place, config, cache, losses=losses, documented=documented, seen=seen
        )

    def _with_metadata(self, metadata: ArrayMetadata) -> OpenArray:
        return OpenArray(metadata, self._store_path, self._config, self.cache, documented=self.documented)

    def with_config(self, config: ArrayConfigLike) -> OpenArray:
        """Return the same array with other settings; what a mapping leaves out stays as it is."""
        if not isinstance(config, ArrayConfig):
            config = ArrayConfig.from_dict({**self._config.to_dict(), **config})
        return self._with(config, self.cache)

    def with_cache(self, cache: ChunkCache | None) -> OpenArray:
        """Return the same array reading through a cache, if its engine has one; else raise a ValueError."""
        array = self._with(self._config, cache)
        array.engine()
        return array

    def awaited(self) -> OpenArray | None:
        """Return the same array in a store of what has arrived of its own; None if that is not possible."""
        twin = self._awaited
        if twin is None or twin._metadata is not self._metadata:
            from zarrcore.storage.arriving import Arrivals

            is_plain = self.cache is None and not getattr(self._metadata, "storage_transformers", ())
            store = Arrivals.of(self.store) if is_plain else None
            if store is None:
                return None
            twin = self._with(self._config, place=StorePath(store, self.path))
            self._awaited = twin
        return twin

    def adopt(
        self,
        metadata: ArrayMetadata,
        *,
        alike: bool = False,
        losses: int | None = None,
        instead_of: ArrayMetadata | None = None,
    ) -> None:
        """Continue with other metadata, unless `instead_of` is out of use already.

        `alike`: chunks are stored as before, so that the engine can stay.  `losses` is how many losses the
        metadata know of, by default all.
        """
        losses = users.losses if losses is None else losses
        if metadata.separator_is_open:
            # What is written, the document included, must go by the keys in use; reading can ask later.
            may_ask = not self._store_path.read_only
            metadata = self._with_separator(metadata, may_ask=may_ask)
        with owning(BINDING):
            if instead_of is not None and self._metadata is not instead_of:
                return  # another thread has found newer metadata, or made them
            self._metadata = metadata
            self.losses = losses
            if not alike:
                self.forget_engine()

    def _with_separator(self, metadata: ArrayMetadata, *, may_ask: bool = True) -> ArrayMetadata:
        from zarrcore.arrays.separator import with_separator_in_use

        return with_separator_in_use(metadata, self._store_path, may_ask=may_ask)

    def forget_engine(self) -> None:
        """Look at the metadata again before the next access to the data."""
        self._engine: Engine | None = None
        self.get: Callable[[Any], Any] | None = None

    def leave_engine(self) -> None:
        """Do the same where another array may come to the place of this one: reads under way begin again."""
        if self._engine is not None:
            self._engine.is_left = True
        self.forget_engine()

    def engine_after(self, engine: Engine, metadata: ArrayMetadata, *, compares: bool = True) -> Engine:
        """Return an engine for a read that has to be made again, as the one before may be of two arrays.

        That had this engine, for these metadata.  If the array that is there now is of another kind, or
        smaller, an ArrayNotFoundError is raised.  Unless it `compares`, reads do not look any more whether
        the metadata are others.
        """
        if engine.is_stale and not engine.is_left:
            if self._engine is not engine or users.is_changing(self._store_path):
                # This process has not replaced it, but may be changing its shape: reads have the old one.
                self.refuse_other(stored_metadata(self), metadata)
                fresh = self._build(metadata, documented=self.documented and compares)
                with owning(BINDING):
                    is_current = self._metadata is metadata and self.losses == users.losses
                    if self._engine is engine and is_current:
                        self._bind(fresh)
                return fresh
            with owning(BINDING):
                if self._engine is engine:
                    self.forget_engine()
                    self.losses = -1
        if reason := self.out_of_date(metadata.shape, or_larger=True):
            raise ArrayNotFoundError(f"{reason}, and while it was read")
        if engine.is_stale and not compares:
            self.documented = False
            self.forget_engine()
        return self.engine()

    def engine_to_write(self) -> Engine:
        """Return an engine for a write, unless somebody has put another array in the place of this one.

        What would be stored there is what that array cannot read, or reads as other values.
        """
        metadata, engine = self._metadata, self.engine()
        engine.confirm(False)
        return self.engine_after(engine, metadata) if engine.is_stale else engine

    def with_shape_of(self, metadata: ArrayMetadata) -> OpenArray:
        """Return the same array with another shape, for one change: it sees nothing of what others change."""
        array = self._with_metadata(metadata)
        array._engine = array._build(array._metadata)
        array.dtype_in_memory = array._metadata.np_dtype
        return array

    def take(self, other: OpenArray) -> None:
        """Continue with what :meth:`with_shape_of` has returned."""
        with owning(BINDING):
            self._metadata, self.losses = other._metadata, other.losses
            self.dtype_in_memory = other.dtype_in_memory
            self.forget_engine()
            if other.losses == users.losses:
                self._bind(other._engine)

    def _build(self, metadata: ArrayMetadata, *, documented: bool | None = None) -> Engine:
        missing_is_error = not self._config.read_missing_chunks
        return build_engine(
            metadata,
            self._store_path,
            missing_is_error=missing_is_error,
            cache=self.cache,
            documented=self.documented if documented is None else documented,
        )

    def _bind(self, engine: Any) -> None:
        self._engine = engine
        COMPILED.add(self)
        if self.order == "C":
            self.get = engine.get

    def engine(self, *, to_write: bool = False) -> Engine:
        """Return the engine, compiled at the first access; `to_write`: see :meth:`_compare_seen`."""
        engine = self._engine
        while engine is None:
            self.follow()
            metadata = self._metadata
            if metadata.separator_is_open:
                metadata = self._with_separator(metadata)
                self._metadata = metadata
            engine = self._build(metadata)
            self._compare_seen(engine.noticed, to_write=to_write)
            if to_write:
                engine.note_look()
            with owning(BINDING):
                self.dtype_in_memory = metadata.np_dtype
                if self.losses != users.losses:  # of this array, perhaps, which nobody could tell of it
                    engine = None
                elif self._metadata is metadata:  # else another thread has given the array a new shape
                    self.seen = None
                    self._bind(engine)
        return engine

    def _compare_seen(self, noticed: Any = None, *, to_write: bool = False) -> None:
        """Have the metadata looked at if another process has stored others since the array was opened.

        Where there are none any more, reads find that out themselves.  `noticed`: what an engine that was
        made just now has noticed of them.
        """
        seen = self.seen  # once: another thread may compile the engine meanwhile
        if seen is None:
            return
        key, version = seen
        now = version if noticed == version else self._store_path.store._noticed(key)
        if now != version and (now or to_write):
            self.seen, self.losses = None, -1

    def seen_now(self) -> tuple[str, Any] | None:
        """Return what `seen` is to be for the pickle of an array: what means something elsewhere, too."""
        seen, engine = self.seen, self._engine
        if seen is None and engine is not None and self.documented:
            seen = document_noticed(self._metadata, self._store_path)
            engine.confirm()
            if seen is not None and engine.is_stale:
                return seen[0], False  # another one is there by now, which has to be looked at
        return seen if seen is not None and isinstance(seen[1], tuple) else None

    def first_get(self, selection: Any) -> Any:
        """Compile the engine, and read as :attr:`get` does from then on."""
        engine = self.engine()
        return engine.get(selection) if self.order == "C" else NotImplemented

    def follow(self) -> None:
        """Take over the shape to which another handle of this process has made the array shrink.

        If another array, or nothing, is in its place, an ArrayNotFoundError is raised.
        """
        while self.losses != users.losses:
            known, losses = self._metadata, users.losses
            found = stored_metadata(self)
            self.documented = True
            if found.separator_is_open and not known.separator_is_open:
                found = self._with_separator(found)
            self.refuse_other(found, known)
            shrunk = any(now < was for now, was in zip(found.shape, known.shape, strict=True))
            # Where it has only grown, the old shape stays valid, unless its last chunks have grown as well.
            is_newer = shrunk or not starts_alike(known, found)
            self.adopt(found if is_newer else known, losses=losses, instead_of=known)

    def refuse_other(self, found: ArrayMetadata, known: ArrayMetadata) -> None:
        """Raise an ArrayNotFoundError if metadata that were found are not those known, of another shape."""
        if not is_resized(found, known):
            raise ArrayNotFoundError(
                f"array {self.path or '/'!r} in {self.store} has been replaced by another one since it "
                "was opened: open it again"
            )

    def as_it_is(self) -> OpenArray:
        """Return the same array, which others do not give another shape, with its engine."""
        while True:
            losses, metadata = self.losses, self._metadata
            array = self._with_metadata(metadata)
            array.losses = losses
            array._engine = self.engine()
            if self._metadata is metadata:
                return array

    def watched(self) -> OpenArray:
        """Return the same array, for :meth:`lost_since`: it is not to be read."""
        while True:
            self.follow()
            watch = self._with(self._config, self.cache)
            COMPILED.add(watch)
            if watch.losses == users.losses:
                return watch

    def lost_since(self) -> bool:
        """Return whether this process has removed, replaced or shrunk what is at the place."""
        return self.losses != users.losses

    def out_of_date(self, shape: tuple[int, ...], *, or_larger: bool = False) -> str:
        """Return why an engine for this shape must not be used any more; empty text: it may.

        With `or_larger` it may where the array has grown, as whoever only reads may use it.
        """
        self._compare_seen()
        try:
            self.follow()
        except ArrayNotFoundError as error:
            return str(error)
        has_grown = all(now >= was for now, was in zip(self.shape, shape, strict=True))
        if self.shape == shape or (or_larger and has_grown):
            return ""
        name, how = self.path or "/", "grown" if has_grown else "shrunk"
        return f"array {name!r} has {how} from shape {shape} to shape {self.shape} since it was opened"

    def check_writable(self) -> None:
        """Raise a ReadOnlyError if the store or the format of the array can be read only."""
        self._refuse_read_only()
        self._compare_seen(to_write=True)

    def writable_engine(self) -> Engine:
        """Return the engine, after the same look at the metadata."""
        self._refuse_read_only()
        return self.engine(to_write=True)

    def _refuse_read_only(self) -> None:
        self._store_path.store._check_writable()
        if self._metadata.zarr_format == 1:
            raise ReadOnlyError(f"array {self.path or '/'!r}: arrays of format 1 can be read only")

    def __repr__(self) -> str:
        return f"<OpenArray {self._store_path} shape={self.shape} dtype={self.dtype}>"


def open_array_at(place: StorePath, zarr_format: int | None = None, *, config: Any = None) -> OpenArray:
    """Open the array at a place; the errors are those of :func:`zarrcore.nodes.open.open_array_node`."""
    losses = users.losses
    place, metadata = open_array_node(place, zarr_format)
    return array_read(metadata, place, config, losses=losses)


def array_read(
    metadata: ArrayMetadata,
    place: StorePath,
    config: ArrayConfigLike | None,
    *,
    losses: int | None,
    is_copy: bool = False,
) -> OpenArray:
    """Return the array whose own document, or one of consolidated metadata, was just read."""
    seen = document_noticed(metadata, place, noticed_of(metadata))
    documented = not is_copy or seen is not None
    return OpenArray(metadata, place, config, losses=losses, documented=documented, seen=seen)


def document_noticed(
    metadata: ArrayMetadata, place: StorePath, noticed: Any = None
) -> tuple[str, Any] | None:
    """Return an array's document and what distinguishes it; None if there is none, or that is a request.

    `noticed`: that, if it was found out when the document was read.
    """
    store, key = place.store, document_key(metadata, place)
    if not noticed and (store._has_directories or not store._concurrent_requests()):
        noticed = store._noticed(key)
    return (key, noticed) if noticed else None


def engine_of_whole_chunks(array: OpenArray, metadata: ArrayMetadata) -> Any:
    """Return an engine for all elements of the chunks, those beyond the end of `metadata.shape` included."""
    last = [(axis, axis.nchunks - 1) for axis in axes_of(metadata.shape, grid_edges(metadata))]
    ends = tuple(axis.offset(k) + axis.chunk_length(k) if k >= 0 else 0 for axis, k in last)
    return build_engine(
        metadata.update_shape(ends),
        array.store_path,
        missing_is_error=not array.config.read_missing_chunks,
        cache=array.cache,
    )


def stored_metadata(
    array: OpenArray, known: dict[str, bytes] | None = None, versions: Versions | None = None
) -> ArrayMetadata:
    """Return the metadata that are in the store now; those of the array if `known` are the documents there.

    The versions of the documents go to `versions`.

    If there is no array any more, an ArrayNotFoundError is raised.
    """
    place, zarr_format = array.store_path, array.metadata.zarr_format
    values = read_documents(place, zarr_format, versions)
    if known is not None and {name: lasting(value) for name, value in values.items()} == known:
        return array.metadata
    found = parse_node(place, zarr_format, values)
    if found is None or not is_array_metadata(found):
        raise ArrayNotFoundError(
            f"array {array.path or '/'!r} is no longer in {array.store}: "
            f"{'there is nothing' if found is None else 'there is a group'} in its place"
        )
    noticed_of(found)  # an engine looks itself
    return found
