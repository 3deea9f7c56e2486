"""The filters of numcodecs that calculate: each number of a chunk is stored as another one.

The ids, configurations and results are those of numcodecs.  The engine has all of them for Booleans,
integers, floating-point and complex numbers; what numcodecs takes besides (strings and times as other items)
runs through numpy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._extension import REQUIRED, option, own_form
from zarrcore._validate import fail, integer
from zarrcore.codecs._native import encode, octets
from zarrcore.codecs.base import ArrayArrayCodec, ArraySpec
from zarrcore.codecs.filters import as_bytes, require_kind
from zarrcore.codecs.spelling import NumcodecsCodec
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

# Name and configuration of a stage of the engine, and the data type of what it makes.
Lowered = tuple[tuple[str, dict[str, Any]], "np.dtype[Any]"]


class _NumberFilter(NumcodecsCodec, ArrayArrayCodec):
    """Base class: in format 3 an array -> array codec, in format 2 a filter of flat items or bytes.

    A subclass has ``_encode`` and ``_decode`` of flat items in numpy, and :meth:`lowered` for the engine.
    """

    stored: ClassVar[str] = "astype"
    """The member with the data type of what is stored; that of the items where there is none."""

    def _check(self) -> None:
        own = vars(self)
        if "astype" in own and own["astype"] is None:
            own["astype"] = own["dtype"]

    def resolve(self, spec: ArraySpec) -> Self:
        codec = super().resolve(spec)
        for member in () if self.is_v2 else self.from_items:
            taken = np.dtype(getattr(codec, member))
            if taken.itemsize != spec.item_size:  # of the same size, it reinterprets them as numcodecs does
                raise MetadataValidationError(
                    f"takes items of the data type {taken.str!r}, but the items before it are {spec.dtype!r}",
                    where=f"configuration.{member}",
                )
        return codec

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        from zarrcore.dtypes import parse_dtype

        stored = self._given.get(self.stored)
        if stored is None:
            return spec
        made = parse_dtype(np.dtype(stored), zarr_format=3)
        return replace(spec, dtype=made, fill=made.default_scalar())

    def encode(self, chunk: Any, spec: ArraySpec | None = None) -> Any:
        """Encode a chunk of `spec`; without `spec`, flat items or bytes."""
        out = self._encode(_flat(chunk))
        return out if spec is None else _shaped(out, self.output_spec(spec))

    def decode(self, chunk: Any, spec: ArraySpec | None = None) -> Any:
        """Decode to a chunk of `spec`; without `spec`, flat items or bytes."""
        out = self._decode(_flat(chunk))
        if spec is not None and len(as_bytes(out)) != spec.nbytes:
            raise ChunkDecodeError(f"expected {spec.nbytes} bytes, got {len(as_bytes(out))}", codec=self.name)
        return out if spec is None else _shaped(out, spec)

    _encode: ClassVar[Callable[[Any, Any], Any]]
    _decode: ClassVar[Callable[[Any, Any], Any]]

    def stage(self, spec: ArraySpec) -> tuple[str, dict[str, Any]] | None:
        lowered = own_form(self, "lowered", spec.np_dtype)
        return None if lowered is None else lowered[0]

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        """Return the filter of items of `dtype` for the chunk engine; None if only Python can run it."""
        raise NotImplementedError


def dtype_name(value: Any, where: str, kinds: str) -> str:
    """Return the name of the data type `value`, checked to be of one of `kinds`."""
    if not isinstance(value, (str, np.dtype, type)):  # NumPy takes None for float64
        fail(where, "the name of a NumPy data type", value)
    try:
        dtype = np.dtype(value)
    except TypeError as error:
        raise MetadataValidationError(f"expected a NumPy data type, got {value!r}", where=where) from error
    if dtype.kind not in kinds:
        raise MetadataValidationError(f"expected a data type of numbers, got {value!r}", where=where)
    return str(dtype.str)


def _float_name(value: Any, where: str) -> str:
    name = dtype_name(value, where, "biufcmM")
    if np.dtype(name).kind != "f":
        fail(where, "a floating-point data type", name)
    return name


def items_of(data: Any, dtype: str | None) -> np.ndarray:
    """Return a flat array or bytes-like object as items of `dtype`."""
    if dtype is None:
        raise TypeError("the data type of the items is missing, and comes from an array only")
    data, width = as_bytes(data), np.dtype(dtype).itemsize
    if len(data) % width:
        raise ValueError(f"{len(data)} bytes are no whole number of items of {np.dtype(dtype)}")
    return np.frombuffer(data, np.uint8).view(dtype)


def _flat(data: Any) -> Any:
    return np.ascontiguousarray(data).reshape(-1) if isinstance(data, np.ndarray) else data


def _shaped(data: Any, spec: ArraySpec) -> np.ndarray:
    return np.frombuffer(as_bytes(data), np.uint8).view(spec.np_dtype).reshape(spec.shape)


def _number(dtype: str | None) -> str | None:
    """Return the name of `dtype` if the engine's filters take such numbers, else None."""
    if dtype is None:
        return None
    known = np.dtype(dtype).kind in "biu" or dtype[1:] in ("f2", "f4", "f8", "c8", "c16")
    return dtype if known else None


