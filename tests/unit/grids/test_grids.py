"""Chunk grids: geometry, JSON, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zarrcore.errors import MetadataValidationError
from zarrcore.grids import RectilinearGrid, RegularGrid, parse_chunk_grid


class TestRegular:
    def test_geometry(self) -> None:
        grid = RegularGrid((5, 20, 400))
        shape = (10, 201, 3000)
        assert grid.grid_shape(shape) == (2, 11, 8)
        assert grid.n_chunks(shape) == 176
        assert grid.native() == grid.edges == (5, 20, 400)
        assert grid.shape_of((1, 10, 0)) == (5, 20, 400)
        assert grid.origin_of((1, 10, 2)) == (5, 200, 800)
        assert grid.is_regular
        assert grid.chunk_shapes_present() == [(5, 20, 400)]

    def test_without_dimensions_and_without_items(self) -> None:
        assert RegularGrid(()).grid_shape(()) == ()
        assert RegularGrid(()).n_chunks(()) == 1
        assert RegularGrid((3,)).n_chunks((0,)) == 0

    def test_json(self) -> None:
        grid = RegularGrid(np.array([2, 3]))
        assert grid.to_json() == {"name": "regular", "configuration": {"chunk_shape": [2, 3]}}
        assert parse_chunk_grid(grid.to_json()) == grid
        assert parse_chunk_grid(grid) is grid

    @pytest.mark.parametrize(
        "chunk_shape", [[0, 5], [-1], [2.5], ["4"], [True], None, 5, "ab", [2**63], [1] * 65]
    )
    def test_bad_shapes_are_refused(self, chunk_shape: Any) -> None:
        data = {"name": "regular", "configuration": {"chunk_shape": chunk_shape}}
        with pytest.raises(MetadataValidationError, match="configuration.chunk_shape"):
            parse_chunk_grid(data)

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            ("regular", "configuration.chunk_shape: is required"),
            ({"name": "regular"}, "configuration.chunk_shape: is required"),
            (
                {"name": "regular", "configuration": {"chunk_shape": [1], "x": 1}},
                "configuration.x: unknown key",
            ),
            ({"name": "irregular"}, "unknown chunk grid 'irregular'; did you mean 'regular'?"),
            ([2, 2], "expected a name or an object"),
            ({}, "name: expected a name"),
        ],
    )
    def test_bad_documents_are_refused(self, data: Any, reason: str) -> None:
        with pytest.raises(MetadataValidationError, match=reason):
            parse_chunk_grid(data)

    def test_rank(self) -> None:
        with pytest.raises(MetadataValidationError, match="expected 3 lengths, as the shape has"):
            RegularGrid((1, 1)).validate((1, 2, 3))


def rectilinear(*chunk_shapes: Any, kind: Any = "inline") -> dict:
    return {"name": "rectilinear", "configuration": {"kind": kind, "chunk_shapes": list(chunk_shapes)}}


class TestRectilinear:
    def test_geometry(self) -> None:
        grid = RectilinearGrid(((1, 4, 2), 5))
        assert grid.grid_shape((7, 12)) == (3, 3)
        assert grid.grid_shape((5, 0)) == (2, 0)
        assert grid.shape_of((1, 2)) == (4, 5)
        assert grid.origin_of((2, 2)) == (5, 10)
        assert not grid.is_regular
        assert set(grid.chunk_shapes_present()) == {(1, 5), (4, 5), (2, 5)}

    def test_run_lengths(self) -> None:
        grid = parse_chunk_grid(rectilinear([[4, 3], 2], 5, [1, 2]))
        assert grid.native() == ((4, 4, 4, 2), 5, (1, 2))
        assert grid.to_json() == rectilinear([[4, 3], 2], 5, [1, 2])
        assert parse_chunk_grid(grid.to_json()) == grid

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (rectilinear([1], kind="url"), "configuration.kind"),
            (rectilinear([1], kind=None), "configuration.kind"),
            (rectilinear([]), r"chunk_shapes\[0\]: expected at least one chunk"),
            (rectilinear([0]), r"chunk_shapes\[0\]\[0\]: expected an integer 1"),
            (rectilinear([1, 2.0]), r"chunk_shapes\[0\]\[1\]"),
            (rectilinear([[1, 2, 3]]), r"expected a length or \[length, count\]"),
            (rectilinear([[1, 0]]), "expected an integer of at least 1, got 0"),
            (rectilinear([[1, 2**60]]), "at most 1000000 chunks"),
            (
                rectilinear([[1, 600_000]], [[1, 600_000]]),
                r"chunk_shapes\[1\]: expected at most 1000000 .* 1200000",
            ),
            (rectilinear([2**62, 2**62]), "less than 2\\*\\*63 items"),
            (rectilinear("x"), r"chunk_shapes\[0\]"),
        ],
    )
    def test_bad_documents_are_refused(self, data: Any, reason: str) -> None:
        with pytest.raises(MetadataValidationError, match=reason):
            parse_chunk_grid(data)

    def test_more_chunks_than_a_document_may_list_are_not_made(self) -> None:
        """The document that would be stored could not be opened."""
        with pytest.raises(
            MetadataValidationError, match="at most 1000000 chunks in all dimensions together"
        ):
            RectilinearGrid(((1,) * 600_000, (1,) * 600_000))
        full = RectilinearGrid(((1,) * 1_000_000, 5))
        with pytest.raises(MetadataValidationError, match="got 1000001"):
            full.update_shape((1_000_001, 5))

    def test_chunks_must_cover_the_array(self) -> None:
        grid = RectilinearGrid(((1, 4), 5))
        grid.validate((5, 100))
        grid.validate((3, 100))
        with pytest.raises(
            MetadataValidationError, match=r"chunk_shapes\[0\]: expected chunks that cover .* 6, got 5"
        ):
            grid.validate((6, 100))

    def test_resizing(self) -> None:
        grid = RectilinearGrid(((1, 4), 5))
        assert grid.update_shape((8, 3)).native() == ((1, 4, 3), 5)
        assert grid.update_shape((2, 3)) == grid
        with pytest.raises(MetadataValidationError, match="expected 2 lengths"):
            grid.update_shape((1,))
