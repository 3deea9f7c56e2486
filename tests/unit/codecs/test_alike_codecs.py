"""Codecs that compare equal, or have the names of zarrcore's own, and do something else."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ArrayBytesCodec, BytesBytesCodec, BytesCodec, ShardingCodec, ZstdCodec
from zarrcore.codecs.conditional import ConditionalCodec
from zarrcore.dtype import Int32
from zarrcore.errors import ChunkDecodeError, MetadataValidationError
from zarrcore.grids import ChunkGrid, RegularGrid
from zarrcore.keys import ChunkKeyEncoding, DefaultChunkKeyEncoding
from zarrcore.registry import codec_registry, register_codec

VALUES = np.arange(24, dtype="i4").reshape(4, 6)


@dataclass(frozen=True)
class Turned(BytesBytesCodec):
    """Bits are inverted as the number says, which is not compared."""

    name: ClassVar[str] = "test.turned"
    mask: int = field(default=0, compare=False)

    def encode(self, data: Any, spec: Any = None) -> Any:
        return bytes(byte ^ self.mask for byte in bytes(data))

    def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
        return self.encode(data)


class Equal(Turned):
    name: ClassVar[str] = "test.equal"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Many(Equal):
    name: ClassVar[str] = "test.many"

    def __eq__(self, other: object) -> Any:
        return np.array([True, False])

    __hash__ = Equal.__hash__


class Raising(Equal):
    name: ClassVar[str] = "test.raising"

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not to be compared")

    __hash__ = Equal.__hash__


class Unhashable(Equal):
    name: ClassVar[str] = "test.unhashable"
    __hash__: Any = None


KINDS = (Turned, Equal, Many, Raising, Unhashable)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    before = dict(codec_registry._classes)
    for cls in KINDS:
        register_codec(cls.name, cls)
    yield
    codec_registry._classes.clear()
    codec_registry._classes.update(before)


def codecs_of(cls: Any, mask: int, sharded: bool) -> dict[str, Any]:
    codec = cls(mask=mask)
    if not sharded:
        return {"compressors": [codec]}
    shards = ShardingCodec(chunk_shape=(2, 3), codecs=(BytesCodec(endian="little"), codec))
    return {"serializer": shards, "compressors": None}


@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("cls", KINDS)
def test_codecs_that_compare_equal_are_not_taken_for_each_other(cls: Any, sharded: bool) -> None:
    """The codecs of the first array that was made served the second one, and stood in its document."""
    stores: dict[int, dict[str, Any]] = {}
    for mask in (5, 9):
        store = stores[mask] = {}
        array = zarrcore.create_array(
            store, shape=(4, 6), chunks=(4, 6), dtype="i4", **codecs_of(cls, mask, sharded)
        )
        array[...] = VALUES
        assert f'"mask": {mask}'.replace(" ", "") in bytes(store["zarr.json"]).decode().replace(" ", "")
    for mask, store in stores.items():
        plain = VALUES.tobytes() if not sharded else VALUES[:2, :3].tobytes()
        assert bytes(store["c/0/0"]).startswith(bytes(byte ^ mask for byte in plain))
        assert np.array_equal(zarrcore.open_array(store)[...], VALUES)


def test_each_array_decides_by_its_own_function_whether_to_compress() -> None:
    asked = []

    def first(*_: Any) -> bool:
        asked.append("first")
        return True

    def second(*_: Any) -> bool:
        asked.append("second")
        return True

    for decision in (first, second):
        asked.clear()
        codec = ConditionalCodec(codecs=("zstd",), decision=decision)
        array = zarrcore.create_array({}, shape=4, dtype="i4", compressors=[codec])
        array[...] = 1
        assert {*asked} == {decision.__name__}


@dataclass(frozen=True)
class Own(ArrayBytesCodec):
    """Another codec under the name of zarrcore's."""

    name: ClassVar[str] = "sharding_indexed"
    codecs: int = 6

    def encode(self, chunk: Any, spec: Any) -> Any:
        return zlib.compress(chunk.tobytes(), self.codecs)

    def decode(self, data: Any, spec: Any) -> Any:
        return np.frombuffer(zlib.decompress(data), spec.np_dtype).reshape(spec.shape)


