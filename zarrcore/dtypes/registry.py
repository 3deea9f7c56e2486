"""The table of data types, and the search for the one that fits a NumPy dtype or a metadata document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from zarrcore._validate import describe
from zarrcore.dtypes.base import DataTypeTypeError, DTypeJSON, ZarrFormat, ZDType, canonical_v3
from zarrcore.dtypes.spelling import check_dtype_spec_v2, type_string
from zarrcore.errors import DataTypeValidationError
from zarrcore.registry import Lent, Registry, note_registration, registrations

_LONG_DOUBLE = ": its bits differ between platforms"
_NEEDS = "from_json to_json from_native_dtype to_native_dtype cast_scalar from_json_scalar to_json_scalar"
_FOREIGN = "*"  # in place of a kind: the dtypes of other packages
_ALIASES = {
    "binary": "variable_length_bytes",
    "bytes": "variable_length_bytes",
    "complex_float32": "complex64",
    "complex_float64": "complex128",
    "optional": "zarrs.optional",  # before it was named after zarrs
}


class _UnknownDataTypeError(DataTypeValidationError, KeyError):
    """No data type is registered under a name."""

    __str__ = Exception.__str__  # not that of KeyError, which quotes the message


class DataTypeRegistry(Registry[type[ZDType[Any, Any]]]):
    """Data types by their Zarr v3 name; entry points are those of the group ``zarrcore.dtypes``.

    Examples
    --------
    >>> own = DataTypeRegistry()
    >>> own.register("int16", Int16)
    >>> own.match_json("int16", zarr_format=3) == Int16()
    True
    """

    def __init__(self) -> None:
        lent = "zarr.data_type", "zarrcore.integrations.zarr_python.data_types:data_type_class"
        super().__init__("data type", "zarrcore.dtypes", _UnknownDataTypeError, _NEEDS, lent)
        self._own: set[str] = set()  # the names of the library's
        self._kinds: dict[str, list[str]] = {}

    @property
    def contents(self) -> dict[str, type[ZDType[Any, Any]]]:
        """Name -> class, of all data types (a copy); of entry points once a search has found nothing else."""
        return {name: self.get(name) for name in tuple(self._classes)}

    def register(self, key: str, cls: type[ZDType[Any, Any]] | str) -> None:  # type: ignore[override]
        """Add `cls`, or the class at a place ``"module:Class"``, under the name `key`, replacing another.

        Raises
        ------
        TypeError
            If `cls` is no class of a data type.
        """
        super().register(cls, key)

    def register_module(self, module: str, kinds: str, classes: Mapping[str, str]) -> None:
        """Add the `classes` of `module`, by the names of their data types.

        They may stand for NumPy dtypes of `kinds`, or if that is empty, for dtypes of other packages.
        """
        for name, cls in classes.items():
            self.register(name, f"{module}:{cls}")
        self._own.update(classes)
        for kind in kinds or _FOREIGN:
            self._kinds.setdefault(kind, []).extend(classes)

    def unregister(self, key: str) -> None:
        """Remove what is registered under the name `key`; :class:`KeyError` if nothing is."""
        if key not in self._classes:
            raise KeyError(f"no data type is registered as {key!r}")
        del self._classes[key]
        self._own.discard(key)
        note_registration()

    def knows(self, name: str) -> bool:
        """Return whether a data type is called `name` in format 3, other than those of entry points."""
        return _registered_name(name) in self._classes

    def _load_kind(self, kind: str) -> None:
        """Load the classes that may stand for dtypes of a kind, and be named by its type strings."""
        for name in self._kinds.get(kind, ()):
            if name in self._classes:
                self.get(name)

    def _loaded(self) -> dict[str, type[ZDType[Any, Any]]]:
        return {name: cls for name, cls in tuple(self._classes.items()) if not isinstance(cls, str)}

    def match_dtype(self, dtype: np.dtype[Any]) -> ZDType[Any, Any]:
        """Return the data type of arrays with NumPy dtype `dtype`.

        Raises
        ------
        DataTypeValidationError
            If no class stands for `dtype`, or more than one.
        """
        if dtype.kind == "O":
            raise DataTypeValidationError(
                "the NumPy dtype object does not determine the items; give a data type instead, for "
                "example zarrcore.dtype.VariableLengthUTF8() or zarrcore.dtype.VariableLengthBytes(), or "
                "convert the values: astype('T') for strings, astype('datetime64[us]') for dates"
            )
        if dtype.itemsize == 0:
            raise DataTypeValidationError(
                f"{dtype!r} has items of no bytes; give a length, for example '{dtype.kind}8', or a data "
                "type of variable length"
            )
        if dtype.type is np.record:
            dtype = np.dtype((np.void, dtype))  # the same fields, which pandas and np.rec name otherwise
        if dtype.isbuiltin == 1:
            return _match_builtin(self, dtype, registrations())
        return self._match_dtype(dtype)

    def _match_dtype(self, dtype: np.dtype[Any]) -> ZDType[Any, Any]:
        self._load_kind(_FOREIGN if dtype.isbuiltin == 2 else dtype.kind)
        matched, refusals = self._matches(dtype)
        if not matched and self._load_entry_points():
            matched, refusals = self._matches(dtype)
        if matched:
            return _most_derived(dtype, matched)
        if refusals:
            raise refusals[-1]
        raise DataTypeTypeError(f"no Zarr data type stands for the NumPy dtype {dtype!r}{_hint(dtype)}")

    def _matches(self, dtype: np.dtype[Any]) -> tuple[list[ZDType[Any, Any]], list[DataTypeValidationError]]:
        """Return the data types that stand for `dtype`, and why classes for its kind refused it."""
        matched, refusals = [], []
        for cls in self._loaded().values():
            if cls._check_native_dtype(dtype):
                try:
                    matched.append(cls.from_native_dtype(dtype))
                except DataTypeValidationError as error:
                    refusals.append(error)
        return matched, refusals

    def match_json(self, data: DTypeJSON, *, zarr_format: ZarrFormat) -> ZDType[Any, Any]:
        """Return the data type with the JSON form `data`, as :meth:`ZDType.from_json` takes it.

        Raises
        ------
        DataTypeValidationError
            If `data` is not a data type.
        """
        if zarr_format == 3:
            return self._match_v3(data)
        if zarr_format == 2:
            return self._match_v2(data)
        raise ValueError(f"zarr_format must be 2 or 3, got {zarr_format!r}")

    def _match_v3(self, data: DTypeJSON) -> ZDType[Any, Any]:
        data = canonical_v3(data)
        name = _registered_name(data if isinstance(data, str) else data["name"])
        if name not in self:
            for known in tuple(self._classes):  # a class may read other names than its own
                try:
                    return self.get(known).from_json(data, zarr_format=3)
                except DataTypeValidationError:  # or cannot be imported: it is not asked for
                    continue
        found: Any = self.get(name).from_json(data, zarr_format=3)
        if not isinstance(found, ZDType):
            reason = f"expected a data type from from_json of {self.get(name).__name__}"
            raise DataTypeValidationError(f"{reason}, got {describe(found)}")
        return found

    def _match_v2(self, data: DTypeJSON) -> ZDType[Any, Any]:
        if not check_dtype_spec_v2(data):
            raise DataTypeValidationError(
                f"a data type must be a type string or a list of fields, got {describe(data)}"
            )
        if data["name"] == "|O" and data["object_codec_id"] is None:
            raise DataTypeValidationError("the data type '|O' needs an object codec among the filters")
        if not isinstance(data["name"], str):
            return self.get("struct").from_json(data, zarr_format=2)
        return _match_string_v2(self, data["name"], data["object_codec_id"], registrations())

    def _match_string(self, data: DTypeJSON) -> ZDType[Any, Any]:
        reason = _unknown_v2(data["name"])
        for cls in self._candidates_v2(data["name"]):
            try:
                return cls.from_json(data, zarr_format=2)
            except DataTypeValidationError as error:
                # A class that names its own spellings also has the best message about this one.
                if cls._v2_kinds is not None:
                    reason = error
        if self._load_entry_points():
            return self._match_string(data)
        raise reason

    def _candidates_v2(self, name: str) -> Iterator[type[ZDType[Any, Any]]]:
        """Yield the classes that may read a type string: those of the library, its own first, then others."""
        parts = type_string(name)
        if parts is not None:
            self._load_kind(parts.kind)
        elif name in self._classes:
            self.get(name)
        kinds = {name} if parts is None else {parts.kind, f"{parts.kind}{parts.size}"}
        # A user's class that refines one of the library has inherited its type strings.
        loaded = sorted(self._loaded().items(), key=lambda item: item[0] not in self._own)
        yield from (cls for _, cls in loaded if not kinds.isdisjoint(cls._v2_kinds or ()))
        yield from (cls for _, cls in loaded if cls._v2_kinds is None)

    def _load_entry_points(self) -> bool:
        """Load the classes of all entry points, once; return whether there were any."""
        found = self._search_entry_points()
        own = [name for name in found if not isinstance(self._classes[name], Lent)]  # others read names alone
        for name in own:
            self.get(name)
        return bool(own)


@lru_cache(maxsize=64)
def _match_builtin(registry: DataTypeRegistry, dtype: np.dtype[Any], state: object) -> ZDType[Any, Any]:
    """Return the data type of one of NumPy's own numbers; good as long as nothing more is registered."""
    return registry._match_dtype(dtype)


