"""Chunk grids and key encodings of users that break their word: what is stored can be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import zarrcore
from zarrcore.errors import MetadataValidationError
from zarrcore.grids import RectilinearGrid, RegularGrid
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.registry import grid_registry, key_encoding_registry, register_chunk_key_encoding


@dataclass(frozen=True)
class AtMostTen(RegularGrid):
    """Chunks of one shape that cover ten items along each dimension."""

    name: ClassVar[str] = "test.at_most_ten"

    def validate(self, shape: tuple[int, ...]) -> None:
        if max(shape) > 10:
            raise ValueError(f"{shape} is more than ten")

    def update_shape(self, shape: tuple[int, ...]) -> Any:
        return self if max(shape) < 100 else None


@dataclass(frozen=True, eq=False)
class Incomparable(RectilinearGrid):
    """Chunks that become more; the grids of this class are all equal, or cannot be compared."""

    name: ClassVar[str] = "test.incomparable"
    equal: ClassVar[bool | None] = None
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if self.equal is None:
            raise RuntimeError("grids cannot be compared")
        return self.equal


@dataclass(frozen=True)
class Keys(ChunkKeyEncoding):
    """Keys by a rule that tests choose."""

    name: ClassVar[str] = "test.keys"
    rule: str = "good"

    def encode(self, coords: tuple[int, ...]) -> Any:
        rules: dict[str, Any] = {
            "good": "c/" + "/".join(map(str, coords)),
            "document": "zarr.json",
            "one document": "zarr.json" if coords == (1, 1) else f"{coords}",
            "below": "c/zarr.json",
            "one for all": "c",
            "one for a row": f"c/{coords[0]}",
            "nothing": None,
        }
        if self.rule == "failing":
            raise KeyError(coords)
        return rules[self.rule]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    grid_registry.register(AtMostTen)
    register_chunk_key_encoding(Keys.name, Keys)
    yield
    del grid_registry._classes[AtMostTen.name], key_encoding_registry._classes[Keys.name]


@pytest.mark.parametrize(
    ("length", "reason"), [(12, "chunk_grid: .* more than ten"), (100, "expected a chunk grid")]
)
def test_a_resize_that_the_grid_does_not_cover_is_refused(length: int, reason: str) -> None:
    """The document that was stored could not be opened."""
    store = zarrcore.create_array({}, shape=8, chunks=4, dtype="i4").store
    document = bytes(store.get("zarr.json")).replace(b'"regular"', b'"test.at_most_ten"')
    store.set("zarr.json", document)
    array = zarrcore.open_array(store)
    array[:] = 3
    with pytest.raises(MetadataValidationError, match=reason):
        array.resize(length)
    assert bytes(store.get("zarr.json")) == document
    array.resize(9)
    assert zarrcore.open_array(store)[:].tolist() == [3] * 8 + [0]


@pytest.mark.parametrize(
    ("cls", "reason"),
    [
        ("Recut", "chunks that are there kept by update_shape of the grid 'test.recut'"),
        ("Short", "cover 6 elements from the grid 'test.short'"),
    ],
)
def test_grids_made_from_ours_are_checked_like_others(cls: str, reason: str) -> None:
    """The chunks that were stored could not be read any more."""
    methods: dict[str, Any] = {
        "Recut": {"update_shape": lambda self, shape: type(self)(chunk_shape=(5,))},
        "Short": {"native": lambda self: ((2, 2),)},
    }
    kind = type(cls, (RegularGrid,), {"name": f"test.{cls.lower()}", "__module__": __name__, **methods[cls]})
    grid_registry.register(kind)
    with pytest.raises(MetadataValidationError, match=reason):
        array = zarrcore.create_array(
            store := {}, shape=6, chunk_grid=kind(chunk_shape=(2,)), dtype="i4", fill_value=1
        )
        array[:] = 2
        before = dict(store)
        try:
            array.append([3])
        finally:
            assert store == before
            assert zarrcore.open_array(store)[:].tolist() == [2] * 6
    del grid_registry._classes[kind.name]


@pytest.mark.parametrize("equal", [None, True, False])
def test_grids_that_compare_wrong_do_not_matter(equal: bool | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where equal grids are not, the document that was stored had too few chunks for the shape."""
    monkeypatch.setattr(Incomparable, "equal", equal)
    grid_registry.register(Incomparable)
    array = zarrcore.create_array({}, shape=6, chunk_grid=Incomparable(chunk_shapes=((2, 4),)), dtype="i4")
    array[:] = 1
    array.append([2, 2, 2])
    assert zarrcore.open_array(array.store)[:].tolist() == [1] * 6 + [2] * 3
    array.resize(4)
    with array.writer() as writer:
        writer.append([3] * 9)
    assert zarrcore.open_array(array.store)[:].tolist() == [1] * 4 + [3] * 9
    del grid_registry._classes[Incomparable.name]


@pytest.mark.parametrize("rule", ["document", "below", "one for all", "one for a row", "nothing", "failing"])
def test_keys_that_would_overwrite_something_are_refused(rule: str) -> None:
    store: dict[str, Any] = {}
    with pytest.raises(MetadataValidationError, match="chunk_key_encoding"):
        zarrcore.create_array(store, shape=(6, 6), chunks=(2, 2), dtype="i4", chunk_key_encoding=Keys(rule))
    assert not store


def test_the_document_is_not_overwritten_by_a_chunk() -> None:
    array = zarrcore.create_array(
        {}, shape=(6, 6), chunks=(2, 2), dtype="i4", chunk_key_encoding=Keys("one document")
    )
    document = array.store.get("zarr.json")
    array[0] = 5
    with pytest.raises(
        MetadataValidationError, match=r"encoding 'test.keys' for chunk \(1, 1\), got \"zarr.json\""
    ):
        array[:] = 6
    assert array.store.get("zarr.json") == document
    assert zarrcore.open_array(array.store)[0, 0] in (5, 6)
    array = zarrcore.create_array({}, shape=(6, 6), chunks=(2, 2), dtype="i4", chunk_key_encoding=Keys())
    array[:] = 6
    assert (zarrcore.open_array(array.store)[:] == 6).all()
