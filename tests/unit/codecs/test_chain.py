"""Codec chains: order, limits, sizes, errors, and the form that the engine takes."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.codecs import ArrayArrayCodec, ArraySpec, BytesBytesCodec, BytesCodec, CodecChain
from zarrcore.codecs.chain import IgnoredCodec, parse_codec
from zarrcore.dtypes import parse_dtype
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError, UnknownCodecError
from zarrcore.registry import codec_registry, register_codec

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
TRANSPOSE = {"name": "transpose", "configuration": {"order": [1, 0]}}


def spec_of(shape: tuple[int, ...] = (4, 6), dtype: Any = "<i4", fill: Any = 0) -> ArraySpec:
    zdtype = parse_dtype(dtype, zarr_format=3)
    return ArraySpec(shape, zdtype, zdtype.cast_scalar(fill) if fill is not None else zdtype.default_scalar())


def sharding(inner: tuple[int, ...] = (2, 3), codecs: Any = (BYTES,), index: Any = (BYTES, "crc32c")) -> dict:
    configuration = {"chunk_shape": list(inner), "codecs": list(codecs), "index_codecs": list(index)}
    return {"name": "sharding_indexed", "configuration": configuration}


class TestOrder:
    @pytest.mark.parametrize(
        "codecs",
        [
            [BYTES],
            [TRANSPOSE, BYTES],
            ["bytes"],
            [BYTES, GZIP, "crc32c"],
            [TRANSPOSE, TRANSPOSE, BYTES, GZIP],
        ],
    )
    def test_valid(self, codecs: list) -> None:
        dtype = "u1" if codecs == ["bytes"] else "<i4"
        spec = spec_of(dtype=dtype)
        chain = CodecChain.from_json(codecs, spec)
        assert CodecChain.from_json(chain.to_json(), spec) == chain
        assert len(chain.codecs) == len(codecs)

    @pytest.mark.parametrize(
        ("codecs", "reason"),
        [
            ([], "expected exactly one array->bytes codec, got none"),
            ([TRANSPOSE], "expected exactly one array->bytes codec, got transpose"),
            ([GZIP], r"\[0\]: the bytes->bytes codec 'gzip' stands before"),
            ([GZIP, BYTES], r"\[0\]: the bytes->bytes codec 'gzip' stands before"),
            ([BYTES, BYTES], r"\[1\]: the array->bytes codec 'bytes' cannot follow the array->bytes codec"),
            ([BYTES, TRANSPOSE], r"\[1\]: the array->array codec 'transpose' cannot follow"),
            ([BYTES, GZIP, TRANSPOSE], r"\[2\]"),
            ([TRANSPOSE, GZIP], r"\[1\]: expected an array->bytes codec between 'transpose' and 'gzip'"),
            ([BYTES, sharding()], r"\[1\]: the array->bytes codec 'sharding_indexed' cannot follow"),
            ([{}], r"\[0\].name: expected a name"),
            ([5], r"\[0\]: expected a name or an object"),
            ([[BYTES]], r"\[0\]: expected a name or an object"),
            ([{"name": "gzip", "config": {}}], r"\[0\].config: unknown key"),
            ([{"name": "gzip", "configuration": []}], r"\[0\].configuration: expected an object"),
            (
                [BYTES, {"name": "gzip", "configuration": {"level": "x"}}],
                r"\[1\].configuration.level: expected an int",
            ),
            ("bytes", "expected an array"),
            (None, "expected an array"),
            ({"name": "bytes"}, "expected an array"),
        ],
    )
    def test_invalid(self, codecs: Any, reason: str) -> None:
        with pytest.raises(MetadataValidationError, match=reason):
            CodecChain.from_json(codecs, spec_of())

    def test_unknown_codec(self) -> None:
        with pytest.raises(UnknownCodecError, match=r"\[1\]: unknown codec 'nope'; known are .*zstd"):
            CodecChain.from_json([BYTES, "nope"], spec_of())

    def test_unknown_codec_that_need_not_be_understood(self) -> None:
        hint = {"name": "example.hint", "configuration": {"a": 1}, "must_understand": False}
        chain = CodecChain.from_json([BYTES, hint], spec_of())
        assert chain.to_json() == [BYTES, hint]
        assert isinstance(chain.codecs[1], IgnoredCodec)
        assert chain.bytes_bytes == ()
        assert len(chain.encode(np.zeros((4, 6), "<i4"), spec_of())) == 96

    def test_old_name_of_bytes(self) -> None:
        assert parse_codec({"name": "endian", "configuration": {"endian": "big"}}) == BytesCodec(endian="big")


class TestLimits:
    def test_chunk_beyond_63_bits(self) -> None:
        with pytest.raises(MetadataValidationError, match="less than 2\\*\\*63 bytes"):
            CodecChain.from_json([BYTES], spec_of((2**40, 2**22)))
        CodecChain.from_json([BYTES], spec_of((2**40, 2**20)))

    def test_chunk_beyond_blosc(self) -> None:
        codecs = [BYTES, "blosc"]
        CodecChain.from_json(codecs, spec_of((2**31 - 1 - 16,), "i1"))
        with pytest.raises(
            MetadataValidationError, match=r"\[1\]: the blosc codec can encode at most 2147483631"
        ):
            CodecChain.from_json(codecs, spec_of((2**31 - 16,), "i1"))
        with pytest.raises(MetadataValidationError, match="at most"):
            CodecChain.from_json([BYTES, "crc32c", "blosc"], spec_of((2**31 - 1 - 16,), "i1"))

    def test_encoded_size(self) -> None:
        spec = spec_of()
        assert CodecChain.from_json([BYTES, "crc32c", "crc32c"], spec).encoded_size(spec) == 96 + 8
        assert CodecChain.from_json([BYTES, GZIP, "crc32c"], spec).encoded_size(spec) is None
        assert CodecChain.from_json([sharding()], spec).encoded_size(spec) is None


class Reverse(ArrayArrayCodec):
    """A user's codec."""

    name = "test.reverse"
    is_fixed_size = True
    __dataclass_fields__: dict = {}

    @classmethod
    def from_json(cls, configuration: Any) -> Reverse:
        return cls()

    def to_json(self) -> dict:
        return {"name": self.name}

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return chunk[::-1]

    decode = encode


