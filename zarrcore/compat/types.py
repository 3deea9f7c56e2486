"""Names for annotations, those of ``zarr.types``.

Arrays of all formats are of one class here, so the names for one format mean the same as those for any.
"""

from __future__ import annotations

from zarrcore.arrays.array import Array
from zarrcore.arrays.async_array import AsyncArray
from zarrcore.dtypes import JSON, DTypeConfig_V2, DTypeJSON, ZarrFormat

__all__ = [
    "JSON",
    "AnyArray",
    "AnyAsyncArray",
    "ArrayV2",
    "ArrayV3",
    "AsyncArrayV2",
    "AsyncArrayV3",
    "DTypeConfig_V2",
    "DTypeJSON",
    "ZarrFormat",
]

AnyArray = ArrayV2 = ArrayV3 = Array
AnyAsyncArray = AsyncArrayV2 = AsyncArrayV3 = AsyncArray
