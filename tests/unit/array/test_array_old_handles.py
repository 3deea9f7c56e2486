"""Handles from before another handle made the array shrink, or put another one in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ArrayNotFoundError
from zarrcore.storage import LocalStore, MemoryStore

STORES = ["memory", "local", "linked"]


def two(kind: str, tmp_path: Path, *, used: bool, **options: Any) -> tuple[zarrcore.Array, zarrcore.Array]:
    """Two handles of one array; the second one has been read through, or not."""
    store: Any = MemoryStore() if kind == "memory" else LocalStore(tmp_path / "real")
    first = zarrcore.create_array(store, name="a", shape=20, **{"chunks": 4, "dtype": "i4", **options})
    first[...] = np.arange(20)
    if kind == "linked":
        (tmp_path / "link").symlink_to(tmp_path / "real")
        store = LocalStore(tmp_path / "link")
    second = zarrcore.open_array(store, path="a")
    if used:
        assert second[3] == 3
    return first, second


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("kind", STORES)
def test_a_handle_from_before_a_shrink(kind: str, used: bool, tmp_path: Path) -> None:
    first, second = two(kind, tmp_path, used=used)
    first.resize(6)
    with pytest.raises(IndexError):
        second[15] = 7
    with pytest.raises(IndexError):
        second[15]
    assert second.shape == (6,) and second[...].tolist() == list(range(6))
    second[5] = 50
    first.resize(20)
    assert first[4:8].tolist() == [4, 50, 0, 0] and not first[8:].any()


ASKED: dict[str, tuple[Callable[[zarrcore.Array], Any], Any]] = {
    "read_many": (lambda a: zarrcore.read_many([(a, slice(3, None))])[0].tolist(), [3, 4, 5]),
    "iter_regions": (lambda a: list(a.iter_regions())[-1], (slice(4, 6),)),
    "size": (lambda a: (a.size, a.nbytes), (6, 24)),
    "nchunks": (lambda a: a.nchunks, 2),
}


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("name", ASKED)
def test_what_else_is_asked_of_a_handle_from_before_a_shrink(name: str, used: bool, tmp_path: Path) -> None:
    first, second = two("local", tmp_path, used=used)
    first.resize(6)
    ask, expected = ASKED[name]
    assert ask(second) == expected


def test_regions_are_checked_by_the_shape_that_there_is(tmp_path: Path) -> None:
    first, second = two("local", tmp_path, used=True)
    first.resize(6)
    with pytest.raises(IndexError):
        second.check_regions([8])


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("kind", STORES)
def test_a_handle_made_of_one_from_before_a_shrink(kind: str, used: bool, tmp_path: Path) -> None:
    """It took itself for a new one: what had been cut off was read as fill values, as long as before."""
    for derived in (lambda a: a.with_config({"order": "C"}), lambda a: a.with_cache(1 << 20)):
        (tmp_path / "link").unlink(missing_ok=True)
        first, second = two(kind, tmp_path, used=used, overwrite=True)
        first.resize(6)
        found = derived(second)
        assert found[...].tolist() == list(range(6)) and found.shape == (6,)


@pytest.mark.parametrize("consolidated", [False, True])
def test_a_member_that_shrinks_while_members_are_walked(consolidated: bool) -> None:
    """Their metadata are read before they come; that of the second array was out of date by then."""
    group = zarrcore.create_group({})
    for name in "ab":
        group.create_array(name, data=np.arange(1, 21), chunks=4)
    if consolidated:
        group = zarrcore.consolidate_metadata(group.store)
    arrays = group.arrays()
    assert next(arrays)[0] == "a"
    zarrcore.open_array(group.store, path="b").resize(6)
    assert [(name, second[...].tolist()) for name, second in arrays] == [("b", [1, 2, 3, 4, 5, 6])]


class Shrinking(MemoryStore):
    """Has an array shrink once a document has been read."""

    after = ""
    first: zarrcore.Array

    def get(self, key: str, byte_range: Any = None) -> Any:
        found = super().get(key, byte_range)
        if key == self.after:
            self.after = ""
            self.first.resize(6)
        return found


@pytest.mark.parametrize(
    "opened",
    [
        lambda store: zarrcore.open(store, path="a", mode="r+"),
        lambda store: zarrcore.open_array(store, path="a"),
        lambda store: zarrcore.open_group(store)["a"],
        lambda store: zarrcore.open_group(store).require_array("a", shape=20, dtype="i4"),
    ],
)
def test_an_array_that_shrinks_while_it_is_opened(opened: Any) -> None:
    store = Shrinking()
    zarrcore.create_group(store)
    store.first = zarrcore.create_array(store, name="a", shape=20, chunks=4, dtype="i4")
    store.first[...] = np.arange(20)
    store.after = "a/zarr.json"
    assert opened(store)[...].tolist() == list(range(6))


def test_an_array_that_shrinks_while_a_group_is_opened() -> None:
    """The consolidated metadata that the group had read were taken for those of after the change."""
    store = Shrinking()
    store.first = zarrcore.create_group(store).create_array("a", data=np.arange(20), chunks=4)
    zarrcore.consolidate_metadata(store)
    store.after = "zarr.json"
    group = zarrcore.open_group(store)
    with zarrcore.config.set({"metadata.check_consolidated": "off"}):
        assert group["a"][...].tolist() == list(range(6))


@pytest.mark.parametrize("used", [False, True])
def test_a_writer_of_a_handle_from_before_a_shrink(used: bool, tmp_path: Path) -> None:
    first, second = two("local", tmp_path, used=used)
    first.resize(6)
    with second.writer() as writer:
        assert writer.shape == (6,)
        writer[5] = 50
    assert first[...].tolist() == [0, 1, 2, 3, 4, 50]


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize(
    "options", [{"shape": 20, "dtype": "f4"}, {"shape": (20, 1), "dtype": "i4"}, {"shape": (), "dtype": "i4"}]
)
def test_a_handle_from_before_another_kind_of_array(
    kind: str, options: Any, used: bool, tmp_path: Path
) -> None:
    first, second = two(kind, tmp_path, used=used)
    new = zarrcore.create_array(
        first.store, name="a", chunks=4 if options["shape"] else (), **options, overwrite=True
    )
    new[...] = value = 1.5 if options["dtype"] == "f4" else 2
    for access in (lambda: second[3], lambda: second[:], lambda: second.read([1, 2])):
        with pytest.raises(ArrayNotFoundError, match="replaced by another one since it was opened"):
            access()
    with pytest.raises(ArrayNotFoundError, match="open it again"):
        second[3] = 4
    assert (zarrcore.open_array(second.store, path="a")[...] == value).all()


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("shapes", [[(24,), (9,), (26,), (30,)], [(22,), (6,), (20,)], [(0,), (21,), (25,)]])
def test_a_handle_of_a_rectilinear_grid_that_has_got_several_chunks(
    shapes: list[tuple[int, ...]], used: bool, tmp_path: Path
) -> None:
    """It took the array for another one: each change of the shape had added a chunk to its grid."""
    first, second = two("local", tmp_path, used=used, chunks=[[4, 7, 9]])
    third = zarrcore.open_array(first.store, path="a")
    expected = np.arange(20, dtype="i4")
    for shape in shapes:
        first.resize(shape)
        expected = np.concatenate([expected[: shape[0]], np.zeros(max(0, shape[0] - len(expected)), "i4")])
        third.attrs["n"] = shape
    if first.shape[0] > 20:
        first[20:] = expected[20:] = 5
    assert second[:20].tolist() == expected[:20].tolist()
    assert third[...].tolist() == expected.tolist()


@pytest.mark.parametrize("chunks", [[[4, 8, 8]], [[4, 7, 10]]])
def test_a_handle_from_before_an_array_with_other_chunks(chunks: Any, tmp_path: Path) -> None:
    first, second = two("local", tmp_path, used=True, chunks=[[4, 7, 9]])
    zarrcore.create_array(first.store, name="a", shape=20, chunks=chunks, dtype="i4", overwrite=True)[...] = 2
    with pytest.raises(ArrayNotFoundError, match="replaced by another one since it was opened"):
        second[:]


def test_a_handle_from_before_the_same_array_anew(tmp_path: Path) -> None:
    first, second = two("local", tmp_path, used=True)
    new = zarrcore.create_array(first.store, name="a", shape=20, chunks=4, dtype="i4", overwrite=True)
    new[...] = 5
    assert (second[...] == 5).all()


def test_other_arrays_go_on(tmp_path: Path) -> None:
    first, second = two("local", tmp_path, used=True)
    other = zarrcore.create_array(first.store, name="b", shape=20, chunks=4, dtype="i4")
    other[...] = 2
    first.resize(6)
    assert (other[...] == 2).all() and other[19] == 2 and other.shape == (20,)
