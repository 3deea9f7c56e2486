"""The ``cast_value`` codec."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import at, choice, fail, known_keys, mapping, sequence
from zarrcore.codecs.base import ArrayArrayCodec
from zarrcore.codecs.v2_filters import number
from zarrcore.errors import MetadataValidationError

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.codecs.base import ArraySpec
    from zarrcore.dtypes import ZDType

__all__ = ["CastValue"]

_ROUNDING = ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away")
_DIRECTIONS = ("encode", "decode")


@dataclass(frozen=True, kw_only=True)
class CastValue(ArrayArrayCodec):
    """Numbers stored in another data type (codec ``cast_value`` of the Zarr extensions).

    Parameters
    ----------
    data_type : str or ZDType
        The stored data type, an integer or floating-point one.
    rounding : str
        How numbers that the stored data type has not are rounded: ``"nearest-even"``, ``"nearest-away"``,
        ``"towards-zero"``, ``"towards-positive"`` or ``"towards-negative"``.
    out_of_range : {None, "clamp", "wrap"}
        What becomes of numbers that do not fit: an error, the nearest that fits, or (integers) the low bits.
    scalar_map : dict, optional
        ``{"encode": [[from, to], ...], "decode": [[from, to], ...]}``: numbers that are stored as certain
        others.
    """

    name: ClassVar[str] = "cast_value"
    is_fixed_size: ClassVar[bool] = True
    data_type: ZDType
    rounding: str = "nearest-even"
    out_of_range: str | None = None
    scalar_map: Any = None

    def __post_init__(self) -> None:
        from zarrcore.dtypes import ZDType, get_data_type_from_json

        if not isinstance(self.data_type, ZDType):
            with at("data_type"):
                object.__setattr__(self, "data_type", get_data_type_from_json(self.data_type, zarr_format=3))
        _check_number(self.data_type, "data_type")
        choice(self.rounding, "rounding", _ROUNDING)
        if self.out_of_range is not None:
            choice(self.out_of_range, "out_of_range", ("clamp", "wrap"))
        if self.out_of_range == "wrap" and self.data_type.to_native_dtype().kind == "f":
            fail("out_of_range", '"clamp" or nothing, floating-point numbers do not wrap around', "wrap")
        object.__setattr__(self, "scalar_map", _parse_scalar_map(self.scalar_map))

    @classmethod
    def from_json(cls, configuration: Any) -> Self:
        if "data_type" not in configuration:
            raise MetadataValidationError("is required and missing", where="data_type")
        return super().from_json(configuration)

    def to_json(self) -> dict[str, Any]:
        configuration: dict[str, Any] = {"data_type": self.data_type.to_json(zarr_format=3)}
        if self.rounding != "nearest-even":
            configuration["rounding"] = self.rounding
        if self.out_of_range is not None:
            configuration["out_of_range"] = self.out_of_range
        if self.scalar_map is not None:
            pairs = {direction: [list(pair) for pair in found] for direction, found in self.scalar_map}
            configuration["scalar_map"] = pairs
        return {"name": self.name, "configuration": configuration}

    def resolve(self, spec: ArraySpec) -> Self:
        _check_number(spec.dtype, None)
        for direction in _DIRECTIONS:
            with at(f"configuration.scalar_map.{direction}"):
                self._pairs(direction, spec)
        return self

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        fill = self.data_type.default_scalar()
        if spec.fill is not None:
            fill = self.encode(np.full(1, spec.fill, spec.np_dtype), spec)[0]
        return replace(spec, dtype=self.data_type, fill=fill)

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return self._cast(chunk, self.data_type.to_native_dtype(), self._pairs("encode", spec))

    def decode(self, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
        return self._cast(chunk, spec.np_dtype, self._pairs("decode", spec))

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]] | None:
        kinds = number(spec.np_dtype), number(self.data_type.to_native_dtype())
        whole = spec.np_dtype.kind != "f"  # and what wraps around is stored as integers
        if None in kinds or not whole or self.out_of_range != "wrap" or self.scalar_map:
            return None  # the engine's conversion tells nobody of items that do not fit
        return "astype", {"dtype": kinds[0], "astype": kinds[1]}

    def _pairs(self, direction: str, spec: ArraySpec) -> list[tuple[Any, Any]]:
        """What the scalar map says for one direction, as scalars of the two data types."""
        source, target = (
            (spec.dtype, self.data_type) if direction == "encode" else (self.data_type, spec.dtype)
        )
        found = dict(self.scalar_map or ()).get(direction, ())
        return [
            (source.from_json_scalar(old, zarr_format=3), target.from_json_scalar(new, zarr_format=3))
            for old, new in found
        ]

    def _cast(self, values: np.ndarray, target: np.dtype[Any], pairs: list[tuple[Any, Any]]) -> np.ndarray:
        mapped = np.zeros(values.shape, bool)
        for old, _ in pairs:
            mapped |= np.isnan(values) if _is_nan(old) else values == old
        plain = np.where(mapped, values.dtype.type(0), values)
        if target.kind == "f":
            out = _to_float(plain, target, self.rounding, self.out_of_range)
        else:
            out = _to_integer(plain, target, self.rounding, self.out_of_range)
        for old, new in reversed(pairs):
            out[np.isnan(values) if _is_nan(old) else values == old] = new
        return out


def _to_integer(
    values: np.ndarray, target: np.dtype[Any], rounding: str, out_of_range: str | None
) -> np.ndarray:
    info = np.iinfo(target)
    if values.dtype.kind == "f":
        if not np.all(np.isfinite(values)) and not (out_of_range == "clamp" and not np.isnan(values).any()):
            raise ValueError(f"NaN or infinite items have no value in {target}")
        values = _rounded(values, rounding)
        if out_of_range is None and values.size and _within(values, info):
            return values.astype(target)
        values = _exact(values)
    low, high = int(info.min), int(info.max)
    if out_of_range == "wrap":
        exact = values.astype(object)
        return np.asarray((exact - low) % (high - low + 1) + low, dtype=object).astype(target)
    if out_of_range == "clamp":
        return np.asarray(np.clip(values.astype(object), low, high), dtype=object).astype(target)
    if values.size and (int(values.min()) < low or int(values.max()) > high):
        raise ValueError(f"an item does not fit into {target}")
    return values.astype(target)


def _within(values: np.ndarray, info: np.iinfo[Any]) -> bool:
    """Whether whole floating-point numbers fit; Python compares them with integers exactly."""
    return float(values.min()) >= int(info.min) and float(values.max()) <= int(info.max)


def _exact(values: np.ndarray) -> np.ndarray:
    """Whole floating-point numbers as Python integers; an infinity as a number beyond every data type."""
    beyond = 1 << 80
    out = np.empty(values.shape, object)
    flat = [int(v) if np.isfinite(v) else (beyond if v > 0 else -beyond) for v in values.ravel()]
    out.reshape(-1)[:] = flat
    return out


def _to_float(
    values: np.ndarray, target: np.dtype[Any], rounding: str, out_of_range: str | None
) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = values.astype(target)
    if rounding != "nearest-even":
        nearest = _nudged(values, nearest, rounding)
    overflown = np.isinf(nearest) & (np.isfinite(values) if values.dtype.kind == "f" else True)
    if np.any(overflown):
        if out_of_range != "clamp":
            raise ValueError(f"an item does not fit into {target}")
        nearest[overflown] = np.copysign(np.finfo(target).max, nearest[overflown])
    return nearest


def _nudged(values: np.ndarray, nearest: np.ndarray, rounding: str) -> np.ndarray:
    """The neighbour of the nearest number that `rounding` asks for; all comparisons are exact."""
    from fractions import Fraction

    out = nearest.copy()
    for index in np.ndindex(values.shape):
        if not np.isfinite(nearest[index]):
            continue
        exact, found = Fraction(values[index].item()), Fraction(out[index].item())
        if exact == found:
            continue
        up = {
            "towards-positive": True,
            "towards-negative": False,
            "towards-zero": exact < 0,
        }.get(rounding)
        if up is None:  # nearest, and away from zero where two are equally near
            other = np.nextafter(out[index], out.dtype.type(np.inf if exact > found else -np.inf))
            if abs(Fraction(other.item()) - exact) == abs(found - exact) and abs(
                Fraction(other.item())
            ) > abs(found):
                out[index] = other
        elif (found < exact) if up else (found > exact):
            out[index] = np.nextafter(out[index], out.dtype.type(np.inf if up else -np.inf))
    return out


def _rounded(values: np.ndarray, rounding: str) -> np.ndarray:
    if rounding == "nearest-away":
        # Not floor(x + 0.5): that sum may be rounded itself.
        whole = np.trunc(values)
        away: np.ndarray = whole + np.copysign(np.abs(values - whole) >= 0.5, values)
        return away
    functions = {
        "nearest-even": np.rint,
        "towards-zero": np.trunc,
        "towards-positive": np.ceil,
        "towards-negative": np.floor,
    }
    return functions[rounding](values)  # type: ignore[no-any-return]


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


def _check_number(zdtype: ZDType, where: str | None) -> None:
    if zdtype.item_size is None or zdtype.to_native_dtype().kind not in "iuf":
        raise MetadataValidationError(
            f"expected a data type of integers or floating-point numbers, got {zdtype!r}", where=where
        )


def _is_nan(value: Any) -> bool:
    return bool(value != value)
