"""What errors of arrays say: what was given, what is possible, and where."""

from __future__ import annotations

from typing import Any

import pytest

import zarrcore


def new(**options: Any) -> zarrcore.Array:
    return zarrcore.create_array({}, **{"shape": 6, "chunks": 2, "dtype": "i4", **options})


def test_a_float_as_an_index_is_told_what_an_index_may_be() -> None:
    array = new()
    with pytest.raises(
        IndexError, match=r"an integer, a slice, an ellipsis or None, got 1.0; did you mean 1\?"
    ):
        array[1.0]
    with pytest.raises(IndexError, match=r"a slice.*got 1.5$"):
        array.oindex[1.5]
    with pytest.raises(IndexError, match=r"got \{\} \(dict\)"):
        array[{}]


def test_format_2_names_the_shards_that_were_given() -> None:
    with pytest.raises(ValueError, match=r"shards: format 2 arrays have none, got \(4,\)"):
        new(zarr_format=2, shards=(4,))


def test_the_root_has_one_name() -> None:
    array = new()
    writer = array.writer()
    writer.close()
    with pytest.raises(ValueError, match="array '/': the writer is closed"):
        writer[0] = 1
    with pytest.raises(ValueError, match="array '/': prefetching needs a cache"):
        array.prefetch()


def test_similar_names_come_first() -> None:
    with pytest.raises(TypeError, match="unknown data type 'flaot32'; did you mean 'float32'"):
        new(dtype="flaot32")
    with pytest.raises(
        zarrcore.errors.UnknownCodecError, match="'zstandart'; did you mean 'zstd'|'gzpi'; did you mean"
    ):
        new(compressors={"name": "gzpi"})
