# SPDX-License-Identifier: MIT
"""Codec chains of the engine, made without codec classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zarrcore._core.engine import Chain


def make_chain(
    itemsize: int,
    *,
    swap: Any = 0,
    order: Sequence[int] | None = None,
    stages: Sequence[tuple[str, dict[str, Any]]] = (),
    shard: tuple[Any, ...] | None = None,
) -> Chain:
    """A transposition, then the items or shards, then bytes -> bytes codecs."""
    transposition = () if order is None else (("transpose", tuple(order)),)
    items = ("bytes", swap) if shard is None else shard
    return Chain(itemsize, (*transposition, items, *(("stage", *stage) for stage in stages)))


def make_shard(
    inner_shape: Sequence[int], inner: Chain, index: Chain, location: str = "end"
) -> tuple[Any, ...]:
    """The link for shards with these chains."""
    return "shards", tuple(inner_shape), inner.links, index.links, location
