"""Convert arguments of users and members of metadata documents to data types, and back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from zarrcore._validate import describe
from zarrcore.dtypes.base import DataTypeTypeError, DTypeJSON, ZarrFormat, ZDType
from zarrcore.dtypes.registry import data_type_registry
from zarrcore.errors import DataTypeValidationError
from zarrcore.registry import registrations

if TYPE_CHECKING:
    from numpy.typing import DTypeLike as _OfNumPy
else:
    _OfNumPy = Any  # as in zarrcore._typing

#: A data type, a NumPy dtype or what NumPy makes one of, a name, or the JSON form of a data type.
DTypeLike: TypeAlias = ZDType[Any, Any] | _OfNumPy | Mapping[str, Any]


def dtype_from_v2(dtype: Any, object_codec_id: str | None = None) -> ZDType[Any, Any]:
    """Return the data type of the ``dtype`` member of a ``.zarray`` document (v2, "Data type encoding").

    Parameters
    ----------
    dtype : str or list
        A type string such as ``"<i4"``, or a list of fields.  The byte order is kept.
    object_codec_id : str, optional
        For ``"|O"``, the identifier of the object codec among the filters.

    Raises
    ------
    DataTypeValidationError
        If `dtype` is not a data type.

    Examples
    --------
    >>> dtype_from_v2(">i4")
    Int32(endianness='big')
    >>> dtype_from_v2("|O", object_codec_id="vlen-utf8")
    VariableLengthUTF8()
    """
    # Some writers list object codecs with every dtype they filter: it has a meaning for objects only.
    codec_id = object_codec_id if dtype == "|O" else None
    return data_type_registry.match_json({"name": dtype, "object_codec_id": codec_id}, zarr_format=2)


def dtype_to_v2(zdtype: ZDType[Any, Any]) -> Any:
    """Return the ``dtype`` member of a ``.zarray`` document for `zdtype`: a string or a list of fields.

    Examples
    --------
    >>> dtype_to_v2(Int32(endianness="big"))
    '>i4'
    """
    return zdtype.to_json(zarr_format=2)["name"]


def dtype_from_v3(data: DTypeJSON) -> ZDType[Any, Any]:
    """Return the data type of `data`, the ``data_type`` member of a ``zarr.json``, in any spelling.

    Examples
    --------
    >>> dtype_from_v3("uint8")
    UInt8()
    >>> dtype_from_v3({"name": "raw_bytes", "configuration": {"length_bytes": 4}})
    RawBytes(length=4)
    """
    return data_type_registry.match_json(data, zarr_format=3)


def dtype_to_v3(zdtype: ZDType[Any, Any]) -> Any:
    """Return the ``data_type`` member of a ``zarr.json`` document for `zdtype`: a name or an object.

    Examples
    --------
    >>> dtype_to_v3(Int32(endianness="big"))
    'int32'
    """
    return zdtype.to_json(zarr_format=3)


def get_data_type_from_json(dtype_spec: DTypeJSON, *, zarr_format: ZarrFormat) -> ZDType[Any, Any]:
    """Return the data type with a JSON form.

    Parameters
    ----------
    dtype_spec : JSON
        The JSON form, see :meth:`ZDType.from_json`.
    zarr_format : {2, 3}
        The format of the document that it is from.

    Raises
    ------
    DataTypeValidationError
        If `dtype_spec` is not a data type.

    Examples
    --------
    >>> get_data_type_from_json("uint8", zarr_format=3)
    UInt8()
    >>> get_data_type_from_json({"name": "|u1", "object_codec_id": None}, zarr_format=2)
    UInt8()
    """
    return data_type_registry.match_json(dtype_spec, zarr_format=zarr_format)


def get_data_type_from_native_dtype(dtype: _OfNumPy) -> ZDType[Any, Any]:
    """Return the data type of arrays with the NumPy dtype `dtype`, or what NumPy makes a dtype of.

    Examples
    --------
    >>> get_data_type_from_native_dtype(np.uint8)
    UInt8()
    """
    return data_type_registry.match_dtype(_numpy_dtype(dtype))


def native_order(zdtype: ZDType[Any, Any]) -> ZDType[Any, Any]:
    """Return `zdtype` with the byte order of this machine, which Zarr v3 arrays have in memory.

    Examples
    --------
    >>> import sys
    >>> native_order(Int32(endianness="big")).endianness == sys.byteorder
    True
    """
    return zdtype._in_native_order()


def parse_dtype(dtype_spec: DTypeLike, *, zarr_format: ZarrFormat) -> ZDType[Any, Any]:
    """Return the data type that a user means.

    Parameters
    ----------
    dtype_spec : ZDType, numpy.dtype, type, str, list or mapping
        A data type; a NumPy dtype or what NumPy makes one of; or the JSON form of a data type.  ``str`` and
        ``"string"`` are strings of any length, ``bytes`` byte strings of any length.
    zarr_format : {2, 3}
        The format of the array.  For 3 the result has the byte order of this machine.

    Returns
    -------
    ZDType

    Raises
    ------
    DataTypeValidationError
        If `dtype_spec` does not determine the items, such as ``object``, or cannot be stored.

    Examples
    --------
    >>> parse_dtype("int32", zarr_format=3)
    Int32(endianness='little')
    >>> parse_dtype(">M8[10s]", zarr_format=2)
    DateTime64(endianness='big', unit='s', scale_factor=10)
    """
    if zarr_format not in (2, 3):
        raise ValueError(f"zarr_format must be 2 or 3, got {zarr_format!r}")
    zdtype = _parse(dtype_spec, zarr_format)
    return native_order(zdtype) if zarr_format == 3 else zdtype


parse_data_type = parse_dtype


def _parse(spec: Any, zarr_format: ZarrFormat) -> ZDType[Any, Any]:
    if isinstance(spec, ZDType):
        return spec
    if isinstance(spec, np.dtype):
        return data_type_registry.match_dtype(spec)
    if spec is str or spec is np.dtypes.StringDType or (isinstance(spec, str) and spec in ("str", "string")):
        from zarrcore.dtypes.strings import VariableLengthUTF8

        return VariableLengthUTF8()
    if spec is bytes or (isinstance(spec, str) and spec == "bytes"):
        from zarrcore.dtypes.strings import VariableLengthBytes

        return VariableLengthBytes()
    if isinstance(spec, Mapping) and "name" in spec:
        is_v2 = "object_codec_id" in spec
        return data_type_registry.match_json(dict(spec), zarr_format=2 if is_v2 else 3)
    if isinstance(spec, str):
        return _parse_text(spec, zarr_format, registrations())
    return data_type_registry.match_dtype(_numpy_dtype(spec))


@lru_cache(maxsize=256)
def _parse_text(text: str, zarr_format: ZarrFormat, registrations: int) -> ZDType[Any, Any]:
    """Return a data type by its Zarr v3 name, or else by the text as a NumPy dtype.

    In format 2 NumPy comes first: names that it does not know are taken all the same.  In format 3 it comes
    before the names that other packages may bring, since looking for these takes longer than all the rest.
    The answer is good as long as nothing more is registered.
    """
    try:
        known = zarr_format == 3 and data_type_registry.knows(text)
        dtype = None if known else _numpy_dtype(text)
    except DataTypeTypeError:
        dtype = None
    if dtype is not None:
        try:
            return data_type_registry.match_dtype(dtype)
        except DataTypeValidationError:
            if zarr_format == 2:
                raise
    try:
        return dtype_from_v3(text)
    except DataTypeValidationError as unknown:
        try:
            dtype = _numpy_dtype(text)
        except DataTypeTypeError:
            raise DataTypeTypeError(str(unknown)) from None
    return data_type_registry.match_dtype(dtype)


def _numpy_dtype(spec: Any) -> np.dtype[Any]:
    try:
        return np.dtype(_tuples(spec) if isinstance(spec, list) else spec)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataTypeTypeError(f"{describe(spec)} is not a data type: {error}") from None


def _tuples(fields: list[Any]) -> list[Any]:
    """Return a list of fields as NumPy takes it: the fields and the shapes in them as tuples."""
    return [
        (name, _tuples(dtype) if isinstance(dtype, list) else dtype, *map(_shape, shape))
        for name, dtype, *shape in fields
    ]


def _shape(shape: Any) -> Any:
    return tuple(shape) if isinstance(shape, list) else shape
