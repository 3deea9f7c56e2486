"""Data types that other packages have registered with zarr-python by entry points, in format 3."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._records import dataclass
from zarrcore.dtypes import get_data_type_from_json
from zarrcore.dtypes.base import DataTypeTypeError, DataTypeValidationError, DTypeJSON, ZarrFormat, ZDType
from zarrcore.errors import shown


def data_type_class(theirs: Any, name: str, package: str) -> type[ZDType[Any, Any]]:
    """Return a class over a data type class of zarr-python's kind, from an installed package.

    Parameters
    ----------
    theirs : type
        The class of the package.
    name : str
        The name of the entry point; that of the data type is what the class says.
    package : str
        The package, for messages.
    """
    if not isinstance(theirs, type) or not hasattr(theirs, "from_json_scalar"):
        raise TypeError(f"{theirs!r} is no class of data types of zarr-python")
    names = {
        "lender": theirs,
        "package": package,
        "_zarr_v3_name": getattr(theirs, "_zarr_v3_name", name),
        "__module__": __name__,
    }
    return type(theirs.__name__, (_LentType,), names)


@dataclass(frozen=True, kw_only=True)
class _LentType(ZDType[Any, Any]):
    """A data type of another package; NumPy's dtypes are not taken for it, format 2 has no name for it."""

    lender: ClassVar[Any]
    package: ClassVar[str]
    _v2_kinds = ()
    theirs: Any = field()

    def __reduce__(self) -> Any:
        return _again, (self.to_json(3),)

    @classmethod
    def _check_native_dtype(cls, dtype: np.dtype[Any]) -> bool:
        return False

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        raise cls._reject_json(data, "format 3")

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        try:
            return cls(theirs=cls.lender.from_json(data, zarr_format=3))
        except Exception as error:
            raise cls._refusal(f"{data!r}", error) from error

    def to_native_dtype(self) -> Any:
        return self.theirs.to_native_dtype()

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format != 3:
            raise DataTypeValidationError(
                f"the data type {self._zarr_v3_name!r} has no name in format {zarr_format}"
            )
        return self.theirs.to_json(zarr_format=3)

    def cast_scalar(self, data: object) -> Any:
        return self._ask("cast_scalar", data)

    def default_scalar(self) -> Any:
        return self.theirs.default_scalar()

    def from_json_scalar(self, data: Any, *, zarr_format: ZarrFormat) -> Any:
        return self._ask("from_json_scalar", data, zarr_format=zarr_format)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> Any:
        return self._ask("to_json_scalar", data, zarr_format=zarr_format)

    def _ask(self, method: str, data: object, **options: Any) -> Any:
        try:
            return getattr(self.theirs, method)(data, **options)
        except Exception as error:
            raise self._refusal(f"{data!r}", error) from error

    @classmethod
    def _refusal(cls, what: str, error: Exception) -> DataTypeValidationError:
        kind = DataTypeTypeError if isinstance(error, TypeError) else DataTypeValidationError
        return kind(f"{cls._zarr_v3_name!r} of the package {cls.package} refuses {what[:80]}: {shown(error)}")


def _again(document: Any) -> ZDType[Any, Any]:
    return get_data_type_from_json(document, zarr_format=3)
