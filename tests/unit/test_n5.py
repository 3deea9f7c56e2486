# SPDX-License-Identifier: MIT
"""N5 containers: hand-made ones as the specification of N5 has them, and those that tensorstore made."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from tests.unit.array.conftest import use_python_engine
from zarrcore._core.engine import NativeArray
from zarrcore.codecs import ArraySpec
from zarrcore.codecs.n5 import LZ4BlockCodec, N5DefaultCodec, xxhash32
from zarrcore.dtypes import parse_dtype
from zarrcore.errors import (
    BaseZarrError,
    ChecksumError,
    ChunkDecodeError,
    GroupNotFoundError,
    MetadataValidationError,
    ReadOnlyError,
    ZarrcoreWarning,
)
from zarrcore.metadata.n5 import n5_document
from zarrcore.nodes.n5 import N5Store
from zarrcore.storage import MemoryStore

VALUES = np.arange(-9, 26, dtype=">i2").reshape(5, 7)  # in the order of Zarr: N5's dimensions are 7, 5
BLOCK = (2, 3)

COMPRESSIONS: dict[str, tuple[dict[str, Any] | None, Callable[[bytes], bytes]]] = {
    "raw": ({"type": "raw"}, bytes),
    "gzip": ({"type": "gzip", "level": -1}, gzip.compress),
    "zlib": ({"type": "gzip", "useZlib": True}, zlib.compress),
    "bzip2": ({"type": "bzip2", "blockSize": 5}, bz2.compress),
    "xz": ({"type": "xz", "preset": 3}, lzma.compress),
    "lz4": ({"type": "lz4", "blockSize": 65536}, LZ4BlockCodec(block_size=64).encode),
    "lzma": (  # this and the next one as zarr-python 2 writes them
        {"type": "lzma", "format": 2, "check": -1, "preset": 1, "filters": None},
        lambda data: lzma.compress(data, lzma.FORMAT_ALONE, preset=1),
    ),
    "crc32": (
        {"type": "crc32", "id": "crc32", "location": "end"},
        lambda data: data + zlib.crc32(data).to_bytes(4, "little"),
    ),
    "none": (None, bytes),
}


def attributes(**changed: Any) -> dict[str, Any]:
    return {"dimensions": [7, 5], "blockSize": [3, 2], "dataType": "int16", **changed}


def block(items: np.ndarray, compress: Callable[[bytes], bytes] = bytes, *, mode: int = 0) -> bytes:
    """One block: the shape in N5's order, and the items, whose order in C is N5's in Fortran."""
    shape = items.shape[::-1]
    header = struct.pack(f">HH{len(shape)}I", mode, len(shape), *shape)
    if mode == 1:
        header += struct.pack(">I", items.size)
    return header + compress(items.tobytes())


def container(
    compression: dict[str, Any] | None,
    compress: Callable[[bytes], bytes],
    *,
    padded: bool = False,
    mode: int = 0,
) -> dict[str, bytes]:
    """A container with the values as the array ``group/data``."""
    own = attributes(compression=compression, unit="m") if compression else attributes(unit="m")
    values = {"attributes.json": b'{"n5": "4.0.0", "title": "t"}', "group/data/attributes.json": dump(own)}
    for i in range(3):
        for j in range(3):
            items = VALUES[2 * i : 2 * i + 2, 3 * j : 3 * j + 3]
            if padded:
                rest = [(0, whole - length) for whole, length in zip(BLOCK, items.shape, strict=True)]
                items = np.pad(items, rest, constant_values=77)
            values[f"group/data/{j}/{i}"] = block(items, compress, mode=mode)
    return values


def dump(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()


class TestContainers:
    @pytest.mark.parametrize("padded", [False, True], ids=["truncated", "padded"])
    @pytest.mark.parametrize("kind", COMPRESSIONS)
    def test_values(self, kind: str, padded: bool) -> None:
        store = MemoryStore(container(*COMPRESSIONS[kind], padded=padded))
        array = zarrcore.open_array(store, path="group/data", mode="r")
        assert (array.shape, array.chunks, array.dtype) == ((5, 7), BLOCK, np.dtype("i2"))
        np.testing.assert_array_equal(array[...], VALUES)
        np.testing.assert_array_equal(array[3:, ::-2], VALUES[3:, ::-2])
        assert array.nchunks_initialized == 9
        assert dict(array.attrs) == {"unit": "m"}

    @pytest.mark.parametrize("kind", sorted(COMPRESSIONS))
    def test_the_engine_reads_blocks_of_every_compression(self, kind: str) -> None:
        array = zarrcore.open_array(MemoryStore(container(*COMPRESSIONS[kind])), path="group/data", mode="r")
        array[...]
        assert isinstance(array._opened._engine, NativeArray)

    def test_blocks_of_the_mode_varlength(self) -> None:
        store = MemoryStore(container({"type": "raw"}, bytes, mode=1))
        np.testing.assert_array_equal(zarrcore.open(store, path="group/data", mode="r")[...], VALUES)

    def test_a_compression_that_is_only_a_name(self) -> None:
        store = MemoryStore(container({"type": "gzip"}, gzip.compress))
        document = store.get("group/data/attributes.json").replace(b'{"type": "gzip"}', b'"gzip"')
        store.set("group/data/attributes.json", document)
        with pytest.warns(ZarrcoreWarning, match=r"^group/data/attributes\.json: compression: \"gzip\""):
            array = zarrcore.open(store, path="group/data", mode="r")
        np.testing.assert_array_equal(array[...], VALUES)

    def test_missing_blocks_are_zero(self) -> None:
        values = container(*COMPRESSIONS["gzip"])
        del values["group/data/1/0"]
        expected = VALUES.copy()
        expected[:2, 3:6] = 0
        np.testing.assert_array_equal(
            zarrcore.open(MemoryStore(values), path="group/data", mode="r")[...], expected
        )

    @pytest.mark.parametrize("kind", ["memory", "local"])
    def test_groups_need_no_document(self, kind: str, tmp_path: Path) -> None:
        values = container(*COMPRESSIONS["raw"])
        if kind == "local":
            for key, value in values.items():
                path = tmp_path / key
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(value)
        store: Any = tmp_path if kind == "local" else MemoryStore(values)
        root = zarrcore.open(store, mode="r")
        assert dict(root.attrs) == {"title": "t"}
        assert [name for name, _ in root.members(max_depth=None)] == ["group", "group/data"]
        assert list(root["group"].array_keys()) == ["data"]
        np.testing.assert_array_equal(root["group/data"][...], VALUES)
        np.testing.assert_array_equal(zarrcore.open_group(store, path="group", mode="r")["data"][...], VALUES)

    @pytest.mark.parametrize("path", ["absent", "group/absent", "group/data/0"])
    def test_what_is_no_node(self, path: str) -> None:
        with pytest.raises(GroupNotFoundError):
            zarrcore.open(MemoryStore(container(*COMPRESSIONS["raw"])), path=path, mode="r")

    def test_nothing_is_written(self) -> None:
        values = container(*COMPRESSIONS["raw"])
        store = MemoryStore(dict(values))
        root = zarrcore.open(store, mode="a")
        for write in (
            lambda: root["group/data"].__setitem__(0, 1),
            lambda: root.attrs.update(a=1),
            lambda: root.create_group("new"),
        ):
            with pytest.raises(ReadOnlyError):
                write()
        assert {key: bytes(store.get(key)) for key in store.list()} == values

    def test_a_document_of_zarr_comes_first(self) -> None:
        store = MemoryStore(container(*COMPRESSIONS["raw"]))
        zarrcore.create_group(store, path="group/own")
        assert zarrcore.open(store, path="group/own", mode="r").metadata.zarr_format == 3

    def test_other_programs_attributes_are_left_alone(self) -> None:
        for content in (b'{"a": 1}', b"not json", b"[]"):
            with pytest.raises(GroupNotFoundError):
                zarrcore.open(MemoryStore({"attributes.json": content}), mode="r")

    def test_the_store_can_be_used_by_name(self) -> None:
        store = N5Store(MemoryStore(container(*COMPRESSIONS["raw"])))
        assert store.exists("group/zarr.json")
        assert not store.exists("absent/zarr.json")
        assert store.getsize("zarr.json") == len(store.get("zarr.json"))
        assert sorted(store.list_dir("group/data")) == ["0", "1", "2", "zarr.json"]


class TestAttributes:
    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"dimensions": [7, -5]}, r"dimensions\[1\]"),
            ({"blockSize": [3]}, "blockSize: expected 2 lengths"),
            ({"blockSize": [3, 0]}, r"blockSize\[1\]"),
            ({"dataType": "object"}, 'dataType: expected one of .*, got "object"'),
            ({"dataType": "string"}, "dataType"),
            ({"compression": {"type": "jpeg"}}, 'compression.type: expected one of .*, got "jpeg"'),
            ({"compression": 5}, "compression: expected an object"),
            (
                {"compression": {"type": "gzip", "level": 10}},
                "compression.level: expected an integer 0..9, got 10",
            ),
            ({"compression": {"type": "jpeg", "id": "other"}}, 'compression.type: .* got "jpeg"'),
            ({"compression": {"type": "gzip", "useZlib": 1}}, "compression.useZlib"),
            ({"compression": {"type": "lz4", "blockSize": 1}}, "compression.blockSize"),
            ({"compression": {"type": "lz4", "id": "lz4", "acceleration": "1"}}, "compression.acceleration"),
            ({"compression": {"type": "blosc"}}, "compression: expected the options of blosc"),
        ],
    )
    def test_what_is_refused(self, changed: dict[str, Any], message: str) -> None:
        with pytest.raises(MetadataValidationError, match=f"a/attributes.json: {message}"):
            n5_document(attributes(**changed), where="a/attributes.json")

    def test_the_older_member_for_the_compression(self) -> None:
        document = n5_document(attributes(compressionType="gzip"), where="a")
        assert document["codecs"][1]["configuration"]["codecs"][2]["name"] == "gzip"

    def test_lz4_as_zarr_python_2_writes_it(self) -> None:
        options = {"type": "lz4", "id": "lz4", "acceleration": 3}
        document = n5_document(attributes(compression=options), where="a")
        codec = document["codecs"][1]["configuration"]["codecs"][2]
        assert codec == {"name": "numcodecs.lz4", "configuration": {"acceleration": 3}}


class TestN5Default:
    SPEC = ArraySpec((3, 2), parse_dtype("i4", zarr_format=3), np.int32(5))
    CODECS = (
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "big"}},
    )

    def codec(self, *more: Any) -> N5DefaultCodec:
        return N5DefaultCodec(codecs=(*self.CODECS, *more)).resolve(self.SPEC)

    def test_round_trip_in_an_array(self) -> None:
        gz = {"name": "gzip", "configuration": {"level": 1}}
        values = np.random.default_rng(0).normal(size=(5, 4)).astype("f4")
        values.view("u4")[0, 0] = 0x7FC00123  # a NaN with a payload
        codec = {"name": "n5_default", "configuration": {"codecs": [*self.CODECS, gz]}}
        store = MemoryStore()
        array = zarrcore.create_array(
            store, shape=(5, 4), chunks=(3, 2), dtype="f4", serializer=codec, compressors=None
        )
        array[...] = values
        stored = zarrcore.open_array(store, mode="r")
        assert stored[...].tobytes() == values.tobytes()
        raw = bytes(store.get("c/0/0"))
        assert raw[:12] == struct.pack(">HHII", 0, 2, 3, 2)
        assert gzip.decompress(raw[12:]) == values[:3, :2].astype(">f4").tobytes(order="F")

    def stored(self, data: bytes) -> Any:
        """An array whose only chunk is stored as `data`."""
        codec = {"name": "n5_default", "configuration": {"codecs": self.CODECS}}
        store = MemoryStore()
        array = zarrcore.create_array(
            store, shape=(3, 2), chunks=(3, 2), dtype="i4", fill_value=5, serializer=codec, compressors=None
        )
        store.set("c/0/0", data)
        return array

    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            (struct.pack(">HHII3i", 0, 2, 3, 1, 1, 2, 3), [[1, 5], [2, 5], [3, 5]]),
            (struct.pack(">HHIII2i", 1, 2, 1, 2, 2, 1, 2), [[1, 2], [5, 5], [5, 5]]),
            (struct.pack(">HHII8i", 0, 2, 4, 2, *range(8)), [[0, 4], [1, 5], [2, 6]]),
            (struct.pack(">HHII8i", 0, 2, 2, 4, *range(8)), [[0, 2], [1, 3], [5, 5]]),
        ],
        ids=["smaller", "varlength", "larger", "both"],
    )
    def test_blocks_of_other_shapes(self, data: bytes, expected: list[list[int]]) -> None:
        assert self.codec().decode(data, self.SPEC).tolist() == expected
        array = self.stored(data)
        assert array[...].tolist() == expected
        assert isinstance(array._opened._engine, NativeArray)
        assert array[1:, 1].tolist() == [row[1] for row in expected[1:]]
        assert array.vindex[[0, 2], [1, 0]].tolist() == [expected[0][1], expected[2][0]]
        assert array[np.array(expected) == 5].tolist() == [5] * sum(row.count(5) for row in expected)
        array[1, 1] = expected[1][1] = -7  # what is written has the shape of the chunk
        assert array[...].tolist() == expected
        assert bytes(array.store.get("c/0/0"))[:12] == struct.pack(">HHII", 0, 2, 3, 2)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"", "cannot hold the header"),
            (struct.pack(">HHI", 0, 2, 3), "cannot hold the header"),
            (struct.pack(">HHII6i", 3, 2, 3, 2, *range(6)), "unknown mode 3"),
            (struct.pack(">HHI", 2, 2, 3), "block of objects"),
            (struct.pack(">HHI3i", 0, 1, 3, 1, 2, 3), "expected a block of 2 dimensions, got one of 1"),
            (struct.pack(">HHII6i", 0, 2, 2**32 - 1, 2**32 - 1, *range(6)), "does not belong to a chunk"),
            (struct.pack(">HHII6i", 0, 2, 0, 2, *range(6)), "does not belong to a chunk"),
            (struct.pack(">HHII", 0, 2, 3, 0), "does not belong to a chunk"),
            (struct.pack(">HHIII6i", 1, 2, 3, 2, 7, *range(6)), "expected a block of 6 items, got one of 7"),
            (struct.pack(">HHII5i", 0, 2, 3, 2, *range(5)), "20 bytes, but .* demand 24"),
        ],
    )
    def test_lying_headers(self, data: bytes, message: str) -> None:
        with pytest.raises(ChunkDecodeError, match=message):
            self.codec().decode(data, self.SPEC)
        array = self.stored(data)
        with pytest.raises(ChunkDecodeError, match=r"chunk \(0, 0\).*codec '(n5_default|bytes)'"):
            array[...]
        with pytest.raises(ChunkDecodeError, match=r"chunk \(0, 0\)"):
            array[1, 1] = 1

    def test_a_block_of_too_many_items(self) -> None:
        """Not more than twice as long along any dimension, but eight times as large."""
        data = struct.pack(">HHIII", 0, 3, 4, 4, 4) + bytes(64)
        order = {"name": "transpose", "configuration": {"order": [2, 1, 0]}}
        store = MemoryStore()
        codec = {"name": "n5_default", "configuration": {"codecs": [order, "bytes"]}}
        array = zarrcore.create_array(
            store, shape=(2,) * 3, chunks=(2,) * 3, dtype="u1", serializer=codec, compressors=None
        )
        store.set("c/0/0/0", data)
        for engine in (array, use_python_engine(zarrcore.open_array(store))):
            with pytest.raises(ChunkDecodeError, match="does not belong to a chunk"):
                engine[...]

    @pytest.mark.parametrize(
        ("codecs", "message"),
        [
            (["bytes"], "codecs: expected transpose, bytes"),
            ([CODECS[0], "vlen-utf8"], r"codecs\[1\]: expected bytes with the big"),
            (
                [{"name": "transpose", "configuration": {"order": [0, 1]}}, CODECS[1]],
                r"order: expected \[1, 0\]",
            ),
            ([CODECS[0], {"name": "bytes", "configuration": {"endian": "little"}}], "big byte order"),
            ([*CODECS, "crc32c", "crc32c"], "at most one bytes->bytes codec"),
        ],
    )
    def test_other_chains_are_refused(self, codecs: list[Any], message: str) -> None:
        with pytest.raises(MetadataValidationError, match=message):
            N5DefaultCodec(codecs=codecs).resolve(self.SPEC)

    def test_types_that_n5_has_not(self) -> None:
        for dtype in ("bool", "f2", "c8", "str"):
            with pytest.raises(MetadataValidationError, match="N5 has no data type"):
                N5DefaultCodec(codecs=self.CODECS).resolve(
                    ArraySpec((3, 2), parse_dtype(dtype, zarr_format=3))
                )


class TestLZ4Block:
    DATA = b"ab" * 500 + bytes(range(256))

    def test_the_hash(self) -> None:
        known = {b"": 0x02CC5D05, b"abc": 0x32D153FF, b"Nobody inspects the spammish repetition": 0xE2293B2F}
        assert {data: xxhash32(data) for data in known} == known

    @pytest.mark.parametrize("data", [b"", b"x", DATA], ids=len)
    def test_round_trip(self, data: bytes) -> None:
        encoded = LZ4BlockCodec(block_size=100).encode(data)
        assert encoded.startswith(b"LZ4Block")
        assert LZ4BlockCodec().decode(encoded, None, len(data)) == data
        assert LZ4BlockCodec().decode(encoded[:-21], None, len(data)) == data  # without the mark of the end

    def test_damage_is_found(self) -> None:
        encoded = LZ4BlockCodec(block_size=64).encode(bytes(range(64)))
        damaged = encoded[:30] + b"\xff" + encoded[31:]
        with pytest.raises(ChecksumError, match="xxHash"):
            LZ4BlockCodec().decode(damaged, None, 64)
        for bad in (encoded[:15], b"LZ5" + encoded[3:], encoded[:40]):
            with pytest.raises(ChunkDecodeError):
                LZ4BlockCodec().decode(bad, None, 64)
        with pytest.raises(ChunkDecodeError, match="room for 10"):
            LZ4BlockCodec().decode(encoded, None, 10)


GZIP = {"type": "gzip", "level": 3, "useZlib": False}


@pytest.mark.interop
@pytest.mark.parametrize(
    ("compression", "dtype"),
    [
        *((GZIP, dtype) for dtype in ("uint8", "uint32", "int64", "float32", "float64")),
        ({"type": "raw"}, "int16"),
        ({**GZIP, "useZlib": True}, "int16"),
        ({"type": "bzip2", "blockSize": 3}, "int16"),
        ({"type": "xz", "preset": 2}, "int16"),
        ({"type": "zstd", "level": 2}, "int16"),
        ({"type": "blosc", "cname": "lz4", "clevel": 4, "shuffle": 1, "blocksize": 0}, "int16"),
    ],
    ids=str,
)
def test_what_tensorstore_wrote(compression: dict[str, Any], dtype: str, tmp_path: Path) -> None:
    tensorstore = pytest.importorskip("tensorstore")
    values = np.random.default_rng(4).integers(0, 200, (7, 5, 3)).astype(dtype)
    spec = {
        "driver": "n5",
        "kvstore": {"driver": "file", "path": str(tmp_path)},
        "metadata": {
            "dimensions": [7, 5, 3],
            "blockSize": [3, 2, 3],
            "dataType": dtype,
            "compression": compression,
        },
    }
    tensorstore.open(spec, create=True).result()[...] = values
    found = zarrcore.open_array(tmp_path, mode="r")
    np.testing.assert_array_equal(found[...], values.transpose())


# ---- blocks that other programs compressed


def _numcodecs(config: dict[str, Any]) -> Callable[[bytes], bytes]:
    numcodecs = pytest.importorskip("numcodecs")
    return lambda data: bytes(numcodecs.get_codec(config).encode(data))


def _lz4_stream(data: bytes) -> bytes:
    """What lz4-java's LZ4BlockOutputStream writes: frames of at most 64 bytes, and the mark of the end."""
    compress = _numcodecs({"id": "lz4", "acceleration": 1})
    frames = b""
    for start in range(0, len(data), 64):
        plain = data[start : start + 64]
        packed = compress(plain)[4:]  # behind numcodecs' own header
        method, body = (0x20, packed) if len(packed) < len(plain) else (0x10, plain)
        check = xxhash32(plain, 0x9747B28C) & 0x0FFFFFFF
        frames += b"LZ4Block" + struct.pack("<BIII", method, len(body), len(plain), check) + body
    return frames + b"LZ4Block" + struct.pack("<BIII", 0x10, 0, 0, 0)


