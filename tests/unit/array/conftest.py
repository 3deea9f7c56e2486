"""Arrays over both engines, and arrays in all formats and layouts."""

from __future__ import annotations

import numpy as np
import pytest

import zarrcore
from zarrcore.engine.build import _python_engine

LAYOUTS = {
    "v2": {"zarr_format": 2, "chunks": (5, 4), "compressors": {"id": "zlib", "level": 1}},
    "v2-F": {"zarr_format": 2, "chunks": (5, 4), "order": "F", "compressors": None},
    "v3": {"chunks": (5, 4)},
    "v3-uncompressed": {"chunks": (5, 4), "compressors": None},
    "v3-sharded": {"chunks": (2, 3), "shards": (6, 9)},
    "v3-uneven": {"chunks": ((3, 10, 10), 4)},
    "v3-transposed": {"chunks": (5, 4), "filters": {"name": "transpose", "configuration": {"order": [1, 0]}}},
    "v3-single": {"chunks": (40, 40)},
}


def use_python_engine(array):
    """Switch an array to the engine written in Python."""
    array._compiled()
    array._opened._engine = _python_engine(
        array.metadata, array.store_path, missing_is_error=not array.config.read_missing_chunks
    )
    array._opened.get = lambda selection: NotImplemented
    return array


@pytest.fixture(params=["native", "python"])
def engine(request):
    """A function that makes an array use one of the two engines."""
    return use_python_engine if request.param == "python" else lambda array: array


@pytest.fixture(params=sorted(LAYOUTS))
def layout(request):
    """Arguments of `create_array` for one way of storing a two-dimensional array."""
    return LAYOUTS[request.param]


@pytest.fixture
def pair(engine, layout):
    """An array with values and the same values in memory."""
    values = np.arange(23 * 17, dtype="i4").reshape(23, 17) * 3 - 100
    array = zarrcore.create_array({}, shape=values.shape, dtype=values.dtype, fill_value=-1, **layout)
    array[...] = values
    return engine(array), values.copy()