@lru_cache(maxsize=64)
def _match_string_v2(
    registry: DataTypeRegistry, name: str, object_codec_id: str | None, state: object
) -> ZDType[Any, Any]:
    """Return the data type of a type string of format 2; good as long as nothing more is registered."""
    return registry._match_string({"name": name, "object_codec_id": object_codec_id})


def _registered_name(name: str) -> str:
    """Return the name under which the class of a data type is registered that has a name in format 3."""
    is_raw_bits = name[:1] == "r" and name[1:].isdecimal() and name.isascii()
    return "raw_bytes" if is_raw_bits else _ALIASES.get(name, name)


def _unknown_v2(name: str) -> DataTypeValidationError:
    """Why no class reads a type string."""
    parts = type_string(name)
    is_long = parts is not None and _is_long_double(parts.kind, parts.size)
    return DataTypeValidationError(f"unknown data type {name[:80]!r}{_LONG_DOUBLE if is_long else ''}")


def _is_long_double(kind: str, size: int) -> bool:
    return kind in "fc" and size > {"f": 8, "c": 16}[kind]


def _most_derived(dtype: np.dtype[Any], matched: list[ZDType[Any, Any]]) -> ZDType[Any, Any]:
    """Return the match whose class refines those of all others."""
    best = matched[0]
    for other in matched[1:]:
        if issubclass(type(other), type(best)):
            best = other
    if not all(isinstance(best, type(other)) for other in matched):
        raise DataTypeValidationError(
            f"more than one data type stands for the NumPy dtype {dtype!r}: {matched}"
        )
    return best