OTHERS: dict[str, tuple[dict[str, Any], Callable[[bytes], bytes]]] = {
    "blosc": (
        {"type": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0},
        lambda data: _numcodecs({"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1})(data),
    ),
    "zstd": ({"type": "zstd", "level": 3}, lambda data: _numcodecs({"id": "zstd", "level": 3})(data)),
    "lz4": ({"type": "lz4", "blockSize": 64}, _lz4_stream),
    "bzip2": (
        {"type": "bzip2", "blockSize": 9},
        lambda data: bz2.compress(data[:10]) + bz2.compress(data[10:]),
    ),
}


@pytest.mark.interop
@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("kind", OTHERS)
def test_blocks_of_other_compressors(kind: str, mode: int) -> None:
    store = MemoryStore(container(*OTHERS[kind], mode=mode))
    np.testing.assert_array_equal(zarrcore.open_array(store, path="group/data", mode="r")[...], VALUES)


@pytest.mark.parametrize("shape", [(5,), (5, 7), (3, 4, 5), (2, 3, 2, 3)])
@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "f4", "f8"])
def test_any_number_of_dimensions(shape: tuple[int, ...], dtype: str) -> None:
    """The first dimension of N5 is the last of Zarr, in shapes, blocks, keys and within a block."""
    values = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    names = {"u": "uint", "i": "int", "f": "float"}
    stored: dict[str, bytes] = {
        "attributes.json": b'{"n5": "4.0.0"}',
        "x/y/z/attributes.json": dump(
            {
                "dimensions": list(shape[::-1]),
                "blockSize": [2] * len(shape),
                "dataType": f"{names[dtype[0]]}{8 * int(dtype[1])}",
                "compression": {"type": "raw"},
            }
        ),
    }
    for place in np.ndindex(*(-(-length // 2) for length in shape)):
        items = values[tuple(slice(2 * k, 2 * k + 2) for k in place)]
        key = "/".join(str(k) for k in place[::-1])
        stored[f"x/y/z/{key}"] = block(items.astype(np.dtype(dtype).newbyteorder(">")))
    root = zarrcore.open_group(MemoryStore(stored), mode="r")
    assert [path for path, _ in root.members(max_depth=None)] == ["x", "x/y", "x/y/z"]
    np.testing.assert_array_equal(root["x/y/z"][...], values)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_copy_is_an_array_that_others_can_read(zarr_format: int, tmp_path: Path) -> None:
    for kind in ("gzip", "lz4", "none"):
        source = zarrcore.open_group(MemoryStore(container(*COMPRESSIONS[kind])), mode="r")
        dest = zarrcore.create_group(tmp_path / kind, zarr_format=zarr_format)
        assert zarrcore.copy_all(source, dest)[:2] == (2, 0)
        array = dest["group/data"]
        assert (array.chunks, dict(array.attrs), dict(dest.attrs)) == (BLOCK, {"unit": "m"}, {"title": "t"})
        np.testing.assert_array_equal(array[...], VALUES)
        zarr = pytest.importorskip("zarr")
        found = zarr.open_array(str(tmp_path / kind), path="group/data", mode="r")
        np.testing.assert_array_equal(found[...], VALUES)


def test_a_copy_keeps_the_compression() -> None:
    source = zarrcore.open_array(MemoryStore(container(*COMPRESSIONS["gzip"])), path="group/data", mode="r")
    metadata = zarrcore.from_array({}, data=source).metadata
    assert [codec.name for codec in metadata.codecs] == ["bytes", "gzip"]
    assert metadata.chunk_key_encoding.name == "default"


@pytest.mark.parametrize("broken", [dump(attributes(dataType="nope")), b"{", b"[]"])
def test_a_broken_dataset_hides_no_other(broken: bytes) -> None:
    """Listing the container was an error."""
    store = MemoryStore({"attributes.json": dump({"n5": "2.0.0"}), "bad/attributes.json": broken})
    store.set("good/attributes.json", dump(attributes()))
    group = zarrcore.open_group(store, mode="r")
    assert list(group) == ["bad", "good"] and "unreadable" in str(group.tree())
    with pytest.raises(BaseZarrError, match="bad/attributes.json"):
        list(group.members())
