"""Types of arguments that may be given in several forms, for annotations.

Examples
--------
>>> import zarrcore
>>> from zarrcore.typing import SelectionLike, StoreLike
>>> def mean(store: StoreLike, selection: SelectionLike = ...) -> float:
...     return float(zarrcore.open_array(store, mode="r")[selection].mean())
"""

from __future__ import annotations

from zarrcore._typing import (
    ArrayLike,
    ChunksLike,
    FillValueLike,
    MemoryOrder,
    SelectionLike,
    ShapedArray,
    ShapeLike,
    ShardsLike,
    ValueLike,
)
from zarrcore.arrays.config import ArrayConfigLike
from zarrcore.codecs.base import CodecLike, CodecsLike
from zarrcore.dtypes.parse import DTypeLike
from zarrcore.grids.base import ChunkGridLike
from zarrcore.keys.standard import ChunkKeyEncodingLike
from zarrcore.storage.path import AccessMode, StoreLike
from zarrcore.transformers import StorageTransformersLike

__all__ = [
    "AccessMode",
    "ArrayConfigLike",
    "ArrayLike",
    "ChunkGridLike",
    "ChunkKeyEncodingLike",
    "ChunksLike",
    "CodecLike",
    "CodecsLike",
    "DTypeLike",
    "FillValueLike",
    "MemoryOrder",
    "SelectionLike",
    "ShapeLike",
    "ShapedArray",
    "ShardsLike",
    "StorageTransformersLike",
    "StoreLike",
    "ValueLike",
]
