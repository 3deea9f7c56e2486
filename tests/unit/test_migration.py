# SPDX-License-Identifier: MIT
"""Formats 1 and 2 -> format 3 in place: the same values before and after, or nothing written and reasons."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_store import FailingStore

import zarrcore
from zarrcore.errors import ConflictError, ContainsGroupError, GroupNotFoundError, ReadOnlyError
from zarrcore.migration import MigrationError, migrate, migrate_v2_to_v3, remove_metadata
from zarrcore.storage import LocalStore, MemoryStore

pytestmark = pytest.mark.filterwarnings("ignore")

NAN = np.array([0x7FF8000000000123], "u8").view("f8")[0]

ARRAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": ("<i4", {"compressor": None}),
    "big-endian": (">f8", {"compressor": {"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1}}),
    "auto-shuffle": ("u1", {"compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": -1}}),
    "fortran": (">i2", {"order": "F", "compressor": {"id": "zlib", "level": 1}}),
    "gzip-default": ("<f4", {"compressor": {"id": "gzip", "level": -1}}),
    "lz4": ("<u8", {"compressor": {"id": "lz4", "acceleration": 1}}),
    "bz2": ("<u2", {"compressor": {"id": "bz2", "level": 1}}),
    "lzma": ("<i2", {"compressor": {"id": "lzma", "preset": 1}}),
    "slashes": ("<c8", {"dimension_separator": "/"}),
    "bool": ("bool", {}),
    "unicode": (">U3", {}),
    "bytes": ("S3", {}),
    "raw": ("V3", {}),
    "dates": (">M8[ns]", {}),
    "durations": ("<m8[10s]", {}),
    "record": ([("a", "<i2"), ("b", "<f8"), ("c", "<U2")], {}),
    "shuffle": (
        "<i4",
        {"filters": [{"id": "shuffle", "elementsize": 4}], "compressor": {"id": "zstd", "level": 1}},
    ),
    "crc32": ("<i4", {"filters": [{"id": "crc32"}]}),
    "strings": (str, {}),
}
WITH_NUMCODECS: dict[str, tuple[Any, dict[str, Any]]] = {
    "delta": (">i4", {"filters": [{"id": "delta", "dtype": ">i4", "astype": ">i4"}]}),
    "delta-narrow": ("<i4", {"filters": [{"id": "delta", "dtype": "<i4", "astype": "<i2"}]}),
    "fixedscaleoffset": (
        ">f8",
        {"filters": [{"id": "fixedscaleoffset", "offset": 0, "scale": 10, "dtype": ">f8", "astype": ">i2"}]},
    ),
    "quantize": ("<f4", {"filters": [{"id": "quantize", "digits": 1, "dtype": "<f4"}]}),
    "bitround": ("<f4", {"filters": [{"id": "bitround", "keepbits": 12}]}),
    "packbits": ("bool", {"filters": [{"id": "packbits"}]}),
    "astype": ("<f8", {"filters": [{"id": "astype", "encode_dtype": "<f4", "decode_dtype": "<f8"}]}),
    "three": (
        "<i4",
        {
            "filters": [
                {"id": "delta", "dtype": "<i4"},
                {"id": "shuffle", "elementsize": 4},
                {"id": "adler32"},
            ]
        },
    ),
}
REFUSED = {
    "json2": (object, {"filters": [{"id": "json2"}]}, "dtype"),
    "categorize": (
        "<U2",
        {"filters": [{"id": "categorize", "labels": ["ab", "c"], "dtype": "<U2", "astype": "u1"}]},
        "format 3 has no codec for 'categorize'",
    ),
    "base64": ("<i4", {"filters": [{"id": "base64"}]}, "format 3 has no codec for 'base64'"),
    "byte-orders": ([("a", "<i2"), ("b", ">i2")], {}, "fields of different byte orders"),
}


def values_for(dtype: np.dtype) -> np.ndarray:
    counted = np.random.default_rng(1).integers(0, 2 if dtype.kind == "b" else 50, 35)
    if dtype.fields is not None:
        items = np.zeros(35, dtype)
        items["a"], items["b"] = counted, counted[::-1]
        return items.reshape(7, 5)
    if dtype.kind in "SUVO":
        words = np.array(["ab", "c", ""] * 11 + ["a", "b"])
        made = words.astype("S3").view("V3") if dtype.kind == "V" else words.astype(dtype)
        return made.reshape(7, 5)
    return counted.astype("i8").astype(dtype).reshape(7, 5)


def add(store: Any, path: str, dtype: Any, **options: Any) -> np.ndarray:
    """A new array of format 2; returns what it reads."""
    options = {"shape": (7, 5), "chunks": (3, 2), **options}
    array = zarrcore.create(store=store, path=path, dtype=dtype, zarr_format=2, **options)
    if dtype is not object:
        array[:6, :5] = values_for(np.dtype(object if dtype is str else dtype))[:6, :5]
    return array[...]


def same(left: np.ndarray, right: np.ndarray) -> bool:
    if left.dtype.kind in "OT":
        return left.tolist() == right.tolist()
    native = left.dtype.newbyteorder("=")
    return right.dtype.newbyteorder("=") == native and (
        left.astype(native).tobytes() == right.astype(native).tobytes()
    )


@pytest.mark.parametrize("name", [*ARRAYS, *WITH_NUMCODECS])
def test_values_stay_the_same(name: str) -> None:
    if name in WITH_NUMCODECS:
        pytest.importorskip("numcodecs")
    dtype, options = (ARRAYS | WITH_NUMCODECS)[name]
    store = MemoryStore()
    before = add(store, "g/a", dtype, attributes={"unit": "m"}, **options)
    chunks = {key: bytes(store.get(key)) for key in store.list() if "/." not in key and key[0] != "."}
    report = migrate(store, remove_old=True)
    assert [node.path for node in report.nodes] == ["", "g", "g/a"]
    assert not report.refused
    after = zarrcore.open_array(store, path="g/a", mode="r")
    assert after.metadata.zarr_format == 3
    assert dict(after.attrs) == {"unit": "m"}
    assert same(before, after[...])
    names = {key: bytes(store.get(key)) for key in store.list() if not key.endswith("zarr.json")}
    assert names == chunks, "a chunk was touched, or an old document is left"


@pytest.mark.parametrize(
    "name",
    ["bfloat16", "float4_e2m1fn", "float6_e3m2fn", "float8_e4m3", "float8_e8m0fnu", "int2", "int4", "uint2",
     "uint4", "complex_float16", "complex_bfloat16", "complex_float4_e2m1fn", "complex_float8_e5m2"],
)  # fmt: skip
def test_numbers_that_numpy_has_not(name: str) -> None:
    pytest.importorskip("ml_dtypes")
    store = MemoryStore()
    array = zarrcore.create_array(
        store, shape=(3, 4), chunks=(2, 2), dtype=name, zarr_format=2, order="F",
        fill_value=complex(1, 1) if "complex" in name else 1,
    )  # fmt: skip
    items = (np.arange(8 * array.dtype.itemsize) % 2).astype("u1").view(array.dtype).reshape(2, 4)
    array[:2] = items
    copied, absent = zarrcore.from_array({}, data=array, zarr_format=3), array[2].tobytes()
    migrate(store, remove_old=True)
    migrated = zarrcore.open_array(store)
    for found in (copied, migrated):
        assert (found.metadata.zarr_format, found.metadata.data_type.to_json(3)) == (3, name)
        assert found[:2].tobytes() == items.tobytes()
        assert found[2].tobytes() == absent != items[0].tobytes()


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_form_in_format_3_is_refused(name: str) -> None:
    dtype, options, reason = REFUSED[name]
    store = MemoryStore()
    add(store, "good", "<i4")
    add(store, "bad", dtype, **options)
    documents = {key: bytes(store.get(key)) for key in store.list()}
    with pytest.raises(MigrationError, match=f"/bad: array, format 2 -> refused: .*{reason}") as caught:
        migrate(store)
    assert [node.path for node in caught.value.report.refused] == ["bad"]
    assert {key: bytes(store.get(key)) for key in store.list()} == documents, "something was written"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


OTHER_ORDER: dict[str, tuple[Any, dict[str, Any]]] = {
    "fixedscaleoffset": ("<i8", {"offset": 0, "scale": 1, "dtype": ">i8", "astype": "<i8"}),
    "delta": ("<i8", {"dtype": ">i8"}),
    "delta, of a big-endian array": (">i4", {"dtype": "<i4"}),
    "quantize": ("<f8", {"digits": 3, "dtype": ">f8"}),
    "astype": ("<f4", {"encode_dtype": "<f4", "decode_dtype": ">f4"}),
    "delta, of bytes": ("|V4", {"dtype": "<i4"}),
    "delta, of a structure": ([("a", ">i4"), ("b", "<i4")], {"dtype": "<i4"}),
}


@pytest.mark.parametrize("chunks", [1, 3])
@pytest.mark.parametrize("name", OTHER_ORDER)
def test_a_filter_of_another_byte_order_than_the_items_is_refused(name: str, chunks: int) -> None:
    """It changed the values, and a chunk of one item that is 0 did not show it."""
    dtype, options = OTHER_ORDER[name]
    store: dict[str, Any] = {}
    array = zarrcore.create_array(
        store,
        shape=3,
        chunks=chunks,
        dtype=dtype,
        zarr_format=2,
        compressors=None,
        filters=[{"id": name.partition(",")[0], **options}],
    )
    array[...] = np.frombuffer(bytes(range(1, 1 + 3 * array.dtype.itemsize)), array.dtype)
    before = array[...].tobytes()
    with pytest.raises(MigrationError, match="takes the bytes of"):
        zarrcore.migrate(store)
    assert zarrcore.open_array(store, zarr_format=2)[...].tobytes() == before
    copied = zarrcore.from_array({}, data=array, zarr_format=3, filters=(), compressors=None)
    assert copied[...].tobytes() == array[...].astype(copied.dtype).tobytes()


@pytest.mark.parametrize("order", "<>")
def test_filters_of_the_byte_order_of_the_items_stay(order: str) -> None:
    other = "<>"[order == "<"]
    for filters in (
        [
            {"id": "delta", "dtype": f"{order}i8", "astype": f"{other}i4"},
            {"id": "delta", "dtype": f"{other}i4"},
        ],
        [
            {"id": "astype", "decode_dtype": f"{order}i8", "encode_dtype": f"{other}f4"},
            {"id": "bitround", "keepbits": 9},
        ],
        [{"id": "fixedscaleoffset", "offset": 1, "scale": 2, "dtype": f"{order}i8", "astype": "|i1"}],
    ):
        store: dict[str, Any] = {}
        array = zarrcore.create_array(
            store, shape=9, chunks=4, dtype=f"{order}i8", zarr_format=2, compressors=None, filters=filters
        )
        array[...] = np.arange(9) - 4
        expected = array[...].tolist()
        zarrcore.migrate(store)
        assert zarrcore.open_array(store, zarr_format=3)[...].tolist() == expected


def test_dry_run_writes_nothing_and_reports_all() -> None:
    store = MemoryStore()
    add(store, "a", "<i4")
    add(store, "b", object, filters=[{"id": "json2"}])
    documents = {key: bytes(store.get(key)) for key in store.list()}
    report = migrate(store.with_read_only(True), dry_run=True, remove_old=True)
    assert {key: bytes(store.get(key)) for key in store.list()} == documents
    assert [(node.path, node.reason is None) for node in report.nodes] == [
        ("", True),
        ("a", True),
        ("b", False),
    ]
    assert "can be format 3" in str(report)
    assert ".zgroup" in report.removed


@pytest.mark.parametrize(
    ("dtype", "fill", "bits"),
    [
        ("<f8", "nan", NAN.tobytes()),
        ("<f8", None, bytes(8)),
        (">f4", -0.0, np.float32(-0.0).tobytes()),
        ("<i8", -(2**63), np.int64(-(2**63)).tobytes()),
        ("S3", b"ab", b"ab\0"),
    ],
)
def test_fill_values_are_the_same_to_the_bit(dtype: str, fill: Any, bits: bytes) -> None:
    store = MemoryStore()
    fill = NAN if fill == "nan" else fill
    zarrcore.create(store=store, shape=3, dtype=dtype, fill_value=fill, zarr_format=2)
    old = zarrcore.open_array(store, mode="r")[...]
    migrate(store)
    new = zarrcore.open_array(store, mode="r", zarr_format=3)
    stored = old.astype(old.dtype.newbyteorder("=")).tobytes()
    assert new[...].tobytes() == stored
    if fill is not NAN:  # the document of format 2 has one NaN only
        assert stored == bits * 3


def test_groups_attributes_and_consolidated_metadata() -> None:
    store = MemoryStore()
    root = zarrcore.open_group(store, mode="w", zarr_format=2)
    root.attrs["title"] = "t"
    root.create_group("g").create_array("a", shape=4, dtype="i2")
    store.delete("g/.zgroup")  # implied by g/a
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarrcore.consolidate_metadata(store, zarr_format=2)
    report = migrate(store)
    assert [(node.path, node.zarr_format) for node in report.nodes] == [("", 2), ("g", None), ("g/a", 2)]
    new = zarrcore.open_group(store, mode="r", zarr_format=3)
    assert dict(new.attrs) == {"title": "t"}
    assert sorted(new.metadata.consolidated_metadata.flattened_metadata) == ["g", "g/a"]
    assert [name for name, _ in new.members(max_depth=None)] == ["g", "g/a"]


def test_dimension_names_and_foreign_members() -> None:
    store = MemoryStore()
    add(store, "a", "<i4", attributes={"_ARRAY_DIMENSIONS": ["y", "x"]})
    document = json.loads(bytes(store.get("a/.zarray"))) | {"_nczarr_array": {"dimrefs": ["/y", "/x"]}}
    store.set("a/.zarray", json.dumps(document).encode())
    report = migrate(store)
    assert report.nodes[1].notes == ("without the members _nczarr_array",)
    metadata = zarrcore.open_array(store, path="a", zarr_format=3).metadata
    assert metadata.dimension_names == ("y", "x")
    assert metadata.attributes == {"_ARRAY_DIMENSIONS": ["y", "x"]}


def test_format_1() -> None:
    meta = {
        "zarr_format": 1,
        "shape": [4],
        "chunks": [2],
        "dtype": ">i2",
        "fill_value": 0,
        "order": "C",
        "compression": None,
        "compression_opts": None,
    }
    store = MemoryStore({"meta": json.dumps(meta).encode(), "attrs": b'{"a": 1}', "1": b"\0\7\0\x08"})
    migrate(store, remove_old=True)
    array = zarrcore.open_array(store, mode="r")
    assert (array.metadata.zarr_format, dict(array.attrs)) == (3, {"a": 1})
    assert array[...].tolist() == [0, 0, 7, 8]
    assert sorted(store.list()) == ["1", "zarr.json"]


def test_once_more_changes_nothing_and_others_documents_are_left() -> None:
    store = MemoryStore()
    add(store, "a", "<i4")
    migrate(store)
    documents = {key: bytes(store.get(key)) for key in store.list()}
    assert all(node.is_stored for node in migrate(store, dry_run=True).nodes)
    migrate(store)
    assert {key: bytes(store.get(key)) for key in store.list()} == documents
    other = json.loads(documents["a/zarr.json"]) | {"fill_value": 7}
    store.set("a/zarr.json", json.dumps(other).encode())
    with pytest.raises(MigrationError, match=r"a/zarr.json exists and differs"):
        migrate(store)
    migrate(store, overwrite=True)
    assert bytes(store.get("a/zarr.json")) == documents["a/zarr.json"]


def test_a_part_of_a_store_and_another_store() -> None:
    store, other = MemoryStore(), MemoryStore()
    add(store, "g/a", "<i4")
    migrate(store, path="g")
    assert sorted(key for key in store.list() if key.endswith("zarr.json")) == [
        "g/a/zarr.json",
        "g/zarr.json",
    ]
    migrate_v2_to_v3(input_store=store, output_store=other)
    assert sorted(other.list()) == ["g/a/zarr.json", "g/zarr.json", "zarr.json"]
    with pytest.raises(ReadOnlyError):
        migrate(store.with_read_only(True))


def test_damaged_documents_are_reasons() -> None:
    store = MemoryStore()
    add(store, "a", "<i4")
    store.set("a/.zarray", b"{")
    report = migrate(store, dry_run=True)
    assert [node.path for node in report.refused] == ["a"]
    assert "a/.zarray: not valid JSON" in str(report)


def test_documents_were_removed_beside_the_place_that_was_given() -> None:
    store = MemoryStore()
    add(store, "a/x", "<i4")
    add(store, "b/y", "<i4")
    migrate(store)
    place = zarrcore.storage.StorePath(store, "a")
    gone = ("a/.zattrs", "a/.zgroup", "a/x/.zarray", "a/x/.zattrs")
    beside = [key for key in store.list() if key not in gone]
    assert remove_metadata(place, 2) == gone
    assert sorted(store.list()) == sorted(beside)


def test_removing_documents() -> None:
    store = MemoryStore()
    add(store, "a", "<i4")
    with pytest.raises(ValueError, match=r"is the only document of its node"):
        remove_metadata(store, 2)
    migrate(store)
    assert remove_metadata(store, 2, dry_run=True) == (".zattrs", ".zgroup", "a/.zarray", "a/.zattrs")
    assert store.exists("a/.zarray")
    remove_metadata(store, 2)
    assert sorted(key for key in store.list() if "z" in key) == ["a/zarr.json", "zarr.json"]
    with pytest.raises(ValueError, match="only document"):
        remove_metadata(store, 3)
    remove_metadata(store, 3, force=True)
    assert not [key for key in store.list() if "z" in key]


@pytest.mark.interop
@pytest.mark.parametrize("name", [*ARRAYS, *WITH_NUMCODECS])
def test_zarr_python_reads_what_was_converted(name: str, tmp_path: Any) -> None:
    """The values of zarr-python's own reading of format 2 are those of its reading of format 3."""
    zarr = pytest.importorskip("zarr")
    if name in WITH_NUMCODECS:
        pytest.importorskip("numcodecs")
    dtype, options = (ARRAYS | WITH_NUMCODECS)[name]
    before = add(str(tmp_path), "a", dtype, **options)
    theirs = zarr.open_array(str(tmp_path), path="a", mode="r", zarr_format=2)[...]
    assert same(before, theirs)
    migrate(str(tmp_path), remove_old=True)
    found = zarr.open_array(str(tmp_path), path="a", mode="r")
    assert found.metadata.zarr_format == 3
    assert same(before, found[...])


