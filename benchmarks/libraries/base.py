"""What a case asks of a library: a thin face over the calls that its own users would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

#: The arrays that `create_members` makes.
MEMBER: dict[str, Any] = {"shape": (100,), "chunks": (100,), "dtype": "int32"}


class Library(Protocol):
    """One library under test. Handles and locations are the library's own objects."""

    name: str
    """By which it is loaded."""

    def locate(self, directory: Path, *, memory: bool = False) -> Any:
        """Where the array in `directory` is: the directory itself, or a memory store holding its files."""

    def open(self, location: Any, *, writable: bool = False) -> Any:
        """The array at a location."""

    def read(self, array: Any, selection: Any = ...) -> Any:
        """``array[selection]`` in memory, for integers and slices."""

    def read_boxes(self, array: Any, boxes: list[tuple[slice, ...]]) -> np.ndarray:
        """Boxes of one shape, stacked."""

    def read_into(self, array: Any, out: np.ndarray) -> np.ndarray:
        """The whole array into `out`."""

    def read_points(self, array: Any, coordinates: tuple[np.ndarray, ...]) -> np.ndarray:
        """The elements at coordinates, one index array per dimension."""

    def read_orthogonal(self, array: Any, indices: tuple[np.ndarray, ...]) -> np.ndarray:
        """The outer product of index arrays, one per dimension."""

    def read_mask(self, array: Any, mask: np.ndarray) -> np.ndarray:
        """The elements where a mask of the array's shape is true."""

    def write(self, array: Any, value: Any, selection: Any = ...) -> None:
        """``array[selection] = value``, done when it returns."""

    def append(self, array: Any, rows: np.ndarray) -> Any:
        """Append rows along the first axis; return the longer array."""

    def create_members(self, directory: Path, names: list[str], *, consolidated: bool) -> None:
        """Arrays of `MEMBER` in a new group."""

    def open_members(self, directory: Path, names: list[str], *, consolidated: bool) -> list[Any]:
        """Arrays of a group, each by its name."""

    def list_members(self, directory: Path, *, consolidated: bool) -> list[tuple[str, tuple[int, ...]]]:
        """Name and shape of every array in a group."""


def files(directory: Path) -> dict[str, bytes]:
    """Key and value of every file below a directory."""
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
