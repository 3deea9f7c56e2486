"""vlen-utf8 and vlen-bytes: layout, and refusal of chunks that lie about it."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from zarrcore.codecs import ArraySpec, VLenBytesCodec, VLenUTF8Codec
from zarrcore.codecs.object_filters import VLenUTF8
from zarrcore.dtypes import VariableLengthBytes, VariableLengthUTF8, parse_dtype
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError

TEXTS = ["", "a", "é漢🎉", "nul\0inside", "x" * 1000, " "]


def utf8_spec(count: int) -> ArraySpec:
    return ArraySpec((count,), VariableLengthUTF8(), "")


def packed(items: list[bytes], count: int | None = None) -> bytes:
    body = b"".join(struct.pack("<I", len(item)) + item for item in items)
    return struct.pack("<I", len(items) if count is None else count) + body


def test_layout_of_strings() -> None:
    spec = utf8_spec(len(TEXTS))
    chunk = np.array(TEXTS, spec.np_dtype)
    encoded = VLenUTF8Codec().encode(chunk, spec)
    assert encoded == packed([text.encode() for text in TEXTS])
    decoded = VLenUTF8Codec().decode(encoded, spec)
    assert decoded.dtype == spec.np_dtype
    assert decoded.tolist() == TEXTS


def test_layout_of_bytes() -> None:
    items = [b"", b"\0\1", b"abc" * 100]
    spec = ArraySpec((3,), VariableLengthBytes(), b"")
    chunk = np.array(items, object)
    encoded = VLenBytesCodec().encode(chunk, spec)
    assert encoded == packed(items)
    assert VLenBytesCodec().decode(encoded, spec).tolist() == items


def test_order_of_items_is_c_order() -> None:
    chunk = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
    spec = ArraySpec((2, 3), VariableLengthUTF8(), "")
    assert VLenUTF8Codec().encode(np.asfortranarray(chunk), spec) == VLenUTF8Codec().encode(chunk, spec)


@pytest.mark.interop
def test_as_numcodecs() -> None:
    numcodecs = pytest.importorskip("numcodecs")
    chunk = np.array([*TEXTS, None], object)
    spec = ArraySpec(chunk.shape, VariableLengthUTF8(), "")
    assert VLenUTF8().encode(chunk, spec) == bytes(numcodecs.VLenUTF8().encode(chunk))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "expected the number of items"),
        (b"\1\0\0", "expected the number of items"),
        (packed([b"a"]), "expected 2 items, the chunk states 1"),
        (packed([b"a", b"b", b"c"]), "expected 2 items, the chunk states 3"),
        (packed([], 2), "cannot hold 2 items"),
        (packed([b"a", b"b"]) + b"x", "1 bytes follow"),
        (packed([b"abcdefgh", b""])[:-4], "ends before item 1"),
        (packed([b"a"], 2) + struct.pack("<I", 2**32 - 1) + b"abc", "item 1 has 4294967295 bytes"),
        (packed([b"\xff", b"a"]), "not UTF-8"),
        (packed([b"\xed\xa0\x80", b"a"]), "not UTF-8"),
    ],
)
def test_malformed_chunks_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ChunkDecodeError, match=reason):
        VLenUTF8Codec().decode(data, utf8_spec(2))


def test_items_of_other_types_are_refused() -> None:
    with pytest.raises(ChunkEncodeError, match="item 1: expected a string, got float"):
        VLenUTF8Codec().encode(np.array(["a", 1.5], object), utf8_spec(2))
    with pytest.raises(ChunkEncodeError, match="item 0: expected bytes"):
        VLenBytesCodec().encode(np.array(["a"], object), ArraySpec((1,), VariableLengthBytes(), b""))
    with pytest.raises(ChunkEncodeError, match="surrogates not allowed"):
        VLenUTF8Codec().encode(np.array(["\ud800"], object), utf8_spec(1))


def test_data_types_of_fixed_size_are_refused() -> None:
    with pytest.raises(MetadataValidationError, match="variable length"):
        VLenUTF8Codec().resolve(ArraySpec((1,), parse_dtype("i4", zarr_format=3), 0))