@pytest.mark.interop
@pytest.mark.parametrize("fill_value", [None, 0, 7])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("shape", [(), (5,), (4, 3, 2)])
def test_what_zarr_python_wrote(
    fill_value: Any, order: str, separator: str, shape: tuple[int, ...], tmp_path: Any
) -> None:
    zarr = pytest.importorskip("zarr")
    chunks = tuple(max(1, length - 1) for length in shape)
    array = zarr.create_array(
        str(tmp_path), name="g/a", shape=shape, chunks=chunks, dtype=">i4", zarr_format=2, order=order,
        fill_value=fill_value, chunk_key_encoding={"name": "v2", "separator": separator},
        attributes={"_ARRAY_DIMENSIONS": [f"d{n}" for n in range(len(shape))], "unit": "m"},
    )  # fmt: skip
    values = np.arange(1, 1 + np.prod(shape, dtype=int), dtype=">i4").reshape(shape)
    array[tuple(slice(length - 1) for length in shape)] = values[tuple(slice(n - 1) for n in shape)]
    before = array[...]
    migrate(str(tmp_path), remove_old=True)
    assert not list(tmp_path.rglob(".z*"))
    root = zarr.open_group(str(tmp_path), mode="r")
    found = root["g/a"]
    assert found.metadata.zarr_format == 3
    assert np.array_equal(found[...], before)
    assert dict(found.attrs)["unit"] == "m"
    assert found.metadata.dimension_names == tuple(f"d{n}" for n in range(len(shape)))
    assert [path for path, _ in root.members(max_depth=None)] == ["g", "g/a"]


