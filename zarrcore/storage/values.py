"""Values of keys: bytes, and bytes with parts of them replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore.errors import StoreError

if TYPE_CHECKING:
    from typing_extensions import Buffer


def as_view(value: Buffer, key: str) -> bytes | memoryview:
    """Return the bytes of a value, without a copy where that is possible.

    Raises
    ------
    TypeError
        If the value is not bytes-like; the message names the key.
    """
    if isinstance(value, bytes):
        return value
    # zarr-python's Buffer objects are not buffers themselves, but hand one out.
    export = getattr(value, "as_buffer_like", None)
    try:
        view = memoryview(export() if export is not None else value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"key {key!r}: expected a bytes-like value, got {type(value).__name__}") from error
    if view.nbytes == 0:
        return b""
    if not view.c_contiguous:
        return view.tobytes()
    return view.cast("B")


def patched(key: str, old: Buffer | None, parts: list[tuple[int, bytes | memoryview]]) -> bytes:
    """Return a value with parts of it replaced."""
    value = bytearray(b"" if old is None else old)
    done = 0
    for start, part in sorted(parts, key=lambda item: item[0]):
        if start < 0:
            raise StoreError(f"key {key!r}: a part cannot start at byte {start}")
        if start < done:
            raise StoreError(
                f"key {key!r}: the part at byte {start} overlaps the one that ends at byte {done}"
            )
        if start > len(value):
            raise StoreError(
                f"key {key!r}: a part at byte {start} leaves a gap after the end at byte {len(value)}"
            )
        done = start + len(part)
        value[start:done] = part
    return bytes(value)
