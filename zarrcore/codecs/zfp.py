"""The ``zfp`` codec: arrays of numbers, compressed by the library zfp through the package zfpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import choice, fail, integer, known_keys
from zarrcore.codecs._native import optional
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, MetadataValidationError

# The parameters that each mode requires.
_MODES = {
    "reversible": (),
    "expert": ("minbits", "maxbits", "maxprec", "minexp"),
    "fixed_accuracy": ("tolerance",),
    "fixed_rate": ("rate",),
    "fixed_precision": ("precision",),
}

_CARRIERS = {"i1": "i4", "u1": "i4", "i2": "i4", "u2": "i4", "f2": "f4", "u4": "i4", "u8": "i8"}
_ZFP_TYPES = {"i4": 1, "i8": 2, "f4": 3, "f8": 4}
_FEWEST_BITS = {"i4": 1, "i8": 1, "f4": 9, "f8": 12}  # of a block: for reals a flag and an exponent
_MAX_BITS = 16658  # of a block, zfp's own limit
_MAX_DIMENSIONS = 4
_MOST_BITS_SAID = 1 << 15  # of a block, for which the header of a stream has room

# The header of a stream that describes itself: the magic number, type and shape, and the mode.
_MAGIC = int.from_bytes(b"zfp\x05", "little")
_LENGTH_BITS = {1: 48, 2: 24, 3: 16, 4: 12}  # of each length, by the number of dimensions
_HEADER_BYTES, _LONG_HEADER_BYTES = 12, 19  # without the longer form of the mode, and with it
_FIXED_RATES = 2048  # modes below are rates


def _number(value: Any, where: str, most: float = math.inf) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not (0 < value <= most and math.isfinite(value)):
        fail(where, "a positive number" + (f" of at most {most:g}" if math.isfinite(most) else ""), value)
    return value


def _tolerance(value: Any, where: str) -> Any:
    if value != 0 or isinstance(value, bool):  # to zfp, 0 is as near as it can get
        _number(value, where)
    return value


@dataclass(frozen=True, kw_only=True)
class ZfpCodec(ArrayBytesCodec):
    """Numbers in blocks of 4 to the power of the dimensions (codec ``zfp`` of the Zarr extensions).

    Parameters
    ----------
    mode : {"reversible", "expert", "fixed_accuracy", "fixed_rate", "fixed_precision"}
        How much is lost.
    tolerance : float, optional
        Largest absolute error (``fixed_accuracy``); 0 is as near as zfp can get.
    rate : float, optional
        Bits that a number takes (``fixed_rate``).
    precision : int, optional
        Bits of each number that are kept (``fixed_precision``); 0 for all.
    minbits, maxbits, maxprec, minexp : int, optional
        The parameters of zfp's compressed stream (``expert``).

    Notes
    -----
    The package zfpy is needed.  It has no expert mode: such chunks can be read, and written only if the
    parameters are those of another mode.

    Types that zfp lacks are promoted as the specification demands.  It does not define how uint32 and uint64
    are; as other implementations do, the numbers are stored as signed ones, so that those which do not fit
    are refused.
    """

    name: ClassVar[str] = "zfp"
    mode: str
    tolerance: float | None = option(None, _tolerance, omitted=True)
    rate: float | None = option(None, _number, 128, omitted=True)
    precision: int | None = option(None, integer, 0, 64, omitted=True)
    minbits: int | None = option(None, integer, 0, _MAX_BITS, omitted=True)
    maxbits: int | None = option(None, integer, 1, _MAX_BITS, omitted=True)
    maxprec: int | None = option(None, integer, 1, 64, omitted=True)
    minexp: int | None = option(None, integer, -16494, 16272, omitted=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", choice(self.mode, "mode", _MODES))
        given = {name for names in _MODES.values() for name in names if getattr(self, name) is not None}
        for name in _MODES[self.mode]:
            if name not in given:
                raise MetadataValidationError(
                    f"is required in the mode {self.mode!r} and missing", where=name
                )
        for name in sorted(given.difference(_MODES[self.mode])):
            fail(name, f"no such member in the mode {self.mode!r}", getattr(self, name))
        super().__post_init__()
        if self.mode == "expert" and self.minbits > self.maxbits:  # type: ignore[operator]
            fail("minbits", f"at most maxbits, {self.maxbits}", self.minbits)

    @classmethod
    def from_json(cls, configuration: Any) -> Self:
        mode = configuration.get("mode")
        if isinstance(mode, str) and mode in _MODES:
            known_keys(configuration, ("mode", *_MODES[mode]))
        return super().from_json(configuration)

    def resolve(self, spec: ArraySpec) -> Self:
        if _carrier(spec) is None:
            raise MetadataValidationError(
                f"the zfp codec needs integers or floating-point numbers, the data type is {spec.dtype!r}"
            )
        if spec.ndim > _MAX_DIMENSIONS:
            raise MetadataValidationError(
                f"the zfp codec takes at most {_MAX_DIMENSIONS} dimensions, a chunk has {spec.ndim}; "
                "a reshape codec before it can join some"
            )
        return self

    # --- chunks -------------------------------------------------------------------------------------------

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        zfpy = optional("zfpy", "zfp", "zfp")
        if not chunk.size:
            return b""
        numbers = np.ascontiguousarray(_promoted(chunk, spec).reshape(chunk.shape or (1,)))
        parameters = self._writable_parameters(numbers.ndim)
        refuse_bad_rate(parameters.get("rate", -1), numbers, self.name)
        return zfpy.compress_numpy(numbers, write_header=False, **parameters)  # type: ignore[no-any-return]

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        zfpy = optional("zfpy", "zfp", "zfp")
        if not spec.size:
            return np.empty(spec.shape, spec.np_dtype)
        if not memoryview(data).nbytes:
            raise ChunkDecodeError("no bytes for a chunk that has items", codec=self.name)
        carrier = _carrier(spec)
        assert carrier is not None, "checked by resolve"
        shape = spec.shape or (1,)
        # zfp reads where its stream sends it and knows no end, so the end is where no stream can send it.
        longest = _longest_stream(shape, np.dtype(carrier).itemsize, self._fewest_bits(shape))
        is_whole = _is_whole(data, shape, self._bits_of_each(len(shape), carrier))

        def decoded(filler: bytes) -> Any:
            room = bytes(data) + filler * longest
            if self.mode == "expert":
                return zfpy.decompress_numpy(_with_header(room, self._stream_mode(), shape, carrier))
            return zfpy._decompress(room, _ZFP_TYPES[carrier], shape, **self._parameters())

        return _demoted(of_whole_stream(decoded, self.name, is_whole), spec).reshape(spec.shape)

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _MODES[self.mode]}

    def _fewest_bits(self, shape: tuple[int, ...]) -> int:
        """Bits that each block has, whether it needs them or not."""
        if self.mode == "fixed_rate":
            return math.ceil(float(4 ** len(shape)) * (self.rate or 0))
        return self.minbits or 0

    def _bits_of_each(self, ndim: int, carrier: str) -> int | None:
        """Bits that every block has; None if blocks differ."""
        bits = _bits_at(self.rate, ndim) if self.rate else self.maxbits
        is_fixed = self.mode == "fixed_rate" or self.minbits == bits
        return bits if is_fixed and bits and bits >= _FEWEST_BITS[carrier] else None

    def _stream_mode(self) -> int:
        """Return the parameters of the stream in the form that zfp's header has for them."""
        minbits, maxbits, maxprec, minexp = self._parameters().values()
        mode: int = minexp + 16495
        fewest = max(minbits, 1)  # every block has a bit, so that 0 means the same
        for number, bits in ((maxprec - 1, 7), (maxbits - 1, 15), (fewest - 1, 15)):
            mode = mode << bits | number
        return mode << 12 | 0xFFF

    def _writable_parameters(self, ndim: int) -> dict[str, Any]:
        """Return the parameters; those of an expert as the ones of another mode, where one does the same."""
        if self.mode != "expert":
            return self._parameters()
        minbits, maxbits, maxprec, minexp = self._parameters().values()
        plain = minbits in (0, 1) and maxbits == _MAX_BITS
        if plain and maxprec == 64 and minexp == -1075:
            return {}
        if plain and minexp == -1074:
            return {"precision": maxprec}
        if plain and maxprec == 64 and minexp > -1074:
            return {"tolerance": 2.0**minexp}
        if minbits == maxbits and maxprec == 64 and minexp == -1074:
            return {"rate": maxbits / 4**ndim}
        raise ChunkEncodeError(
            "the package zfpy cannot write the expert mode with these parameters, only read it",
            codec=self.name,
        )