@dataclass(frozen=True, kw_only=True)
class Reversed(ShardingCodec):
    """Shards the other way round."""

    def encode(self, chunk: Any, spec: Any, **options: Any) -> Any:
        return super().encode(chunk, spec, **options)[::-1]

    def decode(self, data: Any, spec: Any) -> Any:
        return super().decode(bytes(data)[::-1], spec)


def check(array: zarrcore.Array, store: dict[str, Any], values: Any = VALUES) -> None:
    array[...] = values
    opened = zarrcore.open_array(store)
    assert np.array_equal(opened[...], values)
    assert np.array_equal(opened[1:3, ::2], values[1:3, ::2])
    assert zarrcore.verify(store).ok
    opened.append(values[:2])
    opened[1, 1:3] = values[0, 0]
    expected = np.concatenate([values, values[:2]])
    expected[1, 1:3] = values[0, 0]
    assert np.array_equal(zarrcore.open_array(store)[...], expected)


def test_a_codec_of_a_user_may_have_the_name_of_shards() -> None:
    """It was taken for that of zarrcore by its name: an AttributeError, without a word where from."""
    register_codec("sharding_indexed", Own)
    array = zarrcore.create_array(
        store := {}, shape=(4, 6), chunks=(4, 6), dtype="i4", serializer=Own(), compressors=None
    )
    check(array, store)
    assert zlib.decompress(store["c/0/0"])
    assert array.shards is None
    str(array.info_complete())


