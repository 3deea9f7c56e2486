# SPDX-License-Identifier: MIT
"""Filters of format 2, items of any length: zarrcore's codecs against those of numcodecs and zarr-python.

Cases for ``python -m benchmarks.kernels``.  Encoded chunks are equal byte for byte.  Where the other side can
write into memory that is there already, it does; the rest of its time is that of its own fresh arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.comparing import Case
from zarrcore._core import engine


def filter_cases(n: int) -> Iterator[Case]:
    """Both directions of each filter that calculates, and of the shuffle."""
    import numcodecs

    rng = np.random.default_rng(7)
    walk = np.cumsum(rng.integers(-5, 6, n // 4)).astype("<i4")
    noise = (rng.random(n // 8) * 100).astype("<f8")
    single = noise.astype("<f4")
    half, pairs = single.astype("<f2"), single.view("<c8")
    flags = rng.integers(0, 2, n).astype(bool)

    for dtype, astype in (
        ("<i2", "<i2"),
        ("<i4", "<i4"),
        ("<i4", "|i1"),
        ("<i8", "<i2"),
        ("<f4", "<f4"),
        ("<f8", "<f8"),
        ("<f2", "<f2"),
        ("<c8", "<c8"),
        ("|b1", "|b1"),
    ):
        items = walk[: n // np.dtype(dtype).itemsize].astype(dtype)
        options = {"dtype": dtype, "astype": astype}
        peer = numcodecs.Delta(**options)
        ways = both(f"delta {dtype} as {astype}", "delta", options, peer, items, astype)
        yield from ways if dtype != "|b1" else islice(ways, 1)  # numcodecs does not bring Booleans back
    for items, astype, scale in (
        (noise, "|u1", 2.0),
        (noise, "<i2", 100.0),
        (noise, "<i4", 1000.0),
        (single, "<i2", 100.0),
        (half, "|u1", 2.0),
        (walk, "<i2", 0.1),
        (walk, "<i4", 3),
        (pairs, "<c8", 2.0),
    ):
        offset = 10 if isinstance(scale, int) else 10.0
        options = {"dtype": items.dtype.str, "astype": astype, "offset": offset, "scale": scale}
        peer = numcodecs.FixedScaleOffset(**options)
        if isinstance(scale, int):
            options |= {"whole_offset": offset, "whole_scale": scale}
        yield from both(
            f"fixedscaleoffset {items.dtype.str} as {astype}",
            "fixedscaleoffset",
            options,
            peer,
            items,
            astype,
        )
    for items in (noise, single, half):
        dtype = items.dtype.str
        peer = numcodecs.Quantize(digits=2, dtype=dtype)
        options = {"dtype": dtype, "astype": dtype, "scale": 128.0}
        yield from both(f"quantize {dtype}", "quantize", options, peer, items, dtype)
        options = {"keepbits": 8, "dtype": dtype}
        yield from both(f"bitround {dtype}", "bitround", options, numcodecs.BitRound(8), items, dtype)
    for items, astype in ((noise, "<f4"), (single, "<f2"), (noise, "<f2"), (pairs, "<f4"), (walk, "|b1")):
        dtype = items.dtype.str
        options = {"dtype": dtype, "astype": astype}
        peer = numcodecs.AsType(astype, dtype)
        yield from both(f"astype {dtype} as {astype}", "astype", options, peer, items, astype)
    yield from both("packbits", "packbits", {}, numcodecs.PackBits(), flags, "|u1")
    yield from both(
        "jenkins_lookup3", "jenkins_lookup3", {}, numcodecs.JenkinsLookup3(), walk.view("|u1"), "|u1"
    )
    for size in (2, 4, 8):
        items = walk.view(f"<i{size}")
        yield from both(
            f"shuffle {size}", "shuffle", {"elementsize": size}, numcodecs.Shuffle(size), items, "|u1"
        )


def both(
    name: str, codec: str, options: dict[str, Any], peer: Any, items: np.ndarray, astype: str
) -> Iterator[Case]:
    """Encoding and decoding by one filter."""
    encoded = np.frombuffer(np.ascontiguousarray(peer.encode(items)).tobytes(), np.uint8)
    room = np.empty(encoded.size, np.uint8)
    back, out = np.empty(items.nbytes, np.uint8), np.empty_like(items)
    source = items.view(np.uint8)
    moved = items.nbytes + encoded.size

    def encode() -> np.ndarray:
        engine.encode_into(codec, options, source, room)
        return room

    def decode() -> np.ndarray:
        engine.decode_into(codec, options, encoded, back)
        return back

    name = name.replace("|", "")  # bytes have no order, and a page has it for columns
    stored = encoded.view(astype) if codec not in ("packbits", "shuffle") else encoded
    what = f"numcodecs.{type(peer).__name__}"
    yield Case(f"{name}, encode", items.nbytes, encode, lambda: peer.encode(items), what, moved)
    yield Case(f"{name}, decode", items.nbytes, decode, lambda: peer.decode(stored, out=out), what, moved)


def item_cases(n: int) -> Iterator[Case]:
    """Strings and bytes of any length, short and long, ASCII and not."""
    import numcodecs

    rng = np.random.default_rng(8)
    count = n // 32
    words = ["".join(chr(c) for c in rng.integers(97, 123, length)) for length in rng.integers(3, 20, 1000)]
    names = [word[:5] + "éß漢" + word[5:] for word in words]
    unique = [words[i % 1000][:12] + str(i) for i in range(count)]
    strange = [word + "é漢" for word in unique]
    long = [word * 12 for word in words]
    for label, choice in (
        ("1000 words", words),
        ("all different", unique),
        ("1000 names, not ASCII", names),
        ("all different, not ASCII", strange),
        ("of 100 characters", long),
    ):
        picked = rng.integers(0, len(choice), count if choice is not long else count // 8).tolist()
        objects = np.array([choice[i] for i in picked], object)
        yield from item_case(f"vlen-utf8, {label}, objects", numcodecs.VLenUTF8(), objects, np.dtype(object))
        yield from item_case(
            f"vlen-utf8, {label}, StringDType", numcodecs.VLenUTF8(), objects, np.dtypes.StringDType()
        )
    picked = rng.integers(0, len(words), count)
    binary = np.array([words[i].encode() + bytes([i % 7]) for i in picked], object)
    yield from item_case("vlen-bytes", numcodecs.VLenBytes(), binary, np.dtype(object))


def item_case(name: str, peer: Any, objects: np.ndarray, dtype: np.dtype[Any]) -> Iterator[Case]:
    """As the codecs of zarr-python do it: numcodecs makes objects, and numpy turns them into strings."""
    from zarrcore.codecs import vlen

    items = objects.astype(dtype)
    encoded = bytes(peer.encode(objects))
    nbytes = len(encoded)
    utf8 = "utf8" in name

    def encode() -> bytes:
        return vlen.encode_strings(items, "") if utf8 else vlen.encode_binary(items, "")

    def decode() -> np.ndarray:
        return (
            vlen.decode_strings(encoded, items.size, dtype, "")
            if utf8
            else vlen.decode_binary(encoded, items.size, "")
        )

    what = f"numcodecs.{type(peer).__name__}"
    if dtype.kind == "T":
        what += " and astype"
    yield Case(f"{name}, encode", nbytes, encode, lambda: peer.encode(items.astype(object)), what)
    yield Case(
        f"{name}, decode", nbytes, decode, lambda: peer.decode(encoded).astype(dtype, copy=False), what
    )
