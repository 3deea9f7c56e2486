"""Items of fewer bits than their bytes have: what is stored above them means nothing."""

from __future__ import annotations

from typing import Any

import pytest
from filter_arrays import SHAPE, check, created, is_native, ml_bits, shards

import zarrcore
from zarrcore.codecs import CodecChain
from zarrcore.dtypes import bit_layout, get_data_type_from_json
from zarrcore.errors import ChunkDecodeError
from zarrcore.storage import MemoryStore


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "complex_float6_e3m2fn"])
class TestUnusedBits:
    """Floating-point numbers of fewer than 8 bits: the ``bytes`` codec reads what is above them as zeros."""

    @pytest.mark.parametrize("more", [{}, {"compressors": "gzip"}, {"serializer": shards("bytes", "crc32c")}])
    def test_as_in_python(self, monkeypatch: pytest.MonkeyPatch, name: str, more: dict[str, Any]) -> None:
        more = {"serializer": "bytes", "chunks": (10, 8)} | more
        values = ml_bits(name, (30, 20))
        check(monkeypatch, values, [], more.pop("serializer"), dtype=name, **more)

    def test_stored_bits_are_ignored(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        store: dict[str, Any] = {}
        values = ml_bits(name)
        array = created(values, [], "bytes", store, dtype=name, chunks=SHAPE)
        array[...] = values
        stored = bytes(store["c/0/0"])
        mask = (1 << bit_layout(get_data_type_from_json(name, zarr_format=3)).bits) - 1
        store["c/0/0"] = bytes(byte | 0xFF & ~mask for byte in stored)
        assert is_native(array)
        assert array[...].tobytes() == stored == values.tobytes()
        assert array[3:7, 2:5].tobytes() == values[3:7, 2:5].tobytes()
        with monkeypatch.context() as patch:
            patch.setattr(CodecChain, "lower", lambda self, spec: None)
            assert zarrcore.open_array(MemoryStore(store))[...].tobytes() == stored

    def test_wrong_sizes_are_told(self, name: str) -> None:
        store: dict[str, Any] = {}
        values = ml_bits(name)
        array = created(values, [], "bytes", store, dtype=name, chunks=SHAPE)
        array[...] = values
        good = bytes(store["c/0/0"])
        for data in (good[:-1], good + b"\0", b""):
            store["c/0/0"] = data
            with pytest.raises(ChunkDecodeError, match="c/0/0"):
                array[...]

    @pytest.mark.parametrize("key_encoding", ["default", "fanout"])
    def test_no_dimensions(self, name: str, key_encoding: str) -> None:
        store: dict[str, Any] = {}
        value = ml_bits(name)[5, 3]
        array = zarrcore.create_array(store, shape=(), dtype=name, chunk_key_encoding=key_encoding)
        assert is_native(array) == (key_encoding == "default")
        array[...] = value
        found = zarrcore.open_array(store)[...]
        assert found.shape == ()
        assert found.tobytes() == value.tobytes() != bytes(value.nbytes)
