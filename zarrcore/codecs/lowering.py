"""From a codec chain to one that is compiled for the chunk engine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zarrcore.codecs import _native
from zarrcore.codecs.chain import run_codec
from zarrcore.errors import ChunkDecodeError, ChunkEncodeError, ChunkError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zarrcore.codecs.base import ArrayArrayCodec, ArraySpec
    from zarrcore.codecs.chain import CodecChain
    from zarrcore.codecs.sharding import ShardingCodec

__all__ = ["Before", "compile_chain", "keeps_fill"]

# What comes before a chain inside of shards: bytes of an item of the array, and the stages of filters.
Before = tuple[int, tuple[Any, ...]]

_MOST_BODIES = 4  # arrays inside of arrays: the engine keeps some memory open for each


def compile_chain(chain: CodecChain, spec: ArraySpec, before: Before) -> Any | None:
    """Return the engine's chain for chunks of `spec`; None if a codec or the data type has no native form."""
    item_size, filters_before = before
    front = _front(chain.array_array, spec)
    if front is None:
        return None
    stages = (*filters_before, *front.stages)
    if not _fits(chain, front, stages):
        return _with_body(chain, front, item_size, stages)
    native = _native_bytes(chain, front.spec, (item_size, stages))
    if native is None:
        return None
    if chain.is_sharded:
        stages = ()  # they are with the inner chunks
    if stages and native.get("swap"):
        stages = (*stages, _swap_stage(native.pop("swap")))
    stages = (*stages, *native.pop("stages", ()), *(codec.stage() for codec in chain.bytes_bytes))
    return _chain(item_size, stages, order=front.order, **native)


def _chain(item_size: int, stages: tuple[Any, ...], **options: Any) -> Any | None:
    if None in stages or _native.count_stages(stages) > _native.MAX_STAGES:
        return None
    return _native.engine().Chain(item_size, stages=stages, **options)


# --- array -> array codecs


@dataclass
class _Front:
    """Array -> array codecs as the engine runs them: one transposition, then stages."""

    spec: ArraySpec
    """What they make."""
    lengths: tuple[int | tuple[int, ...], ...]
    """Its shape, in terms of the dimensions behind the transposition."""
    order: tuple[int, ...] | None = None
    stages: tuple[Any, ...] = ()
    count: int = 0
    """How many codecs they are."""
    filters: tuple[tuple[ArrayArrayCodec, ArraySpec], ...] = ()
    """Those that are no transposition, and what each takes."""
    is_flat: bool = False
    """Whether only the order of the items is left of the chunk's dimensions."""
    is_reshaped: bool = False

    def add(self, codec: ArrayArrayCodec) -> bool:
        """Add one codec; False, with nothing done, if it cannot be here."""
        made = codec.output_spec(self.spec)
        step = codec.permutation(self.spec)
        if step is not None:
            if self.is_flat:
                return False
            self.order = step if self.order is None else tuple(self.order[axis] for axis in step)
        else:
            if made.shape != self.spec.shape:
                if self.is_reshaped:
                    return False
                self.lengths, self.is_reshaped = codec.lengths(self.spec), True
            if not codec.keeps_items:
                self.stages += (codec.stage(self.spec),)
            self.filters += ((codec, self.spec),)
            self.is_flat = self.is_flat or not codec.is_elementwise
        self.spec = made
        self.count += 1
        return True

    @property
    def keeps_fill(self) -> bool:
        """Whether inner chunks that a shard does not hold are the same before the codecs and behind."""
        return all(keeps_fill(codec, spec) for codec, spec in self.filters)


def _front(codecs: Sequence[ArrayArrayCodec], spec: ArraySpec) -> _Front | None:
    """As many of the codecs as make one transposition and stages behind it; None if one is for Python alone.

    Filters on single items do the same before and behind a transposition, and to a shard as to each of its
    inner chunks.
    """
    front = _Front(spec, tuple((axis,) for axis in range(spec.ndim)))
    for codec in codecs:
        if not front.add(codec):
            break
    if front.order == tuple(range(spec.ndim)):
        front.order = None
    return None if None in front.stages else front


def keeps_fill(codec: ArrayArrayCodec, spec: ArraySpec) -> bool:
    """Whether the fill value goes through the codec to that of what it makes, and back, bit for bit."""
    item = replace(spec, shape=(1,))
    made = codec.output_spec(item)
    before, behind = _fill_item(item), _fill_item(made)
    try:
        there = run_codec(codec, ChunkEncodeError, codec.encode, before, item)
        back = run_codec(codec, ChunkDecodeError, codec.decode, behind, item)
    except ChunkError:
        return False
    return bool(there.tobytes() == behind.tobytes() and back.tobytes() == before.tobytes())


def _fill_item(spec: ArraySpec) -> np.ndarray:
    return np.full(1, spec.dtype.default_scalar() if spec.fill is None else spec.fill, spec.np_dtype)


# --- what follows them


def _fits(chain: CodecChain, front: _Front, stages: tuple[Any, ...]) -> bool:
    """Return whether the array -> bytes codec can directly follow `front`, whose stages these are."""
    if front.count < len(chain.array_array):
        return False
    if chain.is_sharded:
        return not front.is_flat and front.keeps_fill
    return not (chain.array_bytes.stores_shape and (front.is_flat or stages))


def _native_bytes(chain: CodecChain, spec: ArraySpec, before: Before) -> dict[str, Any] | None:
    if chain.is_sharded:
        native = cast("ShardingCodec", chain.array_bytes).native(spec, before=before)
    else:
        native = chain.array_bytes.native(spec)
    return None if native is None else dict(native)


def _with_body(chain: CodecChain, front: _Front, item_size: int, stages: tuple[Any, ...]) -> Any | None:
    """The chain with all that follows `front` as one of its own, that of the array which filters make."""
    rest = replace(chain, array_array=chain.array_array[front.count :], codecs=())
    inside = rest.lower(front.spec)
    if inside is None or inside.bodies == _MOST_BODIES:
        return None
    body = _native.engine().Body(inside, front.lengths, _fill_item(front.spec).tobytes())
    return _chain(item_size, stages, order=front.order, body=body)


def _swap_stage(swap: int | tuple[tuple[int, int, int], ...]) -> tuple[str, dict[str, str]]:
    """The byte order of what filters make as a stage of its own: they see items in the order of memory."""
    if isinstance(swap, tuple):  # the parts of complex items: what filters take has words of one size
        swap = swap[0][1]
    return "astype", {"dtype": f"<u{swap}", "astype": f">u{swap}"}
