"""The methods of zarr-python's arrays on our engine: results, errors and values stay what they were."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore

zarr = pytest.importorskip("zarr")

from zarr_python_selections import read, write, write_model  # noqa: E402

from zarrcore.integrations.zarr_python import accelerated  # noqa: E402
from zarrcore.integrations.zarr_python.metadata import is_known_release, release  # noqa: E402

VALUES = np.arange(23 * 17).reshape(23, 17)
ORIGINAL = {name: vars(zarr.Array)[name] for name in dir(zarr.Array) if "_selection" in name}
ORIGINAL["__getitem__"] = zarr.Array.__getitem__


@pytest.fixture(autouse=True)
def all_is_undone() -> Iterator[None]:
    yield
    assert all(vars(zarr.Array)[name] is method for name, method in ORIGINAL.items())
    assert not accelerated._known and not accelerated._methods and not accelerated._users


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Count calls that zarr-python makes to a codec pipeline: what did not go through the engine."""
    calls = {"read": 0, "write": 0}
    home = zarr.core.array if hasattr(zarr.core.array, "_get_selection") else zarr.AsyncArray
    for name in calls:
        original = getattr(home, f"_{'get' if name == 'read' else 'set'}_selection")

        async def count(*args: Any, name: str = name, original: Any = original, **options: Any) -> Any:
            calls[name] += 1
            return await original(*args, **options)

        monkeypatch.setattr(home, original.__name__, count)
    return calls


def stores(tmp_path: Path) -> dict[str, Any]:
    return {
        "local": zarr.storage.LocalStore(tmp_path / "local"),
        "memory": zarr.storage.MemoryStore(),
        "wrapper": zarr.storage.WrapperStore(zarr.storage.MemoryStore()),
        "fsspec": zarr.storage.FsspecStore.from_url(f"memory://{tmp_path.name}"),
    }


ARRAYS: dict[str, dict[str, Any]] = {
    "v3": {},
    "shards": {"shards": (10, 12)},
    "order F": {"config": {"order": "F"}},
    "v2": {"zarr_format": 2},
    "v2 order F": {"zarr_format": 2, "order": "F"},
}
MASK = VALUES % 5 == 0
ROWS = MASK[:, 0]
TAKEN: list[tuple[str, Any]] = [
    *(
        ("basic", s)
        for s in (..., np.s_[:], np.s_[3:20:4, 2:], 4, -1, np.s_[:, 16], (22, 16), (-1, ..., -17))
    ),
    *(
        ("basic", s)
        for s in (np.s_[5:5], np.s_[100:200], np.s_[..., np.int8(3)], (), np.s_[:3, ...], np.int64(2))
    ),
    ("oindex", ([20, 1, 7, 7], [16, 0])),
    ("oindex", (slice(2, 19), np.array([3, 3, -1]))),
    ("oindex", (5, [3, 12])),
    ("oindex", (ROWS, slice(None))),
    ("oindex", (ROWS, [0, 16])),
    ("oindex", slice(1, 3)),
    ("oindex", (1, 2)),
    ("vindex", ([1, 20, 1, 7], [16, 3, 16, 0])),
    ("vindex", (np.array([[1, 20], [1, 7]]), np.array([[16, 3], [-16, 0]]))),
    ("vindex", (np.array([[1], [2]]), np.array([0, 4]))),
    ("vindex", (3, [1, 2])),
    ("vindex", MASK),
    ("vindex", np.zeros_like(MASK)),
    ("blocks", (1, slice(1, 3))),
    ("blocks", -1),
    ("blocks", slice(1, None)),
    ("basic", ([1, 5], [2, 3])),
    ("basic", (slice(None), [1, 2])),
    ("basic", MASK),
]
LEFT: list[tuple[str, Any]] = [  # to zarr-python, which refuses most of it
    *(("basic", s) for s in (np.s_[::-1], np.s_[:, 5:1:-2], (None, 3), 23, (0, 0, 0), -24, 1.5, np.s_[::0])),
    *(("basic", s) for s in (True, ROWS, (..., ...), "a", [[1, 2]], None, (slice("a"),))),
    *(("oindex", s) for s in (([23], 0), (np.s_[::-1], [1]), ([1.5], 0), (ROWS[:3], 0), ([[1]], 0))),
    *(
        ("vindex", s)
        for s in ((1, 2), ([23], [0]), ([1], slice(None)), MASK[:3], ([1, 2], [1, 2, 3]), ([0.5], [1]))
    ),
    *(("blocks", s) for s in (7, (0, 0, 0), slice(0, 3, 2), [1, 2])),
    # Some of these zarr-python takes, for other blocks than NumPy would.
    *(("blocks", s) for s in (slice(0, -7), slice(2, 1), slice(-9, None), slice(0, 99), (0, slice(2, -3)))),
    ("blocks", ...),
]


