# SPDX-License-Identifier: MIT
"""Copies of HDF5 files with all that Zarr has no form for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import CopyError, StoreError, ZarrUserWarning

h5py = pytest.importorskip("h5py")

UNUSABLE = ["dangling", "elsewhere", "empty", "named type", "pairs", "ragged", "references", "self"]


@pytest.fixture(params=[2, 3])
def zarr_format(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def file(tmp_path: Path) -> Any:
    with h5py.File(tmp_path / "odd.h5", "w") as file:
        file["b"] = np.arange(3)
        group = file.create_group("a")
        group["records"] = np.array([(1, 2.5), (2, 3.5)], [("n", "i4"), ("x", "f8")])
        group["names"] = ["Oslo", "Tromsø"]
        group.create_dataset("fixed", data=["ä".encode(), b"b"], dtype=h5py.string_dtype("utf-8", 4))
        group.create_dataset("empty", dtype="f4")
        group.create_dataset("pairs", shape=2, dtype=[("n", "i4"), ("s", h5py.string_dtype())])
        group.create_dataset("ragged", shape=2, dtype=h5py.vlen_dtype("i4"))
        group.create_dataset("references", data=[file["b"].ref], dtype=h5py.ref_dtype)
        group["self"] = group
        group["named type"] = np.dtype("i4")
        group["dangling"] = h5py.SoftLink("/nowhere")
        group["elsewhere"] = h5py.ExternalLink("none.h5", "/x")
        attrs = file["b"].attrs
        attrs["range"] = np.array([-np.inf, np.nan])
        attrs["bounds"] = group["names"].ref
        attrs["nothing"] = h5py.Empty("f4")
        attrs["record"] = np.array((1, 2.5), [("n", "i4"), ("x", "f8")])
        attrs["impedance"] = 1j
        attrs["latin"] = np.bytes_(b"\xff")
        attrs["part"] = file["b"].regionref[1:]
        yield file


def test_a_copy_stops_before_anything_is_written(file: Any) -> None:
    store: dict[str, Any] = {}
    dest = zarrcore.create_group(store)
    before = dict(store)
    for step in (True, False):
        with pytest.raises(ValueError) as caught:
            zarrcore.copy_all(file, dest, dry_run=step)
        assert any("nothing has been written" in note for note in caught.value.__notes__)
    assert store == before


def test_what_zarr_has_no_form_for_is_left_out_and_named(file: Any, zarr_format: int) -> None:
    dest = zarrcore.create_group({}, zarr_format=zarr_format)
    log: list[str] = []
    with pytest.warns(ZarrUserWarning, match=r"not copied: .*/a/ragged.*") as warned:
        counts = zarrcore.copy_all(file, dest, on_error="skip", log=log.append)
    assert len(warned) == 1
    assert counts[:2] == (5, len(UNUSABLE))
    assert log[-1].startswith(f"all done: 5 copied, {len(UNUSABLE)} skipped")
    for name in UNUSABLE:
        assert name == "self" or any(line.startswith(f"cannot copy /a/{name}: ") for line in log), name
    assert any("link to /a" in line for line in log)
    for name in ("impedance", "latin", "part"):
        assert any(f"attributes.{name}: " in line for line in log), name
    assert sorted(dest["a"]) == ["fixed", "names", "records"]
    assert dest["a/records"][...].tolist() == [(1, 2.5), (2, 3.5)]
    assert dest["a/fixed"][...].tolist() == ["ä", "b"]
    assert dest["a/names"][...].tolist() == ["Oslo", "Tromsø"]
    attrs = dict(dest["b"].attrs)
    low, missing = attrs.pop("range")
    assert low == -np.inf
    assert np.isnan(missing)
    assert attrs == {"bounds": "/a/names", "nothing": None, "record": {"n": 1, "x": 2.5}}


def test_a_data_set_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    dest = zarrcore.create_group({})
    path = tmp_path / "damaged.h5"
    with h5py.File(path, "w") as file:
        file["good"] = np.arange(3)
        bad = file.create_dataset("bad", data=np.arange(500), chunks=(500,), compression="gzip")
        start = bad.id.get_chunk_info(0).byte_offset
    with path.open("r+b") as raw:
        raw.seek(start)
        raw.write(b"\0" * 40)
    with h5py.File(path) as file:
        with pytest.raises(CopyError, match="/bad cannot be read"):
            zarrcore.copy_all(file, dest, if_exists="skip")
        with pytest.warns(ZarrUserWarning, match="/bad"):
            assert zarrcore.copy_all(file, dest, on_error="skip")[:2] == (1, 1)
    assert sorted(dest) == ["good"]


def test_errors_of_the_target_end_every_copy(file: Any) -> None:
    class Full(zarrcore.storage.MemoryStore):
        def set(self, key: str, value: Any) -> None:
            if "/c/" in key:
                raise StoreError("no space left")
            super().set(key, value)

    dest = zarrcore.create_group(Full())
    with pytest.raises((StoreError, zarrcore.errors.ChunkIOError), match="no space left"):
        zarrcore.copy(file["b"], dest, on_error="skip", without_attrs=True)


def test_choices_are_checked(file: Any) -> None:
    with pytest.raises(ValueError, match="on_error: expected one of raise, skip"):
        zarrcore.copy(file["b"], zarrcore.create_group({}), on_error="ignore")  # type: ignore[arg-type]


def test_groups_of_any_depth_are_copied() -> None:
    store: dict[str, Any] = {}
    zarrcore.create_group(store)
    document, depth = store["zarr.json"], 1100
    store.update({f"{'g/' * level}zarr.json": document for level in range(1, depth + 1)})
    source = zarrcore.open_group(store)
    assert zarrcore.copy_all(source, zarrcore.create_group({}), dry_run=True)[:2] == (depth, 0)


def test_links_that_branch_at_every_level_end(tmp_path: Path) -> None:
    """Forty levels of two links each are 2**40 paths: copying them did not end."""
    with h5py.File(tmp_path / "f.h5", "w") as file:
        group = file.create_group("last")
        group["x"] = np.arange(3)
        for level in range(40):
            above = file.create_group(f"level{level}")
            above["one"], above["two"] = group, h5py.SoftLink(group.name)
            group = above
        with pytest.raises(CopyError, match="more than 100 links to one group") as error:
            zarrcore.copy_all(file, zarrcore.open_group({}, mode="w"))
        assert "nothing has been written" in error.value.__notes__[-1]
        copy = zarrcore.open_group({}, mode="w")
        with pytest.warns(ZarrUserWarning, match="more than 100 links"):
            counts = zarrcore.copy_all(file, copy, on_error="skip")
        assert counts[0] < 101 * 82
        assert copy["level0/two/x"][...].tolist() == [0, 1, 2]


def test_a_group_with_two_names_is_copied_twice(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "f.h5", "w") as file:
        file["a/x"] = np.arange(3)
        file["b"] = file["a"]
        copy = zarrcore.open_group({}, mode="w")
        zarrcore.copy_all(file, copy)
    assert copy["a/x"][...].tolist() == copy["b/x"][...].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda file: h5py.SoftLink("/nowhere"), "link to nothing"),
        (lambda file: h5py.ExternalLink("nowhere.h5", "/a"), "link to nothing"),
        (lambda file: h5py.Empty("f4"), "empty data set"),
        (lambda file: file["/"], "a link to /, the group that it is in"),
        (lambda file: np.dtype("f4"), "expected an array or a group"),
    ],
)
def test_the_message_itself_names_what_cannot_be_copied(tmp_path: Path, make: Any, reason: str) -> None:
    """Only a note of the exception did, which logs and `str` leave out."""
    with h5py.File(tmp_path / "odd.h5", "w") as file:
        file.create_group("g")["odd one"] = make(file)
        with pytest.raises(CopyError, match=f"^/g/odd one: .*{reason}"):
            zarrcore.copy_all(file, zarrcore.create_group({}))
