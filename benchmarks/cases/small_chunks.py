"""4000 chunks of 1 KiB or 4 KiB: what a chunk costs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from benchmarks import goals
from benchmarks.cases.base import IN_MEMORY, WRITERS, Case, Place, Prepare, read_all, write_all
from benchmarks.goals import Family
from benchmarks.libraries import LIBRARIES
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

#: Values, and goals of (read, write, read from memory, write to memory).
_SETS: dict[str, tuple[str, Family, Family, Family, Family]] = {
    "small-raw": (
        "kibibytes",
        goals.SMALL_READS,
        goals.SMALL_WRITES,
        goals.MEMORY_READS,
        goals.MEMORY_WRITES,
    ),
    "small-zstd": (  # decompression is most of the work, wherever the bytes are
        "four-kibibytes",
        goals.SMALL_CODED_READS,
        goals.SMALL_CODED_WRITES,
        goals.SMALL_CODED_READS,
        goals.SMALL_CODED_WRITES,
    ),
    "small-shard": (
        "kibibytes",
        goals.SMALL_READS,
        goals.SMALL_WRITES,
        goals.MEMORY_READS,
        goals.MEMORY_WRITES,
    ),
    "small-v2-raw": (
        "kibibytes",
        goals.SMALL_READS,
        goals.SMALL_WRITES,
        goals.MEMORY_READS,
        goals.MEMORY_WRITES,
    ),
}
_THREADS = 4


def _by_threads(dataset: str, *, memory: bool = False) -> Prepare:
    """Python threads that read a quarter each."""

    def prepare(library: Library, place: Place) -> Operation:
        array = library.open(library.locate(place.home.array(dataset), memory=memory))
        pool = ThreadPoolExecutor(_THREADS)
        edges = [array.shape[0] * number // _THREADS for number in range(_THREADS + 1)]
        quarters = [slice(*pair) for pair in zip(edges, edges[1:], strict=False)]
        return Operation(lambda: list(pool.map(lambda quarter: library.read(array, quarter), quarters)))

    return prepare


def cases() -> Iterator[Case]:
    for dataset, (values, read, write, memory_read, memory_write) in _SETS.items():
        local, memory = f"chunks/{dataset}-local", f"chunks/{dataset}-memory"
        yield Case(f"{local}/read", read, read_all(dataset))
        yield Case(f"{local}/write", write, write_all(dataset, values), WRITERS)
        if dataset != "small-v2-raw":
            yield Case(f"{memory}/read", memory_read, read_all(dataset, memory=True), IN_MEMORY)
            yield Case(f"{memory}/write", memory_write, write_all(dataset, values, memory=True), IN_MEMORY)
    for dataset, goal in (("small-raw", goals.PYTHON_THREADS), ("small-zstd", goals.SMALL_CODED_READS)):
        for store, libraries in (("local", LIBRARIES), ("memory", IN_MEMORY)):
            yield Case(
                f"chunks/{dataset}-{store}/4-python-threads",
                goal,
                _by_threads(dataset, memory=store == "memory"),
                libraries,
                floor=False,
            )