def outcome(function: Any, *args: Any) -> Any:
    """Return what a call returns, as something to compare, or its error."""
    try:
        found = function(*args)
    except Exception as error:
        return type(error), str(error)
    return type(found), getattr(found, "dtype", None), np.shape(found), np.asarray(found).tolist()


@pytest.mark.parametrize("options", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("name", ["local", "memory", "wrapper", "fsspec"])
def test_selections_are_those_of_before(
    name: str, options: dict[str, Any], counted: dict[str, int], tmp_path: Path
) -> None:
    array = zarr.create_array(
        stores(tmp_path)[name], shape=VALUES.shape, chunks=(5, 6), dtype="i4", **options
    )
    array[:] = VALUES
    expected = [outcome(read, array, *case) for case in (*TAKEN, *LEFT)]
    layout = array[:, 3:].flags
    with zarrcore.accelerate():
        counted["read"] = 0
        found = [outcome(read, array, *case) for case in TAKEN]
        assert counted["read"] == 0
        found += [outcome(read, array, *case) for case in LEFT]
        assert array[:, 3:].flags.f_contiguous == layout.f_contiguous
    for case, now, before in zip((*TAKEN, *LEFT), found, expected, strict=True):
        assert now == before, case


@pytest.mark.parametrize("options", ARRAYS.values(), ids=ARRAYS)
def test_writes_are_those_of_before(options: dict[str, Any], counted: dict[str, int], tmp_path: Path) -> None:
    """To stores that the engine writes to by itself and through Python: both are held against one model."""
    kept = stores(tmp_path)
    options = {"shape": VALUES.shape, "chunks": (5, 6), "dtype": "i4", **options}
    arrays = {name: zarr.create_array(kept[name], **options) for name in ("memory", "wrapper")}
    model = zarr.create_array({}, **options)
    for step, case in enumerate(TAKEN):
        part = read(model, *case)
        for value in (
            part * 0 + np.int32(step),
            part * 0.0 - step - 0.5,
            -step,
            step + 0.75,
        ):
            with zarrcore.accelerate():
                counted["write"] = 0
                for array in arrays.values():
                    write(array, *case, value)
                assert counted["write"] == 0, (case, value)
            write_model(model, *case, value)
            expected = model[:]
            for name, array in arrays.items():
                assert np.array_equal(array[:], expected), (name, case)
    wrong = [(7, "text"), (..., np.zeros((2, 2))), (0, 1 << 40), (0, [1, 2]), (np.s_[::-1], 1), (99, 1)]
    for selection, value in (*wrong, (0, np.zeros((1, 17))), (0, None), (0, np.array("x"))):
        before = outcome(write, model, "basic", selection, value)
        expected = model[:]
        for name, array in arrays.items():
            with zarrcore.accelerate():
                now = outcome(write, array, "basic", selection, value)
            # zarr-python writes chunks in any order
            assert now == before or now[0] is before[0] is ValueError, (name, selection)
            assert np.array_equal(array[:], expected), name


def test_blocks_that_are_not_there_are_written_as_before() -> None:
    array, model = (zarr.create_array({}, shape=9, chunks=2, dtype="i4") for _ in range(2))
    for step, (start, stop) in enumerate(itertools.product(range(-7, 8), repeat=2), 1):
        with zarrcore.accelerate():
            now = outcome(write, array, "blocks", slice(start, stop), step)
        assert now == outcome(write, model, "blocks", slice(start, stop), step), (start, stop)
        assert np.array_equal(array[:], model[:]), (start, stop)


@pytest.mark.parametrize("mask", [np.True_, np.False_, np.array(True)])
def test_a_mask_of_no_dimensions_is_refused_as_before(mask: Any) -> None:
    array = zarr.create_array({}, shape=(), dtype="i4", fill_value=3)
    expected = [outcome(array.get_mask_selection, mask), outcome(array.set_mask_selection, mask, 1)]
    with zarrcore.accelerate():
        found = [outcome(array.get_mask_selection, mask), outcome(array.set_mask_selection, mask, 1)]
    assert found == expected and array[()] == 3


class Doubled(zarr.Array):  # type: ignore[misc]
    """Changes what is read, in methods that others call."""

    def get_basic_selection(self, *args: Any, **options: Any) -> Any:
        return 2 * super().get_basic_selection(*args, **options)

    def get_orthogonal_selection(self, *args: Any, **options: Any) -> Any:
        return 2 * super().get_orthogonal_selection(*args, **options)


class AsyncDoubled(zarr.AsyncArray):  # type: ignore[misc]
    async def _get_selection(self, *args: Any, **options: Any) -> Any:
        return 2 * await super()._get_selection(*args, **options)


def test_classes_that_derive_from_arrays_read_in_their_own_way() -> None:
    theirs = zarr.create_array({}, data=np.arange(6), chunks=2)._async_array
    config = getattr(theirs, "config", None) or theirs._config
    derived = AsyncDoubled(theirs.metadata, theirs.store_path, config)
    cases = [(Doubled(theirs), np.s_[1:4]), (Doubled(theirs), 2), (zarr.Array(derived), np.s_[1:4])]
    before = [outcome(array.__getitem__, selection) for array, selection in cases]
    assert before[0][-1] == [2, 4, 6]
    with zarrcore.accelerate():
        assert [outcome(array.__getitem__, selection) for array, selection in cases] == before


DTYPES = [
    "?",
    "i1",
    "u8",
    ">i2",
    "f2",
    ">f8",
    "c16",
    "M8[s]",
    "m8[ns]",
    "S5",
    "U3",
    "V4",
    [("a", "i4"), ("b", "f8")],
]


@pytest.mark.parametrize("dtype", [*DTYPES, "string"], ids=str)
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore")  # of zarr-python, about data types without a specification
def test_every_data_type(dtype: Any, zarr_format: Any) -> None:
    if dtype == "string" or np.dtype(dtype).kind in "bU":
        kind: Any = str if dtype == "string" else np.dtype(dtype)
        values = np.arange(40).astype(kind)
    else:
        kind = np.dtype(dtype)
        values = np.frombuffer(bytes(range(1, 120)) * kind.itemsize, kind, 40)
    options = {"shape": 40, "chunks": 7, "dtype": kind, "zarr_format": zarr_format}
    array, model = (zarr.create_array({}, **options) for _ in range(2))
    model[:] = values
    model[3] = values[4]
    with zarrcore.accelerate():
        array[:] = values
        array[3] = values[4]
        found, one = array[2:29], array[5]
    expected = model[2:29]
    assert found.dtype == expected.dtype and type(one) is type(model[5])
    assert found.tobytes() == expected.tobytes() or found.tolist() == expected.tolist()
    assert model[:].tolist() == array[:].tolist() or model[:].tobytes() == array[:].tobytes()


def test_values_are_seen_both_ways_and_shapes_are_followed(counted: dict[str, int], tmp_path: Path) -> None:
    array = zarr.create_array(tmp_path / "a", shape=10, chunks=4, dtype="i4")
    other = zarrcore.open_array(tmp_path / "a")
    with zarrcore.accelerate():
        array[:] = 1
        assert other[:].tolist() == [1] * 10
        other[2:5] = 7
        assert array[:6].tolist() == [1, 1, 7, 7, 7, 1]
        array.resize(12)
        array[10:] = 3
        assert array[8:].tolist() == [1, 1, 3, 3] and array.append(np.array([4])) == (13,)
        array.resize(3)
        assert array[:].tolist() == [1, 1, 7] and array[2] == 7
        with pytest.raises(IndexError):
            array[5]
        array.attrs["x"] = 1
        assert array[1:].tolist() == [1, 7] and dict(array.attrs) == {"x": 1}
        zarrcore.open_array(tmp_path / "a").resize(1)  # zarr-python's object has its own shape still
        assert array[:].tolist() == [1, 0, 0]
    assert counted == {"read": 0, "write": 1}  # that of append


@pytest.mark.filterwarnings("ignore:The data type")  # of 3.1, about records in format 3
def test_what_the_engine_does_not_take_stays_with_zarr_python(counted: dict[str, int]) -> None:
    records = zarr.create_array({}, shape=4, chunks=2, dtype=[("a", "i4"), ("b", "f8")])
    out = zarr.core.buffer.cpu.NDBuffer.from_numpy_array(np.zeros(3, "i4"))
    plain = zarr.create_array({}, data=np.arange(3, dtype="i4"))
    counted["write"] = 0
    records[:] = np.zeros(4, records.dtype)
    of_field = outcome(read, records, "basic", "a")
    counted["read"] = 0
    with zarrcore.accelerate():
        assert outcome(read, records, "basic", "a") == of_field and counted["write"] == 1
        plain.get_basic_selection(out=out)
        assert out.as_numpy_array().tolist() == [0, 1, 2] and counted["read"] == 2
        assert plain.get_basic_selection(
            slice(1), prototype=zarr.core.buffer.cpu.buffer_prototype
        ).tolist() == [0]
        assert plain.get_mask_selection(mask=np.array([True, False, True])).tolist() == [0, 2]
        assert counted["read"] == 3  # by keyword
        # Without cupy there is no such memory; the engine must not go on in that of the CPU.
        with zarr.config.set({"ndbuffer": "zarr.buffer.gpu.NDBuffer"}), pytest.raises(AttributeError):
            plain[:]
        assert np.asarray(plain).tolist() == [0, 1, 2] and counted["read"] == 4


class Failing(zarr.storage.MemoryStore):
    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        if "c/1" in key:
            raise PermissionError("not for you")
        return await super().get(key, prototype, byte_range)


def test_errors_are_those_of_zarr_python_and_all_is_undone_after_them() -> None:
    array = zarr.create_array(Failing(), shape=8, chunks=4, dtype="i4")
    array[:4] = 1
    with pytest.raises(PermissionError, match="not for you"), zarrcore.accelerate():
        array[:]
    assert zarr.Array.__getitem__ is ORIGINAL["__getitem__"]
    with zarrcore.accelerate():
        if release() > (3, 1):  # which has no such setting
            strict = zarr.create_array(
                {}, shape=8, chunks=4, dtype="i4", config={"read_missing_chunks": False}
            )
            with pytest.raises(zarr.errors.ChunkNotFoundError, match="c/1"):
                strict[:]
        reader = zarr.open_array(array.store.with_read_only(True), mode="r")
        with pytest.raises(ValueError, match="read-only"):
            reader[:4] = 1


class Slow(zarr.storage.MemoryStore):
    running = 0

    async def set(self, key: str, value: Any, byte_range: Any = None) -> None:
        self.running += 1
        try:
            if key == "c/3":
                raise PermissionError("not to be changed")
            await asyncio.sleep(0.01)
            await super().set(key, value)
        finally:
            self.running -= 1


def test_nothing_of_a_write_that_failed_is_stored_after_a_later_one() -> None:
    array = zarr.create_array(Slow(), shape=60, chunks=4, dtype="i4")
    with zarrcore.accelerate(), pytest.raises(PermissionError):
        array[:] = 1
    assert array.store.running == 0


def test_accelerations_are_nested_and_overlap() -> None:
    first = zarrcore.accelerate()
    with zarrcore.accelerate() as second:
        first.undo()
        first.undo()
        assert zarr.Array.__getitem__ is not ORIGINAL["__getitem__"]
        assert inspect.signature(zarr.Array.__getitem__) == inspect.signature(ORIGINAL["__getitem__"])
    assert zarr.Array.__getitem__ is ORIGINAL["__getitem__"]
    second.undo()


def test_methods_that_somebody_else_replaced_meanwhile_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    array = zarr.create_array({}, data=np.arange(4))
    with monkeypatch.context() as patched:
        with zarrcore.accelerate():
            ours = zarr.Array.__getitem__
            patched.setattr(zarr.Array, "__getitem__", lambda self, selection: ours(self, selection) + 1)
            assert array[:].tolist() == [1, 2, 3, 4]
        assert array[:].tolist() == [1, 2, 3, 4] and not accelerated._known
    zarr.Array.__getitem__ = ORIGINAL["__getitem__"]  # monkeypatch has put ours back


@pytest.mark.threads
def test_threads_read_write_begin_and_end() -> None:
    array = zarr.create_array({}, shape=(64, 50), chunks=(8, 50), dtype="i4")
    errors: list[BaseException] = []
    steps = itertools.count()

    def work(row: int) -> None:
        try:
            for step in range(30):
                with zarrcore.accelerate():
                    array[row] = step
                    assert array[row].tolist() == [step] * 50
                    next(steps)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(8 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and next(steps) == 180


def test_arrays_that_are_gone_are_forgotten() -> None:
    with zarrcore.accelerate():
        for _ in range(3):
            assert zarr.create_array({}, data=np.arange(4))[1] == 1
        assert len(accelerated._known) <= 1


def test_other_releases_warn_and_keep_their_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    is_known_release.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(zarr, "__version__", "3.9.0")
        with pytest.warns(UserWarning, match=r"3\.9\.0"), zarrcore.accelerate():
            assert zarr.Array.__getitem__ is ORIGINAL["__getitem__"]
    is_known_release.cache_clear()
