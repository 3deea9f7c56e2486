"""Codecs and key encodings that packages registered with zarr-python by entry points are found and used."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkError, MetadataValidationError, UnknownCodecError
from zarrcore.registry import codec_registry, key_encoding_registry

zarr = pytest.importorskip("zarr")

PACKAGE = """
import asyncio
import dataclasses
import numpy as np
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.core.chunk_key_encodings import ChunkKeyEncoding


class Base:
    def to_dict(self):
        return {"name": NAMES[type(self)], "configuration": dataclasses.asdict(self)}

    @classmethod
    def from_dict(cls, data):
        return cls(**data.get("configuration", {}))


@dataclasses.dataclass(frozen=True)
class Twice(Base, ArrayArrayCodec):
    factor: int = 2
    is_fixed_size = True

    def resolve_metadata(self, spec):
        from zarr.core.dtype import Float64
        fill = np.float64(spec.fill_value * self.factor)
        return dataclasses.replace(spec, dtype=Float64(), fill_value=fill)

    async def _encode_single(self, chunk, spec):
        await asyncio.sleep(0)
        return type(chunk).from_numpy_array(chunk.as_numpy_array().astype("f8") * self.factor)

    async def _decode_single(self, chunk, spec):
        values = chunk.as_numpy_array() / self.factor
        return type(chunk).from_numpy_array(values.astype(spec.dtype.to_native_dtype()))

    def compute_encoded_size(self, nbytes, spec):
        return nbytes


@dataclasses.dataclass(frozen=True)
class Text(Base, ArrayBytesCodec):
    async def _encode_single(self, chunk, spec):
        text = " ".join(map(repr, chunk.as_numpy_array().ravel().tolist()))
        return spec.prototype.buffer.from_bytes(text.encode())

    async def _decode_single(self, data, spec):
        values = np.array(data.to_bytes().decode().split(), float).astype(spec.dtype.to_native_dtype())
        return spec.prototype.nd_buffer.from_numpy_array(values.reshape(spec.shape))

    def compute_encoded_size(self, nbytes, spec):
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Turn(Base, BytesBytesCodec):
    by: int = 13

    def __post_init__(self):
        if not 0 < self.by < 256:
            raise ValueError("by is too large")

    def _encode_sync(self, data, spec):
        return spec.prototype.buffer.from_bytes(bytes((b + self.by) % 256 for b in data.to_bytes()))

    def _decode_sync(self, data, spec):
        if data.to_bytes() == b"bad":
            raise RuntimeError("these bytes cannot be turned")
        return spec.prototype.buffer.from_bytes(bytes((b - self.by) % 256 for b in data.to_bytes()))

    async def _encode_single(self, data, spec):
        return self._encode_sync(data, spec)

    async def _decode_single(self, data, spec):
        return self._decode_sync(data, spec)

    def compute_encoded_size(self, nbytes, spec):
        return nbytes


@dataclasses.dataclass(frozen=True)
class Nested(Base, BytesBytesCodec):
    # What is decoded needs a value of another array first.
    async def _encode_single(self, data, spec):
        return data

    async def _decode_single(self, data, spec):
        if ARRAYS:
            assert ARRAYS.pop()[0] == 0
        return data

    def compute_encoded_size(self, nbytes, spec):
        return nbytes


ARRAYS = []


@dataclasses.dataclass(frozen=True)
class Hashed(ChunkKeyEncoding):
    name = "lent.hashed"
    start: str = "x"

    def encode_chunk_key(self, coords):
        return "/".join((self.start, *(str(c * 7) for c in coords)))


