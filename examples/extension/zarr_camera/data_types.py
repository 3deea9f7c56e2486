"""A data type with a configuration."""

from dataclasses import dataclass
from typing import ClassVar

from zarrcore.dtype import UInt16
from zarrcore.errors import DataTypeValidationError


@dataclass(frozen=True, kw_only=True)
class Grey(UInt16):
    """Grey values of some bits, in words of 16."""

    _zarr_v3_name: ClassVar[str] = "camera.grey"
    _v2_kinds: ClassVar[tuple[str, ...]] = ()  # format 2 has no name for it
    bits: int = 12

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.bits, int) or not 1 <= self.bits <= 16:
            raise DataTypeValidationError(f"bits: expected 1..16, got {self.bits!r}")

    @classmethod
    def _check_native_dtype(cls, dtype):
        return False  # NumPy's uint16 goes on meaning UInt16

    @classmethod
    def _from_json_v3(cls, data):
        match data:
            case {"name": "camera.grey", "configuration": {"bits": bits, **others}} if not others:
                return cls(bits=bits)
        raise cls._reject_json(data, '{"name": "camera.grey", "configuration": {"bits": ...}}')

    @classmethod
    def _from_json_v2(cls, data):
        raise cls._reject_json(data, "a data type of format 2")

    def to_json(self, zarr_format):
        if zarr_format == 2:
            raise DataTypeValidationError("camera.grey: format 2 has no such data type; use zarr_format=3")
        return {"name": self._zarr_v3_name, "configuration": {"bits": self.bits}}

    def cast_scalar(self, data):
        value = super().cast_scalar(data)
        if value >> self.bits:
            raise self._reject_range(data, f"0..{2**self.bits - 1}")
        return value
