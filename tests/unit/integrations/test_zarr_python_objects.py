"""Arrays and groups of zarrcore as those of zarr-python, and the other way round."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore, ZipStore

zarr = pytest.importorskip("zarr")
testing = pytest.importorskip("zarr.core.sync")

from zarrcore.integrations.zarr_python import CodecPipeline, ZarrcoreStore, as_zarr, from_zarr  # noqa: E402

VALUES = np.arange(23 * 17).reshape(23, 17)


def stores(tmp_path: Path) -> dict[str, Any]:
    return {
        "local": LocalStore(tmp_path / "local"),
        "memory": MemoryStore(),
        "wrapper": WrapperStore(MemoryStore()),
        "zarr-python": zarr.storage.LoggingStore(zarr.storage.MemoryStore(), log_level="ERROR"),
    }


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("name", ["local", "memory", "wrapper", "zarr-python"])
def test_arrays_and_groups_are_true_ones_on_our_engine(name: str, zarr_format: Any, tmp_path: Path) -> None:
    root = zarrcore.group(stores(tmp_path)[name], zarr_format=zarr_format)
    ours = root.create_array("g/a", data=VALUES, chunks=(5, 6), attributes={"unit": "m"})
    array, group = as_zarr(ours), as_zarr(root)
    assert type(array) is zarr.Array and type(group) is zarr.Group
    for found in (array, group["g/a"], group["g"]["a"], group.create_array("b", data=VALUES, chunks=(5, 6))):
        pipeline = found._async_array.codec_pipeline
        assert isinstance(pipeline, CodecPipeline)
        assert np.array_equal(found[3:9], VALUES[3:9])
        assert pipeline._engines and None not in pipeline._engines.values()
    assert dict(array.attrs) == {"unit": "m"} and sorted(group.keys()) == ["b", "g"]
    array[2:4, 3] = -1
    assert ours[2:4, 3].tolist() == [-1, -1] and sorted(root.keys()) == ["b", "g"]
    ours[0] = 5
    assert array[0].tolist() == [5] * 17
    group["b"].attrs["x"] = 1
    assert dict(root["b"].attrs) == {"x": 1}
    del group["g"]
    assert [*root.keys()] == ["b"]


def test_arrays_of_other_stores_keep_the_pipeline_that_is_configured() -> None:
    assert type(zarr.create_array({}, data=VALUES)._async_array.codec_pipeline) is not CodecPipeline


def test_there_and_back(tmp_path: Path) -> None:
    for name, store in stores(tmp_path).items():
        root = zarrcore.group(store)
        ours = root.create_array("a", data=VALUES, chunks=(5, 6))
        back = from_zarr(as_zarr(ours))
        assert type(back) is zarrcore.Array and back.store is ours.store, name
        assert type(from_zarr(as_zarr(root))) is zarrcore.Group
        assert from_zarr(as_zarr(root)).store is root.store


def test_arrays_and_groups_of_zarr_python_are_taken_over(tmp_path: Path) -> None:
    root = zarr.open_group(zarr.storage.LocalStore(tmp_path), mode="w")
    array = root.create_array("g/a", data=VALUES, chunks=(5, 6))
    for theirs in (array, array._async_array):
        ours = from_zarr(theirs)
        assert type(ours.store) is LocalStore and ours.path == "g/a" and np.array_equal(ours[:], VALUES)
    from_zarr(root)["g/a"][0] = 7
    assert array[0].tolist() == [7] * 17
    with pytest.raises(zarrcore.errors.ReadOnlyError):
        from_zarr(zarr.open_group(tmp_path, mode="r"))["g/a"][0] = 7


def test_what_is_read_only_stays_so(tmp_path: Path) -> None:
    zarrcore.save_array(tmp_path / "a", VALUES)
    array = as_zarr(zarrcore.open_array(tmp_path / "a", mode="r"))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
    with ZipStore(tmp_path / "a.zip", mode="w") as archive:
        zarrcore.save_array(archive, VALUES)
    assert np.array_equal(as_zarr(zarrcore.open_array(tmp_path / "a.zip", mode="r"))[:], VALUES)


def test_pickled_arrays_stay_on_our_engine(tmp_path: Path) -> None:
    array = as_zarr(zarrcore.create_array(tmp_path / "a", data=VALUES, chunks=(5, 6)))
    copy = pickle.loads(pickle.dumps(array))
    assert np.array_equal(copy[:], VALUES) and copy == array
    assert isinstance(copy._async_array.codec_pipeline, CodecPipeline)


def test_the_store_speaks_as_stores_of_zarr_python_do() -> None:
    store = ZarrcoreStore(MemoryStore({"a/b": b"0123456789", "ab": b""}))
    prototype = zarr.core.buffer.default_buffer_prototype()
    byte_ranges = zarr.abc.store

    async def main() -> None:
        for part, expected in (
            (None, b"0123456789"),
            (byte_ranges.RangeByteRequest(2, 4), b"23"),
            (byte_ranges.OffsetByteRequest(7), b"789"),
            (byte_ranges.SuffixByteRequest(2), b"89"),
        ):
            assert (await store.get("a/b", prototype, part)).to_bytes() == expected
        assert await store.get("c", prototype) is None and await store.getsize("a/b") == 10
        assert sorted([key async for key in store.list_prefix("a")]) == ["a/b", "ab"]
        assert sorted([name async for name in store.list_dir("")]) == ["a", "ab"]
        assert [name async for name in store.list_dir("a")] == ["b"]
        await store.set_if_not_exists("ab", prototype.buffer.from_bytes(b"x"))
        assert (await store.get("ab", prototype)).to_bytes() == b""

    testing.sync(main())


def test_methods_and_the_function_at_the_top(tmp_path: Path) -> None:
    root = zarrcore.open_group(tmp_path, mode="w")
    ours = root.create_array("a", data=VALUES, chunks=(5, 6))
    theirs = ours.with_config({"order": "F"}).as_zarr()
    assert isinstance(theirs, zarr.Array) and theirs[:].flags.f_contiguous
    assert isinstance(root.as_zarr(), zarr.Group)
    theirs.resize((25, 17))
    theirs[24] = 3
    theirs.attrs["x"] = 1
    again = zarrcore.from_zarr(pickle.loads(pickle.dumps(theirs)))
    assert again.shape == (25, 17) and again[24].tolist() == [3] * 17 and dict(again.attrs) == {"x": 1}
    again.resize((2, 2))
    assert np.array_equal(again.as_zarr()[:], VALUES[:2, :2])
    assert np.array_equal(zarrcore.from_zarr(root.as_zarr())["a"][:], VALUES[:2, :2])


@pytest.mark.parametrize("settings", [{"order": "F", "write_empty_chunks": True}, {"order": "C"}])
def test_the_settings_of_an_array_go_both_ways(settings: dict[str, Any]) -> None:
    """An array that keeps chunks of fill values was made one that removes them."""
    store = zarr.storage.MemoryStore()
    theirs = zarr.create_array(store, shape=(4, 6), chunks=(2, 6), dtype="i4", config=settings)
    for node in (theirs, theirs._async_array, zarrcore.from_zarr(theirs).as_zarr()):
        ours = zarrcore.from_zarr(node)
        assert ours[:].flags.f_contiguous == (settings["order"] == "F")
        ours[:] = 1
        ours[:] = 0
        assert ("c/0/0" in store._store_dict) == settings.get("write_empty_chunks", False)


@pytest.mark.parametrize("alias", [None, zarrcore])
def test_without_zarr_python_the_extra_is_named(alias: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    array = zarrcore.array([1, 2])
    for name in [name for name in sys.modules if name.startswith(("zarr.", "zarrcore.integrations."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "zarr", alias)
    expected = r"pip install 'zarrcore\[zarr\]'" if alias is None else "zarrcore has its place"
    for call in (array.as_zarr, lambda: zarrcore.from_zarr(array), zarrcore.accelerate):
        with pytest.raises(ImportError, match=expected):
            call()


def test_arrays_of_other_releases_are_made_in_their_own_way() -> None:
    program = (
        "import sys, zarr; zarr.__version__ = sys.argv[1]; before = zarr.core.array.create_codec_pipeline;"
        "import zarrcore.integrations.zarr_python.objects;"
        "assert zarr.core.array.create_codec_pipeline is before"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for version in ("3.0.10", "3.9.0"):
        command = [sys.executable, "-c", program, version]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stderr.count(f"not {version}") == 1, done.stderr


def test_what_is_no_node_is_refused() -> None:
    with pytest.raises(TypeError, match=r"as_zarr: .* got ndarray"):
        as_zarr(VALUES)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"from_zarr: .* got ndarray"):
        from_zarr(VALUES)
