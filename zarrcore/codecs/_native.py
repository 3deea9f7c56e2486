"""The way from codec classes to the chunk engine, which is imported when it is first needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.codecs.base import BytesBytesCodec
from zarrcore.errors import ChunkDecodeError

if TYPE_CHECKING:
    from types import ModuleType

    from zarrcore.codecs.base import ArraySpec, Buffer

__all__ = ["MAX_STAGES", "NativeBytesCodec", "decode", "encode", "engine", "unbounded_room"]

MAX_STAGES = 16
"""Most bytes -> bytes codecs that the engine takes in one chain."""

_MOST = 2**31 - 1


def engine() -> ModuleType:
    """The compiled chunk engine."""
    from zarrcore._core import engine as compiled

    return compiled


def encode(stage: tuple[str, dict[str, Any]], data: Buffer) -> bytes:
    """Encode `data` with one codec of the engine."""
    name, configuration = stage
    return engine().encode_bytes(name, configuration, data)  # type: ignore[no-any-return]


def decode(
    stage: tuple[str, dict[str, Any]], data: Buffer, spec: ArraySpec | None, max_size: int | None
) -> bytes:
    """Decode `data` with one codec of the engine, to at most `max_size` bytes."""
    name, configuration = stage
    if max_size is not None:
        return engine().decode_bytes(name, configuration, data, max_size)  # type: ignore[no-any-return]
    most = unbounded_room(data, spec)
    room = min(max(1 << 16, 4 * len(data)), most)
    while True:  # with more and more room, so that a small chunk which claims to be huge costs little
        try:
            return engine().decode_bytes(name, configuration, data, room)  # type: ignore[no-any-return]
        except ChunkDecodeError:
            if room == most:
                raise
        room = min(8 * room, most)


def unbounded_room(data: Buffer, spec: ArraySpec | None) -> int:
    """Most bytes that a chunk may decode to whose size nothing says, because its items have any length.

    More than DEFLATE can make of its input, and room for many items that are equal or empty.
    """
    items = 0 if spec is None else spec.size
    return min(2048 * memoryview(data).nbytes + 64 * items + (1 << 24), _MOST)


class NativeBytesCodec(BytesBytesCodec):
    """Base class of bytes -> bytes codecs that the engine has: a subclass gives its :meth:`stage`."""

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        return encode(self._stage(), data)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> bytes:
        return decode(self._stage(), data, spec, max_size)

    def _stage(self) -> tuple[str, dict[str, Any]]:
        stage = self.stage()
        assert stage is not None
        return stage
