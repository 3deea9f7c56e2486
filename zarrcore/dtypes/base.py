"""The base class of all data types, and what the families share.

A data type ("ZDType") joins four forms of one thing: the NumPy dtype that arrays have in memory, its JSON in
Zarr v2 and v3 metadata, and the JSON of its scalars, which are the fill values.  A user's data type is a
subclass of :class:`ZDType` that is registered with ``zarrcore.dtype.data_type_registry``.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self

import numpy as np

from zarrcore._extension import ANY, DOCUMENT, JSON_VALUE, NOTHING, Result, guard, instance_of
from zarrcore._locks import fresh_in_child
from zarrcore._records import dataclass
from zarrcore._typing import JSON as JSON
from zarrcore._typing import DTypeJSON as DTypeJSON
from zarrcore._typing import ZarrFormat as ZarrFormat
from zarrcore._validate import describe, named_configuration
from zarrcore.errors import DataTypeValidationError as DataTypeValidationError
from zarrcore.errors import MetadataValidationError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    DType = TypeVar("DType", default=Any)
    Scalar = TypeVar("Scalar", default=Any)
else:
    from typing import TypeVar

    DType = TypeVar("DType")  # defaults, which plain `ZDType` needs, only from Python 3.13 on
    Scalar = TypeVar("Scalar")

EndiannessStr = Literal["little", "big"]

MAX_ITEM_SIZE = 2**26
"""Largest item, in bytes.  No writer comes near, but a document of a few bytes may ask for more.

The fill value is an item, and opening an array makes several copies of it.  NumPy writes beyond its memory
where it makes text of items of 2**30 bytes and more.
"""


class DataTypeTypeError(DataTypeValidationError, TypeError):
    """A value has a type from which no scalar, or no data type, can be made.

    Examples
    --------
    >>> Int16().cast_scalar("two")
    Traceback (most recent call last):
        ...
    zarrcore.dtypes.base.DataTypeTypeError: "two" is not a value of Int16(...): expected an integer
    """


class DataTypeRangeError(DataTypeValidationError, OverflowError):
    """A value does not fit into a data type.

    Examples
    --------
    >>> UInt8().cast_scalar(256)
    Traceback (most recent call last):
        ...
    zarrcore.dtypes.base.DataTypeRangeError: 256 does not fit into UInt8(): expected an integer 0..255
    """


@dataclass(frozen=True, kw_only=True)
class HasLength:
    """Mixin of data types with a length: in bytes, or in code points for fixed-length strings.

    Examples
    --------
    >>> isinstance(RawBytes(length=4), HasLength), RawBytes(length=4).length
    (True, 4)
    """

    length: int


@dataclass(frozen=True, kw_only=True)
class HasEndianness:
    """Mixin of data types whose items are words of more than one byte, with a byte order in memory.

    Examples
    --------
    >>> Int16(endianness="big").to_native_dtype().str
    '>i2'
    >>> isinstance(Int8(), HasEndianness)
    False
    """

    endianness: EndiannessStr = sys.byteorder

    def __post_init__(self) -> None:
        if self.endianness not in ("little", "big"):
            raise DataTypeValidationError(f"endianness must be 'little' or 'big', got {self.endianness!r}")


class HasItemSize:
    """Mixin of data types whose items all have the same number of bytes.

    Examples
    --------
    >>> isinstance(Int16(), HasItemSize), Int16().item_size
    (True, 2)
    >>> isinstance(VariableLengthUTF8(), HasItemSize), VariableLengthUTF8().item_size
    (False, None)
    """


class HasObjectCodec:
    """Mixin of data types which Zarr v2 stores with dtype ``"|O"`` and an object codec.

    Examples
    --------
    >>> isinstance(VariableLengthUTF8(), HasObjectCodec), VariableLengthUTF8.object_codec_id
    (True, 'vlen-utf8')
    """

    object_codec_id: ClassVar[str]


def _is_native(found: Any, owner: Any) -> bool:
    """Return whether a data type may be stored as a dtype, and has not named another one before."""
    if not isinstance(found, np.dtype) or found.subdtype is not None or found.itemsize == 0:
        return False
    # Values would be stored as one, and read as another, also by an equal one of the same document.
    known = getattr(owner, "__dict__", {})
    first = known.get("_first_native")
    if first is None:
        first = known["_first_native"] = _first_of_equals(owner, found)
    return bool(first == found)


def _first_of_equals(owner: Any, found: np.dtype) -> np.dtype:
    """Return the dtype that the first data type equal to `owner` has named, `found` if that is the first."""
    cls = type(owner)
    compared = {member.name for member in fields(cls) if member.compare} if is_dataclass(cls) else set()
    if not is_dataclass(cls) or len(compared) < len(fields(cls)) or vars(owner).keys() - compared:
        return found  # equal ones may differ
    with suppress(TypeError):  # one without a hash
        if len(_first) >= _MOST_KNOWN:
            _first.clear()
        return _first.setdefault((cls, owner), found)
    return found


_MOST_KNOWN = 1000
_first: dict[tuple[type, Any], np.dtype] = {}
fresh_in_child(globals(), "_first", are_caches=True)


_RESULTS: dict[str, Result] = {
    "_check_native_dtype": ANY,
    "to_native_dtype": ("a dtype of NumPy, always the same", _is_native),
    "_from_json_v2": ANY,
    "_from_json_v3": ANY,
    "from_json": ANY,  # see parse.py
    "to_json": DOCUMENT,
    "cast_scalar": ("a scalar", lambda found, owner: found is not None),
    "default_scalar": ("a scalar", lambda found, owner: found is not None),
    "from_json_scalar": ("a scalar", lambda found, owner: found is not None and np.ndim(found) == 0),
    "to_json_scalar": JSON_VALUE,
    "item_size": instance_of("a number of bytes or None", int, NOTHING),
}


_EXAMPLE = """

