"""The floor (floor/floor.c) in the guise of a library: planned once in Python, run in C."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.floor import LIBRARY
from benchmarks.measure import usable_cores

_CODECS = {"blosc": 1, "zstd": 2, "gzip": 3}
_SHUFFLES = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
_ONE_THREAD = 256 << 10  # less work than this does not pay for a thread

_PIECE = np.dtype(
    [("file", "i8"), ("offset", "i8"), ("nbytes", "i8"), ("from", "i8"), ("to", "i8"), ("count", "i8", 3)]
)


class _Layout(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32) for name in ("codec", "level", "itemsize", "swap")),
        *((name, ctypes.c_int32) for name in ("shuffle", "threads", "indexed", "whole_planes")),
        ("cname", ctypes.c_char * 16),
        ("chunk_bytes", ctypes.c_int64),
        ("stored", ctypes.c_int64 * 3),
        ("placed", ctypes.c_int64 * 3),
    ]


class _Source(ctypes.Structure):
    _fields_ = [
        ("path", ctypes.c_char_p),
        ("data", ctypes.c_char_p),
        ("first", ctypes.c_int64),
        ("count", ctypes.c_int64),
    ]


@dataclass(frozen=True)
class Metadata:
    """What the floor understands of an array: regular chunks, at most one compressor, one level of shards."""

    directory: Path
    in_memory: bool
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    shards: tuple[int, ...]
    codec: str | None
    options: dict[str, Any]
    order: tuple[int, ...]
    big_endian: bool
    name: str

    def key(self, index: tuple[int, ...]) -> str:
        """Of the file of a chunk or shard."""
        numbers = map(str, index)
        return "/".join(("c", *numbers)) if (self.directory / "zarr.json").exists() else ".".join(numbers)

    @property
    def is_sharded(self) -> bool:
        return self.shards != self.chunks


@dataclass(frozen=True)
class Plan:
    """The first arguments of a call into C, and whatever they point to."""

    arguments: tuple[Any, ...]
    files: int
    pieces: int
    shape: tuple[int, ...]
    kept: tuple[Any, ...]


class Floor:
    """Reads with integers and slices, whole writes; everything else it refuses."""

    def __init__(self, threads: int) -> None:
        self._threads = threads or usable_cores()
        self._c = ctypes.CDLL(str(LIBRARY))
        pointer = ctypes.c_void_p
        for function in (self._c.floor_read, self._c.floor_write):
            function.argtypes = [pointer, pointer, pointer, ctypes.c_int64, pointer]
        self._plans: dict[tuple[Any, ...], Plan] = {}

    def locate(self, directory: Path, *, memory: bool = False) -> Any:
        return directory, memory

    def open(self, location: Any, *, writable: bool = False) -> Metadata:
        directory, memory = location
        found = _understood(directory, memory)
        if writable:
            grid = [range(-(-n // s)) for n, s in zip(found.shape, found.shards, strict=True)]
            for parent in {(directory / found.key(index)).parent for index in product(*grid)}:
                parent.mkdir(parents=True, exist_ok=True)
        return found

    def read(self, array: Metadata, selection: Any = ...) -> Any:
        plan = self._plan(array, selection)
        out = np.empty(plan.shape, array.dtype)
        self._run(self._c.floor_read, plan, plan.pieces, out)
        return out if plan.shape else out[()]

    def read_into(self, array: Metadata, out: np.ndarray) -> np.ndarray:
        plan = self._plan(array, ...)
        self._run(self._c.floor_read, plan, plan.pieces, out)
        return out

    def write(self, array: Metadata, value: Any, selection: Any = ...) -> None:
        if selection is not ... or array.in_memory:
            raise NotImplementedError("the floor writes whole arrays into files")
        plan = self._plan(array, ..., writing=True)
        self._run(self._c.floor_write, plan, plan.files, value)

    def read_boxes(self, array: Metadata, boxes: list[tuple[slice, ...]]) -> np.ndarray:
        raise NotImplementedError("reads one selection at a time")

    def read_points(self, array: Metadata, coordinates: tuple[np.ndarray, ...]) -> np.ndarray:
        raise NotImplementedError("the floor has no index arrays")

    def read_orthogonal(self, array: Metadata, indices: tuple[np.ndarray, ...]) -> np.ndarray:
        raise NotImplementedError("the floor has no index arrays")

    def read_mask(self, array: Metadata, mask: np.ndarray) -> np.ndarray:
        raise NotImplementedError("the floor has no masks")

    def append(self, array: Metadata, rows: np.ndarray) -> Metadata:
        raise NotImplementedError("the floor writes whole arrays into files")

    def create_members(self, directory: Path, names: list[str], *, consolidated: bool) -> None:
        raise NotImplementedError("the floor has no groups")

    def open_members(self, directory: Path, names: list[str], *, consolidated: bool) -> list[Any]:
        raise NotImplementedError("the floor has no groups")

    def list_members(self, directory: Path, *, consolidated: bool) -> list[tuple[str, tuple[int, ...]]]:
        raise NotImplementedError("the floor has no groups")

    def _run(self, function: Any, plan: Plan, count: int, array: np.ndarray) -> None:
        if function(*plan.arguments, count, array.__array_interface__["data"][0]):
            raise RuntimeError("the floor could not read or write a chunk")

    def _plan(self, array: Metadata, selection: Any, *, writing: bool = False) -> Plan:
        """Kept for good: a case asks for the same selections of the same array again and again."""
        key = (array.name, array.in_memory, id(selection), writing)
        if key not in self._plans:
            self._plans[key] = _planned(array, selection, self._threads, writing=writing)
        return self._plans[key]


# ---- metadata ----


def _understood(directory: Path, memory: bool) -> Metadata:
    if (directory / "zarr.json").exists():
        return _format_3(directory, memory, json.loads((directory / "zarr.json").read_text()))
    return _format_2(directory, memory, json.loads((directory / ".zarray").read_text()))


def _format_2(directory: Path, memory: bool, document: dict[str, Any]) -> Metadata:
    compressor = document["compressor"] or {}
    codec = compressor.pop("id", None)
    if document["filters"] or codec not in (None, *_CODECS):
        raise NotImplementedError(f"the floor does not know {document['filters'] or codec}")
    options = compressor | {"level": compressor.get("level", compressor.get("clevel", 0))}
    axes = range(len(document["shape"]))
    chunks = tuple(document["chunks"])
    return Metadata(
        directory,
        memory,
        tuple(document["shape"]),
        np.dtype(document["dtype"]).newbyteorder("="),
        chunks,
        chunks,
        codec,
        options,
        tuple(axes if document["order"] == "C" else reversed(axes)),
        document["dtype"].startswith(">"),
        str(directory),
    )


def _format_3(directory: Path, memory: bool, document: dict[str, Any]) -> Metadata:
    shards = chunks = tuple(document["chunk_grid"]["configuration"]["chunk_shape"])
    codecs = document["codecs"]
    if codecs[0]["name"] == "sharding_indexed":
        chunks = tuple(codecs[0]["configuration"]["chunk_shape"])
        codecs = codecs[0]["configuration"]["codecs"]
    named = {codec["name"]: codec.get("configuration", {}) for codec in codecs}
    order = tuple(named.pop("transpose", {}).get("order", range(len(chunks))))
    big_endian = named.pop("bytes").get("endian") == "big"
    if len(named) > 1 or not named.keys() <= _CODECS.keys():
        raise NotImplementedError(f"the floor does not know {', '.join(named)}")
    codec, options = next(iter(named.items()), (None, {}))
    options = options | {"level": options.get("level", options.get("clevel", 0))}
    if "shuffle" in options:
        options["shuffle"] = _SHUFFLES[options["shuffle"]]
    dtype = np.dtype(document["data_type"])
    return Metadata(
        directory,
        memory,
        tuple(document["shape"]),
        dtype,
        chunks,
        shards,
        codec,
        options,
        order,
        big_endian,
        str(directory),
    )


# ---- plans ----


def _planned(array: Metadata, selection: Any, threads: int, *, writing: bool) -> Plan:
    steps, shape = _slices(selection, array.shape)
    item = array.dtype.itemsize
    counts = [len(range(*s)) for s in steps]
    stored = [
        item * prod(array.chunks[d] for d in array.order[array.order.index(axis) + 1 :])
        for axis in range(len(array.shape))
    ]
    placed = [item * prod(counts[axis + 1 :]) for axis in range(len(counts))]
    boxes = list(
        product(*(_spans(s, n, c) for s, n, c in zip(steps, array.shape, array.chunks, strict=True)))
    )
    if writing:  # a file's pieces stand together then
        boxes.sort(
            key=lambda box: tuple(
                span[0] * c // s for span, c, s in zip(box, array.chunks, array.shards, strict=True)
            )
        )
    sources, pieces, kept = _pieces(array, boxes, stored, placed, writing=writing)
    chunk_bytes = item * prod(array.chunks)
    work = chunk_bytes * len(pieces) if array.codec else item * prod(counts)
    layout = _Layout(
        codec=_CODECS.get(array.codec or "", 0),
        level=array.options.get("level", 0),
        itemsize=item,
        swap=array.big_endian,
        shuffle=array.options.get("shuffle", 0),
        threads=threads if work > _ONE_THREAD else 1,
        indexed=array.is_sharded,
        whole_planes=array.order == tuple(range(len(array.shape))),
        cname=array.options.get("cname", "").encode(),
        chunk_bytes=chunk_bytes,
        stored=_three([s * step for s, (_, _, step) in zip(stored, steps, strict=True)]),
        placed=_three(placed),
    )
    arguments = (ctypes.byref(layout), sources, ctypes.c_void_p(pieces.ctypes.data))
    return Plan(arguments, len(sources), len(pieces), shape, (*kept, pieces, selection))


def _slices(selection: Any, shape: tuple[int, ...]) -> tuple[list[tuple[int, int, int]], tuple[int, ...]]:
    """(start, stop, step) per dimension, and the shape of the result."""
    given = selection if isinstance(selection, tuple) else (selection,)
    if Ellipsis in given:
        at = given.index(Ellipsis)
        given = (*given[:at], *(slice(None),) * (len(shape) - len(given) + 1), *given[at + 1 :])
    given += (slice(None),) * (len(shape) - len(given))
    steps = [
        s.indices(n) if isinstance(s, slice) else (s, s + 1, 1) for s, n in zip(given, shape, strict=True)
    ]
    kept = [len(range(*step)) for s, step in zip(given, steps, strict=True) if isinstance(s, slice)]
    return steps, tuple(kept)


def _spans(steps: tuple[int, int, int], length: int, chunk: int) -> list[tuple[int, int, int, int]]:
    """Of every chunk touched: its number, the first element within it, the place in the result, the count."""
    start, stop, step = steps
    total = len(range(start, stop, step))
    found = []
    for number in range(-(-length // chunk)):
        begin = max(0, -((start - number * chunk) // step))
        end = min(total, max(0, -((start - (number + 1) * chunk) // step)))
        if begin < end:
            found.append((number, start + begin * step - number * chunk, begin, end - begin))
    return found


def _pieces(
    array: Metadata,
    boxes: list[tuple[tuple[int, int, int, int], ...]],
    stored: list[int],
    placed: list[int],
    *,
    writing: bool,
) -> tuple[Any, np.ndarray, tuple[Any, ...]]:
    inner = tuple(s // c for s, c in zip(array.shards, array.chunks, strict=True))
    pieces = np.zeros(len(boxes), _PIECE)
    numbers: dict[tuple[int, ...], int] = {}
    files: list[tuple[Path, np.ndarray]] = []
    for piece, box in zip(pieces, boxes, strict=True):
        shard = tuple(span[0] // n for span, n in zip(box, inner, strict=True))
        if shard not in numbers:
            numbers[shard] = len(files)
            path = array.directory / array.key(shard)
            files.append((path, _ranges(array, path, prod(inner), writing=writing)))
        piece["file"] = numbers[shard]
        within = tuple(span[0] % n for span, n in zip(box, inner, strict=True))
        at = int(np.ravel_multi_index(within, inner)) if inner else 0
        piece["offset"], piece["nbytes"] = files[numbers[shard]][1][at]
        piece["from"] = sum(span[1] * s for span, s in zip(box, stored, strict=True))
        piece["to"] = sum(span[2] * s for span, s in zip(box, placed, strict=True))
        piece["count"] = (1,) * (3 - len(box)) + tuple(span[3] for span in box)
    first = np.searchsorted(pieces["file"], range(len(files) + 1)) if writing else [0] * (len(files) + 1)
    data = [path.read_bytes() if array.in_memory else None for path, _ in files]
    sources = (_Source * len(files))(
        *(
            _Source(bytes(path), content, int(first[n]), int(first[n + 1] - first[n]))
            for n, ((path, _), content) in enumerate(zip(files, data, strict=True))
        )
    )
    return sources, pieces, (data,)


def _ranges(array: Metadata, path: Path, count: int, *, writing: bool) -> np.ndarray:
    """Offset and size of every chunk in a file."""
    if writing:
        return np.zeros((count, 2), "i8")
    if not array.is_sharded:
        return np.array([[0, path.stat().st_size]])
    return np.frombuffer(path.read_bytes()[-16 * count - 4 : -4], "<i8").reshape(count, 2)


def _three(strides: list[int]) -> Any:
    """Missing leading axes have length 1, so their strides do not matter."""
    return (ctypes.c_int64 * 3)(*(strides[:1] or [0]) * (3 - len(strides)), *strides)