@pytest.mark.interop
@pytest.mark.parametrize("remove_old", [False, True])
def test_consolidated_metadata_are_read_by_zarr_python(remove_old: bool, tmp_path: Any) -> None:
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(str(tmp_path), mode="w", zarr_format=2, attributes={"title": "t"})
    root.create_group("g", attributes={"n": 1}).create_array("a", data=np.arange(4))
    zarr.consolidate_metadata(str(tmp_path), zarr_format=2)
    migrate(str(tmp_path), remove_old=remove_old)
    assert (tmp_path / ".zmetadata").exists() is not remove_old
    for path in [*tmp_path.glob("g/**/zarr.json"), *tmp_path.glob("g/**/.z*")]:
        path.unlink()  # so that only the copy can tell
    again = zarr.open_consolidated(str(tmp_path), zarr_format=3)
    assert dict(again.attrs) == {"title": "t"}
    assert dict(again["g"].attrs) == {"n": 1}
    assert again["g/a"][...].tolist() == [0, 1, 2, 3]


# ---- what happens half way


def hierarchy(store: Any) -> dict[str, np.ndarray]:
    """Groups, attributes and consolidated metadata of format 2; the values of the arrays."""
    root = zarrcore.create_group(store, zarr_format=2, attributes={"title": "t"})
    root.create_group("g", attributes={"n": 1})
    values = {"a": add(store, "a", "<i4", attributes={"u": 1}), "g/b": add(store, "g/b", ">f8")}
    zarrcore.consolidate_metadata(store, zarr_format=2)
    return values


