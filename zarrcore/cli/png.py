"""Pictures of two-dimensional values: colors, PNG files, and blocks of color in a terminal."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

# From dark to light, in steps that look equal, also to people who do not see all colors.
_COLORS = np.array([
    (68, 1, 84), (71, 45, 123), (59, 82, 139), (44, 114, 142), (33, 145, 140), (40, 174, 128), (94, 201, 98),
    (173, 220, 48), (253, 231, 37),
], np.float64)  # fmt: skip
_NOTHING = (128, 128, 128)  # NaN and absent chunks
_SHADES = " .:-=+*#%@"


def limits(values: Any) -> tuple[float, float]:
    """Return the least and the largest finite value; 0 and 0 if there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def fractions(values: Any) -> Any:
    """Return values scaled to 0 ... 1 as float64; NaN stays, and what is infinite lies at an end."""
    values = np.asarray(values, np.float64)
    low, high = limits(values)
    half = high / 2 - low / 2  # halves, since the distance may be more than a float can hold
    scaled = (values / 2 - low / 2) / half if half > 0 else np.where(np.isnan(values), np.nan, 0.0)
    return np.clip(scaled, 0, 1)


def colors(scaled: Any) -> Any:
    """Return the colors of fractions, as uint8 of shape (..., 3)."""
    at = np.nan_to_num(scaled) * (len(_COLORS) - 1)
    shown = np.stack([np.interp(at, np.arange(len(_COLORS)), _COLORS[:, k]) for k in range(3)], axis=-1)
    shown[np.isnan(scaled)] = _NOTHING
    return shown.astype(np.uint8)


def png(pixels: Any) -> bytes:
    """Return an image of shape (height, width, 3) and dtype uint8 as a PNG file."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + width * 3), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = pixels.reshape(height, width * 3)

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows.tobytes(), 6)) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def enlarged(values: Any, least: int) -> Any:
    """Return an image whose pixels are repeated until its longer side has at least so many."""
    factor = max(1, -(-least // max(values.shape[:2])))
    return values.repeat(factor, axis=0).repeat(factor, axis=1)


def thinned(values: Any, height: int, width: int) -> Any:
    """Return at most so many rows and columns, evenly chosen."""
    rows = np.linspace(0, values.shape[0] - 1, min(height, values.shape[0])).round().astype(int)
    columns = np.linspace(0, values.shape[1] - 1, min(width, values.shape[1])).round().astype(int)
    return values[np.ix_(rows, columns)]


def blocks(scaled: Any) -> Iterator[str]:
    """Yield lines for a terminal with colors: each character shows two rows."""
    pixels = colors(scaled)
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, pixels[-1:]])
    for above, below in zip(pixels[::2].tolist(), pixels[1::2].tolist(), strict=True):
        line = "".join(
            f"\x1b[38;2;{a[0]};{a[1]};{a[2]};48;2;{b[0]};{b[1]};{b[2]}m\u2580"
            for a, b in zip(above, below, strict=True)
        )
        yield f"{line}\x1b[0m"


def shades(scaled: Any, nothing: str) -> Iterator[str]:
    """Yield lines of plain characters, a blank for 0 and @ for 1; `nothing` is for NaN."""
    at = (np.nan_to_num(scaled) * (len(_SHADES) - 1)).round().astype(int)
    for row, missing in zip(at.tolist(), np.isnan(scaled).tolist(), strict=True):
        yield "".join(nothing if none else _SHADES[k] for k, none in zip(row, missing, strict=True))
