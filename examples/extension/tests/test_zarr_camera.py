"""Tests of the extensions: that what is stored can be opened, and that wrong input is refused."""

import json

import numpy as np
import pytest
import zarr_camera as camera

import zarrcore as zarr
from zarrcore.testing.store import StoreTests

IMAGES = (np.arange(59 * 4 * 6, dtype="u2") % 4096).reshape(59, 4, 6)


def create(store, **options):
    """An array that uses everything, with the images of two months."""
    options = {
        "shape": IMAGES.shape,
        "dtype": camera.Grey(bits=12),
        "chunk_grid": camera.Monthly("2026-01", 2, (4, 6)),
        "chunk_key_encoding": camera.Hexadecimal(),
        "filters": [camera.Mirror(axis=2)],
        "serializer": camera.Pack12(),
        "compressors": [camera.Deflate(level=9)],
        "storage_transformers": [camera.Masked(mask=7)],
        **options,
    }
    array = zarr.create_array(store, **options)
    array[...] = IMAGES
    return array


def test_everything_at_once(tmp_path):
    with camera.SQLiteStore(tmp_path / "images.db") as store:
        create(store)
        array = zarr.open_array(store, mode="r+")
        assert np.array_equal(array[...], IMAGES)
        assert array.metadata.data_type == camera.Grey(bits=12)
        assert sorted(store.list()) == ["frames/0-0-0", "frames/1-0-0", "zarr.json"]
        assert array.read_chunk_sizes[0] == (31, 28)
        array.append(IMAGES[:31])
        assert array.metadata.chunk_grid == camera.Monthly("2026-01", 3, (4, 6))
        assert np.array_equal(array[59:], IMAGES[:31])


@pytest.mark.parametrize(
    "kept",
    ["chunk_grid", "chunk_key_encoding", "filters", "serializer", "compressors", "storage_transformers"],
)
def test_one_at_a_time(kept):
    others = {
        "chunk_grid": None,
        "chunk_key_encoding": None,
        "filters": "auto",
        "serializer": "auto",
        "compressors": "auto",
        "storage_transformers": None,
    }
    del others[kept]
    array = zarr.open_array(create({}, **others).store)
    assert np.array_equal(array[...], IMAGES)
    assert array[40, 1, ::-1].tolist() == IMAGES[40, 1, ::-1].tolist()


def test_shards_are_masked_too():
    array = create({}, chunk_grid=None, chunks=(1, 4, 6), shards=(59, 4, 6))
    assert np.array_equal(zarr.open_array(array.store)[12], IMAGES[12])


def test_an_odd_number_of_values():
    array = zarr.create_array(
        {}, data=IMAGES[0, 0, :5], chunks=5, serializer=camera.Pack12(), compressors=None
    )
    assert len(bytes(array.store.get("c/0"))) == 9
    assert array[...].tolist() == IMAGES[0, 0, :5].tolist()


@pytest.mark.parametrize("value", [b"", b"\xff\xff", bytes(200)])
def test_damaged_chunks_are_errors(value):
    array = create({}, storage_transformers=None)
    array.store.set("frames/1-0-0", value)
    with pytest.raises(zarr.errors.ChunkDecodeError, match=r"chunk \(1, 0, 0\)"):
        array[40]


def test_a_chunk_that_is_larger_than_the_metadata_allow():
    array = create({}, storage_transformers=None)
    array.store.set("frames/0-0-0", camera.Deflate().encode(bytes(10**6)))
    with pytest.raises(zarr.errors.ChunkDecodeError, match="too many bytes"):
        array[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": camera.Grey(bits=4), "fill_value": 16}, r"0\.\.15"),
        ({"filters": [camera.Mirror(axis=3)]}, r"axis.*0\.\.2"),
        ({"dtype": "i4"}, "16 bits without sign"),
        ({"chunk_grid": camera.Monthly("2026-01", 1, (4, 6))}, "fewer than 59 days"),
        ({"chunk_grid": camera.Monthly("2026-01", 2, (4,))}, "expected 2 dimensions"),
        ({"chunks": 3}, "either chunks or chunk_grid"),
        ({"zarr_format": 2}, "format 2"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    store = {}
    with pytest.raises(ValueError, match=message):
        create(store, **options)
    assert store == {}


def test_a_value_that_the_codec_cannot_store():
    array = create({})
    with pytest.raises(zarr.errors.ChunkEncodeError, match="5000 does not fit into 12 bits"):
        array[0] = 5000
    assert np.array_equal(array[...], IMAGES)


@pytest.mark.parametrize(
    ("member", "wrong"),
    [
        ("data_type", {"name": "camera.grey", "configuration": {"bits": 0}}),
        ("data_type", {"name": "camera.grey", "configuration": {"bits": 12, "more": 1}}),
        ("data_type", "camera.grey"),
        (
            "chunk_grid",
            {"name": "camera.monthly", "configuration": {"first": "x", "months": 2, "frame": [4, 6]}},
        ),
        ("chunk_grid", {"name": "camera.monthly", "configuration": {"first": "2026-01", "months": 2}}),
        ("chunk_key_encoding", {"name": "camera.hex", "configuration": {"prefix": "../x"}}),
        ("storage_transformers", [{"name": "camera.masked", "configuration": {"mask": 256}}]),
        ("codecs", [{"name": "camera.pack12"}, {"name": "camera.deflate", "configuration": {"level": 10}}]),
    ],
)
def test_wrong_documents_are_refused(member, wrong):
    store = {}
    create(store)
    document = json.loads(bytes(store["zarr.json"]))
    store["zarr.json"] = json.dumps({**document, member: wrong}).encode()
    with pytest.raises(zarr.errors.BaseZarrError, match=member):
        zarr.open_array(store)


def test_keys_are_read_back():
    keys = camera.Hexadecimal("shots")
    assert keys.encode((31, 0)) == "shots/1f-0"
    assert keys.decode("shots/1f-0") == (31, 0)
    assert keys.encode(()) == "shots/all"
    for other in ("shots/1F-0", "shots/01-0", "other/1f-0", "shots/"):
        with pytest.raises(ValueError):
            keys.decode(other)


class TestSQLiteStore(StoreTests):
    """The tests that come with zarrcore, with the rules that this store does not keep switched off."""

    validates_keys = False  # any string is a key
    atomic_create = False  # set_if_not_exists is the default
    picklable = False  # a connection belongs to its process

    def make_store(self, tmp_path):
        return camera.SQLiteStore(tmp_path / "zarr.db")
