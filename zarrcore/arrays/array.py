"""The face of an opened array for synchronous programs: it reads and writes like a numpy array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from zarrcore import indexing
from zarrcore._core.engine import empty
from zarrcore._typing import ArrayLike, Memory, Out, SelectionLike, ShapeLike, ValueLike
from zarrcore.arrays import access
from zarrcore.arrays.config import ArrayConfigLike
from zarrcore.arrays.face import ArrayFace
from zarrcore.arrays.inspectable import Inspectable
from zarrcore.arrays.opened import open_array_at
from zarrcore.arrays.selections import Indexable, Select
from zarrcore.indexing import Fields
from zarrcore.metadata import layout
from zarrcore.node import SynchronousNode, bridge
from zarrcore.storage.path import StoreLike

if TYPE_CHECKING:
    import zarr

    from zarrcore._core.engine import ChunkCache
    from zarrcore.arrays.prefetching import Prefetch
    from zarrcore.arrays.tolerant import OnError
    from zarrcore.arrays.writer import ArrayWriter
    from zarrcore.info import NodeInfo
    from zarrcore.progress import Progress


class Array(ArrayFace, Indexable, Inspectable, SynchronousNode):
    """An N-dimensional array stored as chunks.

    Create arrays with :func:`zarrcore.create_array` and open them with :func:`zarrcore.open_array`.  Read and
    write with ``array[...]``, or with :meth:`read` and :meth:`write`, which take a number of threads.  Any
    number of threads may use one array at the same time.

    Parameters
    ----------
    metadata : ArrayV2Metadata, ArrayV3Metadata or dict, or AsyncArray
        The array's metadata document; an asynchronous array, without any place, makes another face of it.
    store_path : StorePath
        The store and the array's path in it.
    config : ArrayConfig or mapping, optional
        Run-time settings; the global configuration has the defaults.

    Examples
    --------
    >>> import zarrcore
    >>> array = zarrcore.create_array({}, shape=(4, 6), chunks=(2, 3), dtype="i4")
    >>> array[1, ::-2] = [1, 2, 3]
    >>> array[1]
    array([0, 3, 0, 2, 0, 1], dtype=int32)
    >>> array.read((slice(None), 1), threads=2)
    array([0, 3, 0, 0], dtype=int32)
    """

    __slots__ = ("__weakref__",)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            text = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name[:1] != "_" and hasattr(np.ndarray, name):
                text = f"{text}; it is that of the values, which are read first: array[...].{name}"
            raise AttributeError(text, name=name, obj=self)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reduced(_unpickled if type(self) is Array else None)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Return what dask makes a name of: equal for two handles of one array, another after a change."""
        from zarrcore.arrays.token import array_token

        return array_token(self._opened)

    # --- opening ---

    @classmethod
    def open(
        cls,
        store: StoreLike,
        *,
        config: ArrayConfigLike | None = None,
        storage_options: dict[str, Any] | None = None,
    ) -> Array:
        """Open the array at the root of a store; :func:`zarrcore.open_array` has more parameters.

        Parameters
        ----------
        store : store-like
            A store, a place in one, a path, a URL or a dictionary.
        config : ArrayConfig or mapping, optional
            Run-time settings.
        storage_options : dict, optional
            Options of a remote store.

        Returns
        -------
        Array

        Raises
        ------
        ArrayNotFoundError
            If there is no array.
        NotAnArrayError
            If there is a group.

        Examples
        --------
        >>> import zarrcore
        >>> store = {}
        >>> zarrcore.save(store, np.arange(3))
        >>> zarrcore.Array.open(store).shape
        (3,)
        """
        from zarrcore.storage import make_store_path

        place = make_store_path(store, storage_options=storage_options)
        return cls._of(open_array_at(place, config=config))

    # --- properties ---

    @property
    def async_array(self) -> Any:
        """The same array as an :class:`AsyncArray`, whose methods are coroutines."""
        from zarrcore.arrays.async_array import AsyncArray

        return AsyncArray._of(self._opened)

    _async_array = async_array  # the name that xarray uses

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each dimension."""
        self._opened.follow()
        return self._metadata.shape

    @shape.setter
    def shape(self, value: tuple[int, ...]) -> None:
        self.resize(value)

    @property
    def nchunks_initialized(self) -> int:
        """Number of chunks that are stored, found by listing the store.

        All inner chunks of a stored shard count as stored.
        """
        from zarrcore.arrays.chunks import count_stored

        return count_stored(self._opened)

    def info_complete(self) -> NodeInfo:
        """Return :attr:`info` with the stored size in bytes and the number of stored chunks."""
        from zarrcore.arrays.info import array_info

        return array_info(self._opened, complete=True)

    @property
    def cache(self) -> ChunkCache | None:
        """Where decoded chunks are kept, see :meth:`with_cache`."""
        return self._opened.cache

    def with_cache(self, cache: ChunkCache | int | None) -> Self:
        """Return the same array, reading through a cache of decoded chunks (of inner chunks, if sharded).

        Parameters
        ----------
        cache : ChunkCache, int or None
            A cache, which several arrays may share, the limit in bytes of a new one, or None for no cache.

        Raises
        ------
        ValueError
            If the chunks are decoded by codecs in Python, or the data type is one of Python objects.

        Notes
        -----
        :class:`zarrcore.ChunkCache` documents when a kept chunk is used.  A pickled array has no cache.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.ones((4, 4), chunks=(2, 2)).with_cache(1 << 20)
        >>> float(array[0, 0]), float(array[0, 1])  # one chunk, decoded once
        (1.0, 1.0)
        """
        from zarrcore._core.engine import ChunkCache

        if cache is not None and not isinstance(cache, ChunkCache):
            cache = ChunkCache(cache)
        return type(self)._of(self._opened.with_cache(cache))

    def prefetch(self, selection: SelectionLike = ..., *, threads: int = 0) -> Prefetch:
        """Decode the chunks of a selection into the array's cache in a thread, without waiting for it.

        Parameters
        ----------
        selection
            As in ``array[selection]``.
        threads : int
            Number of threads; 0 for the configured number.

        Returns
        -------
        Prefetch
            To wait for it, or to cancel it.

        Raises
        ------
        ValueError
            If the array has no cache.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.ones((4, 4), chunks=(2, 2)).with_cache(1 << 20)
        >>> array.prefetch(slice(2, 4)).wait()
        True
        """
        from zarrcore.arrays.prefetching import Prefetch

        return Prefetch(self._opened, indexing.plain_selection(selection, self.shape), threads)

    # --- like a numpy array ---

    def __len__(self) -> int:
        """Return the length of the first dimension."""
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __bool__(self) -> bool:
        """Return True: an array object is true for any length and any values."""
        return True

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator over the elements along the first dimension."""
        if not self.shape:
            raise TypeError("iteration over an array without dimensions")
        return self._rows()

    def _rows(self) -> Iterator[Any]:
        """Yield the rows, read by whole chunks so that no chunk is decoded twice."""
        length = (layout.inner_chunks(self._metadata) or layout.grid_edges(self._metadata))[0]
        step = length if isinstance(length, int) else max(length)
        for start in range(0, self.shape[0], step):
            yield from self[start : start + step]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Read the whole array, for ``np.asarray(array)``."""
        if copy is False:
            raise ValueError("the data of a stored array can only be read into a copy")
        selection = indexing.basic_selection((), self.shape)
        array = empty(self.shape, self.dtype, self.order)
        access.fill(self._opened, selection, array, 0)
        return array if dtype is None else array.astype(dtype, copy=False)

    # --- reading ---

    def __getitem__(self, selection: SelectionLike) -> Any:
        """Read a selection.

        Integers, slices (any step), an ellipsis and newaxis select as in numpy.  Integer arrays for all
        dimensions select points as in :attr:`vindex`, a boolean array of the array's shape is a mask, and one
        index array among integers and slices selects as in :attr:`oindex`.  Field names may come first:
        ``array["field", 0:3]``.  :meth:`read` does the same and has more parameters.

        Returns
        -------
        ndarray or scalar
            A new array, or a numpy scalar for a single element.

        Raises
        ------
        IndexError
            If the selection does not fit the array.
        ChunkError
            If a chunk cannot be read; only an absent chunk reads as the fill value.
        """
        opened = self._opened
        result = (opened.get or opened.first_get)(selection)
        if result is not NotImplemented:
            return result
        fields, selection = indexing.pop_fields(selection)
        return self._get(indexing.plain_selection, selection, fields=fields)

    def read(
        self,
        selection: SelectionLike = ...,
        *,
        out: Out = None,
        threads: int = 0,
        on_error: OnError = "raise",
        progress: Progress | None = None,
    ) -> Any:
        """Read a selection, into the caller's memory if `out` is given.

        Parameters
        ----------
        selection
            As in ``array[selection]``.
        out : ndarray or other memory, optional
            Array of the result's shape and data type to read into; any strides.  Arrays of other libraries in
            memory of the CPU (DLPack, such as torch tensors, or ``__array_interface__``), and writable bytes
            that are as many as the result has, such as shared memory, are taken too.
        threads : int
            Number of threads; 0 for the configured number.
        on_error : {"raise", "fill", "collect"}
            What to do about chunks, and inner chunks of shards, that cannot be read: raise an error for
            the first one; return the fill value in their place, with a warning that names them; or return
            the fill value there, and their errors.
        progress : callable or True, optional
            Called as ``progress(done, total)`` with numbers of bytes, after each 32 MiB or row of chunks;
            what it raises ends the call.  True shows a bar, which takes rich or tqdm.

        Returns
        -------
        ndarray or scalar
            `out` if it was given; else a new array, or a numpy scalar for a single element.  With
            ``on_error="collect"`` a pair of that and a list of :class:`ChunkError`.

        Raises
        ------
        IndexError
            If the selection does not fit the array.
        ValueError
            If `out` has another shape or data type, cannot be written, or has items that share memory.
        ChunkError
            If a chunk cannot be read; only an absent chunk reads as the fill value.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.array([[1, 2], [3, 4]], dtype="i4")
        >>> out = np.empty(2, "i4")
        >>> array.read(1, out=out)
        array([3, 4], dtype=int32)
        """
        fields, selection = indexing.pop_fields(selection)
        if on_error != "raise":
            from zarrcore.arrays import tolerant

            if progress:
                raise ValueError("read: progress is for on_error='raise'")
            return tolerant.read(self._opened, selection, out, fields, threads, on_error)
        if progress is None:
            return self._get(indexing.plain_selection, selection, out, fields, threads)
        from zarrcore.progress import reporting

        with reporting(progress, "reading") as step:
            return access.get_by(
                self._opened, indexing.plain_selection, selection, out, fields, threads, step
            )

    def read_many(
        self,
        selections: Iterable[SelectionLike],
        *,
        out: Sequence[Memory] | Out = None,
        stack: bool = False,
        threads: int = 0,
    ) -> list[np.ndarray] | np.ndarray:
        """Read many selections in one call; see :func:`zarrcore.read_many`.

        Parameters
        ----------
        selections : iterable
            Each as in ``array[selection]``.
        out, stack, threads
            As of :func:`zarrcore.read_many`.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.array([[1, 2], [3, 4]])
        >>> array.read_many([0, (slice(None), 1)], stack=True)
        array([[1, 2],
               [2, 4]])
        """
        from zarrcore.arrays.batches import read_many

        requests = [(self._opened, selection) for selection in selections]
        return read_many(requests, out=out, stack=stack, threads=threads)

    def _get(
        self, select: Select, selection: Any, out: Any = None, fields: Fields | None = None, threads: int = 0
    ) -> Any:
        return access.get_by(self._opened, select, selection, out, fields, threads)

    # --- writing ---

    def __setitem__(self, selection: SelectionLike, value: ValueLike) -> None:
        """Write into a selection; see :meth:`write`.

        Records are assigned by the names of their fields, not by position as in numpy: they need the same
        names, in any order.  Tuples are assigned by position.
        """
        fields = None
        if type(selection) is not slice:
            fields, selection = indexing.pop_fields(selection)
        access.put_by(self._opened, indexing.plain_selection, selection, value, fields)

    def write(
        self,
        selection: SelectionLike,
        value: ValueLike,
        *,
        threads: int = 0,
        progress: Progress | None = None,
    ) -> None:
        """Write values into a selection.

        Parameters
        ----------
        selection
            As in ``array[selection] = value``.
        value : array_like
            Broadcast to the selection; checked as a whole before anything is written.  Records are matched by
            the names of their fields, tuples by position.
        threads : int
            Number of threads; 0 for the configured number.
        progress : callable or True, optional
            As of :meth:`read`.

        Raises
        ------
        TypeError, OverflowError, ValueError
            If the data type has no such value: an integer out of range, 1.5 or NaN where integers belong,
            None or NaN where strings belong.  Rounded floats and cut strings are not errors.
        IndexError
            If the selection does not fit the array.
        ReadOnlyError
            If the store is read-only.
        ChunkError
            If a chunk cannot be written; others may have been written before.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.zeros((2, 3), dtype="i4")
        >>> array.write((slice(None), 1), [5, 6], threads=1)
        >>> array[...]
        array([[0, 5, 0],
               [0, 6, 0]], dtype=int32)
        """
        fields, selection = indexing.pop_fields(selection)
        if progress is None:
            access.put_by(self._opened, indexing.plain_selection, selection, value, fields, threads)
            return
        from zarrcore.progress import reporting

        with reporting(progress, "writing") as step:
            access.put_by(self._opened, indexing.plain_selection, selection, value, fields, threads, step)

    def _set(self, select: Select, selection: Any, value: Any, fields: Fields | None = None) -> None:
        access.put_by(self._opened, select, selection, value, fields)

    def writer(self, *, max_bytes: int | None = None, threads: int = 0) -> ArrayWriter:
        """Return a writer that collects small writes in memory and writes every chunk (or shard) once.

        Parameters
        ----------
        max_bytes : int, optional
            Most memory for collected values; when it is reached, the chunks whose last write is oldest are
            stored.  Default: 256 MiB, and at least one chunk (or shard) for each thread.
        threads : int
            Number of threads that write; 0 for the configured number.

        Returns
        -------
        ArrayWriter

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.create_array({}, shape=(8, 8), chunks=(2, 2), shards=(8, 8), dtype="i4")
        >>> with array.writer() as w:
        ...     for row in range(8):
        ...         w[row] = row
        >>> array[:, 0]
        array([0, 1, 2, 3, 4, 5, 6, 7], dtype=int32)
        """
        from zarrcore.arrays.writer import ArrayWriter

        return ArrayWriter(self, max_bytes=max_bytes, threads=threads)

    # --- dividing among writers ---

    def iter_regions(self, unit: Literal["chunk", "shard"] = "shard") -> Iterator[tuple[slice, ...]]:
        """Return an iterator over regions that cover the array, one for each chunk or shard.

        Parameters
        ----------
        unit : {"shard", "chunk"}
            "shard": what is stored under one key, of an array without shards a chunk.  Writers in different
            processes may each write some of these regions.  "chunk": what is read on its own.

        Returns
        -------
        iterator of tuple of slice
            Cut at the end of the array, in the order of the grid.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.zeros(10, chunks=2, shards=8)
        >>> list(array.iter_regions())
        [(slice(0, 8, None),), (slice(8, 10, None),)]
        """
        from zarrcore.arrays.partition import axes_of_unit, iter_regions

        return iter_regions(axes_of_unit(self._opened, unit))

    def check_regions(self, regions: Iterable[SelectionLike]) -> None:
        """Check that different processes may write these regions at the same time.

        Two writers that write to different parts of one chunk (of a sharded array: of one shard) read and
        replace all of it, and one of the updates can be lost.  Nothing is read from the store.

        Parameters
        ----------
        regions : iterable
            One for each writer; integers and slices, as in ``array[region]``.

        Raises
        ------
        RegionOverlapError
            If two of them reach into one chunk or shard; the message names these.
        IndexError
            If a region does not fit the array.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.zeros((6, 4), chunks=(2, 4))
        >>> array.check_regions([slice(0, 2), slice(2, 6)])
        >>> array.check_regions([slice(0, 3), slice(3, 6)])
        Traceback (most recent call last):
        ...
        zarrcore.errors.RegionOverlapError: array '/': regions 0 (0:3) and 1 (3:6) both write to ...
        """
        from zarrcore.arrays.partition import check_regions

        check_regions(self._opened, regions)

    # --- changing ---

    def resize(self, new_shape: ShapeLike, *lengths: int) -> None:
        """Change the lengths of the dimensions.

        Elements outside the new shape are removed, even if the array grows again later; new elements have the
        fill value.  The store is listed, the chunk grid is not walked.

        Parameters
        ----------
        new_shape : int or tuple of int
            A length for each dimension.
        *lengths : int
            There are none: the lengths are one argument, ``resize((3, 4))``.

        Raises
        ------
        TypeError, ValueError
            If these are not lengths, are several arguments, or are not as many as there are dimensions.
        ReadOnlyError
            If the store is read-only.
        StoreError
            If the store cannot remove what lies outside; if it refuses so beforehand, nothing has changed.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.full((2, 3), 7, dtype="i4")
        >>> array.resize((3, 3))
        >>> array[2]
        array([7, 7, 7], dtype=int32)
        """
        from zarrcore.arrays.chunks import resize

        if lengths:
            shape = (new_shape, *lengths)
            raise TypeError(f"resize: expected one shape, got {len(shape)} arguments: write resize({shape})")
        resize(self._opened, new_shape)

    def append(self, data: ArrayLike, axis: int = 0) -> tuple[int, ...]:
        """Append `data` along `axis`; the other dimensions must agree.

        Parameters
        ----------
        data : array_like
            Values with as many dimensions as the array.
        axis : int
            The dimension that grows; negative ones count from the last.

        Returns
        -------
        tuple of int
            The new shape.

        Raises
        ------
        ValueError
            If the shape of `data` does not fit, or there is no such dimension.
        TypeError, OverflowError, ReadOnlyError, ChunkError
            As of :meth:`write`.

        Examples
        --------
        >>> import zarrcore
        >>> zarrcore.array([[1, 2], [3, 4]]).append([[5], [6]], axis=1)
        (2, 3)
        """
        from zarrcore.arrays.chunks import append

        return append(self._opened, data, axis)

    def as_zarr(self) -> zarr.Array:  # type: ignore[type-arg]
        """Return the array as a ``zarr.Array`` of zarr-python, for libraries that ask for that class.

        It is in the same store, and the engine of zarrcore reads and writes its chunks.  Values are shared;
        the shape and the attributes are read now.  :func:`zarrcore.from_zarr` goes the other way.

        Raises
        ------
        ImportError
            If zarr-python 3 is not installed.
        ValueError
            If the array is of format 1, which zarr-python 3 does not have.

        Examples
        --------
        >>> import zarrcore
        >>> theirs = zarrcore.array([1, 2, 3]).as_zarr()
        >>> type(theirs), theirs[1:]
        (<class 'zarr.core.array.Array'>, array([2, 3]))
        """
        return bridge("as_zarr")(self)  # type: ignore[no-any-return]

    def _compiled(self) -> Any:
        """Return the engine, for the C API."""
        return self._opened.engine()


def _unpickled(*parts: Any) -> Array:
    """Return what `__reduce__` has taken apart; pickles know this name."""
    from zarrcore.arrays.pickled import unpickled_array

    return Array._of(unpickled_array(*parts))
