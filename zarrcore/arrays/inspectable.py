"""The part of an array's face that looks into what is stored, see :mod:`zarrcore.inspection`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore._typing import SelectionLike, ShapeLike
from zarrcore.node import in_thread, to_end

if TYPE_CHECKING:
    from zarrcore._typing import Buffer
    from zarrcore.arrays.opened import OpenArray
    from zarrcore.inspection.census import ChunkInfo
    from zarrcore.inspection.encoded import EncodedChunk
    from zarrcore.inspection.explaining import Explanation


class Inspectable:
    """What an array shows of its stored chunks."""

    __slots__ = ()

    if TYPE_CHECKING:
        _opened: OpenArray

    def chunk_info(self) -> ChunkInfo:
        """Return which chunks are stored, and their sizes, by listing the store and reading indexes alone.

        Returns
        -------
        ChunkInfo
            Index and stored size of each chunk; of shards also the inner chunks, and unused bytes.

        Raises
        ------
        StoreError, OSError
            If the store cannot be listed.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.create_array({}, shape=6, chunks=2, dtype="i4", compressors=None)
        >>> array[2:] = 5
        >>> info = array.chunk_info()
        >>> info
        <2 of 3 chunks stored, 16 bytes>
        >>> info.chunks.tolist(), info.nbytes.tolist()
        ([[1], [2]], [8, 8])
        """
        from zarrcore.inspection.census import chunk_info

        return chunk_info(self._opened)

    def explain(self, selection: SelectionLike = ...) -> Explanation:
        """Find out what reading a selection would cost, without reading it.

        The engine that would read makes a dry run: of whole chunks only the sizes are asked for, of shards
        the indexes are read, and other parts where the next request depends on them.  The requests are those
        made through the methods of a store.  C reads files and memory directly: the same chunks and inner
        chunks, but ranges of files are joined only where they are within 4 KiB of each other.

        Parameters
        ----------
        selection
            As in ``array[selection]``.

        Returns
        -------
        Explanation
            Chunks, keys, requests and bytes; what would run in C and what in Python, and why.

        Raises
        ------
        IndexError
            If the selection does not fit the array.
        ValueError
            If it touches more than 1,048,576 chunks.
        ChunkError
            If an index cannot be read, or there is no memory for a chunk.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.create_array({}, shape=(8, 8), chunks=(4, 4), dtype="i4", compressors="crc32c")
        >>> array[...] = 1
        >>> array.explain(0)
        Result   : (8,), 32 bytes
        Chunks   : 2, 2 of them stored
        Requests : 2, 136 bytes
        Decoded  : 128 bytes, 4.00 for each byte of the result
        Engine   : C
        """
        from zarrcore.inspection.explaining import explain

        return explain(self._opened, selection)

    def encoded(self, index: ShapeLike, inner: ShapeLike | None = None) -> EncodedChunk:
        """Return a chunk as it is stored: its encoded bytes can be read, replaced and removed.

        Parameters
        ----------
        index : int or tuple of int
            Index of the chunk (of the shard, in a sharded array) in the chunk grid.
        inner : int or tuple of int, optional
            Index of an inner chunk in the shard, instead of the whole shard.

        Returns
        -------
        EncodedChunk
            With the methods ``get``, ``put`` and ``erase``.

        Raises
        ------
        IndexError
            If there is no such chunk in the grid.
        ValueError
            If an inner chunk is asked for and the array has no shards that are stored as they are.

        Examples
        --------
        >>> import zarrcore
        >>> array = zarrcore.create_array({}, shape=4, chunks=2, dtype="u1", compressors=None)
        >>> array.encoded(1).put(b"AB")
        >>> array[:], array.encoded(1).get(), array.encoded(0).get()
        (array([ 0,  0, 65, 66], dtype=uint8), b'AB', None)
        """
        from zarrcore.inspection.encoded import EncodedChunk

        return EncodedChunk(self._opened, index, inner)


class AsyncInspectable:
    """The same, as coroutines."""

    __slots__ = ()

    if TYPE_CHECKING:
        _opened: OpenArray

    async def chunk_info(self) -> ChunkInfo:
        """Return which chunks are stored, and their sizes; see :meth:`zarrcore.Array.chunk_info`."""
        from zarrcore.inspection.census import chunk_info

        return await in_thread(chunk_info, self._opened)

    async def explain(self, selection: SelectionLike = ...) -> Explanation:
        """Find out what reading a selection would cost; see :meth:`zarrcore.Array.explain`."""
        from zarrcore.inspection.explaining import explain

        return await in_thread(explain, self._opened, selection)

    async def encoded(self, index: ShapeLike, inner: ShapeLike | None = None) -> AsyncEncodedChunk:
        """Return a chunk as it is stored; see :meth:`zarrcore.Array.encoded`."""
        from zarrcore.inspection.encoded import EncodedChunk

        return AsyncEncodedChunk(await in_thread(EncodedChunk, self._opened, index, inner))


class AsyncEncodedChunk:
    """A chunk, or an inner chunk of a shard, as it is stored: see :meth:`zarrcore.Array.encoded`."""

    __slots__ = ("_chunk",)

    def __init__(self, chunk: EncodedChunk) -> None:
        self._chunk = chunk

    def __repr__(self) -> str:
        return f"<Async{str(self._chunk)[1:]}"

    @property
    def key(self) -> str:
        """Store key of the chunk, or of the shard."""
        return self._chunk.key

    async def get(self) -> Buffer | None:
        """Return the stored bytes; None if the chunk is not stored."""
        return await in_thread(self._chunk.get)

    async def put(self, value: Buffer, *, check: bool = True) -> None:
        """Store bytes in place of those that are stored; decode them first, unless `check` is False."""
        await to_end(self._chunk.put, value, check=check)

    async def check(self, value: Buffer) -> None:
        """Raise a ChunkDecodeError if bytes cannot be decoded as this chunk."""
        await in_thread(self._chunk.check, value)

    async def erase(self) -> None:
        """Remove the chunk, which reads as the fill value then; do nothing if it is not stored."""
        await to_end(self._chunk.erase)
