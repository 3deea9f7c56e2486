# SPDX-License-Identifier: MIT
"""Python objects of which one cannot be stored: that is found before the first chunk is stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ArrayBytesCodec, ShardingCodec, TransposeCodec, VLenBytesCodec
from zarrcore.errors import ChunkEncodeError, MetadataValidationError
from zarrcore.registry import register_codec

RAGGED = [{"id": "vlen-array", "dtype": "<i4"}]
KINDS: dict[str, dict[str, Any]] = {
    "bytes": {"dtype": "bytes"},
    "bytes of format 2": {"dtype": "bytes", "zarr_format": 2},
    "transposed": {"dtype": "bytes", "filters": [TransposeCodec(order=(1, 0))]},
    "shards": {
        "dtype": "bytes",
        "chunks": (4, 6),
        "serializer": ShardingCodec(chunk_shape=(2, 3), codecs=(VLenBytesCodec(),)),
        "compressors": None,
    },
    "arrays": {"dtype": object, "zarr_format": 2, "filters": RAGGED, "order": "F"},
}
WRITES: dict[str, Callable[[Any, Any], object]] = {
    "all": lambda array, values: array.set_basic_selection(..., values),
    "with progress": lambda array, values: array.write(..., values, progress=lambda done, total: None),
    "threads": lambda array, values: array.write(..., values, threads=4),
    "rows backwards": lambda array, values: array.set_basic_selection(np.s_[::-1], values),
    "points": lambda array, values: array.set_coordinate_selection(
        tuple(np.indices((8, 6)).reshape(2, -1)), values.reshape(-1)
    ),
    "lists": lambda array, values: array.set_basic_selection(..., values.tolist()),
    "append": lambda array, values: array.append(values),
}


def items_of(kind: str) -> np.ndarray:
    items = np.empty((8, 6), object)
    for number, place in enumerate(np.ndindex(items.shape)):
        items[place] = np.arange(number % 3, dtype="i4") if kind == "arrays" else b"%d" % number
    return items


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_item_is_found_before_a_chunk_is_stored(kind: str, write: str) -> None:
    store: dict[str, bytes] = {}
    array = zarrcore.create_array(store, shape=(8, 6), **{"chunks": (2, 3), **KINDS[kind]})
    array[0, 0] = first = items_of(kind)[0, 1]
    before, values = dict(store), items_of(kind)
    values[6, 5] = 1.5
    with pytest.raises(ChunkEncodeError, match="item 2|item 5|item 3|item 0|item 1") as caught:
        WRITES[write](array, values)
    assert caught.value.codec == ("vlen-array" if kind == "arrays" else "vlen-bytes")
    assert caught.value.array == "/" and caught.value.chunk is not None
    assert store == before
    assert np.array_equal(array[0, 0], first)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_item_is_refused_by_a_writer_at_once(kind: str) -> None:
    store: dict[str, bytes] = {}
    array = zarrcore.create_array(store, shape=(8, 6), **{"chunks": (2, 3), **KINDS[kind]})
    values = items_of(kind)
    wrong = values.copy()
    wrong[6, 5] = 1.5
    with array.writer() as writer:
        writer[:1] = values[:1]
        with pytest.raises(ChunkEncodeError, match="item"):
            writer[...] = wrong
        with pytest.raises(ChunkEncodeError, match="item"):
            writer.append(wrong)
    assert array.shape == (8, 6)
    found = array[...]
    assert all(np.array_equal(a, b) for a, b in zip(found[0], values[0], strict=True))
    assert not any(len(item) for item in found[1:].flat if isinstance(item, bytes | np.ndarray))


def test_values_that_stand_for_many_items_are_looked_at() -> None:
    array = zarrcore.create_array(store := {}, shape=(8, 6), chunks=(2, 3), dtype="bytes")
    before = dict(store)
    for wrong in ("text", 7, 1.5, [[b"a"] * 5 + ["b"]]):
        with pytest.raises(ChunkEncodeError, match="expected bytes"):
            array[...] = wrong
    assert store == before
    array[...] = [[b"a"], *[[None]] * 7]
    assert array[:2, :2].tolist() == [[b"a", b"a"], [b"", b""]]


def test_nothing_is_created_or_removed_for_a_wrong_item() -> None:
    values = items_of("bytes")
    zarrcore.array(values, store=(store := {}), chunks=(2, 3), dtype="bytes")
    before = dict(store)
    values[7, 5] = "text"
    with pytest.raises(ChunkEncodeError, match="item 5: expected bytes, got str 'text'"):
        zarrcore.array(values, store=store, chunks=(2, 3), dtype="bytes", overwrite=True)
    assert store == before
    with pytest.raises(ChunkEncodeError, match="expected bytes"):
        zarrcore.array(values, store=(store := {}), chunks=(2, 3), dtype="bytes")
    assert store == {}


@dataclass(frozen=True)
class Short(ArrayBytesCodec):
    """Items of one byte."""

    name: ClassVar[str] = "test.short"
    seen: ClassVar[list[int]] = []

    def check_values(self, values: np.ndarray) -> None:
        self.seen.append(values.size)
        if any(len(item) > 1 for item in values.flat):
            raise ValueError("one of them is too long")

    def encode(self, chunk: np.ndarray, spec: Any) -> bytes:
        return b"".join(item[:1] or b"\0" for item in chunk.flat)

    def decode(self, data: Any, spec: Any) -> np.ndarray:
        return np.array([bytes([byte]) for byte in bytes(data)], object).reshape(spec.shape)


register_codec("test.short", Short)


def test_a_codec_of_a_user_can_look_at_all_values_first() -> None:
    array = zarrcore.create_array(
        store := {}, shape=6, chunks=2, dtype="bytes", serializer=Short(), compressors=None
    )
    before = dict(store)
    with pytest.raises(ChunkEncodeError, match="one of them is too long") as caught:
        array[...] = [b"a", b"b", b"c", b"d", b"e", b"fg"]
    assert (caught.value.codec, caught.value.chunk, Short.seen) == ("test.short", (2,), [2, 2, 2])
    assert store == before
    array[1:5] = [b"1", b"2", b"3", b"4"]
    assert array[1:5].tolist() == [b"1", b"2", b"3", b"4"]


def test_few_bytes_are_encoded_rather_than_looked_at_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at all objects first took half as long as encoding them, once more."""
    monkeypatch.setattr("zarrcore.engine.python._MOST_ENCODED", 3 * 60)
    calls: list[str] = []
    for name in ("check_values", "encode"):
        original = getattr(VLenBytesCodec, name)

        def counted(self: Any, values: Any, *rest: Any, name: str = name, original: Any = original) -> Any:
            calls.append(name)
            return original(self, values, *rest)

        monkeypatch.setattr(VLenBytesCodec, name, counted)
    array = zarrcore.create_array({}, shape=60, chunks=10, dtype="bytes")
    values = np.array([b"%02d" % number for number in range(60)], object)
    array[...] = values  # 64 bytes each: three chunks, until there is no room for more
    assert calls == ["encode"] * 3 + ["check_values"] * 3 + ["encode"] * 3
    assert array[...].tolist() == values.tolist()
    calls.clear()
    array.write(slice(5, 30), values[5:30], progress=lambda done, total: None)
    assert calls == ["check_values"] + ["encode"] * 3
    array[20:40] = np.full(20, b"", object)
    assert array[...].tolist() == [*values[:20].tolist(), *[b""] * 20, *values[40:].tolist()]
    assert array.nchunks_initialized == 4


