# SPDX-License-Identifier: MIT
"""The strategies give what they promise; with them, arrays are compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zarrcore
from zarrcore.testing import strategies as zst

MODEL = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)


@MODEL
@given(st.data())
def test_shapes_and_chunks(data: st.DataObject) -> None:
    shape = data.draw(zst.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=9))
    assert 1 <= len(shape) <= 3
    assert all(2 <= length <= 9 for length in shape)
    chunks = data.draw(zst.chunk_shapes(shape))
    assert len(chunks) == len(shape)
    assert min(chunks) >= 1
    inner = data.draw(zst.inner_chunk_shapes(chunks))
    assert all(chunk % one == 0 for chunk, one in zip(chunks, inner, strict=True))
    edges = data.draw(zst.chunk_edges(shape[0]))
    assert sum(edges) >= shape[0] > sum(edges[:-1])


@MODEL
@given(st.data())
def test_values(data: st.DataObject) -> None:
    shape = data.draw(zst.array_shapes())
    zarr_format = data.draw(st.sampled_from((2, 3)))
    dtype = data.draw(zst.dtypes(zarr_format=zarr_format))
    values = data.draw(zst.numpy_arrays(shape, dtype))
    assert (values.shape, values.dtype) == (shape, dtype)
    array = zarrcore.create_array({}, shape=shape, dtype=dtype, zarr_format=zarr_format)
    assert array.dtype == dtype


@MODEL
@given(st.data(), zst.arrays())
def test_basic_selections(data: st.DataObject, pair: tuple[zarrcore.Array, np.ndarray]) -> None:
    array, values = pair
    selection = data.draw(zst.basic_indices(array.shape))
    assert np.array_equal(array[selection], values[selection])
    array[selection] = new = data.draw(zst.numpy_arrays(np.shape(values[selection]), array.dtype))
    values[selection] = new
    assert np.array_equal(array[...], values)


@MODEL
@given(st.data(), zst.arrays(shapes=zst.array_shapes(min_dims=1)))
def test_advanced_selections(data: st.DataObject, pair: tuple[zarrcore.Array, np.ndarray]) -> None:
    array, values = pair
    outer = data.draw(zst.orthogonal_indices(array.shape))
    indices = [np.arange(length)[entry] for length, entry in zip(array.shape, outer, strict=True)]
    assert np.array_equal(array.oindex[outer], values[np.ix_(*indices)])
    mask = data.draw(zst.masks(array.shape))
    assert np.array_equal(array.vindex[mask], values[mask])
    points = data.draw(zst.point_indices(array.shape))
    assert np.array_equal(array.vindex[points], values[points])


@MODEL
@given(st.data(), zst.arrays(shapes=zst.array_shapes(min_dims=1, min_side=1), zarr_formats=st.just(2)))
def test_blocks(data: st.DataObject, pair: tuple[zarrcore.Array, np.ndarray]) -> None:
    array, values = pair
    blocks = data.draw(zst.block_indices(array.cdata_shape))
    region = []
    for entry, chunk, count in zip(blocks, array.chunks, array.cdata_shape, strict=True):
        first, last = (
            (entry % count, entry % count + 1) if isinstance(entry, int) else entry.indices(count)[:2]
        )
        region.append(slice(first * chunk, last * chunk))
    assert np.array_equal(array.blocks[blocks], values[tuple(region)])


def test_docstring() -> None:
    """The example in the module's docstring names what there is."""
    for name in ("arrays", "basic_indices"):
        assert f"zst.{name}(" in zst.__doc__
        assert name in zst.__all__
    with pytest.raises(AttributeError):
        zst.nonesuch  # noqa: B018
