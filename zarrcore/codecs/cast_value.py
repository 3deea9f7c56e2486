"""The ``cast_value`` codec."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import at, choice, fail, known_keys, mapping, sequence
from zarrcore.codecs._native import NativeArrayCodec, is_integer, real_number
from zarrcore.codecs.base import ArraySpec
from zarrcore.dtypes import ZDType, scalar_to_bytes
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError

_ROUNDING = ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away")
_DIRECTIONS = ("encode", "decode")


@dataclass(frozen=True, kw_only=True)
class CastValue(NativeArrayCodec):
    """Numbers stored in another data type (codec ``cast_value`` of the Zarr extensions).

    Parameters
    ----------
    data_type : str or ZDType
        The stored data type, an integer or floating-point one.
    rounding : str
        How numbers that the stored data type has not are rounded: ``"nearest-even"``, ``"nearest-away"``,
        ``"towards-zero"``, ``"towards-positive"`` or ``"towards-negative"``.
    out_of_range : {None, "clamp", "wrap"}
        What becomes of numbers that do not fit: an error, the last number or infinity, or (integers) the low
        bits.
    scalar_map : dict, optional
        ``{"encode": [[from, to], ...], "decode": [[from, to], ...]}``: numbers that are stored as certain
        others.

    Notes
    -----
    NaN and infinities that the other data type has not are errors, unless the scalar map has them.

    Examples
    --------
    >>> filters = CastValue(data_type="uint8", out_of_range="clamp")
    >>> array = zarrcore.create_array({}, shape=3, dtype="f4", filters=[filters])
    >>> array[:] = [0.4, 7, 300]
    >>> array[:].tolist()
    [0.0, 7.0, 255.0]
    """

    name: ClassVar[str] = "cast_value"
    is_fixed_size: ClassVar[bool] = True
    data_type: ZDType
    rounding: str = option("nearest-even", choice, _ROUNDING, omitted=True)
    out_of_range: str | None = option(None, choice, ("clamp", "wrap"), omitted=True)
    scalar_map: Any = None

    def __post_init__(self) -> None:
        from zarrcore.dtypes import ZDType, get_data_type_from_json

        if not isinstance(self.data_type, ZDType):
            with at("data_type"):
                object.__setattr__(self, "data_type", get_data_type_from_json(self.data_type, zarr_format=3))
        _check_number(self.data_type, "data_type")
        super().__post_init__()
        if self.out_of_range == "wrap" and not is_integer(self.data_type):
            fail("out_of_range", '"clamp" or nothing, floating-point numbers do not wrap around', "wrap")
        object.__setattr__(self, "scalar_map", _parse_scalar_map(self.scalar_map))

    def to_json(self) -> dict[str, Any]:
        document = super().to_json()
        configuration = document["configuration"]
        configuration["data_type"] = self.data_type.to_json(zarr_format=3)
        if configuration.pop("scalar_map") is not None:
            pairs = {direction: [list(pair) for pair in found] for direction, found in self.scalar_map}
            configuration["scalar_map"] = pairs
        return document

    def resolve(self, spec: ArraySpec) -> Self:
        _check_number(spec.dtype, None)
        for direction in _DIRECTIONS:
            with at(f"configuration.scalar_map.{direction}"):
                self._pairs(direction, spec)
        return self

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        fill = self.data_type.default_scalar()
        if spec.fill is not None:
            try:
                stored = self.encode(np.full(1, spec.fill, spec.np_dtype), spec)
                self.decode(stored, spec)
            except (ChunkEncodeError, ChunkDecodeError) as error:
                raise MetadataValidationError(f"the fill value cannot be cast: {error}") from error
            fill = stored[0]
        return replace(spec, dtype=self.data_type, fill=fill)

    def stored_dtype(self, spec: ArraySpec) -> np.dtype[Any]:
        """Return the NumPy dtype of encoded chunks of `spec`."""
        return self.data_type.to_native_dtype()  # type: ignore[no-any-return]

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]]:
        options: dict[str, Any] = {
            "dtype": real_number(spec.dtype),
            "astype": real_number(self.data_type),
            "rounding": self.rounding,
            "out_of_range": self.out_of_range,
        }
        if self.scalar_map is not None:
            options |= {f"{direction}_pairs": self._words(direction, spec) for direction in _DIRECTIONS}
        return self._engine_name, options

    def _words(self, direction: str, spec: ArraySpec) -> bytes:
        """Return the scalar map for one direction in the form of the engine: the bits of pairs of scalars."""
        source, target = self._types(direction, spec)
        words = [
            _bits(zdtype, scalar)
            for pair in self._pairs(direction, spec)
            for zdtype, scalar in zip((source, target), pair, strict=True)
        ]
        return np.array(words, np.uint64).tobytes()

    def _pairs(self, direction: str, spec: ArraySpec) -> list[tuple[Any, Any]]:
        """Return the scalar map for one direction, as scalars of the two data types."""
        source, target = self._types(direction, spec)
        found = dict(self.scalar_map or ()).get(direction, ())
        return [(_scalar(source, old), _scalar(target, new)) for old, new in found]

    def _types(self, direction: str, spec: ArraySpec) -> tuple[ZDType, ZDType]:
        ours, stored = spec.dtype, self.data_type
        return (ours, stored) if direction == "encode" else (stored, ours)


def _parse_scalar_map(data: Any) -> tuple[tuple[str, tuple[tuple[Any, Any], ...]], ...] | None:
    if data is None:
        return None
    if isinstance(data, tuple):
        return data
    mapping(data, "scalar_map")
    with at("scalar_map"):
        known_keys(data, _DIRECTIONS)
    parsed = []
    for direction, found in data.items():
        where = f"scalar_map.{direction}"
        pairs = found.items() if isinstance(found, dict) else sequence(found, where)
        for pair in pairs:
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                fail(where, "pairs of numbers", pair)
        parsed.append((direction, tuple((old, new) for old, new in pairs)))
    return tuple(parsed)


def _scalar(zdtype: ZDType, data: Any) -> Any:
    """Return a number of the scalar map; the specification's example spells infinity in another way."""
    return zdtype.from_json_scalar("Infinity" if data == "+Infinity" else data, zarr_format=3)


def _check_number(zdtype: ZDType, where: str | None) -> None:
    if real_number(zdtype) is None:
        raise MetadataValidationError(
            f"expected a data type of integers or floating-point numbers, got {zdtype!r}", where=where
        )


def _bits(zdtype: ZDType, scalar: Any) -> int:
    """Return the bits of a scalar as a number."""
    dtype = zdtype.to_native_dtype()
    word = np.dtype(f"u{dtype.itemsize}")
    data = scalar_to_bytes(zdtype, scalar)
    return int(np.frombuffer(data, word if dtype.isnative else word.newbyteorder())[0])
