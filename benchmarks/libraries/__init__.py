"""The libraries compared, and the floor, by name; each is imported in its own worker process only."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.libraries.base import Library

SUBJECT = "zarrcore"
SUBJECT_PIPELINE = "zarrcore.integrations.zarr_python.CodecPipeline"
REFERENCE = "zarr"
PEERS = ("zarr", "zarr-fused", "zarrs", "tensorstore", "tensorstore-mmap")
LIBRARIES = (SUBJECT, *PEERS)
#: Peers by project; of one with several modes the fastest counts.
PROJECTS = {
    "zarr-python": ("zarr", "zarr-fused"),
    "zarrs": ("zarrs",),
    "tensorstore": ("tensorstore", "tensorstore-mmap"),
}
FLOOR = "floor"  # no library: the same work in plain C


def load(name: str, threads: int = 0) -> Library:
    """The adapter of a library, which imports it.

    Parameters
    ----------
    name : str
        One of `LIBRARIES`, or `FLOOR`.
    threads : int
        Threads for its work; 0 leaves the library's own default.
    """
    made = _FACTORIES[name](threads)
    made.name = name
    return made


def _zarrcore(threads: int) -> Library:
    from benchmarks.libraries.subject import Zarrcore

    return Zarrcore(threads)


def _zarr(pipeline: str) -> Callable[[int], Library]:
    def make(threads: int) -> Library:
        from benchmarks.libraries.zarr_python import ZarrPython

        return ZarrPython(threads, pipeline)

    return make


def _tensorstore(file_io_mode: str) -> Callable[[int], Library]:
    def make(threads: int) -> Library:
        from benchmarks.libraries.tensorstore import TensorStore

        return TensorStore(threads, file_io_mode)

    return make


def _floor(threads: int) -> Library:
    from benchmarks.libraries.floor import Floor

    return Floor(threads)


_FACTORIES: dict[str, Callable[[int], Library]] = {
    "zarrcore": _zarrcore,
    "zarr": _zarr("zarr.core.codec_pipeline.BatchedCodecPipeline"),
    "zarr-fused": _zarr("zarr.core.codec_pipeline.FusedCodecPipeline"),
    "zarrs": _zarr("zarrs.ZarrsCodecPipeline"),
    "tensorstore": _tensorstore("default"),
    "tensorstore-mmap": _tensorstore("memmap"),
    "floor": _floor,
}