def _hint(dtype: np.dtype[Any]) -> str:
    if _is_long_double(dtype.kind, dtype.itemsize):
        return f"{_LONG_DOUBLE}; use float64 or complex128"
    if dtype.subdtype is not None:
        return ": make its shape dimensions of the array"
    return ""


data_type_registry = DataTypeRegistry()

# Module, the kinds of NumPy's own dtypes that it has classes for, and these with their names.
_BUILT_IN = (
    ("numeric", "b", "bool=Bool"),
    ("numeric", "iu", "int8=Int8 int16=Int16 int32=Int32 int64=Int64"),
    ("numeric", "iu", "uint8=UInt8 uint16=UInt16 uint32=UInt32 uint64=UInt64"),
    ("numeric", "f", "float16=Float16 float32=Float32 float64=Float64"),
    ("numeric", "c", "complex64=Complex64 complex128=Complex128"),
    ("strings", "U", "fixed_length_utf32=FixedLengthUTF32"),
    ("strings", "TO", "string=VariableLengthUTF8"),
    ("strings", "SV", "null_terminated_bytes=NullTerminatedBytes raw_bytes=RawBytes"),
    ("strings", "O", "variable_length_bytes=VariableLengthBytes"),
    ("time", "mM", "numpy.datetime64=DateTime64 numpy.timedelta64=TimeDelta64"),
    ("structured", "V", "structured=Structured struct=Struct"),
    ("objects", "O", "python_object=PythonObject"),
    ("optional", "V", "zarrs.optional=Optional"),
    (
        "ml",
        "",
        "bfloat16=BFloat16 float4_e2m1fn=Float4E2M1FN float6_e2m3fn=Float6E2M3FN float6_e3m2fn=Float6E3M2FN "
        "float8_e3m4=Float8E3M4 float8_e4m3=Float8E4M3 float8_e4m3b11fnuz=Float8E4M3B11FNUZ "
        "float8_e4m3fn=Float8E4M3FN float8_e4m3fnuz=Float8E4M3FNUZ float8_e5m2=Float8E5M2 "
        "float8_e5m2fnuz=Float8E5M2FNUZ float8_e8m0fnu=Float8E8M0FNU "
        "int2=Int2 int4=Int4 uint2=UInt2 uint4=UInt4 complex_bfloat16=ComplexBFloat16 "
        "complex_float16=ComplexFloat16 complex_float4_e2m1fn=ComplexFloat4E2M1FN "
        "complex_float6_e2m3fn=ComplexFloat6E2M3FN complex_float6_e3m2fn=ComplexFloat6E3M2FN "
        "complex_float8_e3m4=ComplexFloat8E3M4 complex_float8_e4m3=ComplexFloat8E4M3 "
        "complex_float8_e4m3b11fnuz=ComplexFloat8E4M3B11FNUZ "
        "complex_float8_e4m3fnuz=ComplexFloat8E4M3FNUZ complex_float8_e5m2=ComplexFloat8E5M2 "
        "complex_float8_e5m2fnuz=ComplexFloat8E5M2FNUZ complex_float8_e8m0fnu=ComplexFloat8E8M0FNU",
    ),
)

for _module, _kinds, _names in _BUILT_IN:
    _classes = dict(pair.split("=") for pair in _names.split())
    data_type_registry.register_module(f"zarrcore.dtypes.{_module}", _kinds, _classes)