Examples
--------
>>> array = zarrcore.create_array({{}}, shape=3, dtype="{name}")
>>> array.metadata.data_type == {cls}()
True
>>> array.metadata.to_dict()["data_type"]
{name!r}
"""


def _failed(error: Exception | None, message: str) -> DataTypeValidationError:
    """Return the error for one that a method of a user's data type has raised."""
    if isinstance(error, TypeError):
        return DataTypeTypeError(message)
    return (
        DataTypeRangeError(message) if isinstance(error, OverflowError) else DataTypeValidationError(message)
    )


@dataclass(frozen=True, kw_only=True)
class ZDType(ABC, Generic[DType, Scalar]):
    """Base class of data types.

    Attributes
    ----------
    dtype_cls : type
        The class of the NumPy dtypes that this data type stands for.

    Notes
    -----
    ``_zarr_v3_name`` is the name in Zarr v3 metadata and the key in the registry.  ``_v2_kinds`` lists the
    NumPy kinds, with or without an item size (``"i4"``, ``"U"``), of the Zarr v2 names that a class can
    read; a class without it is offered every name.  ``_other_v3_names`` are read in format 3 as well, and
    never written.  ``_serializer`` names the only codec that stores such items, where not every one may.
    ``_code`` is NumPy's code of classes that stand for one kind of item (``"i4"``, ``"S"``).
    The library's classes give code and name as arguments: ``class Int8(NumericBase, code="i1")``.

    Examples
    --------
    >>> zdtype = get_data_type_from_native_dtype("f4")
    >>> isinstance(zdtype, ZDType), zdtype.item_size
    (True, 4)
    >>> zdtype.from_json_scalar("NaN", zarr_format=3)
    np.float32(nan)
    """

    dtype_cls: ClassVar[Any]
    _zarr_v3_name: ClassVar[str]
    _v2_kinds: ClassVar[tuple[str, ...] | None] = None
    _other_v3_names: ClassVar[tuple[str, ...]] = ()
    _serializer: ClassVar[str | None] = None
    _code: ClassVar[str]

    def __init_subclass__(cls, code: str = "", name: str = "", **options: Any) -> None:
        super().__init_subclass__(**options)
        guard(cls, _RESULTS, "data type", _failed)
        if code:
            dtype = np.dtype(code)
            cls.dtype_cls, cls._code, cls._v2_kinds = type(dtype), code, (code,)
            name = name or dtype.name
        if name:
            cls._zarr_v3_name = name
            cls._add_example()

    @classmethod
    def _add_example(cls) -> None:
        """Add the example that all data types without members share to the docstring of this one."""
        if cls.__doc__ and ">>>" not in cls.__doc__ and cls.__module__.startswith("zarrcore."):
            text = cls.__doc__.replace("\n    ", "\n").rstrip()  # CPython does so from 3.13 on
            cls.__doc__ = text + _EXAMPLE.format(cls=cls.__name__, name=cls._zarr_v3_name)

    # --- native dtypes

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return type(dtype) is cls.dtype_cls

    @classmethod
    def from_native_dtype(cls, dtype: np.dtype[Any]) -> Self:
        """Return the data type of arrays with the NumPy dtype `dtype`.

        Raises
        ------
        DataTypeValidationError
            If this class does not stand for `dtype`.
        """
        if not cls._check_native_dtype(dtype):
            raise cls._reject_native(dtype)
        return cls._of(dtype)

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        """Return the data type of arrays with `dtype`, which this class stands for."""
        return cls._with(endianness_of(dtype))

    @classmethod
    def _with(cls, endianness: EndiannessStr, **members: Any) -> Self:
        """Return the data type with these members, and with `endianness` if this class has a byte order."""
        if issubclass(cls, HasEndianness):
            members["endianness"] = endianness
        make: Any = cls
        return make(**members)  # type: ignore[no-any-return]

    @abstractmethod
    def to_native_dtype(self) -> Any:
        """Return the NumPy dtype that arrays have in memory."""

    # --- metadata

    @classmethod
    @abstractmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self: ...

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        names = (cls._zarr_v3_name, *cls._other_v3_names)
        if not isinstance(data, str) or data not in names:
            raise cls._reject_json(data, f"{names[0]!r} without configuration")
        return cls()

    @classmethod
    def from_json(cls, data: DTypeJSON, *, zarr_format: ZarrFormat) -> Self:
        """Make a data type from its JSON form.

        Parameters
        ----------
        data : JSON
            For format 3 the ``data_type`` member, in any spelling.  For format 2 an object with the members
            ``name``, which is the ``dtype`` member, and ``object_codec_id``.
        zarr_format : {2, 3}
            The format of the metadata document.

        Raises
        ------
        DataTypeValidationError
            If `data` is not a data type of this class.
        """
        if zarr_format == 3:
            return cls._from_json_v3(canonical_v3(data))
        if zarr_format == 2:
            return cls._from_json_v2(data)
        raise ValueError(f"zarr_format must be 2 or 3, got {zarr_format!r}")

    @abstractmethod
    def to_json(self, zarr_format: ZarrFormat) -> Any:
        """Return the JSON form in format `zarr_format`, as :meth:`from_json` takes it."""

    # --- scalars

    def _check_scalar(self, data: object) -> bool:
        try:
            self.cast_scalar(data)
        except (TypeError, ValueError, OverflowError):
            return False
        return True

    @abstractmethod
    def cast_scalar(self, data: object) -> Scalar:
        """Return `data` as a scalar of this data type.

        Raises
        ------
        DataTypeValidationError
            If `data` is of the wrong type (also a :class:`TypeError`) or does not fit (also an
            :class:`OverflowError`).
        """

    def default_scalar(self) -> Scalar:
        """Return the fill value of arrays that are created without one: 0, where a class has no other."""
        return self.cast_scalar(0)

    @abstractmethod
    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Scalar:
        """Return the scalar that a fill value in a metadata document stands for.

        Parameters
        ----------
        data : JSON
            The ``fill_value`` member.
        zarr_format : {2, 3}
            The format of the document.

        Raises
        ------
        DataTypeValidationError
            If `data` is not a fill value of this data type.
        """

    @abstractmethod
    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> JSON:
        """Return the JSON form of a fill value; :meth:`from_json_scalar` returns the same bits.

        Parameters
        ----------
        data : object
            A scalar of this data type, or a value that can be cast to one.
        zarr_format : {2, 3}
            The format of the document.
        """

    # --- layout

    @property
    def item_size(self) -> int | None:
        """Bytes of one item in memory; None for items of variable length."""
        dtype = self.to_native_dtype()
        return None if dtype.kind in "OT" else dtype.itemsize

    def _in_native_order(self) -> Self:
        """Return the data type of the same items with the byte order of this machine."""
        if isinstance(self, HasEndianness) and self.endianness != sys.byteorder:
            return replace(self, endianness=sys.byteorder)
        return self

    @classmethod
    def _reject_native(cls, dtype: object) -> DataTypeValidationError:
        return DataTypeValidationError(f"{cls.__name__} does not stand for the NumPy dtype {dtype!r}")

    @classmethod
    def _reject_json(cls, data: object, expected: str) -> DataTypeValidationError:
        return DataTypeValidationError(
            f"not a data type {cls.__name__}: expected {expected}, got {describe(data)}"
        )

    def _reject_scalar(self, data: object, expected: str) -> DataTypeTypeError:
        return DataTypeTypeError(f"{describe(data)} is not a value of {describe(self)}: expected {expected}")

    def _reject_range(self, data: object, expected: str) -> DataTypeRangeError:
        return DataTypeRangeError(f"{describe(data)} does not fit into {describe(self)}: expected {expected}")


