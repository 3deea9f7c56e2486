# SPDX-License-Identifier: MIT
"""Replacing a node removes nothing of other people's without being asked to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ForeignDataError
from zarrcore.storage import FsspecStore, LocalStore, MemoryStore, WrapperStore

REPLACE: dict[str, Callable[..., Any]] = {
    "create_array": lambda place, **kw: zarrcore.create_array(
        place, shape=1, dtype="i1", **{"overwrite": True, **kw}
    ),
    "array with data": lambda place, **kw: zarrcore.create_array(
        place, data=np.zeros(3), **{"overwrite": True, **kw}
    ),
    "create_group": lambda place, **kw: zarrcore.create_group(place, **{"overwrite": True, **kw}),
    "open_group": lambda place, **kw: zarrcore.open_group(place, mode="w", **kw),
    "open_array": lambda place, **kw: zarrcore.open_array(place, mode="w", shape=1, dtype="i1", **kw),
    "open": lambda place, **kw: zarrcore.open(place, mode="w", **kw),
    "open with shape": lambda place, **kw: zarrcore.open(place, mode="w", shape=1, dtype="i1", **kw),
    "group": lambda place, **kw: zarrcore.group(place, **{"overwrite": True, **kw}),
    "save": lambda place, **kw: zarrcore.save(place, np.zeros(2), np.ones(3), **kw),
    "save_group": lambda place, **kw: zarrcore.save_group(place, a=np.zeros(2), **kw),
    "save_array": lambda place, **kw: zarrcore.save_array(place, np.zeros(2), **(kw or {"mode": "w"})),
    "hierarchy": lambda place, **kw: list(
        zarrcore.create_hierarchy(
            store=LocalStore(place),
            nodes={"": zarrcore.create_group({}).metadata},
            **{"overwrite": True, **kw},
        )
    ),
}


@pytest.mark.parametrize("how", REPLACE)
def test_a_directory_of_other_files_is_not_erased(how: str, tmp_path: Path) -> None:
    for name in ("thesis.tex", "photos/a.jpg", "notes.txt", ".git/config", "results.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("years of work")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        ForeignDataError, match=r"'\.git', 'notes\.txt', 'photos', \.\.\.; .*overwrite=\"all\""
    ):
        REPLACE[how](tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
    REPLACE[how](tmp_path, overwrite="all")
    assert not (tmp_path / "thesis.tex").exists()
    zarrcore.open(tmp_path, mode="r")


@pytest.mark.parametrize("kind", ["memory", "fsspec", "wrapper"])
def test_stores_that_are_no_directories(kind: str, tmp_path: Path) -> None:
    if kind == "fsspec":
        pytest.importorskip("fsspec")
        store: Any = FsspecStore.from_url(f"memory://{tmp_path}")
    else:
        store = MemoryStore() if kind == "memory" else WrapperStore(MemoryStore())
    zarrcore.create_array(store, name="g/a", shape=4, chunks=1, dtype="i4")[...] = 1
    store.set("g/readme.txt", b"mine")
    with pytest.raises(ForeignDataError, match=r"g .*'readme\.txt'"):
        zarrcore.create_group(store, path="g", overwrite=True)
    zarrcore.create_group(store, path="g", overwrite="all")
    assert list(zarrcore.open_group(store)["g"]) == []
    with pytest.raises(ValueError, match="overwrite"):
        zarrcore.create_group(store, path="g", overwrite="al")


def test_what_zarr_wrote_is_replaced(tmp_path: Path) -> None:
    """Nodes of all formats, nested ones, chunks under all keys, consolidated metadata, temporary files."""
    options: dict[str, Any] = {"shape": (4, 4), "chunks": (2, 2), "dtype": "i4"}
    root = zarrcore.create_group(tmp_path / "v3", attributes={"a": 1})
    for number, encoding in enumerate((None, "v2", {"name": "default", "separator": "."})):
        for separator in ".", "/":
            if isinstance(encoding, str):
                encoding = {"name": encoding, "separator": separator}
            array = root.create_array(
                f"deep/{number}{separator == '.'}", chunk_key_encoding=encoding, **options
            )
            array[...] = 1
            (tmp_path / "v3" / array.path / ".zc-0123456789abcdef.partial").write_bytes(b"")
            zarrcore.create_array(
                tmp_path / "v3", name=array.path, overwrite=True, chunk_key_encoding=encoding, **options
            )[...] = 2
    root.create_array("scalar", shape=(), dtype="i4")[...] = 1
    zarrcore.create_array(tmp_path / "v3", name="scalar", overwrite=True, **options)
    zarrcore.consolidate_metadata(tmp_path / "v3")
    old = zarrcore.create_group(tmp_path / "v2", zarr_format=2)
    old.create_array("g/a", **options)[...] = 1
    (tmp_path / "v2" / "g" / ".zgroup").unlink()
    (tmp_path / "v2" / "g" / ".zattrs").unlink()
    zarrcore.consolidate_metadata(tmp_path / "v2")
    (tmp_path / "n5" / "x" / "0").mkdir(parents=True)
    (tmp_path / "n5" / "attributes.json").write_text('{"n5": "2.0.0"}')
    (tmp_path / "n5" / "x" / "attributes.json").write_text(
        json.dumps({"dimensions": [3], "blockSize": [3], "dataType": "uint8", "compression": {"type": "raw"}})
    )
    (tmp_path / "n5" / "x" / "0" / "0").write_bytes(b"")
    (tmp_path / "killed" / "c" / "0").mkdir(parents=True)
    (tmp_path / "killed" / "c" / "0" / "1").write_bytes(b"")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "zarr.json").write_text("{")
    (tmp_path / "empty" / "below").mkdir(parents=True)
    for name in ("v3", "v2", "n5", "killed", "broken", "empty", "nothing"):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / ".DS_Store").write_bytes(b"")
        zarrcore.create_array(tmp_path / name, overwrite=True, shape=1, dtype="i1")
        assert {path.name for path in (tmp_path / name).iterdir()} == {"zarr.json"}


def test_a_linked_directory_is_not_emptied(tmp_path: Path) -> None:
    """Neither through the link itself, nor through a path below it, does anything leave the root."""
    outside = tmp_path / "outside"
    zarrcore.create_array(outside, name="a", shape=4, chunks=2, dtype="i4")[...] = 7
    root = zarrcore.create_group(tmp_path / "root")
    (tmp_path / "root" / "link").symlink_to(outside)
    with pytest.raises(zarrcore.errors.StoreError, match="link"):
        root.create_array("link/a", shape=1, dtype="i1", overwrite=True)
    with pytest.raises(zarrcore.errors.StoreError, match="link"):
        root.create_array("link", shape=1, dtype="i1", overwrite=True)
    (tmp_path / "root" / "link").unlink()
    root.create_array("link", shape=1, dtype="i1", overwrite=True)
    assert zarrcore.open_array(outside, path="a", mode="r")[...].tolist() == [7] * 4