def _nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


class Longer(bytes):
    def __len__(self) -> int:
        return 1000


@pytest.mark.parametrize(
    ("codec", "item"),
    [
        ({"id": "msgpack2"}, {(1, 2): 3}),
        ({"id": "msgpack2"}, _nested(480)),
        ({"id": "msgpack2"}, Longer(b"x")),
        ({"id": "msgpack2", "use_bin_type": False}, b"\xff"),
    ],
    ids=str,
)
def test_an_object_that_could_not_be_read_again_took_the_place_of_a_good_chunk(codec: Any, item: Any) -> None:
    def made(codec: Any) -> zarrcore.Array:
        options: Any = {"dtype": object, "zarr_format": 2, "compressors": None}
        return zarrcore.create_array({}, shape=4, chunks=2, filters=[codec], **options)

    good, array = made({"id": codec["id"]}), made(codec)
    good[...] = ["a", "b", "c", "d"]
    for key in ("0", "1"):  # as they were before somebody edited the configuration
        array.store.set(key, good.store.get(key))
    value = np.empty(1, object)
    value[0] = item
    with pytest.raises(ChunkEncodeError, match=r"chunk \(0,\).*could not be read again"):
        array[1:2] = value
    assert array[...].tolist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("option", [{"separators": [";", ":"]}, {"indent": "x"}], ids=str)
def test_a_filter_that_writes_no_json_is_refused(option: Any) -> None:
    filters: Any = [{"id": "json2", **option}]
    with pytest.raises(MetadataValidationError, match="could not be read again"):
        zarrcore.create_array({}, shape=4, dtype=object, zarr_format=2, filters=filters)