def canonical_v3(data: object) -> Any:
    """Return the ``data_type`` member of format 3 as a name, or as an object with name and configuration."""
    try:
        name, configuration, _ = named_configuration(data)
    except MetadataValidationError as error:
        raise DataTypeValidationError(f"not a data type: {error}") from None
    return {"name": name, "configuration": configuration} if configuration else name


def check_item_size(size: int) -> int:
    """Return `size` if it is a possible number of bytes for one item."""
    if isinstance(size, bool) or not isinstance(size, int):
        raise DataTypeTypeError(f"an item size must be an integer, got {describe(size)}")
    if not 1 <= size <= MAX_ITEM_SIZE:
        raise DataTypeValidationError(f"an item must have 1 to {MAX_ITEM_SIZE} bytes, got {describe(size)}")
    return size


def endianness_of(dtype: np.dtype[Any]) -> EndiannessStr:
    """Return the byte order of a NumPy dtype."""
    if dtype.byteorder in "<>":
        return "little" if dtype.byteorder == "<" else "big"
    return sys.byteorder


def order_char(zdtype: object) -> str:
    """Return NumPy's character for the byte order of a data type: ``"<"``, ``">"``, or ``"|"`` for none."""
    endianness = getattr(zdtype, "endianness", None)
    return "|" if endianness is None else "<" if endianness == "little" else ">"


