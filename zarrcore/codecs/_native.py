"""The way from codec classes to the chunk engine, which is imported when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.codecs.base import BytesBytesCodec
from zarrcore.errors import ChunkDecodeError

if TYPE_CHECKING:
    from types import ModuleType

    from zarrcore.codecs.base import ArraySpec, Buffer

__all__ = ["NativeBytesCodec", "decode", "encode", "engine"]

UNBOUNDED_LIMIT = 2**31 - 1
"""Most bytes that a chunk without a known size (of a data type of variable length) may decode to."""


def engine() -> ModuleType:
    """The compiled chunk engine."""
    from zarrcore._core import engine as compiled

    return compiled


def encode(stage: tuple[str, dict[str, Any]], data: Buffer) -> bytes:
    """Encode `data` with one codec of the engine."""
    name, configuration = stage
    return engine().encode_bytes(name, configuration, data)  # type: ignore[no-any-return]


def decode(stage: tuple[str, dict[str, Any]], data: Buffer, max_size: int | None) -> bytes:
    """Decode `data` with one codec of the engine, to at most `max_size` bytes."""
    name, configuration = stage
    if max_size is not None:
        return engine().decode_bytes(name, configuration, data, max_size)  # type: ignore[no-any-return]
    return _decode_unbounded(name, configuration, data)


def _decode_unbounded(name: str, configuration: dict[str, Any], data: Buffer) -> bytes:
    """Decode with more and more room, so that a small chunk which claims to be huge costs little."""
    room = max(1 << 16, 4 * len(data))
    while True:
        room = min(room, UNBOUNDED_LIMIT)
        try:
            return engine().decode_bytes(name, configuration, data, room)  # type: ignore[no-any-return]
        except ChunkDecodeError:
            if room == UNBOUNDED_LIMIT or room > 2048 * len(data) + (1 << 24):
                raise
        room *= 8


class NativeBytesCodec(BytesBytesCodec):
    """Base class of bytes -> bytes codecs that the engine has: a subclass gives its :meth:`stage`."""

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        return encode(self._stage(), data)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        return decode(self._stage(), data, max_size)

    def _stage(self) -> tuple[str, dict[str, Any]]:
        stage = self.stage()
        assert stage is not None
        return stage
