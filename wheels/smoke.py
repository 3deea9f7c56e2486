# SPDX-License-Identifier: MIT
"""Does an installed zarrcore work?  Needs numpy alone; run from a directory that holds no source tree."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import zarrcore


def main() -> None:
    """Write and read back one array in each format, with and without shards."""
    data = np.arange(60 * 70, dtype="f4").reshape(60, 70)
    layouts = [
        {"zarr_format": 3, "chunks": (16, 32)},
        {"zarr_format": 3, "chunks": (8, 16), "shards": (32, 32)},
        {"zarr_format": 2, "chunks": (16, 32)},
    ]
    for number, layout in enumerate(layouts):
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, f"{number}.zarr")
            array = zarrcore.create_array(path, shape=data.shape, dtype=data.dtype, **layout)
            array[...] = data
            again = zarrcore.open_array(path, mode="r")
            assert np.array_equal(again[...], data), layout
            assert np.array_equal(again[5:50:3, ::-2], data[5:50:3, ::-2]), layout
            stored = [entry for entry in path.rglob("*") if entry.is_file()]
            assert sum(entry.stat().st_size for entry in stored) < data.nbytes, layout
    assert Path(zarrcore.__file__).with_name("py.typed").exists()
    print(f"zarrcore {zarrcore.__version__} works on Python {sys.version.split()[0]}, numpy {np.__version__}")


if __name__ == "__main__":
    main()
