"""Every codec with every data type: an array is refused when it is created, or it works."""

from __future__ import annotations

import importlib.util
import pickle

import numpy as np
import pytest

import zarrcore
from zarrcore import dtype as zdtype
from zarrcore.codecs.base import BytesBytesCodec
from zarrcore.dtypes import data_type_registry
from zarrcore.errors import (
    BaseZarrError,
    DataTypeValidationError,
    MetadataValidationError,
    UnknownCodecError,
)
from zarrcore.registry import codec_registry, compressor_registry
from zarrcore.storage import MemoryStore

pytest.importorskip("ml_dtypes")

SHAPE = (4, 6)
REFUSALS = (DataTypeValidationError, MetadataValidationError, UnknownCodecError)
FIELDS = (("a", zdtype.Int32()), ("b", zdtype.Float64()))
WITH_PARAMETERS = {
    "fixed_length_utf32": lambda: zdtype.FixedLengthUTF32(length=4),
    "null_terminated_bytes": lambda: zdtype.NullTerminatedBytes(length=4),
    "raw_bytes": lambda: zdtype.RawBytes(length=3),
    "numpy.datetime64": lambda: zdtype.DateTime64(unit="s"),
    "numpy.timedelta64": lambda: zdtype.TimeDelta64(unit="ms", scale_factor=10),
    "structured": lambda: zdtype.Structured(fields=FIELDS),
    "struct": lambda: zdtype.Struct(fields=FIELDS),
    "python_object": lambda: zdtype.PythonObject(object_codec_id="json2"),
    "zarrs.optional": lambda: zdtype.Optional(item=zdtype.Int32()),
    "optional bytes": lambda: zdtype.Optional(item=zdtype.VariableLengthBytes()),
    "arrays": lambda: zdtype.PythonObject(object_codec_id="vlen-array"),
}
TYPES = {
    name: WITH_PARAMETERS.get(name, lambda name=name: data_type_registry.get(name)())()
    for name in sorted({*data_type_registry.contents, *WITH_PARAMETERS})
    if not name.startswith("test.")
}
LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
CONFIGURATIONS = {
    "transpose": {"order": [1, 0]},
    "sharding_indexed": {"chunk_shape": [2, 2], "codecs": [LITTLE], "index_codecs": [LITTLE]},
    "bitround": {"keepbits": 3},
    "quantize": {"digits": 2},
    "fixedscaleoffset": {"scale": 1, "offset": 0},
    "astype": {"encode_dtype": "<f8"},
    "cast_value": {"data_type": "float64"},
    "scale_offset": {"scale": 1, "offset": 1},
    "reshape": {"shape": [[0, 1]]},
    "conditional": {"codecs": [{"name": "crc32c"}]},
    "zfp": {"mode": "reversible"},
    "n5_default": {
        "codecs": [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "big"}},
        ]
    },
    "gzip": {"level": 1},
    "zstd": {"level": 1, "checksum": False},
    "vlen-array": {"dtype": "<i4"},
    "categorize": {"labels": ["a", "bcd", "", "ü"], "dtype": "<U4"},
}
FOREIGN = ("pcodec", "zfpy")
CASES = [(3, name) for name in codec_registry if not name.startswith("test.")]
CASES += [(2, name) for name in (*compressor_registry, *FOREIGN)]


def sample(dtype: np.dtype) -> np.ndarray:
    """Items that every codec keeps, those that round included."""
    count = int(np.prod(SHAPE))
    flags = np.random.default_rng(1).integers(0, 2, count)
    if dtype.kind in "TU":
        items = np.array(["a", "bcd", "", "ü"] * count, dtype)[:count]
    elif dtype.kind in "OS":
        items = np.array([b"ab", b"c", b"", b"def"] * count, dtype)[:count]
    elif dtype.names is not None:
        items = np.zeros(count, dtype)
        for name in dtype.names:
            items[name] = flags.astype(dtype[name])
    elif dtype.kind == "V" and dtype.isbuiltin != 2:
        items = np.arange(count * dtype.itemsize).astype("u1").view(dtype)
    else:
        items = flags.astype(dtype)
    return items.reshape(SHAPE)


def arguments(zarr_format: int, name: str, data_type) -> dict:
    """How an array with one codec is created."""
    configuration = dict(CONFIGURATIONS.get(name.removeprefix("numcodecs."), {}))
    if zarr_format == 3:
        codec = {"name": name, "configuration": configuration}
        group = {"array->array": "filters", "array->bytes": "serializer", "bytes->bytes": "compressors"}
        place = group[codec_registry.get(name).kind]
        return {"compressors": None, place: codec if place == "serializer" else [codec]}
    dtype = data_type.to_native_dtype().str
    wanted = {"astype": "decode_dtype", "delta": "dtype", "quantize": "dtype", "fixedscaleoffset": "dtype"}
    codec = {"id": name, **configuration} | ({wanted[name]: dtype} if name in wanted else {})
    own = getattr(data_type, "object_codec_id", None)
    own_filters = [{"id": own, **CONFIGURATIONS.get(own, {})}] if own not in (None, name) else []
    if name in compressor_registry and issubclass(compressor_registry.get(name), BytesBytesCodec):
        return {"compressors": codec, "filters": own_filters}
    return {"compressors": None, "filters": [codec, *own_filters]}


def own_members(array: zarrcore.Array) -> dict:
    """What the metadata of an array consist of, the fill value by its bits."""
    own, fill = vars(array.metadata), array.fill_value
    found = {name: own[name] for name in ("shape", "attributes", *array.metadata._storage_members)}
    return found | {"fill_value": fill.tobytes() if isinstance(fill, np.generic) else fill}


@pytest.mark.filterwarnings("ignore")  # of numpy and of data types without a specification
@pytest.mark.parametrize(("zarr_format", "name"), CASES, ids=str)
def test_works_or_is_refused(zarr_format, name):
    made = 0
    for data_type in TYPES.values():
        store = MemoryStore()
        try:
            array = zarrcore.create_array(
                store,
                shape=SHAPE,
                chunks=SHAPE,
                dtype=data_type,
                zarr_format=zarr_format,
                config={"write_empty_chunks": True},
                **arguments(zarr_format, name, data_type),
            )
        except BaseZarrError as error:
            assert isinstance(error, REFUSALS), data_type
            assert list(store.list()) == []
            continue
        made += 1
        dtype = data_type.to_native_dtype()
        values = sample(dtype)
        if data_type == TYPES["python_object"]:
            values[...] = np.array([{"a": 1}, [2], "x", None] * 6, object).reshape(SHAPE)
        elif data_type == TYPES["arrays"]:
            for i in np.ndindex(SHAPE):
                values[i] = np.arange(sum(i), dtype="i4")
        array[...] = values
        found = zarrcore.open_array(store)[...]
        assert own_members(pickle.loads(pickle.dumps(array))) == own_members(array), data_type
        assert found.dtype == dtype, data_type
        if dtype.kind in "OT":
            assert all(map(np.array_equal, found.flat, values.flat)), data_type
        else:
            assert found.tobytes() == values.tobytes(), data_type
    assert made or not _is_there(name), "no data type at all"


def _is_there(name: str) -> bool:
    """Whether the packages that a codec needs are installed."""
    needed = {"pcodec": "pcodec", "zfp": "zfpy", "zfpy": "zfpy"}
    plain = name.removeprefix("numcodecs.")
    packages = [needed[plain]] if plain in needed else []
    if name in FOREIGN or name.startswith("numcodecs."):
        packages.append("numcodecs")
    return all(importlib.util.find_spec(package) for package in packages)
