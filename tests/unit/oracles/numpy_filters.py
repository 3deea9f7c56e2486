"""``bitround``, ``scale_offset`` and ``packbits`` in NumPy: what the engine is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.codecs.packbits import PackBitsCodec
from zarrcore.codecs.scale_offset import BitRoundCodec, ScaleOffset
from zarrcore.dtypes import bit_layout

if TYPE_CHECKING:
    from zarrcore.codecs import ArraySpec

# Bits of the mantissa of each floating-point type, by the bits of a number.
_MANTISSA_BITS = {16: 10, 32: 23, 64: 52}


def bitround_encode(codec: BitRoundCodec, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
    if chunk.dtype.kind in "iumM":
        native = np.array(chunk, chunk.dtype.newbyteorder("="), order="C")
        kind = "u" if chunk.dtype.kind == "u" else "i"
        rounded = _round_integers(native.view(f"{kind}{native.itemsize}"), codec.keepbits)
        rounded = rounded.view(native.dtype)
        if native.dtype.kind in "mM":
            rounded = np.where(np.isnat(native), native, rounded)
        return rounded.astype(chunk.dtype, copy=False)
    layout = _float_layout(spec)
    assert layout is not None, "checked by resolve"
    bits, mantissa = layout
    swapped = not chunk.dtype.isnative
    native = np.array(chunk, chunk.dtype.newbyteorder("=") if swapped else chunk.dtype, order="C")
    words = native.reshape(-1).view(f"u{bits // 8}")
    words[...] = _round_floats(words, mantissa, mantissa - codec.keepbits)
    return native.astype(chunk.dtype, copy=False)


def _float_layout(spec: ArraySpec) -> tuple[int, int] | None:
    """Bits of a floating-point number, or a part of a complex one, and of its mantissa; None for others."""
    layout = bit_layout(spec.dtype)
    if layout is None or layout.bits not in _MANTISSA_BITS:
        return None
    name = str(getattr(spec.dtype, "_zarr_v3_name", ""))
    if "bfloat16" in name:
        return layout.bits, 7
    is_float = spec.np_dtype.kind in "fc" or "float" in name
    return (layout.bits, _MANTISSA_BITS[layout.bits]) if is_float else None


def _round_floats(words: np.ndarray, mantissa: int, drop: int) -> np.ndarray:
    """Round the mantissa, as bits: the carry goes into the exponent, which is the next larger number."""
    if drop <= 0:
        return words
    word = words.dtype.type
    half = word((1 << (drop - 1)) - 1)
    rounded = words + half + ((words >> word(drop)) & word(1))
    rounded &= ~word((1 << drop) - 1)
    exponent = word((1 << (8 * words.itemsize - 1)) - (1 << mantissa))
    return np.where(words & exponent == exponent, words, rounded)


def _round_integers(values: np.ndarray, keepbits: int) -> np.ndarray:
    """Keep `keepbits` bits from the highest that is set; the sign stays apart."""
    word = np.dtype(f"u{values.itemsize}").type
    one, width = word(1), 8 * values.itemsize
    negative = values < 0
    words = values.view(word)
    size = np.where(negative, ~words + one, words)
    drop = np.maximum(_bit_length(size).astype("i8") - keepbits, 0)
    shift = np.minimum(drop, width - 1).astype(word)
    kept = np.where(drop < width, size >> shift, word(0))
    down = kept << shift
    half = np.where(shift > 0, one << (np.maximum(shift, one) - one), one)
    rest = size - down
    up = (rest > half) | ((rest == half) & (kept & one == one))
    rounded = (kept + up.astype(word)) << shift
    most = np.where(negative, one << word(width - 1), word(np.iinfo(values.dtype).max))
    rounded = np.where((rounded < down) | (rounded > most) | (drop == width), down, rounded)
    restored: np.ndarray = np.where(negative, ~rounded + one, rounded).astype(word).view(values.dtype)
    return restored


def _bit_length(words: np.ndarray) -> np.ndarray:
    """Position of the highest bit that is set, from 1; 0 for zero."""
    word = words.dtype.type
    length = np.zeros(words.shape, "u1")
    rest = words.copy()
    for step in (32, 16, 8, 4, 2, 1):
        if step < 8 * words.itemsize:
            big = (rest >> word(step)) > 0
            length += np.where(big, step, 0).astype("u1")
            rest = np.where(big, rest >> word(step), rest)
    return length + (rest > 0)


def scale_encode(codec: ScaleOffset, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
    offset, scale = codec._scalars(spec)
    if chunk.dtype.kind == "f":
        scaled: np.ndarray = ((chunk - offset) * scale).astype(chunk.dtype, copy=False)
        return scaled
    return _fitting((chunk.astype(object) - int(offset)) * int(scale), chunk)


def scale_decode(codec: ScaleOffset, chunk: np.ndarray, spec: ArraySpec) -> np.ndarray:
    offset, scale = codec._scalars(spec)
    if chunk.dtype.kind == "f":
        original: np.ndarray = ((chunk / scale) + offset).astype(chunk.dtype, copy=False)
        return original
    exact = chunk.astype(object)
    if chunk.size and np.any(exact % int(scale)):
        raise ValueError(f"an item is no multiple of the scale {codec.scale}")
    return _fitting(exact // int(scale) + int(offset), chunk)


def _fitting(exact: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Exact integers in the data type of `like`."""
    info = np.iinfo(like.dtype)
    if exact.size and not (info.min <= exact.min() and exact.max() <= info.max):
        raise ValueError(f"an item does not fit into {like.dtype}")
    return exact.astype(like.dtype)