@pytest.mark.parametrize("remove_old", [False, True])
def test_whenever_it_fails_all_can_be_read_and_the_next_time_completes_it(remove_old: bool) -> None:
    expected_store = MemoryStore()
    hierarchy(expected_store)
    migrate(expected_store, remove_old=remove_old)
    expected = {key: bytes(expected_store.get(key)) for key in expected_store.list()}
    for left in range(100):
        store = FailingStore(MemoryStore(), "set", "delete")
        values = hierarchy(store)
        store.left = left
        try:
            migrate(store, remove_old=remove_old)
        except OSError:
            pass
        else:
            break
        store.left = 1 << 30
        old = [key for key in store.list() if key.rpartition("/")[2].startswith(".z")]
        new = [key for key in store.list() if key.endswith("zarr.json")]
        assert len(new) == 4 or len(old) == 9, "an old document is gone before the last new one is there"
        root = zarrcore.open_group(store, mode="r")
        assert dict(root.attrs) == {"title": "t"}
        for path, value in values.items():
            assert same(value, root[path][...])
        migrate(store, remove_old=remove_old)
        assert {key: bytes(store.get(key)) for key in store.list()} == expected
    assert left == (13 if remove_old else 4)


def test_interrupted_by_a_key_it_says_what_is_to_be_done_and_is_the_same_afterwards() -> None:
    """A dry run after a failure tells which documents are there."""
    store = FailingStore(MemoryStore(), "set", "delete")
    hierarchy(store)
    store.left = 2
    with pytest.raises(OSError, match="No space"):
        migrate(store)
    report = migrate(store, dry_run=True)
    assert [(node.path, node.is_stored) for node in report.nodes] == [
        ("", False),
        ("a", False),
        ("g", True),
        ("g/b", True),
    ]


