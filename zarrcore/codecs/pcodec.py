"""The ``pcodec`` codec: sequences of numbers, compressed losslessly by the package pcodec."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from zarrcore._extension import option
from zarrcore._records import dataclass
from zarrcore._validate import choice, fail, integer
from zarrcore.codecs._native import optional
from zarrcore.codecs.base import ArrayBytesCodec, ArraySpec, Buffer
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

_DELTA_SPECS = ("auto", "none", "no_op", "try_consecutive", "try_lookback")
_TYPES = frozenset(f"{kind}{size}" for kind in "iuf" for size in (2, 4, 8))
_MOST_PER_PAGE = 1 << 24


def _pcodec() -> Any:
    return optional("pcodec", "pcodec", "pcodec")


@dataclass(frozen=True, kw_only=True)
class PCodecCodec(ArrayBytesCodec):
    """Numbers of 16, 32 or 64 bits in the standalone format of pco.

    Parameters
    ----------
    level : int
        From 0, fast, to 12, small.
    mode_spec : {"auto", "classic"}
        Whether a common structure of the numbers, such as a common divisor, is looked for.
    delta_spec : {"auto", "none", "no_op", "try_consecutive", "try_lookback"}
        Which differences are taken; ``none`` is the older name of ``no_op``.
    paging_spec : {"equal_pages_up_to"}
        How the numbers are cut into pages.
    delta_encoding_order : int, optional
        How many times differences are taken, 0..7, with ``try_consecutive`` or ``auto``.
    equal_pages_up_to : int
        Most numbers in a page.

    Notes
    -----
    The configuration and the bytes are those of ``numcodecs.pcodec``; the name is the one that zarrs has.
    """

    name: ClassVar[str] = "pcodec"
    level: int = option(8, integer, 0, 12)
    mode_spec: str = option("auto", choice, ("auto", "classic"))
    delta_spec: str = option("auto", choice, _DELTA_SPECS)
    paging_spec: str = option("equal_pages_up_to", choice, ("equal_pages_up_to",))
    delta_encoding_order: int | None = option(None, integer, 0, 7)
    equal_pages_up_to: int = option(262144, integer, 1, _MOST_PER_PAGE)

    def __post_init__(self) -> None:
        super().__post_init__()
        order = self.delta_encoding_order
        if order is not None and self.delta_spec not in ("auto", "try_consecutive"):
            fail("delta_encoding_order", f"null with delta_spec {self.delta_spec}", order)

    def resolve(self, spec: ArraySpec) -> Self:
        if spec.item_size is None or f"{spec.np_dtype.kind}{spec.np_dtype.itemsize}" not in _TYPES:
            raise MetadataValidationError(
                "the pcodec codec needs integers or floating-point numbers of 16, 32 or 64 bits, "
                f"the data type is {spec.dtype!r}"
            )
        return self

    def encode(self, chunk: np.ndarray, spec: ArraySpec) -> Buffer:
        flat = np.ascontiguousarray(chunk, chunk.dtype.newbyteorder("=")).reshape(-1)
        return _pcodec().standalone.simple_compress(flat, self._chunk_config())  # type: ignore[no-any-return]

    def decode(self, data: Buffer, spec: ArraySpec) -> np.ndarray:
        # Into memory of the chunk's size: no stream can make more of it.
        out = np.empty(spec.size, spec.np_dtype.newbyteorder("="))
        progress = _pcodec().standalone.simple_decompress_into(bytes(data), out)
        found = progress.n_processed
        if found != spec.size or not progress.finished:
            got = f"more than {spec.size}" if found >= spec.size else found
            raise ChunkDecodeError(f"expected {spec.size} items, got {got}", codec=self.name)
        return out.astype(spec.np_dtype, copy=False).reshape(spec.shape)

    def _chunk_config(self) -> Any:
        pco, order = _pcodec(), self.delta_encoding_order
        delta = "no_op" if self.delta_spec == "none" else self.delta_spec
        if order is not None or delta == "try_consecutive":
            delta_spec = pco.DeltaSpec.try_consecutive(order or 0)
        else:
            delta_spec = getattr(pco.DeltaSpec, delta)()
        return pco.ChunkConfig(
            compression_level=self.level,
            delta_spec=delta_spec,
            mode_spec=pco.ModeSpec.auto() if self.mode_spec == "auto" else pco.ModeSpec.classic(),
            paging_spec=pco.PagingSpec.equal_pages_up_to(self.equal_pages_up_to),
        )