def refuse_bad_rate(rate: float, numbers: np.ndarray, codec: str) -> None:
    """Refuse a rate at which zfp would write past its memory, or what cannot be read; below 0 is none."""
    fewest = _FEWEST_BITS.get(f"{numbers.dtype.kind}{numbers.dtype.itemsize}", 1)
    ndim = max(numbers.ndim, 1)
    if not rate <= _MOST_BITS_SAID / 4**ndim:  # NaN is none
        raise ChunkEncodeError(
            f"a rate of {rate:g} is more than the {_MOST_BITS_SAID / 4**ndim:g} bits that zfp can have for "
            f"each {numbers.dtype} of {ndim} dimensions",
            codec=codec,
        )
    if 0 <= _bits_at(rate, ndim) < fewest:
        raise ChunkEncodeError(
            f"a rate of {rate:g} is less than the {fewest / 4**ndim:g} bits that zfp needs at least for each "
            f"{numbers.dtype} of {ndim} dimensions",
            codec=codec,
        )


def _bits_at(rate: float, ndim: int) -> int:
    """Return the bits of each block at a fixed rate, as zfp rounds them."""
    return math.floor(float(4**ndim) * rate + 0.5)


def of_whole_stream(decode: Callable[[bytes], np.ndarray], codec: str, is_whole: bool) -> np.ndarray:
    """Return what ``decode(filler)`` makes of a stream that a byte follows as often as zfp may read it.

    zfp knows no end, and of a stream that was cut short it makes other numbers without a word.  They are
    those that were written if they do not depend on what follows the stream: unless its length shows that it
    `is_whole` it is decoded twice, as zfpy does not return how far zfp has read.
    """
    found = decode(b"\0")
    if not is_whole and found.tobytes() != decode(b"\xff").tobytes():
        raise ChunkDecodeError("the stream is cut off", codec=codec)
    return found