class Broken(BytesBytesCodec):
    """A codec that fails and lies."""

    name = "test.broken"
    is_fixed_size = True

    def encoded_size(self, nbytes: int) -> int:
        return nbytes

    def encode(self, data: Any, spec: Any = None) -> Any:
        raise RuntimeError("out of order")

    def decode(self, data: Any, spec: Any = None, max_size: int | None = None) -> Any:
        return bytes(data) + b"x"


class TestPythonPath:
    def test_users_codec(self) -> None:
        register_codec("test.reverse", Reverse)
        try:
            spec = spec_of()
            chunk = np.arange(24, dtype="<i4").reshape(4, 6)
            chain = CodecChain.from_json(["test.reverse", TRANSPOSE, BYTES], spec)
            assert chain.encode(chunk, spec) == chunk[::-1].T.tobytes()
            np.testing.assert_array_equal(chain.decode(chain.encode(chunk, spec), spec), chunk)
            assert [kind for kind, *_ in chain.lower(spec).links] == ["bytes", "callback"]
        finally:
            del codec_registry._classes["test.reverse"]

    def test_failures_name_the_codec(self) -> None:
        spec = spec_of()
        chain = CodecChain((), BytesCodec(endian="little"), (Broken(),))
        with pytest.raises(
            ChunkEncodeError, match=r"codec 'test.broken': RuntimeError: out of order"
        ) as caught:
            chain.encode(np.zeros((4, 6), "<i4"), spec)
        assert caught.value.codec == "test.broken"
        with pytest.raises(ChunkDecodeError, match="codec 'test.broken': expected 96 bytes, got 97"):
            chain.decode(bytes(96), spec)

    def test_wrong_shape_is_refused(self) -> None:
        spec = spec_of()
        with pytest.raises(ValueError, match=r"expected a chunk of shape \(4, 6\), got \(6, 4\)"):
            CodecChain.from_json([BYTES], spec).encode(np.zeros((6, 4), "<i4"), spec)

    def test_stored_bytes_of_wrong_size_are_refused(self) -> None:
        pytest.importorskip("zarrcore._core.engine")
        spec = spec_of()
        with pytest.raises(ChunkDecodeError, match="codec 'crc32c': expected 100 bytes, got 96"):
            CodecChain.from_json([BYTES, "crc32c"], spec).decode(bytes(96), spec)