def _lowered(name: str, dtype: str | None, astype: str | None, **options: Any) -> Lowered | None:
    """Return a filter of numbers for the chunk engine, if it has the data types."""
    if _number(dtype) is None or _number(astype) is None:
        return None
    return (name, {"dtype": dtype, "astype": astype} | options), np.dtype(astype)


def _converted(items: np.ndarray, dtype: str | None) -> np.ndarray:
    """Return `items` as `dtype`, complex ones without a warning that their imaginary parts are lost."""
    if items.dtype.kind == "c" and np.dtype(dtype).kind in "iuf":
        items = items.real  # pyright: ignore[reportAttributeAccessIssue]
    with np.errstate(all="ignore"):
        return items.astype(dtype, copy=False)


class Delta(_NumberFilter, id="delta"):
    """The first item, then the difference of each item from the one before it.

    Parameters
    ----------
    dtype : str
        Data type of the items.
    astype : str, optional
        Data type of the differences.  Default: `dtype`.

    Notes
    -----
    Of Booleans it is whether they differ, as numcodecs stores it.  They come back as they were; numcodecs
    makes all of them true from the first one on that is.

    Examples
    --------
    >>> filters = Delta(dtype="i4", astype="i1")
    >>> array = zarrcore.create_array({}, shape=4, dtype="i4", zarr_format=2, filters=filters)
    >>> array[:] = [100, 101, 103, 106]  # stored: 100, 1, 2, 3, each in a byte
    >>> array[:].tolist()
    [100, 101, 103, 106]
    """

    from_items = ("dtype",)
    dtype: str | None = option(None, dtype_name, "biufcmM")
    astype: str | None = option(None, dtype_name, "biufcmM")

    def _encode(self, data: Any) -> np.ndarray:
        items = items_of(data, self.dtype)
        out = np.empty(items.size, self.astype)
        if items.dtype.kind + out.dtype.kind in _NO_DIFFERENCES:
            raise TypeError(f"no differences of {items.dtype} as {out.dtype}")
        if items.size:
            out[:1] = _converted(items[:1], self.astype)
            both_integers = items.dtype.kind in "iu" and out.dtype.kind in "iu"
            if both_integers and out[:1].astype(items.dtype) != items[:1]:
                raise OverflowError(f"item 0, {items[0]}, does not fit into {out.dtype}")
            out[1:] = _converted(np.diff(items), self.astype)  # of Booleans: whether they differ
        return out

    def _decode(self, data: Any) -> np.ndarray:
        differences = items_of(data, self.astype)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "b":
            return np.logical_xor.accumulate(differences.astype(bool), dtype=bool)
        if differences.dtype.kind == "m":
            sums = differences.dtype
        elif dtype.kind == "m" or (dtype.kind in "iu" and differences.dtype.kind in "iu"):
            sums = dtype
        else:
            sums = np.result_type(dtype, differences.dtype)
        with np.errstate(all="ignore"):
            return _converted(np.cumsum(differences, dtype=sums), self.dtype)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        return _lowered(self._engine_name, self.dtype, self.astype)


# Kinds of items and differences that numcodecs cannot encode, or not decode.
_NO_DIFFERENCES = frozenset(
    [*(f"M{kind}" for kind in "biufcmM"), *(f"{kind}M" for kind in "biufcm")]
    + [*(f"m{kind}" for kind in "ifc"), *(f"{kind}m" for kind in "fc")]
)


def _real(value: Any, where: str) -> float:
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        fail(where, "a number", value)
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        fail(where, "a finite number", value)
    # In a document it is a number of Python.
    return value.item() if isinstance(value, np.generic) else value


