"""Chunk key encodings."""

from __future__ import annotations

from typing import Any

import pytest

from zarrcore.errors import MetadataValidationError
from zarrcore.keys import (
    ChunkKeyEncoding,
    DefaultChunkKeyEncoding,
    V2ChunkKeyEncoding,
    parse_chunk_key_encoding,
)


@pytest.mark.parametrize(
    ("encoding", "coords", "key"),
    [
        (DefaultChunkKeyEncoding(), (1, 23, 45), "c/1/23/45"),
        (DefaultChunkKeyEncoding("."), (1, 23, 45), "c.1.23.45"),
        (DefaultChunkKeyEncoding(), (), "c"),
        (V2ChunkKeyEncoding(), (1, 23, 45), "1.23.45"),
        (V2ChunkKeyEncoding("/"), (0, 0), "0/0"),
    ],
)
def test_keys_of_the_specification(encoding: ChunkKeyEncoding, coords: tuple[int, ...], key: str) -> None:
    assert encoding.encode(coords) == encoding.encode_chunk_key(coords) == key
    assert encoding.decode(key) == encoding.decode_chunk_key(key) == coords


def test_v2_without_dimensions() -> None:
    assert V2ChunkKeyEncoding().encode(()) == "0"


@pytest.mark.parametrize(
    "key", ["", "x/1", "c/", "c/-1", "c/01", "c/+1", "c/1.0", "c/١", "c/1/", "c/ 1", "1/2"]
)
def test_other_keys_are_refused(key: str) -> None:
    with pytest.raises(ValueError, match="expected a chunk key"):
        DefaultChunkKeyEncoding().decode(key)


def test_native_forms() -> None:
    assert DefaultChunkKeyEncoding().native() == ("default", "/")
    assert V2ChunkKeyEncoding("/").native() == ("v2", "/")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("default", DefaultChunkKeyEncoding("/")),
        ("v2", V2ChunkKeyEncoding(".")),
        ({"name": "default"}, DefaultChunkKeyEncoding("/")),
        ({"name": "v2", "configuration": {"separator": "/"}}, V2ChunkKeyEncoding("/")),
        ({"name": "default", "separator": "."}, DefaultChunkKeyEncoding(".")),
        (V2ChunkKeyEncoding("/"), V2ChunkKeyEncoding("/")),
    ],
)
def test_spellings(data: Any, expected: ChunkKeyEncoding) -> None:
    encoding = parse_chunk_key_encoding(data)
    assert encoding == expected
    assert parse_chunk_key_encoding(encoding.to_json()) == expected
    assert encoding.to_json()["configuration"] == {"separator": expected.separator}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"name": "foo"}, "unknown chunk key encoding 'foo'; known are default, .*v2"),
        (
            {"name": "default", "configuration": {"separator": "|"}},
            'configuration.separator: expected one of "/", "."',
        ),
        ({"name": "v2", "configuration": {"separator": ""}}, "separator"),
        ({"name": "v2", "configuration": {"sep": "/"}}, "configuration.sep: unknown key"),
        (None, "expected a name or an object"),
        ({}, "name: expected a name"),
    ],
)
def test_bad_documents_are_refused(data: Any, reason: str) -> None:
    with pytest.raises(MetadataValidationError, match=reason):
        parse_chunk_key_encoding(data)