def decode_described(
    decode: Callable[[bytes], np.ndarray], data: Buffer, size: int, codec: str
) -> np.ndarray:
    """Return what ``decode`` makes of a stream with zfp's header, which never reads past what it is given.

    ``zfpy.decompress_numpy`` allocates and reads as the header says.  ChunkDecodeError is raised if it is not
    the header of `size` items, or the stream was cut short; `codec` is the name for messages.
    """
    stream = bytes(data)
    header = int.from_bytes(stream[:_LONG_HEADER_BYTES], "little")
    if len(stream) < _HEADER_BYTES or header & 0xFFFFFFFF != _MAGIC:
        raise ChunkDecodeError(f"not a stream of zfp: it begins with {stream[:4]!r}", codec=codec)
    field, mode = header >> 32, header >> 84
    item_size, ndim = 8 if field & 1 else 4, (field >> 2 & 3) + 1
    bits = _LENGTH_BITS[ndim]
    shape = tuple((field >> 4 + bits * axis & (1 << bits) - 1) + 1 for axis in range(ndim))
    if math.prod(shape) != size:
        raise ChunkDecodeError(f"expected {size} items, got a stream of shape {shape[::-1]}", codec=codec)
    short = mode & 0xFFF
    if short == 0xFFF and len(stream) < _LONG_HEADER_BYTES:
        raise ChunkDecodeError("the stream is cut off", codec=codec)
    header_bytes, fewest, most = _HEADER_BYTES, 0, _MAX_BITS
    if short == 0xFFF:
        header_bytes, fewest, most = _LONG_HEADER_BYTES, (mode >> 12 & 0x7FFF) + 1, (mode >> 27 & 0x7FFF) + 1
    elif short < _FIXED_RATES:
        fewest = most = short + 1
    is_fixed = fewest == most >= _FEWEST_BITS[[*_ZFP_TYPES][field & 3]]
    is_whole = _is_whole(stream[header_bytes:], shape, most if is_fixed else None)
    room = _longest_stream(shape, item_size, fewest)
    return of_whole_stream(lambda filler: decode(stream + filler * room), codec, is_whole)


