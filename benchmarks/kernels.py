# SPDX-License-Identifier: MIT
"""Each kernel against the NumPy expression that it replaces, or the package that does the same.

    python -m benchmarks.kernels [--nbytes 4Mi] [--rounds 9] [--only NAME] [--page docs/kernels.md]

The results are compared first.  Then both sides work on the same data, in turns, and a line shows the median
of the ratios of neighbouring measurements of CPU time: a busy machine slows both.  Outputs are allocated
beforehand where both sides can take them.  One thread each.  A ratio above 1 means that zarrcore is faster; a
difference under 5 % is noise.  Beside filters stands how their speed compares with copying as many bytes as
they read and write.
"""

from __future__ import annotations

import argparse
import importlib
import platform
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import compression, filters, small_calls
from benchmarks.comparing import Case, Result, copied, fill_page, run
from zarrcore import kernels


def optional(name: str) -> Any:
    """A package to compare with, or None."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def byte_cases(n: int) -> Iterator[Case]:
    rng = np.random.default_rng(1)
    for dtype in ("<u2", "<u4", "<f8", "<c16", "<U4"):
        x = np.frombuffer(rng.bytes(n), dtype)
        out = np.empty_like(x)
        yield Case(
            f"byteswap {dtype}",
            n,
            lambda x=x, out=out: kernels.byteswap(x, out=out, threads=1),
            lambda x=x, out=out: copied(out, x.byteswap()),
            "copyto(out, x.byteswap())",
        )
        yield Case(
            f"byteswap {dtype}, new",
            n,
            lambda x=x: kernels.byteswap(x, threads=1),
            lambda x=x: x.byteswap(),
            "x.byteswap()",
        )
    x = np.frombuffer(rng.bytes(n), "<u4")
    side = int((n / 4) ** 0.5)
    plane, turned = x[: side * side].reshape(side, side), np.empty((side, side), "<u4")
    yield Case(
        "transpose <u4",
        plane.nbytes,
        lambda: kernels.transpose(plane, (1, 0), out=turned, threads=1),
        lambda: copied(turned, plane.T),
        "copyto(out, x.T)",
    )


def grid_cases(n: int) -> Iterator[Case]:
    index = np.random.default_rng(2).integers(0, 2**40, n // 8)
    first, second = np.empty_like(index), np.empty_like(index)
    for length in (1000, 1024):
        yield Case(
            f"chunk_index by {length}",
            index.nbytes,
            lambda length=length: kernels.chunk_index(index, length, first, second),
            lambda length=length: np.divmod(index, length, first, second),
            "divmod(index, chunk)",
        )
    yield Case(
        "chunk_count",
        index.nbytes,
        lambda: kernels.chunk_count(index, 1000, out=first),
        lambda: np.negative(np.floor_divide(np.negative(index, out=first), 1000, out=first), out=first),
        "-(-n // chunk)",
    )
    grid = (32, 32, 32)
    codes = np.arange(2**15)
    yield Case(
        "morton_decode",
        codes.nbytes,
        lambda: kernels.morton_decode(codes, grid),
        lambda: morton_by_numpy(codes, 3, 5),
        "bit by bit, in NumPy",
    )


def morton_by_numpy(codes: np.ndarray, ndim: int, bits: int) -> np.ndarray:
    """Positions of codes in a cube."""
    out = np.zeros((codes.size, ndim), np.int64)
    for bit in range(ndim * bits):
        out[:, bit % ndim] |= (codes >> bit & 1) << bit // ndim
    return out


def fill_cases(n: int) -> Iterator[Case]:
    ours = np.zeros(n // 4, "f4")
    zero = np.float32(0)
    yield Case(
        "equals_fill, all equal",
        n,
        lambda: kernels.equals_fill(ours, zero),
        lambda: bool((ours == zero).all()),
        "(x == fill).all()",
    )
    for dtype, name in (("f4", ""), ("f8", " <f8"), ("c16", " <c16")):
        x = np.full(n // np.dtype(dtype).itemsize, np.nan, dtype)
        yield Case(
            f"equals_fill, all NaN{name}",
            n,
            lambda x=x: kernels.equals_fill(x, np.nan, nan_equal=True),
            lambda x=x: bool(np.isnan(x).all()),
            "isnan(x).all()",
        )
    blocks = ours.reshape(-1, 1024)
    yield Case(
        "equals_fill, blocks of 4 KiB",
        n,
        lambda: kernels.equals_fill(blocks, zero, axis=1),
        lambda: (blocks == zero).all(axis=1),
        "(x == fill).all(axis=1)",
    )
    yield Case("fill", n, lambda: kernels.fill(ours, zero), lambda: ours.fill(0), "x.fill(value)")


def filter_cases(n: int) -> Iterator[Case]:
    numcodecs = optional("numcodecs")
    if numcodecs is None:
        return
    rng = np.random.default_rng(3)
    for dtype in ("u1", "<i2", "<i4", "<i8", "<f4", "<f8"):
        x = rng.integers(0, 100, n // np.dtype(dtype).itemsize).astype(dtype)
        encoded, out = kernels.delta_encode(x), np.empty_like(x)
        theirs = numcodecs.Delta(dtype)
        yield Case(
            f"delta_encode {dtype}",
            n,
            lambda x=x, out=out: kernels.delta_encode(x, out=out),
            lambda x=x, theirs=theirs: theirs.encode(x),
            "numcodecs.Delta",
        )
        yield Case(
            f"delta_decode {dtype}",
            n,
            lambda encoded=encoded, out=out: kernels.delta_decode(encoded, out=out),
            lambda encoded=encoded, out=out, theirs=theirs: theirs.decode(encoded, out=out),
            "numcodecs.Delta",
        )
    raw = np.frombuffer(rng.bytes(n), "u1")
    target = np.empty_like(raw)
    for size in (2, 4, 8, 16, 12):
        whole = raw[: n - n % size]
        to = target[: whole.size]
        theirs = numcodecs.Shuffle(size)
        yield Case(
            f"shuffle {size}",
            n,
            lambda whole=whole, size=size, to=to: kernels.shuffle(whole, size, out=to),
            lambda whole=whole, theirs=theirs: theirs.encode(whole),
            "numcodecs.Shuffle",
        )
        yield Case(
            f"unshuffle {size}",
            n,
            lambda whole=whole, size=size, to=to: kernels.unshuffle(whole, size, out=to),
            lambda whole=whole, theirs=theirs, to=to: theirs.decode(whole, out=to),
            "numcodecs.Shuffle",
        )
    yield from bit_cases(n, numcodecs)


def bit_cases(n: int, numcodecs: Any) -> Iterator[Case]:
    rng = np.random.default_rng(4)
    flags = rng.integers(0, 2, n).astype(bool)
    packed, back = np.packbits(flags), np.empty(n, bool)
    room = np.empty_like(packed)
    yield Case(
        "pack_bits bool",
        n,
        lambda: kernels.pack_bits(flags, out=room, bitorder="big"),
        lambda: np.packbits(flags),
        "packbits(x)",
    )
    yield Case(
        "unpack_bits bool",
        n,
        lambda: kernels.unpack_bits(packed, bool, n, out=back, bitorder="big"),
        lambda: np.unpackbits(packed),
        "unpackbits(x)",
    )
    nibbles = rng.integers(0, 16, n // 8).astype("u1")
    yield Case(
        "pack_bits 4 of 8",
        nibbles.nbytes,
        lambda: kernels.pack_bits(nibbles, last_bit=3),
        lambda: np.packbits(
            np.unpackbits(nibbles[:, None], axis=1, bitorder="little")[:, :4], bitorder="little"
        ),
        "packbits(unpackbits(x)[:, :4])",
    )


def checksum_cases(n: int) -> Iterator[Case]:
    package = optional("crc32c")
    if package is None:
        return
    data = np.random.default_rng(5).bytes(n)
    for size in (100, 4096, n):
        piece = data[:size]
        yield Case(
            f"crc32c of {size} bytes",
            size,
            lambda piece=piece: kernels.crc32c(piece),
            lambda piece=piece: package.crc32c(piece),
            "crc32c.crc32c",
        )
    blocks = np.frombuffer(data, "u1").reshape(-1, 1024)
    rows = [bytes(block) for block in blocks]
    yield Case(
        "crc32c, blocks of 1 KiB",
        n,
        lambda: kernels.crc32c(blocks, axis=1, threads=1),
        lambda: np.array([package.crc32c(row) for row in rows], np.uint32),
        "[crc32c.crc32c(b) for b in blocks]",
    )


def cases(n: int) -> Iterator[Case]:
    """All of them; data are made one case after the other."""
    yield from byte_cases(n)
    yield from grid_cases(n)
    yield from fill_cases(n)
    yield from filter_cases(n)
    yield from checksum_cases(n)
    if (numcodecs := optional("numcodecs")) is not None:
        yield from compression.compression_cases(numcodecs, n)
    yield from filters.filter_cases(n)
    yield from filters.item_cases(n)
    yield from small_calls.small_cases()


def parse_size(text: str) -> int:
    """16Mi, 64Ki, 1000."""
    units = {"Ki": 10, "Mi": 20, "Gi": 30}
    return int(text[:-2]) << units[text[-2:]] if text[-2:] in units else int(text)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nbytes", type=parse_size, default=1 << 22, help="size of the data")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--page", type=Path, help="put the table into this page, between its markers")
    options = parser.parse_args()
    if options.page is not None and options.only:
        parser.error("--page takes all cases")
    results = list(run(cases(options.nbytes), rounds=options.rounds, only=options.only))
    if options.page is not None:
        fill_page(options.page, results, about(options, results))


def about(options: argparse.Namespace, results: list[Result]) -> str:
    """Where and how the table was measured."""
    filters_alone = [r for r in results if r.case.moved]
    good = sum(r.is_good for r in filters_alone)
    slower = [r.case.name for r in results if r.ratio < 1]
    text = (
        f"{platform.system()} {platform.machine()}, {cpu_name()}; CPython {platform.python_version()}, "
        f"numpy {np.__version__}; data of {options.nbytes >> 10} KiB, {options.rounds} rounds, "
        f"{date.today().isoformat()}.  Of {len(filters_alone)} filter cases {good} are three times as fast "
        f"as numcodecs or take at most 1.25 times as long as copying the bytes.  "
    )
    return text + (f"Not faster: {', '.join(slower)}." if slower else "All are faster.")


def cpu_name() -> str:
    """As Linux calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    main()
