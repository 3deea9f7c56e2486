"""The table of data types, and the search for the one that fits a NumPy dtype or a metadata document."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.dtypes.base import DataTypeTypeError, ZDType
from zarrcore.dtypes.extension_object import canonical_v3, shown
from zarrcore.dtypes.spelling import check_dtype_spec_v2, type_string
from zarrcore.errors import DataTypeValidationError
from zarrcore.registry import note_registration, registrations

if TYPE_CHECKING:
    from collections.abc import Iterator

    from zarrcore.dtypes.base import DTypeJSON, ZarrFormat

_LONG_DOUBLE = ": its bits differ between platforms"
ENTRY_POINT_GROUP = "zarrcore.dtypes"

_FOREIGN = "*"  # in place of a kind: the dtypes of other packages

_ALIASES = {
    "bytes": "variable_length_bytes",
    "complex_float32": "complex64",
    "complex_float64": "complex128",
}


class DataTypeRegistry:
    """Data types by their Zarr v3 name.

    Classes of the library are imported when one of their module is needed.  Entry points of the group
    ``zarrcore.dtypes`` are added when a search finds nothing.
    """

    def __init__(self) -> None:
        self._classes: dict[str, type[ZDType[Any, Any]]] = {}
        self._modules: dict[str, str] = {}
        self._kinds: dict[str, tuple[str, ...]] = {}
        self._searched = False

    @property
    def contents(self) -> dict[str, type[ZDType[Any, Any]]]:
        """Name -> class, of all data types (a copy); of entry points once a search has found nothing else."""
        for module in dict.fromkeys(self._modules.values()):
            self._load(module)
        known = self._classes.copy()
        return {name: known[name] for name in dict.fromkeys((*self._modules, *known)) if name in known}

    def register(self, key: str, cls: type[ZDType[Any, Any]]) -> None:
        """Add `cls` under the name `key`, in place of what had that name."""
        if not isinstance(key, str) or not key:
            raise TypeError(f"a data type is registered under its name, got {key!r}")
        self._classes[key] = cls
        note_registration()

    def register_module(self, module: str, kinds: str, *keys: str) -> None:
        """Add the classes named `keys` in ``TYPES`` of `module`, which is imported when one is needed.

        Parameters
        ----------
        module : str
            Name of the module.
        kinds : str
            The NumPy kinds of the dtypes that the classes may stand for; empty for dtypes of other packages.
        *keys : str
            Zarr v3 names of the classes.
        """
        self._modules.update(dict.fromkeys(keys, module))
        for kind in kinds or _FOREIGN:
            self._kinds[kind] = (*self._kinds.get(kind, ()), module)

    def unregister(self, key: str) -> None:
        """Remove what is registered under the name `key`; :class:`KeyError` if nothing is."""
        if key not in self._classes and key not in self._modules:
            raise KeyError(f"no data type is registered as {key!r}")
        self._modules.pop(key, None)
        self._classes.pop(key, None)
        note_registration()

    def get(self, key: str) -> type[ZDType[Any, Any]]:
        """Return the class registered under the name `key`; :class:`KeyError` if none is."""
        if not self._has(key):
            self._search_entry_points()
        return self._classes[key]

    def knows(self, name: str) -> bool:
        """Return whether a data type is called `name` in format 3, other than those of entry points."""
        key = _registered_name(name)
        return key in self._classes or key in self._modules

    def _has(self, key: str) -> bool:
        """Return whether `key` is registered; its class is loaded then."""
        if key not in self._classes and key in self._modules:
            self._load(self._modules[key])
        return key in self._classes

    def _load(self, module: str) -> None:
        for cls in import_module(module).TYPES:
            if self._modules.get(cls._zarr_v3_name) == module:
                self._classes.setdefault(cls._zarr_v3_name, cls)

    def _load_kind(self, kind: str) -> None:
        """Load the classes that may stand for dtypes of a kind, and be named by its type strings."""
        for module in self._kinds.get(kind, ()):
            self._load(module)

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
                "example zarrcore.dtype.VariableLengthUTF8() or zarrcore.dtype.VariableLengthBytes()"
            )
        if dtype.itemsize == 0:
            raise DataTypeValidationError(
                f"{dtype!r} has items of no bytes; give a length, for example '{dtype.kind}8', or a data "
                "type of variable length"
            )
        if dtype.isbuiltin == 1:
            return _match_builtin(self, dtype, registrations())
        return self._match_dtype(dtype)

    def _match_dtype(self, dtype: np.dtype[Any]) -> ZDType[Any, Any]:
        self._load_kind(_FOREIGN if dtype.isbuiltin == 2 else dtype.kind)
        matched, refusals = self._matches(dtype)
        if not matched and self._search_entry_points():
            matched, refusals = self._matches(dtype)
        if matched:
            return _most_derived(dtype, matched)
        if refusals:
            raise refusals[-1]
        raise DataTypeTypeError(f"no Zarr data type stands for the NumPy dtype {dtype!r}{_hint(dtype)}")

    def _matches(self, dtype: np.dtype[Any]) -> tuple[list[ZDType[Any, Any]], list[DataTypeValidationError]]:
        """Return the data types that stand for `dtype`, and why classes for its kind refused it."""
        matched, refusals = [], []
        for cls in tuple(self._classes.values()):
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
        if not self._has(name):
            self._search_entry_points()
        if name in self._classes:
            return self._classes[name].from_json(data, zarr_format=3)
        for cls in tuple(self.contents.values()):  # a class may read other names than its own
            try:
                return cls.from_json(data, zarr_format=3)
            except DataTypeValidationError:
                continue
        from zarrcore._validate import suggestion

        known = sorted({*self._classes, *self._modules})
        hint = suggestion(name, known) or f"; known are {', '.join(known)}, r<N>"
        raise DataTypeValidationError(f"unknown data type {shown(name)}{hint}")

    def _match_v2(self, data: DTypeJSON) -> ZDType[Any, Any]:
        if not check_dtype_spec_v2(data):
            raise DataTypeValidationError(
                f"a data type must be a type string or a list of fields, got {shown(data)}"
            )
        if data["name"] == "|O" and data["object_codec_id"] is None:
            raise DataTypeValidationError("the data type '|O' needs an object codec among the filters")
        if not isinstance(data["name"], str):
            return self.get("struct").from_json(data, zarr_format=2)
        reason = _unknown_v2(data["name"])
        for cls in self._candidates_v2(data["name"]):
            try:
                return cls.from_json(data, zarr_format=2)
            except DataTypeValidationError as error:
                # A class that names its own spellings also has the best message about this one.
                if cls._v2_kinds is not None:
                    reason = error
        if self._search_entry_points():
            return self._match_v2(data)
        raise reason

    def _candidates_v2(self, name: str) -> Iterator[type[ZDType[Any, Any]]]:
        """Yield the classes that may read a type string: those of the library, its own first, then others."""
        parts = type_string(name)
        if parts is None:
            self._has(name)
            kinds = {name}
        else:
            self._load_kind(parts.kind)
            kinds = {parts.kind, f"{parts.kind}{parts.size}"}
        # A user's class that refines one of the library has inherited its type strings.
        names = sorted(self._classes, key=lambda registered: registered not in self._modules)
        classes = [self._classes[registered] for registered in names]
        yield from (cls for cls in classes if not kinds.isdisjoint(cls._v2_kinds or ()))
        yield from (cls for cls in classes if cls._v2_kinds is None)

    def _search_entry_points(self) -> bool:
        """Add the entry points of all installed packages, once; whether there were any."""
        if self._searched:
            return False
        from importlib.metadata import entry_points

        found = entry_points(group=ENTRY_POINT_GROUP)
        for point in found:
            if point.name not in self._classes and point.name not in self._modules:
                self._classes[point.name] = point.load()
        self._searched = True  # now: another thread may search at the same time, but not miss what is there
        return bool(found)


@lru_cache(maxsize=64)
def _match_builtin(registry: DataTypeRegistry, dtype: np.dtype[Any], state: object) -> ZDType[Any, Any]:
    """Return the data type of one of NumPy's own numbers; good as long as nothing more is registered."""
    return registry._match_dtype(dtype)