def _is_whole(data: Buffer, shape: tuple[int, ...], bits_of_each: int | None) -> bool:
    """Return whether a stream is known to have all blocks of a shape, as all have so many bits."""
    if bits_of_each is None:
        return False
    return 8 * memoryview(data).nbytes >= _number_of_blocks(shape) * bits_of_each


def _number_of_blocks(shape: tuple[int, ...]) -> int:
    return math.prod(-(-length // 4) for length in shape)


def _longest_stream(shape: tuple[int, ...], item_size: int, fewest_bits: int) -> int:
    """More bytes than zfp can read for a chunk of `shape`, whatever they are."""
    values: int = 4 ** len(shape)
    bits = max(values * (8 * item_size + 3) + 8 * item_size + 128, fewest_bits)
    return _number_of_blocks(shape) * bits // 8 + 64


def _carrier(spec: ArraySpec) -> str | None:
    """Return the type of zfp that stands in for the chunk's; None where there is none."""
    dtype = spec.np_dtype
    if spec.item_size is None:
        return None
    if dtype.kind in "mM":
        return "i8"
    if getattr(spec.dtype, "_zarr_v3_name", "") == "bfloat16":
        return "f4"
    name = f"{dtype.kind}{dtype.itemsize}"
    return _CARRIERS.get(name, name if name in _ZFP_TYPES else None)


def _promoted(chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
    """Return the numbers in a type that zfp has."""
    carrier: np.dtype[Any] = np.dtype(_carrier(spec))
    kind, bits = chunk.dtype.kind, 8 * chunk.dtype.itemsize
    if kind in "mM":
        return chunk.astype(chunk.dtype.newbyteorder("="), copy=False).view(carrier)
    if kind in "iu" and bits < 32:
        offset = 1 << (bits - 1) if kind == "u" else 0
        widened: np.ndarray = (chunk.astype(carrier) - carrier.type(offset)) << carrier.type(31 - bits)
        return widened
    if kind == "u" and chunk.max() > np.iinfo(carrier).max:
        raise ValueError(f"{chunk.max()} is more than the codec can store: {np.iinfo(carrier).max}")
    return chunk.astype(carrier, copy=False)


def _demoted(found: np.ndarray, spec: ArraySpec) -> np.ndarray:
    """Return the numbers in the chunk's type again."""
    dtype = spec.np_dtype
    kind, bits = dtype.kind, 8 * dtype.itemsize
    if kind in "mM":
        return found.view(dtype.newbyteorder("=")).astype(dtype, copy=False)
    if kind in "iu" and bits < 32:
        offset = 1 << (bits - 1) if kind == "u" else 0
        limits = np.iinfo(dtype)
        found = np.clip((found >> found.dtype.type(31 - bits)) + offset, limits.min, limits.max)
    elif kind == "u":
        found = np.maximum(found, 0)
    return found.astype(dtype, copy=False)


def _with_header(stream: bytes, mode: int, shape: tuple[int, ...], carrier: str) -> bytes:
    """Return the stream after the header that zfp writes before streams which describe themselves."""
    field, bits = 0, _LENGTH_BITS[len(shape)]
    for length in shape:
        if length > 1 << bits:
            raise ChunkDecodeError(f"a length of {length} is more than zfp can read", codec=ZfpCodec.name)
        field = field << bits | (length - 1)
    field = (field << 2 | (len(shape) - 1)) << 2 | (_ZFP_TYPES[carrier] - 1)
    header = _MAGIC | field << 32 | mode << 84
    whole = int.from_bytes(stream, "little") << 148 | header
    return whole.to_bytes(len(stream) + 19, "little")