class FixedScaleOffset(_NumberFilter, id="fixedscaleoffset"):
    """Numbers less an offset, times a scale, rounded to integers.

    Parameters
    ----------
    offset, scale : float
        What is subtracted from the items, and what they are then multiplied by.
    dtype : str
        Data type of the items.
    astype : str, optional
        Data type of the rounded numbers.  Default: `dtype`.

    Notes
    -----
    The arithmetic is that of numpy 2 for items of `dtype` and constants of Python: in single precision for
    ``float32``, modulo a power of two for integers as long as the constants are some, else in double
    precision.

    Examples
    --------
    >>> filters = FixedScaleOffset(offset=20, scale=10, dtype="f8", astype="i2")
    >>> array = zarrcore.create_array({}, shape=3, dtype="f8", zarr_format=2, filters=filters)
    >>> array[:] = [18.04, 20, 21.98]
    >>> array[:].tolist()
    [18.0, 20.0, 22.0]
    """

    is_elementwise = True
    from_items = ("dtype",)
    offset: float = option(REQUIRED, _real)
    scale: float = option(REQUIRED, _real)
    dtype: str | None = option(None, dtype_name, "biufcmM")
    astype: str | None = option(None, dtype_name, "biufcmM")

    def _check(self) -> None:
        if self.scale == 0:
            fail("scale", "a number other than 0", self.scale)
        super()._check()

    def _encode(self, data: Any) -> np.ndarray:
        items = items_of(data, self.dtype)
        with np.errstate(all="ignore"):
            return _converted(np.around((items - self.offset) * self.scale), self.astype)

    def _decode(self, data: Any) -> np.ndarray:
        items = items_of(data, self.astype)
        with np.errstate(all="ignore"):
            return _converted(items / self.scale + self.offset, self.dtype)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        offset, scale = _constant(self.offset, "offset"), _constant(self.scale, "scale")
        if not offset or not scale:
            return None
        return _lowered(self._engine_name, self.dtype, self.astype, **offset, **scale)


def _constant(value: float, name: str) -> dict[str, float]:
    """Return the options of the engine for a constant; none if the engine has none that does the same."""
    is_whole = isinstance(value, int)
    if not (-(2**63) <= value < 2**64 if is_whole else math.isfinite(value)):
        return {}
    return {name: float(value)} | ({f"whole_{name}": value} if is_whole else {})


class Quantize(_NumberFilter, id="quantize"):
    """Floating-point numbers rounded to decimal digits, by the next power of two.

    Parameters
    ----------
    digits : int
        Digits after the decimal point that are kept.
    dtype : str
        Data type of the items.
    astype : str, optional
        Data type of the rounded numbers.  Default: `dtype`.

    Examples
    --------
    >>> filters = Quantize(digits=1, dtype="f8")
    >>> array = zarrcore.create_array({}, shape=2, dtype="f8", zarr_format=2, filters=filters)
    >>> array[:] = [3.14159, 2.71828]
    >>> array[:].tolist()
    [3.125, 2.6875]
    """

    stored = ""
    is_elementwise = True
    from_items = ("dtype",)
    digits: int = option(REQUIRED, _real)
    dtype: str | None = option(None, _float_name)
    astype: str | None = option(None, _float_name)

    def _encode(self, data: Any) -> np.ndarray:
        items = items_of(data, self.dtype)
        scale = self._scale()
        with np.errstate(all="ignore"):
            return (np.around(scale * items) / scale).astype(self.astype, copy=False)

    def _decode(self, data: Any) -> np.ndarray:
        return items_of(data, self.astype).astype(self.dtype, copy=False)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        try:
            return _lowered(self._engine_name, self.dtype, self.astype, scale=self._scale())
        except (OverflowError, ValueError):  # the filter fails for whatever it is given
            return None

    def _scale(self) -> float:
        """Return the power of two whose reciprocal is not more than the last digit that is kept."""
        exponent = math.log10(10.0**-self.digits)
        exponent = math.floor(exponent) if exponent < 0 else math.ceil(exponent)
        return float(2.0 ** math.ceil(math.log2(10.0**-exponent)))


# Bits of the mantissa of a floating-point number, by its bytes.
_MANTISSA_BITS = {2: 10, 4: 23, 8: 52}


