# SPDX-License-Identifier: MIT
"""Errors for arguments of new arrays offer what would have been right there."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import MetadataValidationError, UnknownCodecError


def _create(**options: Any) -> zarrcore.Array:
    return zarrcore.create_array({}, **{"shape": (8, 6), "dtype": "f4", **options})


@pytest.mark.parametrize(
    ("option", "known", "others"),
    [
        ("compressors", ("gzip", "zstd"), ("transpose", "bytes", "sharding_indexed")),
        ("filters", ("transpose",), ("gzip", "zstd", "vlen-utf8")),
        ("serializer", ("bytes", "sharding_indexed"), ("gzip", "transpose")),
    ],
)
def test_an_unknown_codec_lists_those_of_its_place(option: str, known: Any, others: Any) -> None:
    with pytest.raises(UnknownCodecError, match=rf"{option}.*unknown codec 'qqqqq'") as caught:
        _create(**{option: "qqqqq"})
    listed = re.split(r"[ ,;]+", str(caught.value))
    assert set(known) <= set(listed)
    assert not set(others) & set(listed)
    with pytest.raises(UnknownCodecError, match=option):
        _create(**{option: {"name": "qqqqq"}})


@pytest.mark.parametrize(
    ("option", "codec", "place"),
    [
        ("compressors", "transpose", "filters"),
        ("compressors", zarrcore.codecs.BytesCodec(), "serializer"),
        ("filters", {"name": "gzip"}, "compressors"),
        ("serializer", "zstd", "compressors"),
    ],
)
def test_a_codec_in_the_wrong_place_is_told_its_place(option: str, codec: Any, place: str) -> None:
    with pytest.raises(MetadataValidationError, match=rf"{option}.*belongs in {place}="):
        _create(**{option: codec})


def test_format_2_takes_names_and_offers_close_ones() -> None:
    assert _create(compressors="zlib", zarr_format=2).compressor.codec_id == "zlib"
    pytest.importorskip("numcodecs")  # without it the error lists what is there
    with pytest.raises(UnknownCodecError, match="did you mean 'zlib'"):
        _create(compressors="zlbi", zarr_format=2)


@pytest.mark.parametrize(
    "shards", [(100, 70), (997, 500), (5000, 4000), (1009, 1013), ([100, 50], 64), (-1, 64), (1, 1)]
)
def test_automatic_chunks_divide_the_shards_that_are_given(shards: Any) -> None:
    array = _create(shape=(150, 64) if isinstance(shards[0], list) else (10000, 8000), shards=shards)
    lengths = array.shards if not isinstance(shards[0], list) else (50, 64)
    assert all(shard % chunk == 0 for shard, chunk in zip(lengths, array.chunks, strict=True))
    assert np.prod(array.chunks) * 4 <= 1 << 26


def test_automatic_chunks_of_large_shards_are_of_a_megabyte_at_most() -> None:
    array = _create(shape=(10000, 8000), shards=(5000, 4000))
    assert 1 << 17 <= np.prod(array.chunks) * 4 <= 1 << 20


def test_shards_that_do_not_fit_name_what_to_give() -> None:
    source = _create(shape=(100, 100), chunks=(10, 10), shards=(50, 50))
    with pytest.raises(ValueError, match=r"chunk length 7: give shards of 56 there, .* or shards=None"):
        zarrcore.from_array({}, data=source, chunks=(7, 7))
    assert zarrcore.from_array({}, data=source, chunks=(7, 7), shards=None).chunks == (7, 7)
    assert zarrcore.from_array({}, data=source, chunks=(7, 7), shards=(56, 56)).shards == (56, 56)


def test_names_of_older_programs_and_members_as_attributes() -> None:
    group = zarrcore.create_group({})
    with pytest.raises(AttributeError, match=r"'create_dataset'; it is called 'create_array' here"):
        group.create_dataset("x", shape=3)
    with pytest.raises(AttributeError, match=r"'x'; members are found by group\['x'\]"):
        _ = group.x
    assert not hasattr(group, "shape") and not hasattr(group, "_anything")


def test_a_keyword_that_is_like_two_others_means_the_one_that_is_not_old() -> None:
    with pytest.raises(TypeError, match="'compression'; did you mean 'compressors'"):
        zarrcore.create_group({}).create_array("x", shape=3, dtype="i4", compression="gzip")


def test_a_codec_of_numcodecs_is_found_without_its_prefix() -> None:
    with pytest.raises(UnknownCodecError, match=r"unknown codec 'delta'; did you mean 'numcodecs.delta'\?"):
        zarrcore.create_array({}, shape=3, dtype="i4", filters="delta")
