"""Types of arguments that need nothing of the package; :mod:`zarrcore.typing` is their public place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from typing_extensions import Buffer as Buffer
else:
    ArrayLike = Any  # numpy.typing would be loaded for nothing else
    Buffer = Any  # collections.abc has it from Python 3.12 on

#: A format that is written.
ZarrFormat: TypeAlias = Literal[2, 3]

#: A value of a metadata document, and one that stands for a data type.
JSON: TypeAlias = Any
DTypeJSON: TypeAlias = Any


class SupportsArray(Protocol):
    """An object that NumPy can convert to an array."""

    def __array__(self) -> np.ndarray: ...


class ShapedArray(Protocol):
    """An array of any library: it has a shape and a data type.

    Examples
    --------
    >>> def length(values: ShapedArray) -> int:
    ...     return values.shape[0]
    >>> length(np.zeros(3)), length(zarrcore.zeros(3, store={}))
    (3, 3)
    """

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...


#: The length of each dimension, or of the only one.
ShapeLike: TypeAlias = SupportsIndex | Iterable[SupportsIndex]

#: The chunk length of each dimension, or one length for all.  In place of a length: -1 or None for the whole
#: dimension, or the lengths of all chunks.  In place of all of them: False for a single chunk, ``"auto"``,
#: True or None for a default.
ChunksLike: TypeAlias = (
    SupportsIndex | Collection[SupportsIndex | Collection[SupportsIndex] | None] | Literal["auto"] | None
)

#: The same for shards, or a mapping with ``"shape"`` and ``"index_location"``.
ShardsLike: TypeAlias = ChunksLike | Mapping[str, Any]

#: One integer, integers or Booleans as an array or as (nested) sequences, or a field name.
IndexLike: TypeAlias = SupportsIndex | SupportsArray | str | Sequence[SupportsIndex] | Sequence[Sequence[Any]]

#: What may stand between the brackets of an array.
SelectionLike: TypeAlias = (
    IndexLike | slice | EllipsisType | tuple[IndexLike | slice | EllipsisType | None, ...] | None
)

#: Names of fields of structured data, or of one of them.
Names: TypeAlias = str | list[str] | None


class SupportsDLPack(Protocol):
    """An array of any library that offers its memory to others."""

    def __dlpack__(self, *, stream: None = None) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


#: Memory to read into: an array, that of another library, or bytes.
Memory: TypeAlias = np.ndarray | SupportsDLPack | Buffer
Out: TypeAlias = Memory | None

#: Values to write: what NumPy can convert to an array, and scalars of the data types that NumPy lacks.
ValueLike: TypeAlias = ArrayLike | date | timedelta | Mapping[str, Any] | Sequence[Any] | None

#: A fill value; an ellipsis for the default of the data type.
FillValueLike: TypeAlias = ValueLike | EllipsisType

Overwrite: TypeAlias = bool | Literal["all"]
"""Whether what is there is removed first; ``"all"``: even entries that belong to no Zarr node."""

MemoryOrder: TypeAlias = Literal["C", "F"]

#: The buffer classes that programs written for zarr-python hand in; zarrcore does not use them.
PrototypeLike: TypeAlias = object
