# SPDX-License-Identifier: MIT
"""What a call costs: kernels on 64 bytes.  Cases for ``python -m benchmarks.kernels``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.comparing import Case, copied
from zarrcore import kernels


def small_cases() -> Iterator[Case]:
    """One call of each kernel against the NumPy expression for it."""
    x = np.arange(16, dtype="u4")
    out, raw, plane = np.empty_like(x), x.view("u1"), x.reshape(4, 4)
    zeros, flags = np.zeros(16, "f4"), x % 3 == 0
    bits, index = kernels.pack_bits(flags), np.arange(8)
    offsets, lengths = np.arange(4, dtype="u8"), np.ones(4, "u8")
    entries = np.stack((offsets, lengths), axis=1).tobytes()

    def case(name: str, ours: object, theirs: object, what: str) -> Case:
        return Case(f"{name}, 64 bytes", 64, ours, theirs, what)  # type: ignore[arg-type]

    yield case("byteswap", lambda: kernels.byteswap(x), lambda: x.byteswap(), "x.byteswap()")
    yield case(
        "byteswap into out",
        lambda: kernels.byteswap(x, out=out),
        lambda: copied(out, x.byteswap()),
        "copyto(out, x.byteswap())",
    )
    yield case("transpose", lambda: kernels.transpose(plane, (1, 0)), lambda: plane.T.copy(), "x.T.copy()")
    yield case(
        "copy_region", lambda: kernels.copy_region(out, x), lambda: np.copyto(out, x), "copyto(out, x)"
    )
    yield case("fill", lambda: kernels.fill(zeros, 0.0), lambda: zeros.fill(0.0), "x.fill(value)")
    yield case(
        "equals_fill",
        lambda: kernels.equals_fill(zeros, 0.0),
        lambda: bool((zeros == 0.0).all()),
        "(x == fill).all()",
    )
    yield case(
        "chunk_index", lambda: kernels.chunk_index(index, 10), lambda: np.divmod(index, 10), "divmod(x, n)"
    )
    yield case("chunk_count", lambda: kernels.chunk_count(index, 10), lambda: -(-index // 10), "-(-x // n)")
    yield case(
        "delta_encode",
        lambda: kernels.delta_encode(x),
        lambda: np.diff(x, prepend=np.uint32(0)),
        "diff(x, prepend=0)",
    )
    yield case("delta_decode", lambda: kernels.delta_decode(x), lambda: np.cumsum(x, dtype="u4"), "cumsum(x)")
    yield case(
        "shuffle",
        lambda: kernels.shuffle(x),
        lambda: raw.reshape(-1, 4).T.reshape(-1),
        "x.view('u1').reshape(-1, 4).T.reshape(-1)",
    )
    yield case(
        "unshuffle",
        lambda: kernels.unshuffle(raw, 4),
        lambda: raw.reshape(4, -1).T.reshape(-1),
        "x.reshape(4, -1).T.reshape(-1)",
    )
    yield case(
        "pack_bits",
        lambda: kernels.pack_bits(flags),
        lambda: np.packbits(flags, bitorder="little"),
        "packbits(x, bitorder='little')",
    )
    yield case(
        "unpack_bits",
        lambda: kernels.unpack_bits(bits, bool, 16),
        lambda: np.unpackbits(bits, count=16, bitorder="little").view(bool),
        "unpackbits(x, count=n, bitorder='little').view(bool)",
    )
    yield case(
        "shard_index_pack",
        lambda: kernels.shard_index_pack(offsets, lengths),
        lambda: np.stack((offsets, lengths), axis=1).astype("<u8").view("u1"),
        "stack((x, y), axis=1).astype('<u8').view('u1')",
    )
    yield case(
        "shard_index_unpack",
        lambda: kernels.shard_index_unpack(entries, shard_nbytes=10),
        lambda: tuple(np.frombuffer(entries, "<u8").reshape(-1, 2).astype("u8").T),
        "frombuffer(x, '<u8').reshape(-1, 2).T (unchecked)",
    )
