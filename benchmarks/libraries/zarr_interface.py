"""What is the same in all libraries with the interface of zarr-python 3."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from benchmarks.libraries.base import MEMBER


class ZarrInterface:
    """The calls that `package` and zarr-python share; its own are left to subclasses."""

    package: ClassVar[ModuleType]

    def open(self, location: Any, *, writable: bool = False) -> Any:
        return self.package.open_array(location, mode="r+" if writable else "r")

    def read(self, array: Any, selection: Any = ...) -> Any:
        return array[selection]

    def read_boxes(self, array: Any, boxes: list[tuple[slice, ...]]) -> np.ndarray:
        return np.stack([array[box] for box in boxes])

    def read_points(self, array: Any, coordinates: tuple[np.ndarray, ...]) -> np.ndarray:
        return array.vindex[coordinates]

    def read_orthogonal(self, array: Any, indices: tuple[np.ndarray, ...]) -> np.ndarray:
        return array.oindex[indices]

    def read_mask(self, array: Any, mask: np.ndarray) -> np.ndarray:
        return array.vindex[mask]

    def write(self, array: Any, value: Any, selection: Any = ...) -> None:
        array[selection] = value

    def append(self, array: Any, rows: np.ndarray) -> Any:
        array.append(rows)
        return array

    def create_members(self, directory: Path, names: list[str], *, consolidated: bool) -> None:
        group = self.package.create_group(str(directory))
        for name in names:
            group.create_array(name, **MEMBER, compressors=None)
        if consolidated:
            self.package.consolidate_metadata(str(directory))

    def open_members(self, directory: Path, names: list[str], *, consolidated: bool) -> list[Any]:
        group = self.package.open_group(str(directory), mode="r", use_consolidated=consolidated)
        return [group[name] for name in names]

    def list_members(self, directory: Path, *, consolidated: bool) -> list[tuple[str, tuple[int, ...]]]:
        group = self.package.open_group(str(directory), mode="r", use_consolidated=consolidated)
        return [(name, array.shape) for name, array in group.arrays()]
