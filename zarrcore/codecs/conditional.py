"""The ``conditional`` codec: other codecs, each applied to a chunk or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, ClassVar, Self

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import at, describe, fail, integer
from zarrcore.codecs.base import ArraySpec, Buffer, BytesBytesCodec, Codec, encoded_limit
from zarrcore.codecs.chain import IgnoredCodec, parse_codecs
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

Decision = Callable[[Codec, Buffer, Buffer], bool]

_MOST_HEADER_BITS = 1 << 16


def _nbytes(data: Buffer) -> int:
    return memoryview(data).nbytes


DECISIONS: dict[str, Decision] = {
    "compress_if_smaller": lambda codec, data, encoded: _nbytes(encoded) < _nbytes(data),
    "always_apply": lambda codec, data, encoded: True,
    "never_apply": lambda codec, data, encoded: False,
}
"""The decisions that have names."""


@dataclass(frozen=True, kw_only=True)
class ConditionalCodec(BytesBytesCodec):
    """Codecs that are used or not; a header in each chunk records which (codec ``conditional``, extensions).

    Parameters
    ----------
    codecs : sequence of (Codec or dict or str)
        The bytes -> bytes codecs.
    header_bits : int, optional
        Bits of the header, a multiple of 8, at least one for each codec.  Default: as few as there can be.
    decision : str or callable
        What decides for each codec when a chunk is written: a name of :data:`DECISIONS`, or a function of the
        codec, the bytes before it and the bytes that it makes of them.  No part of the metadata.
    """

    name: ClassVar[str] = "conditional"
    codecs: tuple[BytesBytesCodec, ...]
    header_bits: int | None = option(None, integer, 0, _MOST_HEADER_BITS, omitted=True)
    decision: str | Decision = field(default="compress_if_smaller", metadata={"runtime": True}, compare=False)

    def __post_init__(self) -> None:
        with at("codecs"):
            codecs = parse_codecs(self.codecs)
        for i, codec in enumerate(codecs):
            if isinstance(codec, IgnoredCodec):
                raise MetadataValidationError("expected a known bytes->bytes codec", where=f"codecs[{i}]")
            if not isinstance(codec, BytesBytesCodec):
                reason = f"expected a bytes->bytes codec, got {codec.name!r}"
                raise MetadataValidationError(reason, where=f"codecs[{i}]")
        object.__setattr__(self, "codecs", codecs)
        super().__post_init__()
        bits = self.header_bits
        if bits is not None and (bits % 8 or bits < len(codecs)):
            fail("header_bits", f"a multiple of 8 of at least {len(codecs)}", bits)
        if not callable(self.decision) and self.decision not in DECISIONS:
            raise MetadataValidationError(
                f"expected one of {', '.join(DECISIONS)} or a function, got {describe(self.decision)}",
                where="decision",
            )

    def resolve(self, spec: ArraySpec) -> Self:
        resolved = []
        for i, codec in enumerate(self.codecs):
            with at(f"configuration.codecs[{i}]"):
                resolved.append(codec.resolve(spec))
        return replace(self, codecs=tuple(resolved))

    @property
    def header_nbytes(self) -> int:
        """Bytes of the header."""
        return -(-len(self.codecs) // 8) if self.header_bits is None else self.header_bits // 8

    def encode(self, data: Buffer, spec: ArraySpec | None = None) -> bytes:
        decide = self.decision if callable(self.decision) else DECISIONS[self.decision]
        mask = 0
        for i, codec in enumerate(self.codecs):
            encoded = codec.encode(data, spec)
            if decide(codec, data, encoded):
                data, mask = encoded, mask | 1 << i
        return mask.to_bytes(self.header_nbytes, "little") + bytes(data)

    def decode(self, data: Buffer, spec: ArraySpec | None = None, max_size: int | None = None) -> Buffer:
        view = memoryview(data).cast("B")
        if len(view) < self.header_nbytes:
            raise ChunkDecodeError(
                f"{len(view)} bytes cannot hold the header of {self.header_nbytes}", codec=self.name
            )
        mask = int.from_bytes(view[: self.header_nbytes], "little")
        if mask >> len(self.codecs):
            raise ChunkDecodeError(
                f"the header {mask:#x} names more than {len(self.codecs)} codecs", codec=self.name
            )
        used = [codec for i, codec in enumerate(self.codecs) if mask >> i & 1]
        limits = [max_size]
        for codec in used:
            limits.append(encoded_limit(codec, limits[-1]))
        found: Buffer = view[self.header_nbytes :]
        for codec, limit in zip(reversed(used), reversed(limits[:-1]), strict=True):
            found = codec.decode(found, spec, limit)
        return found

    def stage(self) -> tuple[str, dict[str, Any]] | None:
        stages = tuple(stage for codec in self.codecs if (stage := codec.stage()) is not None)
        if callable(self.decision) or len(stages) < len(self.codecs):
            return None
        options = {"codecs": stages, "header": self.header_nbytes, "decision": self.decision}
        return self._engine_name, options
