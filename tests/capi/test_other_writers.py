# SPDX-License-Identifier: MIT
"""libzarrcore reads whatever zarrcore reads without Python code, and refuses the rest by name.

``ZARRCORE_TEST_STORES=DIR`` adds the arrays below a directory, such as that of an unpacked corpus.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import LibraryError, refused_with

import zarrcore
from zarrcore.engine.build import chunk_spec
from zarrcore.engine.python import PythonEngine
from zarrcore.errors import BaseZarrError

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

ROOTS = [Path(__file__).resolve().parents[1] / "data" / "stores"]
ROOTS += [Path(root) for root in os.environ.get("ZARRCORE_TEST_STORES", "").split(os.pathsep) if root]


def arrays_on_disk() -> list[Path]:
    """Arrays in directories, written by several implementations."""
    documents = [path for root in ROOTS for path in root.rglob(".zarray")]
    for path in (path for root in ROOTS for path in root.rglob("zarr.json")):
        try:
            document = json.loads(path.read_bytes())
        except (OSError, ValueError):
            continue  # damaged on purpose
        if isinstance(document, dict) and document.get("node_type") == "array":
            documents.append(path)
    return sorted({document.parent for document in documents})


def name_of(path: Path) -> str:
    (root,) = (root for root in ROOTS if path.is_relative_to(root))
    return path.relative_to(root).as_posix()


def native(array: np.ndarray) -> np.ndarray:
    """The same elements in the byte order of the machine."""
    return array.astype(array.dtype.newbyteorder("="))


def runs_python(array: zarrcore.Array) -> bool:
    """Return whether an array is read by the Python engine, or by the C engine with codecs in Python."""
    metadata = array._opened.metadata
    chain = metadata.chain().lower(chunk_spec(metadata, array.shards or array.chunks))
    return isinstance(array._opened._engine, PythonEngine) or chain.calls_python


@pytest.mark.parametrize("path", arrays_on_disk(), ids=name_of)
def test_arrays_of_other_writers(library: Any, error_of: Any, path: Path) -> None:
    try:
        node = zarrcore.open_array(path, mode="r")
        expected = np.asarray(node[...])
    except BaseZarrError:
        node = None
    try:
        handle = library.handle(path, writable=False)
    except LibraryError as failure:
        status, message = failure.args
        assert status == refused_with(message), message
        assert node is None or runs_python(node), message
        if node is not None:
            assert "is not supported" in message
        return
    try:
        if node is None:
            read_fails_or_only_attributes_are_bad(library, handle, error_of(), path)
            return
        out = np.zeros(node.shape, library.typestr(handle).decode())
        assert library.region(handle, out) == 0
        assert out.tobytes() == native(expected).tobytes()
        item = np.zeros(1, out.dtype)
        assert library.fill_value(handle, item.ctypes.data, item.nbytes) == 0
        if node.fill_value is not None:
            fill = native(np.full(1, node.fill_value, expected.dtype))
            assert item.tobytes() == fill.tobytes() or np.isnan(node.fill_value)
    finally:
        library.release(handle)


def read_fails_or_only_attributes_are_bad(library: Any, handle: int, error: Any, path: Path) -> None:
    """Of an array that zarrcore cannot read; attributes are nothing that libzarrcore looks at."""
    import ctypes

    shape = (ctypes.c_int64 * 64)()
    assert library.shape(handle, shape) == 0
    lengths = tuple(min(n, 64) for n in shape[: library.ndim(handle)])
    if np.prod(lengths, dtype=float) * library.itemsize(handle) > 2**24:
        pytest.skip("too large to try")
    out = np.zeros(lengths, f"V{library.itemsize(handle)}")
    if library.region(handle, out, error=error) == 0:
        whole = lengths == tuple(shape[: len(lengths)])
        assert not whole or (path / ".zattrs").exists(), "read without an error"
    else:
        assert error.message