@pytest.mark.parametrize("name", ["sharding_indexed", "test.reversed"])
def test_what_a_user_replaces_in_shards_is_called_whatever_its_name(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the name of zarrcore's own, chunks were stored without it."""
    monkeypatch.setattr(Reversed, "name", name)
    register_codec(name, Reversed)
    array = zarrcore.create_array(
        store := {},
        shape=(4, 6),
        chunks=(4, 6),
        dtype="i4",
        serializer=Reversed(chunk_shape=(2, 3)),
        compressors=None,
    )
    array[...] = VALUES
    assert bytes(store["c/0/0"])[::-1].startswith(VALUES[:2, :3].tobytes())
    check(array, store)


@dataclass(frozen=True)
class Sum(BytesBytesCodec):
    """A checksum that only Python has."""

    name: ClassVar[str] = "test.sum"
    is_fixed_size: ClassVar[bool] = True

    def encoded_size(self, nbytes: int) -> int:
        return nbytes + 4

    def encode(self, data: Any, spec: Any = None) -> Any:
        return bytes(data) + zlib.crc32(data).to_bytes(4, "little")

    def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
        if zlib.crc32(data[:-4]) != int.from_bytes(data[-4:], "little"):
            raise ValueError("wrong sum")
        return data[:-4]


@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("dtype", ["i4", str])
def test_the_index_of_a_shard_may_go_through_python(dtype: Any, location: str) -> None:
    """The array was created, and could be neither written nor read."""
    register_codec("test.sum", Sum)
    values = VALUES if dtype is not str else VALUES.astype(str).astype("T")
    shards = ShardingCodec(
        chunk_shape=(2, 3),
        codecs=("vlen-utf8",) if dtype is str else (BytesCodec(endian="little"), "zstd"),
        index_codecs=(BytesCodec(endian="little"), Sum()),
        index_location=location,
    )
    array = zarrcore.create_array(
        store := {}, shape=(4, 6), chunks=(4, 6), dtype=dtype, serializer=shards, compressors=None
    )
    check(array, store, values)
    damaged = bytearray(store["c/0/0"])
    damaged[5 if location == "start" else -5] ^= 1
    store["c/0/0"] = bytes(damaged)
    with pytest.raises(ChunkDecodeError, match=r"test\.sum.*wrong sum"):
        zarrcore.open_array(store)[0, 0]


@dataclass(frozen=True)
class Keyed(BytesBytesCodec):
    """Bits are inverted by a key that no document tells."""

    name: ClassVar[str] = "test.keyed"
    key: Any = field(default=0, metadata={"runtime": True})

    def encode(self, data: Any, spec: Any = None) -> Any:
        return bytes(byte ^ int(self.key) for byte in bytes(data))

    def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
        return self.encode(data)


def keyed(key: int, sharded: bool) -> dict[str, Any]:
    return codecs_of(lambda mask: Keyed(mask), key, sharded)


def test_encoded_chunks_are_copied_where_codecs_are_the_same_alone() -> None:
    """Chunks that one key had encoded came to an array that decodes with another one."""
    register_codec(Keyed.name, Keyed)
    options: dict[str, Any] = {"shape": (4, 6), "chunks": (4, 6), "dtype": "i4"}
    for sharded in (False, True):
        plain = (VALUES[:2, :3] if sharded else VALUES).tobytes()
        source = zarrcore.create_array({}, **options, **keyed(5, sharded))
        source[...] = VALUES
        for key in (5, 9):
            copied = zarrcore.from_array(store := {}, data=source, chunks=(4, 6), **keyed(key, sharded))
            assert np.array_equal(copied[...], VALUES)
            assert bytes(store["c/0/0"]).startswith(bytes(b ^ key for b in plain))


class Loud(ZstdCodec):
    """The same, with a counter."""

    calls: ClassVar[list[int]] = []

    def encode(self, data: Any, spec: Any = None) -> Any:
        self.calls.append(1)
        return super().encode(data, spec)


class Secret(ZstdCodec):
    def encode(self, data: Any, spec: Any = None) -> Any:
        return super().encode(bytes(data)[::-1], spec)

    def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
        return super().decode(data, spec, max_size)[::-1]


@dataclass(frozen=True)
class NoZstd(BytesBytesCodec):
    """Nothing of zarrcore's but a name."""

    name: ClassVar[str] = "zstd"

    def encode(self, data: Any, spec: Any = None) -> Any:
        return bytes(data)[::-1]

    def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
        return bytes(data)[::-1]


class Turns(DefaultChunkKeyEncoding):
    def encode(self, coords: Any) -> str:
        return super().encode(tuple(coords)[::-1])

    def decode(self, key: str) -> Any:
        return super().decode(key)[::-1]


@dataclass(frozen=True)
class NoDefault(ChunkKeyEncoding):
    name: ClassVar[str] = "default"

    def encode(self, coords: Any) -> str:
        return "k" + "-".join(map(str, coords))


class Uneven(RegularGrid):
    def native(self) -> Any:
        return ((1, 3), 3)


@dataclass(frozen=True)
class NoRegular(ChunkGrid):
    name: ClassVar[str] = "regular"
    chunk_shape: tuple[int, ...] = (2, 3)
    ndim: ClassVar[int] = 2

    def native(self) -> Any:
        return ((1, 3), 3)

    def validate(self, shape: Any) -> None:
        pass

    def update_shape(self, shape: Any) -> Any:
        return self


@dataclass(frozen=True, kw_only=True)
class NoInt32(Int32):
    def to_native_dtype(self) -> Any:
        return np.dtype("f4")

    def cast_scalar(self, data: Any) -> Any:
        return np.float32(data)

    def to_json_scalar(self, data: Any, *, zarr_format: Any) -> Any:
        return int(data)


INNER = ShardingCodec(chunk_shape=(2, 3), codecs=(BytesCodec(endian="little"), Secret()))
MISREAD: dict[str, dict[str, Any]] = {
    "codec": {"compressors": [Secret()]},
    "codec of shards": {"serializer": INNER, "compressors": None, "chunks": (4, 6)},
    "shards": {"serializer": Reversed(chunk_shape=(2, 3)), "compressors": None, "chunks": (4, 6)},
    "another codec": {"compressors": [NoZstd()]},
    "keys": {"chunk_key_encoding": Turns()},
    "other keys": {"chunk_key_encoding": NoDefault()},
    "grid": {"chunk_grid": Uneven((2, 3)), "chunks": None},
    "another grid": {"chunk_grid": NoRegular(), "chunks": None},
}


@pytest.mark.parametrize("what", MISREAD)
@pytest.mark.parametrize("data", [None, VALUES], ids=["empty", "values"])
def test_what_would_be_read_by_another_class_of_that_name_is_refused(what: str, data: Any) -> None:
    """The document named zarrcore's own, which read fill values, or wrong ones, or nothing."""
    options = {"chunks": (2, 3), **MISREAD[what]}
    if options["chunks"] is None:
        del options["chunks"]
    given: Any = {"shape": (4, 6), "dtype": "i4"} if data is None else {"data": data}
    with pytest.raises(MetadataValidationError, match="registered"):
        zarrcore.create_array(store := {}, **options, **given)
    assert store == {}


def test_a_data_type_that_would_be_read_as_another_one_is_refused() -> None:
    with pytest.raises(MetadataValidationError, match=r"data_type: .*NoInt32"):
        zarrcore.create_array(store := {}, shape=3, dtype=NoInt32())
    assert store == {}


def test_a_codec_that_writes_what_that_of_its_name_reads_is_used() -> None:
    Loud.calls.clear()
    array = zarrcore.create_array(
        store := {}, shape=(4, 6), chunks=(2, 3), dtype="i4", compressors=[Loud(level=3)]
    )
    Loud.calls.clear()
    array[...] = VALUES
    assert len(Loud.calls) == 4
    assert np.array_equal(zarrcore.open_array(store)[...], VALUES)


class _Reversed:
    """What behaves like a codec of numcodecs, and has the id of one."""

    def __init__(self, codec_id: str = "zlib") -> None:
        self.codec_id = codec_id

    def get_config(self) -> dict[str, Any]:
        return {"id": self.codec_id}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> _Reversed:
        return cls()

    def encode(self, data: Any) -> bytes:
        return bytes(memoryview(data).cast("B"))[::-1]

    def decode(self, data: Any, out: Any = None) -> bytes:
        return bytes(data)[::-1]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("options", ["compressors", "filters"])
def test_a_codec_object_with_the_id_of_another_is_refused(zarr_format: int, options: str) -> None:
    """In its place the codec with that id encoded, without a word."""
    store: dict[str, Any] = {}
    with pytest.raises(MetadataValidationError, match=r"codec 'zlib': .*_Reversed"):
        zarrcore.create_array(store, shape=4, dtype="u1", zarr_format=zarr_format, **{options: [_Reversed()]})
    assert store == {}


def test_a_codec_derived_from_ours_under_its_id_is_refused() -> None:
    class Louder(zarrcore.codecs.numcodecs.Zlib):
        def encode(self, data: Any, spec: Any = None) -> bytes:
            return b"!" + bytes(super().encode(data, spec))

    with pytest.raises(MetadataValidationError, match=r"codec 'zlib': .*Louder"):
        zarrcore.create_array({}, shape=4, dtype="u1", zarr_format=2, compressors=[Louder()])


def test_codec_objects_of_numcodecs_are_ours() -> None:
    numcodecs = pytest.importorskip("numcodecs")

    class Named(numcodecs.Zlib):  # type: ignore[misc,name-defined]
        """The same, by another name."""

    class Other(numcodecs.Zlib):  # type: ignore[misc,name-defined]
        def encode(self, buf: Any) -> Any:
            return b"!" + super().encode(buf)

    for codec in (numcodecs.Zlib(level=3), Named(level=3)):
        array = zarrcore.create_array({}, shape=4, dtype="u1", zarr_format=2, compressors=[codec])
        assert array.compressors[0].get_config() == {"id": "zlib", "level": 3}
    with pytest.raises(MetadataValidationError, match=r"codec 'zlib': .*Other"):
        zarrcore.create_array({}, shape=4, dtype="u1", zarr_format=2, compressors=[Other()])


def test_an_object_of_the_registered_class_is_that_codec() -> None:
    zarrcore.registry.compressor_registry.register(_Reversed, "test.reversed")
    try:
        array = zarrcore.create_array(
            {}, shape=4, dtype="u1", zarr_format=2, compressors=[_Reversed("test.reversed")]
        )
        array[...] = [1, 2, 3, 4]
        assert bytes(array.store.get("0")) == bytes([4, 3, 2, 1])

        class Same(_Reversed):
            def encode(self, data: Any) -> bytes:
                return bytes(memoryview(data).cast("B"))

        with pytest.raises(MetadataValidationError, match=r"codec 'test.reversed': .*Same"):
            zarrcore.create_array({}, shape=4, dtype="u1", zarr_format=2, compressors=[Same("test.reversed")])
    finally:
        del zarrcore.registry.compressor_registry._classes["test.reversed"]


def test_an_error_of_get_config_names_the_class() -> None:
    class Broken(_Reversed):
        def get_config(self) -> dict[str, Any]:
            raise KeyError("boom")

    with pytest.raises(MetadataValidationError, match=r"KeyError: 'boom' \(get_config of .*Broken\)"):
        zarrcore.create_array({}, shape=4, dtype="u1", zarr_format=2, compressors=[Broken()])
