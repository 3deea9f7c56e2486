"""zarrcore."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import zarrcore
from benchmarks.libraries.base import files
from benchmarks.libraries.zarr_interface import ZarrInterface
from zarrcore.storage import MemoryStore


class Zarrcore(ZarrInterface):
    """zarrcore with its defaults."""

    package = zarrcore

    def __init__(self, threads: int) -> None:
        if threads:
            zarrcore.config.set({"threading.max_workers": threads})

    def locate(self, directory: Path, *, memory: bool = False) -> Any:
        return MemoryStore(files(directory)) if memory else str(directory)

    def read_boxes(self, array: Any, boxes: list[tuple[slice, ...]]) -> np.ndarray:
        return zarrcore.read_many([(array, box) for box in boxes], stack=True)

    def read_into(self, array: Any, out: np.ndarray) -> np.ndarray:
        return array.read(out=out)
