"""Types of arguments that may be given in several forms, for annotations.

Examples
--------
>>> import zarrcore
>>> from zarrcore.typing import SelectionLike, StoreLike
>>> def mean(store: StoreLike, selection: SelectionLike = ...) -> float:
...     return float(zarrcore.open_array(store, mode="r")[selection].mean())
"""

from __future__ import annotations

from numpy.typing import ArrayLike as ArrayLike

from zarrcore._typing import ChunksLike as ChunksLike
from zarrcore._typing import FillValueLike as FillValueLike
from zarrcore._typing import MemoryOrder as MemoryOrder
from zarrcore._typing import SelectionLike as SelectionLike
from zarrcore._typing import ShapedArray as ShapedArray
from zarrcore._typing import ShapeLike as ShapeLike
from zarrcore._typing import ShardsLike as ShardsLike
from zarrcore._typing import ValueLike as ValueLike
from zarrcore.arrays.config import ArrayConfigLike as ArrayConfigLike
from zarrcore.codecs.base import CodecLike as CodecLike
from zarrcore.codecs.base import CodecsLike as CodecsLike
from zarrcore.dtypes.parse import DTypeLike as DTypeLike
from zarrcore.grids.base import ChunkGridLike as ChunkGridLike
from zarrcore.keys.standard import ChunkKeyEncodingLike as ChunkKeyEncodingLike
from zarrcore.storage.path import AccessMode as AccessMode
from zarrcore.storage.path import StoreLike as StoreLike
from zarrcore.transformers import StorageTransformersLike as StorageTransformersLike

__all__ = sorted(name for name in vars() if name[0].isupper())
