"""Codecs of users that do not keep their word: nothing wrong is stored, and the error names the codec."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec, BytesCodec, ShardingCodec
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError
from zarrcore.registry import codec_registry, register_codec

ENCODE: dict[str, Callable[[Any], Any]] = {}  # what a codec does instead, for one test
DECODE: dict[str, Callable[[Any], Any]] = {}


def _kept(data: Any) -> Any:
    return data


@dataclass(frozen=True)
class Arrays(ArrayArrayCodec):
    """An array as it is, unless a test wants something else."""

    name: ClassVar[str] = "test.arrays"

    def encode(self, chunk: Any, spec: Any) -> Any:
        return ENCODE.get(self.name, _kept)(chunk)

    def decode(self, chunk: Any, spec: Any) -> Any:
        return DECODE.get(self.name, _kept)(chunk)


@dataclass(frozen=True)
class Items(ArrayBytesCodec):
    """The bytes of an array."""

    name: ClassVar[str] = "test.items"

    def encode(self, chunk: Any, spec: Any) -> Any:
        return ENCODE.get(self.name, np.ndarray.tobytes)(chunk)

    def decode(self, data: Any, spec: Any) -> Any:
        chunk = np.frombuffer(data, spec.np_dtype).reshape(spec.shape)
        return DECODE.get(self.name, _kept)(chunk)


@dataclass(frozen=True)
class Octets(BytesBytesCodec):
    """Bytes as they are, always as many."""

    name: ClassVar[str] = "test.octets"
    is_fixed_size: ClassVar[bool] = True

    def encoded_size(self, nbytes: int) -> int:
        return nbytes

    def encode(self, data: Any, spec: Any = None) -> Any:
        return ENCODE.get(self.name, _kept)(data)

    def decode(self, data: Any, spec: Any = None, max_size: Any = None) -> Any:
        return DECODE.get(self.name, _kept)(data)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    for cls in (Arrays, Items, Octets):
        register_codec(cls.name, cls)
    yield
    ENCODE.clear()
    DECODE.clear()
    for cls in (Arrays, Items, Octets):
        del codec_registry._classes[cls.name]


CHAINS: dict[str, dict[str, Any]] = {
    "arrays": {"filters": [Arrays()], "compressors": None},
    "items": {"serializer": Items(), "compressors": None},
    "octets": {"compressors": ["zstd", Octets(), "gzip"]},
    "octets-first": {"compressors": [Octets()]},
    "all": {"filters": [Arrays()], "serializer": Items(), "compressors": [Octets()]},
    "shards": {
        "serializer": ShardingCodec(chunk_shape=(2, 3), codecs=[Arrays(), BytesCodec(), Octets()]),
        "compressors": None,
    },
    "strings": {"filters": [Arrays()], "compressors": [Octets()], "dtype": str, "fill_value": ""},
}


def created(chain: str) -> zarrcore.Array:
    return zarrcore.create_array({}, **({"shape": (4, 6), "chunks": (2, 3), "dtype": "i4"} | CHAINS[chain]))


def names(chain: str) -> str:
    return str(CHAINS[chain])


def released() -> memoryview:
    with memoryview(b"abc") as view:
        return view


WRONG: dict[str, dict[str, Callable[[Any], Any]]] = {
    "test.arrays": {
        "another shape": lambda chunk: chunk[:1],
        "another data type": lambda chunk: chunk.astype("f8" if chunk.dtype.kind == "i" else "U5"),
        "nothing": lambda chunk: None,
        "a list": lambda chunk: chunk.tolist(),
        "a mask": lambda chunk: np.ma.masked_array(chunk, mask=True),
    },
    "test.items": {
        "nothing": lambda chunk: None,
        "text": lambda chunk: "text",
        "objects": lambda chunk: chunk.astype("O"),
        "no bytes": lambda chunk: b"",
        "released memory": lambda chunk: released(),
    },
    "test.octets": {
        "nothing": lambda data: None,
        "text": lambda data: "text",
        "another size": lambda data: bytes(data) + b"x",
        "released memory": lambda data: released(),
    },
}
CASES = [
    (chain, codec, what)
    for chain in CHAINS
    for codec, wrong in WRONG.items()
    if codec.removeprefix("test.").title() in names(chain)
    for what in wrong
]


@pytest.mark.parametrize(("chain", "codec", "what"), CASES)
def test_nothing_wrong_is_stored(chain: str, codec: str, what: str) -> None:
    """A chunk of another shape was stored over a good one, and could not be decoded."""
    array = created(chain)
    good = np.arange(1, 25).reshape(4, 6).astype(array.dtype)
    array[:] = good
    ENCODE[codec] = WRONG[codec][what]
    for region in (np.s_[:], np.s_[0, 0]):
        with pytest.raises(ChunkEncodeError, match=codec) as found:
            array[region] = good[region]
        assert found.value.codec == codec
        assert found.value.key
    with pytest.raises(MetadataValidationError, match=codec):
        created(chain)
    ENCODE.clear()
    assert np.array_equal(array[:], good)


READ = [case for case in CASES if case[1] != "test.items" and case[2] != "another size"]  # the next one fails


@pytest.mark.parametrize(("chain", "codec", "what"), READ)
def test_nothing_wrong_is_read(chain: str, codec: str, what: str) -> None:
    """Items of another data type were cast without a word: 102 came back as 100."""
    array = created(chain)
    array[:] = np.arange(1, 25).reshape(4, 6).astype(array.dtype)
    DECODE[codec] = WRONG[codec][what]
    for region in (np.s_[:], np.s_[0, 0]):
        with pytest.raises(ChunkDecodeError, match=codec) as found:
            array[region]
        assert found.value.codec == codec


@dataclass(frozen=True)
class Compressed(Octets):
    """Bytes of another number."""

    is_fixed_size: ClassVar[bool] = False


LOOSE: dict[str, dict[str, Any]] = {
    "chunks": {"compressors": [Compressed()]},
    "after another": {"compressors": ["zstd", Compressed()]},
    "shards": {"compressors": [Compressed()], "chunks": (2, 3), "shards": (4, 6)},
    "items": {"serializer": Items(), "compressors": [Compressed()]},
    "strings": {"compressors": [Compressed()], "dtype": str, "fill_value": ""},
}


@pytest.mark.parametrize("options", LOOSE.values(), ids=LOOSE.keys())
def test_a_chunk_is_not_lost_for_a_codec_that_makes_no_bytes_of_it(options: dict[str, Any]) -> None:
    """The chunk was removed without an error, and read as fill values afterwards."""
    array = zarrcore.create_array({}, **{"shape": (4, 6), "chunks": (2, 3), "dtype": "i4"} | options)
    good = np.arange(1, 25).reshape(4, 6).astype(array.dtype)
    array[:] = good
    ENCODE["test.octets"] = lambda data: b""
    with pytest.raises(ChunkEncodeError, match="codec 'test.octets': encodes .* bytes to none at all"):
        array[:] = good[::-1]
    ENCODE.clear()
    assert np.array_equal(array[:], good)


@pytest.mark.parametrize("options", LOOSE.values(), ids=LOOSE.keys())
def test_bytes_with_gaps_are_blamed_on_the_codec_that_made_them(options: dict[str, Any]) -> None:
    array = zarrcore.create_array({}, **{"shape": (4, 6), "chunks": (2, 3), "dtype": "i4"} | options)
    array[:] = np.arange(1, 25).reshape(4, 6).astype(array.dtype)
    DECODE["test.octets"] = lambda data: memoryview(bytes(data) + bytes(data))[::2]
    with pytest.raises(ChunkDecodeError, match="codec 'test.octets'"):
        array[:]


@pytest.mark.parametrize(("chain", "codec"), sorted({case[:2] for case in CASES if case[1] != "test.octets"}))
def test_codecs_cannot_change_what_the_caller_owns(chain: str, codec: str) -> None:
    array = created(chain)
    given = np.arange(1, 25).reshape(4, 6).astype(array.dtype)

    def in_place(chunk: Any) -> Any:
        chunk[...] = chunk[0, 0]
        return chunk

    ENCODE[codec] = in_place
    with pytest.raises(ChunkEncodeError, match=f"{codec}.*read-only"):
        array[:] = given
    assert np.array_equal(given, np.arange(1, 25).reshape(4, 6).astype(array.dtype))


class Sevens(np.ndarray):
    """An array that selects and converts in a way of its own."""

    @property
    def shape(self) -> tuple[int, ...]:
        return (2, 3)

    def __getitem__(self, index: Any) -> Any:
        return np.str_("7")

    def reshape(self, *args: Any, **options: Any) -> Any:
        return None

    view = tobytes = astype = reshape  # pyright: ignore[reportAssignmentType]


@pytest.mark.parametrize("chain", ["arrays", "items", "shards", "strings"])
def test_methods_of_what_a_codec_returns_are_not_called(chain: str) -> None:
    """Points of an array of strings were what the class of the decoded chunk selected."""
    array = created(chain)
    values = np.arange(24).reshape(4, 6).astype(array.dtype)
    array[...] = values
    DECODE["test.arrays"] = DECODE["test.items"] = ENCODE["test.arrays"] = lambda chunk: chunk.view(Sevens)
    for index in (..., (slice(1, 4), slice(2, 5)), ([0, 3, 1], [1, 5, 2])):
        np.testing.assert_array_equal(array[index], values[index])
    DECODE["test.arrays"] = lambda chunk: chunk.reshape(-1)[:1].view(Sevens)
    if chain != "items":
        with pytest.raises(ChunkDecodeError, match="expected a chunk of shape"):
            array[...]
    DECODE.clear()
    array[...] = values[::-1]
    np.testing.assert_array_equal(array[...], values[::-1])