class BitRound(_NumberFilter, id="bitround"):
    """Floating-point numbers rounded to fewer bits of their mantissa.

    Parameters
    ----------
    keepbits : int
        Bits that are kept.

    Examples
    --------
    >>> filters = BitRound(keepbits=4)
    >>> array = zarrcore.create_array({}, shape=3, dtype="f4", zarr_format=2, filters=filters)
    >>> array[:] = [1.01, 3.14159, 1000]
    >>> array[:].tolist()
    [1.0, 3.125, 992.0]
    """

    is_elementwise = True
    keepbits: int = option(REQUIRED, integer, 0, 64)

    def resolve(self, spec: ArraySpec) -> Self:
        if not self.is_v2 and spec.np_dtype.kind != "f":
            raise MetadataValidationError(
                f"takes floating-point numbers, but the items before it are {spec.dtype!r}"
            )
        return self

    def _encode(self, data: Any) -> np.ndarray:
        items = np.asarray(data).reshape(-1)
        lowered = own_form(self, "lowered", items.dtype)
        if lowered is None:
            wanted = f"floating-point items with {self.keepbits} bits of mantissa or more"
            raise TypeError(f"expected {wanted}, got {items.dtype}")
        return np.frombuffer(encode(lowered[0], octets(items, items.dtype).data), items.dtype)

    def _decode(self, data: Any) -> Any:
        return data

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        if dtype.kind != "f" or self.keepbits > _MANTISSA_BITS.get(dtype.itemsize, -1):
            return None
        return (self._engine_name, {"keepbits": self.keepbits, "dtype": dtype.str}), dtype


class PackBits(_NumberFilter, id="packbits"):
    """Eight Boolean items in a byte, after a byte that counts the unused bits of the last one.

    Examples
    --------
    >>> array = zarrcore.create_array({}, shape=16, dtype="?", zarr_format=2, filters=PackBits())
    >>> array[::2] = True
    >>> int(array[:].sum())
    8
    """

    def check_items(self, spec: ArraySpec) -> None:
        require_kind(spec, "b", self.name, "Boolean items")

    def resolve(self, spec: ArraySpec) -> Self:
        if not self.is_v2 and spec.np_dtype != np.dtype(bool):
            raise MetadataValidationError(f"expected the data type bool, got {spec.dtype!r}")
        return self

    def output_spec(self, spec: ArraySpec) -> ArraySpec:
        from zarrcore.dtypes import parse_dtype

        made = parse_dtype("uint8", zarr_format=3)
        return replace(spec, shape=(1 + -(-spec.size // 8),), dtype=made, fill=made.default_scalar())

    def _encode(self, data: Any) -> bytes:
        items = items_of(data, "?")
        return bytes([-items.size % 8]) + np.packbits(items).tobytes()

    def _decode(self, data: Any) -> np.ndarray:
        packed = np.frombuffer(as_bytes(data), np.uint8)
        unused = int(packed[0]) if packed.size else -1
        if not 0 <= unused < 8 or (packed.size == 1 and unused):
            raise ChunkDecodeError(f"{packed.size} bytes that state {unused} unused bits", codec=self.name)
        return np.unpackbits(packed[1:], count=8 * (packed.size - 1) - unused).view(bool)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        return (self._engine_name, {}), np.dtype("u1")


class AsType(_NumberFilter, id="astype"):
    """Items stored as another data type.

    Parameters
    ----------
    encode_dtype : str
        Data type that is stored.
    decode_dtype : str
        Data type of the items.

    Examples
    --------
    >>> filters = AsType(encode_dtype="f4", decode_dtype="f8")
    >>> array = zarrcore.create_array({}, shape=3, dtype="f8", zarr_format=2, filters=filters)
    >>> array[:] = 1 / 3
    >>> float(array[0])
    0.3333333432674408
    """

    stored = "encode_dtype"
    is_elementwise = True
    from_items = ("decode_dtype",)
    encode_dtype: str = option(REQUIRED, dtype_name, "biufcmMSUV")
    decode_dtype: str | None = option(None, dtype_name, "biufcmMSUV")

    def _encode(self, data: Any) -> np.ndarray:
        return _converted(items_of(data, self.decode_dtype), self.encode_dtype)

    def _decode(self, data: Any) -> np.ndarray:
        return _converted(items_of(data, self.encode_dtype), self.decode_dtype)

    def lowered(self, dtype: np.dtype[Any]) -> Lowered | None:
        return _lowered(self._engine_name, self.decode_dtype, self.encode_dtype)
