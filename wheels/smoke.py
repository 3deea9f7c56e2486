# SPDX-License-Identifier: MIT
"""Does an installed zarrcore work?  Needs numpy alone; run from a directory that holds no source tree.

``--wheel``: a release wheel, so all libraries must be linked.  ``--example``: the package in
examples/cython_region is installed too.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np

import zarrcore
from zarrcore.codecs import BloscCodec, Crc32cCodec, GzipCodec, ZstdCodec

CODECS = [BloscCodec(cname="lz4"), BloscCodec(cname="zstd"), GzipCodec(level=5), ZstdCodec(level=3)]


def main(*, release: bool, example: bool) -> None:
    """Try what depends on how the package was built."""
    data = np.arange(60 * 70, dtype="f4").reshape(60, 70)
    check_formats(data)
    check_codecs(data)
    check_kernels(data)
    check_files()
    check_free_threading()
    if release:
        check_libraries()
    if example:
        check_example(data.astype("f8"))
    version, libraries = sys.version.split()[0], zarrcore.show_config(mode="dicts")["libraries"]
    print(f"zarrcore {zarrcore.__version__} works on Python {version}, numpy {np.__version__}, {libraries}")


def check_formats(data: np.ndarray) -> None:
    """Write and read back one array in each format, with and without shards."""
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


def check_codecs(data: np.ndarray) -> None:
    """Each of the linked libraries, followed by a checksum."""
    for codec in CODECS:
        store: dict[str, bytes] = {}
        array = zarrcore.create_array(
            store, shape=data.shape, dtype=data.dtype, chunks=(16, 32), compressors=[codec, Crc32cCodec()]
        )
        array[...] = data
        assert np.array_equal(zarrcore.open_array(store, mode="r")[...], data), codec


def check_kernels(data: np.ndarray) -> None:
    """The ufuncs."""
    text = np.frombuffer(b"123456789", dtype="u1")
    assert int(zarrcore.kernels.crc32c(text)) == 0xE3069283
    assert np.array_equal(zarrcore.kernels.byteswap(data.view("u4")), data.view("u4").byteswap())


def check_files() -> None:
    """What other compiled packages and type checkers look for."""
    package = Path(zarrcore.__file__).parent
    for name in ("py.typed", "__init__.pxd", "_core/engine/__init__.pyi", "_core/kernels.pyi"):
        assert (package / name).is_file(), name
    assert Path(zarrcore.get_include(), "zarrcore.h").is_file()


def check_free_threading() -> None:
    """The import of a module that does not declare its support would have brought the GIL back."""
    if sysconfig.get_config_var("Py_GIL_DISABLED") and os.environ.get("PYTHON_GIL") != "1":
        assert not sys._is_gil_enabled()


def check_libraries() -> None:
    """A release wheel brings all libraries itself."""
    found = zarrcore.show_config(mode="dicts")
    assert found["origin"] == "wheel", found
    assert None not in found["libraries"].values(), found


def check_example(data: np.ndarray) -> None:
    """A package that was compiled against this one reads what this one wrote."""
    import cython_region

    array = zarrcore.create_array({}, shape=data.shape, dtype=data.dtype, chunks=(16, 32))
    array[...] = data
    assert np.array_equal(cython_region.read_region(array, (3, 5), (40, 60), 2), data[3:43, 5:65])
    assert np.isclose(cython_region.sum_of_chunks(array), data.sum())


if __name__ == "__main__":
    main(release="--wheel" in sys.argv[1:], example="--example" in sys.argv[1:])