class TestLowering:
    def lower(self, codecs: list, shape: tuple[int, ...] = (4, 6), dtype: Any = "<i4") -> Any:
        pytest.importorskip("zarrcore._core.engine")
        spec = spec_of(shape, dtype, None)
        return CodecChain.from_json(codecs, spec).lower(spec)

    def test_swap_depends_on_the_machine(self) -> None:
        swaps = {e: self.lower([BytesCodec(endian=e)]).links for e in ("little", "big")}
        other = ({"little", "big"} - {sys.byteorder}).pop()
        assert swaps == {sys.byteorder: (("bytes", 0),), other: (("bytes", 4),)}

    def test_stages_in_order_of_encoding(self) -> None:
        blosc = {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 3}}
        zstd = {"name": "zstd", "configuration": {"level": 3}}
        assert self.lower([BYTES, blosc, zstd, "crc32c"]).links[1:] == (
            ("stage", "blosc", {"cname": "lz4", "clevel": 3, "shuffle": 1, "typesize": 4, "blocksize": 0}),
            ("stage", "zstd", {"level": 3, "checksum": False}),
            ("stage", "crc32c", {"location": "end"}),
        )

    def test_transposes_compose(self) -> None:
        first, second = (1, 2, 0), (0, 2, 1)
        codecs = [{"name": "transpose", "configuration": {"order": list(o)}} for o in (first, second)]
        order = self.lower([*codecs, BYTES], (2, 3, 4)).order
        array = np.zeros((2, 3, 4))
        assert array.transpose(order).shape == array.transpose(first).transpose(second).shape
        cells = np.arange(24).reshape(2, 3, 4)
        np.testing.assert_array_equal(cells.transpose(order), cells.transpose(first).transpose(second))

    def test_transposes_that_cancel_out(self) -> None:
        assert self.lower([TRANSPOSE, TRANSPOSE, BYTES]).order is None

    def test_shard(self) -> None:
        chain = self.lower([TRANSPOSE, sharding((3, 2), [BYTES, GZIP]), "crc32c"])
        shard = chain.shard
        assert (chain.order, shard.inner_shape, shard.index_location) == ((1, 0), (3, 2), "end")
        assert shard.inner.itemsize == 4
        transposition, shards, checksum = chain.links
        assert transposition == ("transpose", (1, 0))
        assert shards[2] == (
            ("bytes", 0 if sys.byteorder == "little" else 4),
            ("stage", "gzip", {"level": 1}),
        )
        assert shards[3][0] == ("bytes", 0 if sys.byteorder == "little" else 8)
        assert checksum == ("stage", "crc32c", {"location": "end"})

    def test_nested_shard(self) -> None:
        chain = self.lower([sharding((4, 3), [sharding((2, 1), [BYTES])])])
        assert chain.shard.inner.shard.inner_shape == (2, 1)

    def test_big_endian_index(self) -> None:
        big = {"name": "bytes", "configuration": {"endian": "big"}}
        (shards,) = self.lower([sharding(index=[big])]).links
        assert shards[3] == (("bytes", 8 if sys.byteorder == "little" else 0),)

    def test_blocks(self) -> None:
        big = {"name": "bytes", "configuration": {"endian": "big"}}
        block = {"name": "n5_default", "configuration": {"codecs": [TRANSPOSE, big, GZIP]}}
        assert self.lower([block, "crc32c"]).links == (
            (
                "n5_block",
                (
                    ("transpose", (1, 0)),
                    ("bytes", 4 if sys.byteorder == "little" else 0),
                    ("stage", "gzip", {"level": 1}),
                ),
            ),
            ("stage", "crc32c", {"location": "end"}),
        )

    def test_codecs_in_a_codec(self) -> None:
        configuration = {"codecs": ["crc32c", GZIP], "header_bits": 16}
        chain = self.lower([BYTES, {"name": "conditional", "configuration": configuration}])
        inside = (("crc32c", {"location": "end"}), ("gzip", {"level": 1}))
        assert chain.links[1] == (
            "stage",
            "conditional",
            {"codecs": inside, "header": 2, "decision": "compress_if_smaller"},
        )

    def test_a_transposed_shard_index_takes_the_path_in_python(self) -> None:
        index = [{"name": "transpose", "configuration": {"order": [2, 0, 1]}}, BYTES]
        assert self.lower([sharding(index=index)]) is None

    @pytest.mark.parametrize(
        ("codecs", "dtype"),
        [
            (["vlen-utf8"], "str"),
            ([sharding((2, 3), ["vlen-utf8"])], "str"),
            ([BYTES, {"name": "conditional", "configuration": {"codecs": ["crc32c"] * 16}}], "i4"),
            ([BYTES, {"name": "conditional", "configuration": {"codecs": ["crc32c"] * 15}}, "crc32c"], "i4"),
        ],
    )
    def test_what_only_python_can_do(self, codecs: list, dtype: str) -> None:
        assert self.lower(codecs, dtype=dtype) is None

    def test_codecs_in_python_are_stages(self) -> None:
        conditional = {"name": "conditional", "configuration": {"codecs": ["numcodecs.bz2"]}}
        chain = self.lower([TRANSPOSE, sharding((3, 2), [BYTES, "numcodecs.bz2", "crc32c", conditional])])
        inner = chain.links[1][2]
        assert [(kind, getattr(what, "name", what)) for kind, what, *_ in inner] == [
            ("bytes", 0),
            ("callback", "numcodecs.bz2"),
            ("stage", "crc32c"),
            ("callback", "conditional"),
        ]