def test_a_report_is_short_in_a_repl_and_complete_in_print() -> None:
    store: dict[str, bytes] = {}
    zarrcore.create_array(store, name="a", shape=3, dtype="i4", zarr_format=2)
    report = migrate(store, dry_run=True)
    assert repr(report) == "<MigrationReport: 2 nodes, 0 refused, 0 documents removed; print() shows each>"
    assert str(report).splitlines()[1] == "/a: array, format 2 -> can be format 3"


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_place_without_nodes_is_an_error(dry_run: bool, tmp_path: Any) -> None:
    with pytest.raises(GroupNotFoundError, match="nowhere does not exist"):
        zarrcore.migrate(tmp_path / "nowhere", dry_run=dry_run)


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_group_of_before_creates_nothing_that_format_3_hides(tmp_path: Path, in_memory: bool) -> None:
    """Its new members had documents of format 2, next to one of format 3: nobody saw them."""
    store: Any = {} if in_memory else tmp_path
    group = zarrcore.create_group(store, zarr_format=2)
    below = group.create_group("below")
    zarrcore.migrate(store, remove_old=True)
    for create in (
        lambda: group.create_group("g"),
        lambda: group.create_array("a", shape=2, dtype="i4"),
        lambda: group.__setitem__("a", np.arange(3)),
        lambda: group.zeros(name="a", shape=3),
        lambda: below.require_group("g"),
    ):
        with pytest.raises(ContainsGroupError, match="has become one of format 3: open it again"):
            create()
    again = zarrcore.open_group(store)
    assert sorted(again) == ["below"]
    assert {key.rpartition("/")[2] for key in group.store.list()} == {"zarr.json"}


