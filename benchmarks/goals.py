"""Families of cases, and how many times faster than the best peer zarrcore shall be in each."""

from __future__ import annotations

from dataclasses import dataclass

#: No case may fall below this, whatever its goal.
LEAST = 0.95
#: Geometric mean over all cases.
MEAN = 2.0
#: From 1 to 2 threads, where decoding is the work.
SPEED_UP = 1.85
#: CPU time of `import zarrcore` over that of `import numpy`.
IMPORT = 1.35
#: Bytes over those of the best peer that count as no larger: a block's end falls here or there.
SAME_SIZE = 1.001
#: What a Python thread gets done beside a read, over what it gets done beside plain C: the clock's own noise.
BESIDE = 0.95


@dataclass(frozen=True)
class Family:
    """Cases with one goal.

    Attributes
    ----------
    title : str
        For people.
    goal : float
        Time of the best peer over zarrcore's.
    no_larger : bool
        Whether what was written must not exceed what the best peer wrote.
    """

    title: str
    goal: float
    no_larger: bool = False


READ_RAW = Family("whole arrays, raw or sharded: read", 1.15)
READ_BLOSC = Family("whole arrays, blosc: read", 1.08)
READ_RAW_INTO = Family("into memory at hand, raw: read", 1.3)
READ_INTO = Family("into memory at hand, blosc, sharded: read", 1.0)
READ_REORDERED = Family("big-endian, transposed: read", 1.2)
READ_GZIP = Family("gzip: read", 1.1)
READ_ZSTD = Family("zstd: read", 1.05)
READ_LZ4 = Family("lz4: read", 1.0)
COLD = Family("whole arrays, not in the page cache: read", 1.3)

WRITE_RAW = Family("whole arrays, raw: write, round trip", 1.3)
WRITE_CODED = Family("whole arrays, others: write, round trip", 1.1)
WRITE_BIG_ENDIAN = Family("big-endian: write", 1.3)
WRITE_TRANSPOSED = Family("transposed: write", 1.15)
WRITE_GZIP = Family("gzip: write", 1.5, no_larger=True)
WRITE_OTHER = Family("zstd, lz4: write", 1.0, no_larger=True)

SMALL_READS = Family("small chunks, raw: read", 3)
SMALL_CODED_READS = Family("small chunks, zstd: read", 1.5)
MEMORY_READS = Family("small chunks in memory: read", 5)
PYTHON_THREADS = Family("small chunks, 4 Python threads: read", 3)
SMALL_WRITES = Family("small chunks, raw: write", 1.1)
SMALL_CODED_WRITES = Family("small chunks, zstd: write", 1.3)
MEMORY_WRITES = Family("small chunks in memory: write", 4)

TINY_READS = Family("100 elements, or one: read", 5)
TINY_WRITES = Family("100 elements, or one: write", 1.5)
OPENING = Family("open", 1.2)
CREATING = Family("create 2,000 arrays", 1.3)
LISTING = Family("list 2,000 arrays", 8)

ELEMENTS = Family("single elements", 2.5)
BOXES = Family("boxes across chunks", 1.6)
INNER_CHUNKS = Family("inner chunks of shards", 2)
SCATTERED = Family("planes, strides, points, outer products", 1.4)
MASKS = Family("masks", 2)
CROPS = Family("random crops, one by one", 1.6)
CROPS_IN_BATCHES = Family("random crops, 32 in a batch", 1.4)
ROWS = Family("rows at random", 1.5)

UPDATES = Family("update boxes, inner chunks, half-shard rows", 1.2)
APPENDS = Family("append rows", 2)

READ_TEXT = Family("strings of any length: read", 3)
WRITE_TEXT = Family("strings of any length: write", 3)
READ_BYTES = Family("byte strings of any length: read", 3)
WRITE_BYTES = Family("byte strings of any length: write", 3)

BRIDGE_SMALL = Family("under zarr-python: small chunks: read", 2.5)
BRIDGE_SMALL_DEFAULT = Family("under zarr-python: small chunks, over its default: read", 12)
BRIDGE_READS = Family("under zarr-python: whole arrays: read", 1.15)
BRIDGE_WRITES = Family("under zarr-python: whole arrays: write", 1.0)
BRIDGE_TINY = Family("under zarr-python: 100 elements: read", 1.5)
BRIDGE_ACCELERATED = Family("zarr-python accelerated: 100 elements: read", 40)

XARRAY_OPEN = Family("xarray: open 200 variables, consolidated", 10)
XARRAY_OPEN_PLAIN = Family("xarray: open 200 variables", 6)
XARRAY_CHUNKED = Family("xarray: open 200 variables as dask arrays", 1.3)
XARRAY_TREE = Family("xarray: open 100 groups", 2.6)
XARRAY_WRITE = Family("xarray: write 200 variables", 4)
XARRAY_APPEND = Family("xarray: append along time", 2)
XARRAY_POINTS = Family("xarray: single points", 3)
DASK = Family("dask: sums", 1.3)
TOKENIZE = Family("dask: tokens", 4)

#: In the order above.
FAMILIES = tuple(value for value in globals().values() if isinstance(value, Family))

#: Families by kind of work, for the table that compares libraries.
KINDS = {
    "whole arrays: read": FAMILIES[: FAMILIES.index(WRITE_RAW)],
    "whole arrays: write": FAMILIES[FAMILIES.index(WRITE_RAW) : FAMILIES.index(SMALL_READS)],
    "many small chunks: read": (SMALL_READS, SMALL_CODED_READS, MEMORY_READS, PYTHON_THREADS),
    "many small chunks: write": (SMALL_WRITES, SMALL_CODED_WRITES, MEMORY_WRITES),
    "arrays of up to 100 elements: read": (TINY_READS,),
    "arrays of up to 100 elements: write": (TINY_WRITES,),
    "parts of large arrays: read": (
        ELEMENTS,
        BOXES,
        INNER_CHUNKS,
        SCATTERED,
        MASKS,
        CROPS,
        CROPS_IN_BATCHES,
        ROWS,
    ),
    "parts of large arrays: update, append": (UPDATES, APPENDS),
    "open, create, list": (OPENING, CREATING, LISTING),
    "strings, byte strings: read": (READ_TEXT, READ_BYTES),
    "strings, byte strings: write": (WRITE_TEXT, WRITE_BYTES),
    "zarr-python on this engine": FAMILIES[FAMILIES.index(BRIDGE_SMALL) : FAMILIES.index(XARRAY_OPEN)],
    "xarray, dask": FAMILIES[FAMILIES.index(XARRAY_OPEN) :],
}
