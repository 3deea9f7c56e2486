"""A dictionary of values in the memory of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.errors import StoreError
from zarrcore.storage.memory import MemoryStore
from zarrcore.storage.validation import validate_key
from zarrcore.storage.values import as_view

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping
    from typing import Self

    from typing_extensions import Buffer


class GpuMemoryStore(MemoryStore):
    """Values kept on a GPU, in a dictionary of one-dimensional ``cupy`` arrays of bytes.

    Values come back as bytes of the host, since that is where chunks are decoded: the store may be larger
    than the memory of the host, but saves no copy.

    Parameters
    ----------
    store_dict : MutableMapping, optional
        Where to keep the values; a new dictionary by default.
    read_only : bool
        Refuse every write.

    Raises
    ------
    StoreError
        If the package cupy is not installed.
    """

    def __init__(
        self, store_dict: MutableMapping[str, Any] | None = None, *, read_only: bool = False
    ) -> None:
        _cupy()
        super().__init__(store_dict, read_only=read_only)

    @classmethod
    def from_dict(cls, store_dict: Mapping[str, Any]) -> Self:
        """Return a store of a copy of `store_dict`, whose values are bytes of the host or arrays of cupy."""
        return cls({key: _on_gpu(key, value) for key, value in store_dict.items()})

    def __str__(self) -> str:
        return f"gpumemory://{id(self._store_dict)}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, GpuMemoryStore)
            and self.read_only == other.read_only
            and self._store_dict is other._store_dict
        )

    __hash__ = None

    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        self._store_dict[validate_key(key)] = _on_gpu(key, value)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        self._check_writable()
        return self._create(validate_key(key), _on_gpu(key, value))

    def _view(self, key: str, value: Any) -> bytes | memoryview:
        cupy = _cupy()
        return super()._view(key, cupy.asnumpy(value) if isinstance(value, cupy.ndarray) else value)


def _cupy() -> Any:
    try:
        import cupy
    except ImportError as error:
        raise StoreError("GpuMemoryStore keeps values on a GPU, which needs the package cupy") from error
    return cupy


def _on_gpu(key: str, value: Any) -> Any:
    """Return a new array of bytes on the GPU with what is in a value."""
    cupy = _cupy()
    if isinstance(value, cupy.ndarray):
        return cupy.ascontiguousarray(value).reshape(-1).view("u1").copy()
    return cupy.asarray(np.frombuffer(as_view(value, key), "u1"))
