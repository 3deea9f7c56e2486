"""Points in time and time differences of NumPy."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar, Self, get_args

import numpy as np

from zarrcore._records import dataclass
from zarrcore._typing import JSON, DTypeJSON, ZarrFormat
from zarrcore.dtypes.base import HasEndianness, HasItemSize, ZDType, endianness_of, order_char
from zarrcore.dtypes.json_types import DateTimeUnit
from zarrcore.dtypes.scalars import integer_from_json, is_integer, unboxed
from zarrcore.dtypes.spelling import config_v3, type_string_v2
from zarrcore.errors import DataTypeValidationError

UNITS = get_args(DateTimeUnit)
_NAT = -(2**63)
_MICRO = ("\u03bcs", "\u00b5s")  # the Greek letter and the sign: both are "us"


@dataclass(frozen=True, kw_only=True)
class TimeBase(ZDType[Any, Any], HasEndianness, HasItemSize):
    """What both data types share: 64-bit counts of steps of `scale_factor` units, and NaT."""

    _python_types: ClassVar[tuple[type, ...]]
    unit: DateTimeUnit = "generic"
    scale_factor: int = 1

    def __post_init__(self) -> None:
        HasEndianness.__post_init__(self)
        if not is_integer(self.scale_factor) or not 1 <= self.scale_factor < 2**31:
            raise DataTypeValidationError(
                f"scale_factor must be an integer 1..{2**31 - 1}, got {self.scale_factor!r}"
            )
        object.__setattr__(self, "scale_factor", int(self.scale_factor))
        if self.unit in _MICRO:
            object.__setattr__(self, "unit", "us")
        if self.unit not in UNITS:
            raise DataTypeValidationError(f"unit must be one of {', '.join(UNITS)}, got {self.unit!r}")

    @classmethod
    def _of(cls, dtype: np.dtype[Any]) -> Self:
        unit, scale_factor = np.datetime_data(dtype)
        return cls._with(endianness_of(dtype), unit=unit, scale_factor=scale_factor)

    def _step(self) -> str:
        return f"{self.scale_factor}{self.unit}"

    def to_native_dtype(self) -> Any:
        return np.dtype(f"{order_char(self)}{self._code}[{self._step()}]")

    @classmethod
    def _from_json_v2(cls, data: DTypeJSON) -> Self:
        parts = type_string_v2(cls, data)
        return cls._with(parts.endianness, unit=parts.unit or "generic", scale_factor=parts.scale)

    @classmethod
    def _from_json_v3(cls, data: DTypeJSON) -> Self:
        unit, scale_factor = config_v3(cls, data, "unit", "scale_factor")
        return cls(unit=unit, scale_factor=scale_factor)

    def to_json(self, zarr_format: ZarrFormat) -> Any:
        if zarr_format == 3:
            configuration = {"unit": self.unit, "scale_factor": self.scale_factor}
            return {"name": self._zarr_v3_name, "configuration": configuration}
        step = self._step() if self.scale_factor > 1 else self.unit
        suffix = "" if step == "generic" else f"[{step}]"
        return {"name": f"{order_char(self)}{self._code}{suffix}", "object_codec_id": None}

    def _from_count(self, count: int, data: object) -> Any:
        if not _NAT <= count < 2**63:
            raise self._reject_range(data, "an integer of 64 bits")
        return np.array([count], dtype=np.int64).view(f"{self._code}[{self._step()}]")[0]

    def default_scalar(self) -> Any:
        """Return NaT, the default of NumPy and zarr-python."""
        return self._from_count(_NAT, _NAT)

    def cast_scalar(self, data: object) -> Any:
        """Return `data` in steps of this data type; None is NaT, an integer counts steps."""
        data = unboxed(data)
        if data is None or (isinstance(data, str) and data == "NaT"):
            return self.default_scalar()
        if is_integer(data):
            return self._from_count(int(data), data)  # type: ignore[call-overload]
        if not isinstance(data, self._python_types):
            raise self._reject_scalar(data, "a time of NumPy or of datetime, its text, or a count of steps")
        return self._convert(data)

    def _convert(self, data: Any) -> Any:
        """Return `data` in steps of this data type, rounded down as NumPy does."""
        scalar_type: Any = self.dtype_cls.type
        try:
            exact = data if isinstance(data, scalar_type) else scalar_type(data)
            if np.isnat(exact):
                return self.default_scalar()
            if "generic" in (self.unit, np.datetime_data(exact.dtype)[0]):
                return self._from_count(_count(exact), data)
            scalar = exact.astype(f"{self._code}[{self._step()}]", casting="same_kind")
            wrapped = _is_wrapped(exact, scalar)
        except OverflowError:
            wrapped = True
        except (ValueError, TypeError) as error:
            raise self._reject_scalar(data, str(error)) from None
        if wrapped:
            raise self._reject_range(data, f"a time that 64 bits can count in steps of {self._step()}")
        return scalar

    def from_json_scalar(self, data: JSON, *, zarr_format: ZarrFormat) -> Any:
        if isinstance(data, str) and data == "NaT":
            return self.default_scalar()
        return self._from_count(integer_from_json(self, data, zarr_format=zarr_format), data)

    def to_json_scalar(self, data: object, *, zarr_format: ZarrFormat) -> int:
        # A number also for NaT: zarr-python reads either, but writes and so expects this one.
        return _count(self.cast_scalar(data))

    @property
    def item_size(self) -> int:
        return 8


def _count(scalar: Any) -> int:
    return int(scalar.view(np.int64))


def _is_wrapped(exact: Any, scalar: Any) -> bool:
    """Return whether `scalar` is not `exact` rounded: NumPy may convert beyond 64 bits without a word."""
    count = _count(scalar)
    other = np.array(count - 1 if count > 0 else count + 1, dtype=np.int64).view(scalar.dtype)
    back = _count(scalar.astype(exact.dtype))
    step = abs(_count(other.astype(exact.dtype)[()]) - back)
    return abs(_count(exact) - back) >= max(step, 1)


@dataclass(frozen=True, kw_only=True)
class DateTime64(TimeBase, code="M8", name="numpy.datetime64"):
    """Points in time, counted from 1970 (``numpy.datetime64``, ``"<M8[10s]"``).

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype=DateTime64(unit="s"))
    >>> array[0] = np.datetime64("2026-01-01")
    >>> array[:].tolist()
    [datetime.datetime(2026, 1, 1, 0, 0), None]
    >>> array.metadata.to_dict()["data_type"]
    {'name': 'numpy.datetime64', 'configuration': {'unit': 's', 'scale_factor': 1}}
    """

    _python_types: ClassVar = (np.datetime64, datetime.date, str)  # datetime.datetime is a date


@dataclass(frozen=True, kw_only=True)
class TimeDelta64(TimeBase, code="m8", name="numpy.timedelta64"):
    """Differences in time (``numpy.timedelta64``, ``"<m8[10s]"``).

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=2, dtype=TimeDelta64(unit="h"), fill_value=12)
    >>> array[0]
    np.timedelta64(12,'h')
    >>> array.metadata.to_dict()["data_type"]
    {'name': 'numpy.timedelta64', 'configuration': {'unit': 'h', 'scale_factor': 1}}
    """

    _python_types: ClassVar = (np.timedelta64, datetime.timedelta)