NAMES = {Twice: "lent.twice", Text: "lent.text", Turn: "lent.turn", Nested: "lent.nested"}
"""
ENTRY_POINTS = """
[zarr.codecs]
lent.twice = lent_codecs:Twice
lent.text = lent_codecs:Text
lent.turn = lent_codecs:Turn
lent.nested = lent_codecs:Nested
lent.absent = lent_codecs:Absent
lent.broken = lent_broken:Broken
lent.none = lent_codecs:NAMES
gzip = lent_codecs:Turn
[zarr.codecs.lent-grouped]
any = lent_codecs:Turn
[zarr.chunk_key_encoding]
lent.hashed = lent_codecs:Hashed
"""


@pytest.fixture(autouse=True)
def lent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install a package for zarr-python, on sys.path alone."""
    home = tmp_path / "site"
    declared = home / "lent_codecs-1.dist-info"
    declared.mkdir(parents=True)
    (home / "lent_codecs.py").write_text(PACKAGE)
    (home / "lent_broken.py").write_text("raise RuntimeError('no licence')")
    (declared / "METADATA").write_text("Metadata-Version: 2.1\nName: lent-codecs\nVersion: 1\n")
    (declared / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(str(home))
    for registry in (codec_registry, key_encoding_registry):
        monkeypatch.setattr(registry, "_classes", dict(registry._classes))
        monkeypatch.setattr(registry, "_searched", False)
    yield
    sys.modules.pop("lent_codecs", None)


def lent_classes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the package, registered with zarr-python too, which has looked for entry points before."""
    import lent_codecs  # type: ignore[import-not-found]

    registered = {name.lstrip("_"): found for name, found in vars(zarr.registry).items()}  # with one, or two
    for cls, name in lent_codecs.NAMES.items():
        monkeypatch.setitem(registered["codec_registries"], name, zarr.registry.Registry())
        zarr.registry.register_codec(name, cls)
    if "chunk_key_encoding_registry" in registered:  # not in 3.1.0
        monkeypatch.setitem(registered["chunk_key_encoding_registry"], "lent.hashed", lent_codecs.Hashed)
    return lent_codecs


VALUES = np.arange(40).reshape(8, 5)
CODECS: dict[str, dict[str, Any]] = {
    "array-array": {"filters": {"name": "lent.twice", "configuration": {"factor": 4}}},
    "array-bytes": {"serializer": {"name": "lent.text"}, "compressors": None},
    "bytes-bytes": {"compressors": {"name": "lent.turn", "configuration": {"by": 3}}},
    "all": {
        "filters": {"name": "lent.twice"},
        "serializer": {"name": "lent.text"},
        "compressors": [{"name": "gzip", "configuration": {"level": 1}}, {"name": "lent.turn"}],
    },
    "in shards": {"compressors": {"name": "lent.turn"}, "shards": (4, 4)},
    "keys": {"chunk_key_encoding": {"name": "lent.hashed", "configuration": {"start": "y"}}},
}


if not any("key_encoding_registry" in name for name in vars(zarr.registry)):  # in 3.1.0
    del CODECS["keys"]


@pytest.mark.parametrize("options", CODECS.values(), ids=CODECS)
def test_both_libraries_read_what_the_other_wrote(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = zarrcore.create_array(tmp_path / "ours", shape=(8, 5), chunks=(2, 2), dtype="i4", **options)
    ours[:] = VALUES
    ours[3, 1:4] = -7
    lent_classes(monkeypatch)
    theirs = zarr.create_array(tmp_path / "theirs", shape=(8, 5), chunks=(2, 2), dtype="i4", **options)
    theirs[:] = VALUES
    theirs[3, 1:4] = -7
    found = zarrcore.open_array(tmp_path / "theirs", mode="r")
    assert np.array_equal(found[:], theirs[:]) and np.array_equal(found[1:7:3, 2:], theirs[1:7:3, 2:])
    assert np.array_equal(zarr.open_array(tmp_path / "ours", mode="r")[:], theirs[:])
    again = pickle.loads(pickle.dumps(ours))
    assert np.array_equal(again[:], theirs[:]) and again.metadata == ours.metadata


def test_an_instance_of_theirs_is_taken(tmp_path: Path) -> None:
    import lent_codecs

    array = zarrcore.create_array({}, data=VALUES, compressors=lent_codecs.Turn(by=5))
    assert np.array_equal(array[:], VALUES)
    assert array.metadata.to_dict()["codecs"][-1] == {"name": "lent.turn", "configuration": {"by": 5}}


@pytest.mark.timeout(60)
def test_a_coroutine_of_a_codec_may_read_an_array_with_that_codec() -> None:
    """It waited for a coroutine that was given to the very loop on which it ran."""
    arrays = [
        zarrcore.create_array({}, data=np.arange(4), compressors={"name": "lent.nested"}) for _ in range(4)
    ]
    import lent_codecs

    lent_codecs.ARRAYS.extend(arrays[1:])
    assert arrays[0][:].tolist() == [0, 1, 2, 3] and not lent_codecs.ARRAYS


def test_our_own_codecs_are_never_hidden() -> None:
    assert codec_registry.get("gzip").__module__ == "zarrcore.codecs.gzip"
    assert codec_registry.get("lent-grouped").name == "lent-grouped"


@pytest.mark.parametrize("name", ["lent.absent", "lent.broken", "lent.none"])
def test_what_cannot_be_loaded_names_the_package(name: str) -> None:
    with pytest.raises(UnknownCodecError, match=rf"{name}.*package lent-codecs"):
        zarrcore.create_array({}, shape=4, dtype="i4", compressors={"name": name})


def test_errors_name_the_package() -> None:
    turn: dict[str, Any] = {"name": "lent.turn", "configuration": {"by": 300}}
    with pytest.raises(MetadataValidationError, match="lent-codecs refuses it: by is too large"):
        zarrcore.create_array({}, shape=4, dtype="i4", compressors=turn)
    store = zarrcore.storage.MemoryStore()
    array = zarrcore.create_array(store, data=np.arange(4), compressors={"name": "lent.turn"})
    store.set("c/0", b"bad")
    with pytest.raises(ChunkError, match=r"c/0.*lent.turn of the package lent-codecs: these bytes cannot"):
        array[:]


def test_names_of_the_package_are_offered_and_it_is_not_loaded_for_others() -> None:
    zarrcore.create_array({}, data=VALUES)[:]
    assert "lent_codecs" not in sys.modules
    with pytest.raises(UnknownCodecError, match=r"lent\.turn"):
        zarrcore.create_array({}, shape=4, dtype="i4", compressors={"name": "lent.turm"})


@pytest.mark.parametrize("shards", [None, 4])
def test_a_codec_made_from_theirs_is_not_taken_for_it(shards: int | None) -> None:
    """What its class replaces was not called, and nothing was said: values were stored as zstd has them."""
    from zarr.codecs import ZstdCodec

    class Turned(ZstdCodec):
        def _encode_sync(self, chunk_bytes: Any, chunk_spec: Any) -> Any:
            raise NotImplementedError

    class Same(ZstdCodec):
        pass

    options: Any = {"shape": 4, "chunks": 2, "shards": shards, "dtype": "i4"}
    with pytest.raises(MetadataValidationError, match=r"'zstd': readers have .* not encode as .*Turned"):
        zarrcore.create_array({}, compressors=Turned(), **options)
    array = zarrcore.create_array({}, compressors=Same(), **options)
    array[:] = 5
    assert array[:].tolist() == [5] * 4
