"""Array metadata of formats 1 and 2 -> metadata of format 3 for the very same chunks."""

from __future__ import annotations

from typing import Any

import numpy as np

from zarrcore._validate import at
from zarrcore.codecs.base import ArraySpec, Codec
from zarrcore.codecs.standard import standard_codec
from zarrcore.dtypes.layout import vary
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata.documents import names_of_xarray
from zarrcore.metadata.v2 import ArrayV2Metadata
from zarrcore.metadata.v3 import ArrayV3Metadata
from zarrcore.registry import codec_registry

_CALCULATING = ("astype", "delta", "fixedscaleoffset", "quantize")
_DTYPE_MEMBERS = ("dtype", "astype", "encode_dtype", "decode_dtype")


def upgraded(metadata: ArrayV2Metadata) -> ArrayV3Metadata:
    """Return the metadata of format 3 with which the stored chunks read the same; if none, raise an error."""
    zdtype = metadata.data_type
    with at("dtype"):
        data_type = zdtype.to_json(zarr_format=3)
    with at("fill_value"):
        fill_value = zdtype.to_json_scalar(metadata.fill_scalar, zarr_format=3)
    axes = list(range(metadata.ndim))[::-1]
    is_transposed = metadata.order == "F" and metadata.ndim > 1
    transpose = [{"name": "transpose", "configuration": {"order": axes}}] if is_transposed else []
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(metadata.shape),
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(metadata.chunks)}},
        "chunk_key_encoding": {"name": "v2", "configuration": {"separator": metadata.dimension_separator}},
        "fill_value": fill_value,
        "codecs": [*transpose, *_codecs(metadata.own_codecs, metadata.np_dtype)],
        "attributes": metadata.attributes,
    }
    names = names_of_xarray(metadata.attributes, metadata.ndim)
    if names is not None:
        document["dimension_names"] = list(names)
    made = ArrayV3Metadata.from_dict(document, where=None)
    _check_same(metadata, made)
    return made


def _codecs(codecs: tuple[Codec, ...], dtype: np.dtype[Any]) -> list[dict[str, Any]]:
    """Return the codecs of format 3 that do what those of format 2 do to items of `dtype`."""
    made: list[dict[str, Any]] = []
    serialized = False
    for codec in codecs:
        config = codec.get_config()  # type: ignore[attr-defined]
        _check_order(config, dtype)
        found = _codec(config, dtype.itemsize)
        kind = codec_registry.get(found["name"]).kind
        if kind == "bytes->bytes":
            if not serialized:
                made.append(_bytes(dtype))
        elif serialized:
            raise MetadataValidationError(
                f"the filter {codec.name!r} takes items, but comes after codecs that make bytes"
            )
        serialized = serialized or kind != "array->array"
        made.append(found)
        dtype = _dtype_after(config, dtype)
    return made if serialized else [*made, _bytes(dtype)]


def _check_order(config: dict[str, Any], dtype: np.dtype[Any]) -> None:
    """Refuse a filter that takes items in another byte order than they have.

    Filters of format 2 take the stored bytes as items of their own data type.  In format 3 items are in the
    byte order of the machine by then, and the filter would calculate with other numbers.
    """
    member = "decode_dtype" if config["id"] == "astype" else "dtype"
    taken = config.get(member)
    orders = (
        _byte_orders(np.dtype(taken)) if isinstance(taken, str) and config["id"] in _CALCULATING else set()
    )
    if orders and orders != _byte_orders(dtype):
        raise MetadataValidationError(
            f"the filter {config['id']!r} takes the bytes of {dtype} as {np.dtype(taken).str}, "
            "which no filter of format 3 does"
        )


def _codec(config: dict[str, Any], item_size: int) -> dict[str, Any]:
    """Return the codec of format 3 with the same encoding, with all that depends on the items."""
    found = standard_codec(config)
    options = found.get("configuration", {})
    if found["name"] == "blosc":
        options.setdefault("shuffle", "bitshuffle" if item_size == 1 else "shuffle")
        options["typesize"] = item_size
    for member in _DTYPE_MEMBERS:  # in memory items have the machine's byte order
        if isinstance(options.get(member), str):
            options[member] = np.dtype(options[member]).newbyteorder("=").str
    return found


def _dtype_after(config: dict[str, Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the data type of a filter's output for items of `dtype`."""
    if config["id"] == "packbits":
        return np.dtype("u1")
    made = config.get("encode_dtype") or config.get("astype") or config.get("dtype")
    return np.dtype(made) if isinstance(made, str) else dtype


def _bytes(dtype: np.dtype[Any]) -> dict[str, Any]:
    """Return the codec ``bytes`` in the byte order of the stored items."""
    orders = _byte_orders(dtype)
    if len(orders) > 1:
        raise MetadataValidationError(f"fields of different byte orders: {dtype.descr}", where="dtype")
    endian = {"<": "little", ">": "big"}
    return {"name": "bytes"} | (
        {"configuration": {"endian": endian[order]}} if (order := "".join(orders)) else {}
    )


def _byte_orders(dtype: np.dtype[Any]) -> set[str]:
    if dtype.subdtype is not None:
        return _byte_orders(dtype.subdtype[0])
    if dtype.fields is not None:
        return set().union(*(_byte_orders(field[0]) for field in dtype.fields.values()))
    order = dtype.str[0]
    return set() if order == "|" or dtype.itemsize == 1 else {order}


def _check_same(old: ArrayV2Metadata, new: ArrayV3Metadata) -> None:
    """Encode a small chunk by the old metadata, and see that the new one reads it the same."""
    shape = tuple(min(length, 5) for length in old.chunks)
    before = ArraySpec(shape, old.data_type, old.fill_scalar)
    chunk = np.full(shape, before.fill, before.np_dtype)
    vary(chunk, 100)
    encoded = old.chain().encode(chunk, before)
    expected = old.chain().decode(encoded, before)  # of what a filter rounds, the rounded items
    found = new.chain().decode(encoded, ArraySpec(shape, new.data_type, new.fill_scalar))
    if not _is_same(np.asarray(expected), found):
        raise MetadataValidationError(
            f"the codecs {[codec.name for codec in new.codecs]} do not read what "
            f"{[codec.name for codec in old.own_codecs]} wrote"
        )


def _is_same(expected: np.ndarray, found: np.ndarray) -> bool:
    """Return whether items are the same to the bit, in whatever byte order."""
    if expected.dtype.kind in "OT":
        return bool(expected.tolist() == found.tolist())
    same_dtype = expected.dtype.newbyteorder("=") == found.dtype.newbyteorder("=")
    return same_dtype and expected.astype(found.dtype, copy=False).tobytes() == found.tobytes()