def is_native_kind(dtype: np.dtype[Any], kind: str, size: int) -> bool:
    """Return whether `dtype` is NumPy's own type of this kind and item size.

    The classes of :mod:`numpy.dtypes` are not compared: C has two integer types of each of some sizes.
    """
    return dtype.kind == kind and dtype.itemsize == size and dtype.isbuiltin != 2


# --- data types that NumPy does not have; ml_dtypes, which has most, is imported when one is first used ---


def is_ml(dtype: np.dtype[Any]) -> bool:
    """Return whether the package ml_dtypes has added `dtype` to NumPy."""
    return dtype.type.__module__.partition(".")[0] == "ml_dtypes"


def ml_scalar_type(name: str) -> type[Any]:
    """Return the scalar type that ml_dtypes calls `name`."""
    found = getattr(_ml_dtypes(name), name, None)
    if found is None:
        raise DataTypeValidationError(
            f"the data type {name!r} needs a newer version of the package ml_dtypes: "
            "pip install --upgrade 'zarrcore[ml-dtypes]'"
        )
    return found  # type: ignore[no-any-return]


def ml_finfo(dtype: np.dtype[Any]) -> Any:
    """Return the limits of a floating-point type of ml_dtypes, as ``numpy.finfo`` does for NumPy's."""
    return _ml_dtypes(dtype.name).finfo(dtype)


def _ml_dtypes(name: str) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        raise DataTypeValidationError(
            f"the data type {name!r} needs the package ml_dtypes: pip install 'zarrcore[ml-dtypes]'"
        ) from None
    return ml_dtypes


class ExtensionType(ZDType[Any, Any], HasItemSize):
    """A data type from the registry of extensions, which has one name in both formats and no configuration.

    Format 2 knows no such types.  The name of format 3 in the place of NumPy's type string, items
    little-endian, is what tensorstore writes.
    """

    bits: ClassVar[int]
    """Bits of an item, or of one part of a complex item; those above them in memory mean nothing."""

    components: ClassVar[int] = 1
    """Numbers in an item: two if it is complex."""

    is_integer: ClassVar[bool] = False
    """Whether items are integers."""

    signed: ClassVar[bool] = False
    """Whether items are integers in two's complement."""

    def __init_subclass__(cls, name: str = "", **options: Any) -> None:
        super().__init_subclass__(name=name, **options)
        if name:
            cls._v2_kinds = (name,)

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        if data != {"name": cls._zarr_v3_name, "object_codec_id": None}:
            raise cls._reject_json(data, repr(cls._zarr_v3_name))
        return cls._with("little")

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3:
            return self._zarr_v3_name
        if getattr(self, "endianness", "little") != "little":
            raise DataTypeValidationError(f"Zarr format 2 stores {self._zarr_v3_name} little-endian only")
        return {"name": self._zarr_v3_name, "object_codec_id": None}