def test_what_is_of_format_3_is_not_said_to_become_it() -> None:
    """It read "format 3 -> format 3"."""
    root = zarrcore.create_group({})
    root["a"] = np.arange(3)
    assert str(migrate(root.store)).split("\n") == [
        "/: group, format 3 already",
        "/a: array, format 3 already",
    ]
    old: dict[str, Any] = {}
    zarrcore.zeros(4, store=old, zarr_format=2)
    assert str(migrate(old)) == "/: array, format 2 -> format 3"
    assert str(migrate(old)) == "/: array, format 2 -> format 3", "the document of format 2 is there still"


def test_a_directory_of_stores_of_format_3_is_no_group(tmp_path: Path) -> None:
    """A document of a group was stored there: such a directory is a group in format 2 alone."""
    zarrcore.create_group(tmp_path / "new/a.zarr")
    zarrcore.create_group(tmp_path / "old/b.zarr", zarr_format=2)
    report = zarrcore.migrate(tmp_path / "new")
    assert [node.path for node in report.nodes] == ["a.zarr"]
    assert not (tmp_path / "new/zarr.json").exists()
    report = zarrcore.migrate(tmp_path)
    assert [node.path for node in report.nodes] == ["", "new/a.zarr", "old", "old/b.zarr"]
    assert (tmp_path / "old/zarr.json").exists() and not (tmp_path / "new/zarr.json").exists()