def _layout(spec: ArraySpec) -> Any:
    return bit_layout(spec.dtype)


def _little_endian(spec: ArraySpec) -> np.dtype[Any]:
    return spec.np_dtype.newbyteorder("<")


def packbits_encode(codec: PackBitsCodec, chunk: np.ndarray, spec: ArraySpec) -> bytes:
    layout = _layout(spec)
    first, last = codec._bits(layout)
    items = np.ascontiguousarray(chunk, _little_endian(spec)).reshape(-1)
    width = spec.np_dtype.itemsize // layout.components
    raw = items.view(np.uint8).reshape(items.size * layout.components, width)
    bits = raw if layout.bits == 1 else np.unpackbits(raw, axis=1, bitorder="little")[:, first : last + 1]
    packed = np.packbits(bits.reshape(-1), bitorder="little").tobytes()
    padding = bytes([-bits.size % 8])
    if codec.padding_encoding == "first_byte":
        return padding + packed
    return packed + padding if codec.padding_encoding == "last_byte" else packed


def packbits_decode(codec: PackBitsCodec, data: Any, spec: ArraySpec) -> np.ndarray:
    packed = np.frombuffer(data, np.uint8)
    if packed.size != codec.encoded_size(spec):
        raise ValueError(f"expected {codec.encoded_size(spec)} bytes, got {packed.size}")
    count = codec._bit_count(spec)
    if codec.padding_encoding != "none":
        at_start = codec.padding_encoding == "first_byte"
        padding, packed = (packed[0], packed[1:]) if at_start else (packed[-1], packed[:-1])
        if padding != -count % 8:
            raise ValueError(f"expected {-count % 8} bits of padding, got {padding}")
    return _items(codec, np.unpackbits(packed, count=count, bitorder="little"), spec).reshape(spec.shape)


def _items(codec: PackBitsCodec, bits: np.ndarray, spec: ArraySpec) -> np.ndarray:
    layout = _layout(spec)
    if layout.bits == 1:
        return bits.view(np.bool_)
    first, last = codec._bits(layout)
    numbers = spec.size * layout.components
    full = np.zeros((numbers, 8 * spec.np_dtype.itemsize // layout.components), np.uint8)
    full[:, first : last + 1] = bits.reshape(numbers, last - first + 1)
    if layout.signed:  # the sign is the highest bit that was kept
        full[:, last + 1 : layout.bits] = full[:, last : last + 1]
    packed = np.packbits(full, axis=1, bitorder="little").reshape(-1)
    return packed.view(_little_endian(spec)).astype(spec.np_dtype, copy=False)


METHODS = [
    (BitRoundCodec, "encode", bitround_encode),
    (ScaleOffset, "encode", scale_encode),
    (ScaleOffset, "decode", scale_decode),
    (PackBitsCodec, "encode", packbits_encode),
    (PackBitsCodec, "decode", packbits_decode),
]
"""Class, name and replacement of what the engine does otherwise."""
