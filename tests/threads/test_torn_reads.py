"""Reads of parts of a shard from a store written in Python, while another thread replaces the shard."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import MemoryStore, WrapperStore

pytestmark = pytest.mark.threads


class Hesitant(WrapperStore):
    """Lets a write happen between two requests of one read."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.between: Any = None

    def get(self, key: str, byte_range: Any = None) -> Any:
        value = super().get(key, byte_range)
        if byte_range is not None and self.between is not None:
            between, self.between = self.between, None
            thread = threading.Thread(target=between)
            thread.start()
            thread.join(10)
            assert not thread.is_alive(), "the writer waits for the reader"
        return value


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("location", ["start", "end"])
def test_index_and_data_are_of_one_version(location: str, many: bool) -> None:
    store = Hesitant(MemoryStore())
    array = zarrcore.create_array(
        store,
        shape=(64,),
        chunks=(64,),
        dtype="u1",
        serializer=zarrcore.codecs.ShardingCodec(
            chunk_shape=(4,),
            codecs=[zarrcore.codecs.BytesCodec()],
            index_codecs=[zarrcore.codecs.BytesCodec()],
            index_location=location,
        ),
        compressors=None,
    )
    old = np.arange(1, 65, dtype="u1")
    new = old + 100
    new[8:20] = 0  # fewer inner chunks are stored: the others move
    array[...] = old
    store.between = lambda: array.__setitem__(Ellipsis, new)
    got = array.read_many([slice(40, 44), slice(60, 64)]) if many else [array[40:44], array[60:64]]
    assert store.between is None, "the store was asked for ranges"
    np.testing.assert_array_equal(got[0], new[40:44])
    np.testing.assert_array_equal(got[1], new[60:64])