def _registered_name(name: str) -> str:
    """Return the name under which the class of a data type is registered that has a name in format 3."""
    return "raw_bytes" if _is_raw_bits(name) else _ALIASES.get(name, name)


def _is_raw_bits(name: str) -> bool:
    return name[:1] == "r" and name[1:].isdecimal() and name.isascii()


def _unknown_v2(name: str) -> DataTypeValidationError:
    """Why no class reads a type string."""
    parts = type_string(name)
    is_long = parts is not None and _is_long_double(parts.kind, parts.size)
    return DataTypeValidationError(f"unknown data type {shown(name)}{_LONG_DOUBLE if is_long else ''}")


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

# Module, the kinds of NumPy's own dtypes that it has classes for, and their names.
_BUILT_IN = (
    ("boolean", "b", "bool"),
    ("integer", "iu", "int8 int16 int32 int64 uint8 uint16 uint32 uint64"),
    ("floating", "fc", "float16 float32 float64 complex64 complex128"),
    ("strings", "UTO", "fixed_length_utf32 string"),
    ("binary", "SVO", "null_terminated_bytes raw_bytes variable_length_bytes"),
    ("time", "mM", "numpy.datetime64 numpy.timedelta64"),
    ("structured", "V", "structured struct"),
    ("objects", "O", "python_object"),
    (
        "mlfloat",
        "",
        "bfloat16 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3 float8_e4m3b11fnuz "
        "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu",
    ),
    ("subbyte", "", "int2 int4 uint2 uint4"),
    (
        "mlcomplex",
        "",
        "complex_bfloat16 complex_float16 complex_float4_e2m1fn complex_float6_e2m3fn complex_float6_e3m2fn "
        "complex_float8_e3m4 complex_float8_e4m3 complex_float8_e4m3b11fnuz complex_float8_e4m3fnuz "
        "complex_float8_e5m2 complex_float8_e5m2fnuz complex_float8_e8m0fnu",
    ),
)

for _module, _kinds, _names in _BUILT_IN:
    data_type_registry.register_module(f"zarrcore.dtypes.{_module}", _kinds, *_names.split())