@pytest.mark.parametrize("n", [17, 32, 100])
@pytest.mark.parametrize("shards", [None, (8,)], ids=["chunks", "shards"])
def test_what_many_compressors_have_written_is_read(shards: tuple[int] | None, n: int) -> None:
    compressors = [zarrcore.codecs.ZstdCodec(level=1)] * n
    array = zarrcore.create_array(
        {}, shape=(8,), chunks=(4,), shards=shards, dtype="i4", compressors=compressors
    )
    array[:] = np.arange(1, 9)
    assert array[:].tolist() == [*range(1, 9)]


def test_importing_needs_no_engine() -> None:
    import subprocess

    code = (
        "import sys; sys.modules['zarrcore._core.engine'] = None\n"
        "import zarrcore.codecs.chain, zarrcore.metadata, zarrcore.grids\n"
        "from zarrcore.registry import get_codec_class\n"
        "get_codec_class('zstd')(level=3)\n"
        "assert 'asyncio' not in sys.modules and 'numcodecs' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert isinstance(sys.modules["zarrcore.codecs.chain"], ModuleType)


@pytest.mark.parametrize(
    "name, package", [("imagecodecs_webp", "imagecodecs-zarr"), ("any-numcodecs.x", "zarr-any-numcodecs")]
)
def test_an_unknown_codec_names_the_package_that_has_it(name: str, package: str) -> None:
    for codec, expected in ((name, f"pip install {package}"), ("nope", "known are")):
        document = {"name": codec, "configuration": {}}
        with pytest.raises(UnknownCodecError, match=f"unknown codec {codec!r}.*{expected}"):
            zarrcore.create_array({}, shape=4, dtype="u1", compressors=[document])


@pytest.mark.parametrize(
    "name, package", [("gribscan.x", "gribscan"), ("imagecodecs_webp", "imagecodecs-numcodecs")]
)
def test_an_unknown_codec_of_format_2_names_the_package_that_has_it(name: str, package: str) -> None:
    with pytest.raises(UnknownCodecError, match=f"pip install {package}"):
        zarrcore.create_array({}, shape=4, dtype="u1", compressors=[{"id": name}], zarr_format=2)
