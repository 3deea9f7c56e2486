"""Valid documents with one thing changed: whatever it is, they are read or refused in words."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from zarrcore.errors import BaseZarrError
from zarrcore.metadata import ArrayV2Metadata, ArrayV3Metadata, GroupMetadata

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
ARRAY_V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [8, 6],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 6]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0,
    "codecs": [
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": [3, 2],
                "codecs": [BYTES, {"name": "blosc", "configuration": {"cname": "lz4", "typesize": 4}}],
                "index_codecs": [BYTES, {"name": "crc32c"}],
                "index_location": "end",
            },
        },
    ],
    "attributes": {"a": {"b": [1]}},
    "dimension_names": ["x", None],
    "storage_transformers": [],
    "extra": {"must_understand": False},
}
RECTILINEAR = ARRAY_V3 | {
    "chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[[2, 4]], 3]}},
    "data_type": {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int16"}]}},
    "fill_value": {"a": 1},
    "codecs": [
        {"name": "numcodecs.shuffle", "configuration": {"elementsize": 2}},
        {"name": "zstd", "configuration": {"level": 1, "checksum": True}},
    ],
}
RECTILINEAR["codecs"] = [BYTES, *RECTILINEAR["codecs"]]
ARRAY_V2: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [8, 6],
    "chunks": [4, 3],
    "dtype": [["a", "<i4"], ["b", [["c", ">f8", [2]]]]],
    "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0},
    "fill_value": None,
    "order": "F",
    "filters": [{"id": "shuffle", "elementsize": 4}, {"id": "crc32", "location": "end"}],
    "dimension_separator": "/",
    "attributes": {"x": 1},
}
CONSOLIDATED: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "group",
    "attributes": {},
    "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": {"a": ARRAY_V3}},
}
JUNK: list[Any] = [
    None, True, 0, -1, 1.0, 2**31, 2**63, 2**70, 1e308, float("nan"), float("inf"), "", "x", "bytes",
    "\ud800", "é" * 300,
    [], [0], [None], [[1]], {}, {"name": "x"}, {"name": None}, {"id": "zlib"}, {"id": 5}, {"": {}},
    b"x", object(), ...,
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def with_change(document: dict, path: tuple[Any, ...], junk: Any) -> dict:
    changed = copy.deepcopy(document)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    if junk is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = junk
    return changed


@pytest.mark.filterwarnings("ignore::zarrcore.errors.ZarrcoreWarning")
@pytest.mark.parametrize("reader", ["from_dict", "from_document"])
@pytest.mark.parametrize(
    ("cls", "document"),
    [
        (ArrayV3Metadata, ARRAY_V3),
        (ArrayV3Metadata, RECTILINEAR),
        (ArrayV2Metadata, ARRAY_V2),
        (GroupMetadata, CONSOLIDATED),
    ],
    ids=["v3", "rectilinear", "v2", "group"],
)
def test_any_change_is_read_or_refused(cls: Any, document: dict, reader: str) -> None:
    read_document = getattr(cls, reader)
    read_document(document)
    refused = read = 0
    for path in places(document):
        for junk in JUNK:
            changed = with_change(document, path, junk)
            try:
                metadata = read_document(changed, where="foo")
                if isinstance(metadata, GroupMetadata) and metadata.consolidated_metadata is not None:
                    _ = metadata.consolidated_metadata.flattened_metadata
            except BaseZarrError as error:
                assert str(error).startswith("foo: "), (path, junk, str(error))
                assert len(str(error)) < 1000
                refused += 1
            else:
                assert json.dumps(metadata.to_dict())
                read += 1
    assert refused > 10 * len(list(places(document)))
    assert read > 0


def test_deep_attributes() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(BaseZarrError, match="nested too deeply"):
        ArrayV3Metadata.from_dict(ARRAY_V3 | {"attributes": deep})


def test_deep_members_that_need_not_be_understood() -> None:
    """A call from functions within functions ended in a bare RecursionError when it copied them."""
    deep: Any = {"must_understand": False}
    for _ in range(450):
        deep = {"must_understand": False, "a": deep}
    metadata = ArrayV3Metadata.from_dict(ARRAY_V3 | {"example": deep})

    def within(calls: int) -> Any:
        return within(calls - 1) if calls else metadata.update_shape(metadata.shape)

    assert within(0).extra_fields["example"] == deep
    with pytest.raises(BaseZarrError, match="nested too deeply"):
        within(500)


def test_more_codecs_than_anybody_means() -> None:
    """Writing one byte by 10,000 codecs took half a minute, and a million of them were read for a minute."""
    shards: Any = {"chunk_shape": [4, 6], "codecs": ["bytes"], "index_codecs": ["bytes", *["crc32c"] * 1000]}
    for codecs in (
        ["bytes", *["gzip"] * 1000],
        [{"name": "sharding_indexed", "configuration": shards}],
    ):
        with pytest.raises(BaseZarrError, match=r"codecs.*: expected at most 1,000 codecs, got 1,001"):
            ArrayV3Metadata.from_dict(ARRAY_V3 | {"codecs": codecs})
    filters = [{"id": "delta", "dtype": "|u1"}] * 1001
    with pytest.raises(BaseZarrError, match="filters: expected at most 1,000 codecs, got 1,001"):
        ArrayV2Metadata.from_dict(ARRAY_V2 | {"filters": filters})
    first = {"name": "bytes", "configuration": {"endian": "little"}}
    many = ArrayV3Metadata.from_dict(ARRAY_V3 | {"codecs": [first, *["crc32c"] * 999]})
    assert len(many.codecs) == 1000