@pytest.mark.parametrize("remove_old", [False, True])
@pytest.mark.parametrize("change", ["append", "resize", "attributes", "remove", "replace"])
def test_what_was_changed_meanwhile_was_taken_back(change: str, remove_old: bool) -> None:
    store = MemoryStore()
    group = zarrcore.create_group(store, zarr_format=2)
    for name in ("a", "b"):
        group.create_array(name, data=np.arange(6), chunks=2)

    def after(done: int, total: int) -> None:
        if (done, total) != (1, 3):
            return
        array = zarrcore.open_array(store, path="a", mode="r+", zarr_format=2)
        if change == "append":
            array.append(np.arange(6, 8))
        elif change == "resize":
            array.resize(3)
        elif change == "attributes":
            array.attrs["x"] = 1
        else:
            del zarrcore.open_group(store, mode="r+", zarr_format=2)["a"]
        if change == "replace":
            group.create_array("a", data=np.arange(3.0), chunks=1)

    with pytest.raises(ConflictError, match="migrate once more"):
        migrate(store, remove_old=remove_old, progress=after)
    before = zarrcore.open_group(store, mode="r", zarr_format=2)
    values = {name: (array[...].tolist(), dict(array.attrs)) for name, array in before.arrays()}
    assert ("a" in values) == (change != "remove")
    migrate(store, remove_old=remove_old)
    after_that = zarrcore.open_group(store, mode="r", zarr_format=3)
    assert {name: (array[...].tolist(), dict(array.attrs)) for name, array in after_that.arrays()} == values
    assert values.get("a", values["b"])[0] == {
        "append": [*range(8)],
        "resize": [*range(3)],
        "replace": [0, 1, 2],
    }.get(change, [*range(6)])


@pytest.mark.parametrize("store", ["memory", "files"])
@pytest.mark.parametrize("change", ["append", "attributes", "remove"])
def test_what_was_changed_after_its_new_document_was_stored_was_not_noticed(
    change: str, store: str, tmp_path: Path
) -> None:
    at = MemoryStore() if store == "memory" else LocalStore(tmp_path)
    group = zarrcore.create_group(at, zarr_format=2)
    for name in ("a", "b"):
        group.create_array(name, data=np.arange(6), chunks=2)

    def after(done: int, total: int) -> None:
        if (done, total) != (1, 3):
            return
        array = zarrcore.open_array(at, path="b", mode="r+", zarr_format=2)
        if change == "append":
            array.append(np.arange(6, 8))
        elif change == "attributes":
            array.attrs["x"] = 1
        else:
            del zarrcore.open_group(at, mode="r+", zarr_format=2)["b"]

    with pytest.raises(ConflictError, match=r"/b.*migrate once more"):
        migrate(at, progress=after)
