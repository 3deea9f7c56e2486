"""zarrcore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import zarrcore
from benchmarks.libraries.base import MEMBER, files
from zarrcore.storage import MemoryStore


class Zarrcore:
    """zarrcore with its defaults."""

    def __init__(self, threads: int) -> None:
        if threads:
            zarrcore.config.set({"threading.max_workers": threads})

    def locate(self, directory: Path, *, memory: bool = False) -> Any:
        return MemoryStore(files(directory)) if memory else str(directory)

    def open(self, location: Any, *, writable: bool = False) -> Any:
        return zarrcore.open_array(location, mode="r+" if writable else "r")

    def read(self, array: Any, selection: Any = ...) -> Any:
        return array[selection]

    def read_into(self, array: Any, out: np.ndarray) -> np.ndarray:
        return array.read(out=out)

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
        group = zarrcore.create_group(str(directory))
        for name in names:
            group.create_array(name, **MEMBER, compressors=None)
        if consolidated:
            zarrcore.consolidate_metadata(str(directory))

    def open_members(self, directory: Path, names: list[str], *, consolidated: bool) -> list[Any]:
        group = zarrcore.open_group(str(directory), mode="r", use_consolidated=consolidated)
        return [group[name] for name in names]

    def list_members(self, directory: Path, *, consolidated: bool) -> list[tuple[str, tuple[int, ...]]]:
        group = zarrcore.open_group(str(directory), mode="r", use_consolidated=consolidated)
        return [(name, array.shape) for name, array in group.arrays()]
