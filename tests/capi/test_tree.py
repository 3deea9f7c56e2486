# SPDX-License-Identifier: MIT
"""Trees through libzarrcore: zarrcore, zarr-python and tensorstore read what it creates and changes."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_documents import SHARDS, V2, V3, LibraryError, v3
from capi_tree import READ_WRITE, Tree

import zarrcore
from zarrcore._validate import MAX_DOCUMENT_NBYTES

pytestmark = pytest.mark.timeout(600)  # the first test builds the library

ARGUMENT, IO, MISSING, UNSUPPORTED, METADATA, STALE, EXISTS = -2, -7, -8, -9, -14, -17, -19
GROUPS = {
    3: {"zarr_format": 3, "node_type": "group", "attributes": {"a": 1}},
    2: {"zarr_format": 2, "attributes": {"a": 1}},
}
ARRAYS = {3: V3, 2: V2 | {"attributes": {"unit": "m"}}}


@pytest.fixture
def tree(library: Any, error_of: Any, tmp_path: Path) -> Iterator[Tree]:
    made = Tree(library, error_of, tmp_path / "store")
    yield made
    made.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture(params=[2, 3])
def zarr_format(request: pytest.FixtureRequest) -> int:
    return request.param


def files(root: Path) -> dict[str, Any]:
    """Each file below a directory: documents as objects."""
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {
        path.relative_to(root).as_posix(): json.loads(path.read_text())
        if path.name in ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
        else path.read_bytes()
        for path in found
    }


def refused(status: int, match: str = "") -> Any:
    return pytest.raises(LibraryError, match=rf"(?s)\({status}, .*{match}")


# ---- creating ----


def test_documents_are_those_that_python_creates(
    tree: Tree, root: Path, tmp_path: Path, zarr_format: int
) -> None:
    other = tmp_path / "python"
    group = zarrcore.create_group(other, zarr_format=zarr_format, attributes={"a": 1})
    settings = {"chunks": (4, 2)} | ({"compressors": None} if zarr_format == 3 else {"compressor": None})
    array = group.create_array(
        "x/y/z", shape=(6, 4), dtype="f4", fill_value=1.5, attributes={"unit": "\xb5m"}, **settings
    )
    array[...] = np.arange(24).reshape(6, 4)
    documents = {
        path.relative_to(other).parent.as_posix(): path for path in other.rglob("*") if path.is_file()
    }
    assert len(documents) > 3
    tree.create_group("", GROUPS[zarr_format])
    name = "zarr.json" if zarr_format == 3 else ".zarray"
    document = json.loads((other / "x/y/z" / name).read_text())
    if zarr_format == 2:
        document["attributes"] = json.loads((other / "x/y/z/.zattrs").read_text())
    tree.create_array("x/y/z", document)
    tree.write("x/y/z", np.arange(24, dtype="f4").reshape(6, 4))
    assert files(root) == files(other)


def test_documents_after_a_byte_order_mark_were_refused_that_python_reads(
    tree: Tree, root: Path, zarr_format: int
) -> None:
    tree.create_group("", GROUPS[zarr_format])
    tree.create_array("g/a", ARRAYS[zarr_format])
    for path in root.rglob("*"):
        if path.is_file():
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    tree.write("g/a", np.arange(24, dtype="f4").reshape(6, 4))
    tree.resize("g/a", 5, 4)
    tree.set_attribute("", "b", 2)
    found = zarrcore.open_group(root, mode="r")
    assert found.attrs.asdict() == {"a": 1, "b": 2}
    assert found["g/a"][...].tolist() == np.arange(20).reshape(5, 4).tolist()


@pytest.mark.parametrize("reader", ["zarrcore", "zarr", "tensorstore"])
def test_others_read_what_is_created(tree: Tree, root: Path, zarr_format: int, reader: str) -> None:
    values = np.random.default_rng(0).random((6, 4)).astype("f4")
    tree.create_group("", GROUPS[zarr_format])
    tree.create_array("g/a", ARRAYS[zarr_format])
    tree.write("g/a", values)
    tree.append("g/a", values[:3])
    tree.resize("g/a", 8, 5)
    expected = np.zeros((8, 5), "f4")
    expected[:, :4] = np.concatenate([values, values[:3]])[:8]
    tree.set_attribute("g/a", "n", [1, {"x": None}])
    if reader == "tensorstore":
        ts = pytest.importorskip("tensorstore")
        driver = "zarr3" if zarr_format == 3 else "zarr"
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{root}/g/a/"}}
        found = np.asarray(ts.open(spec).result())
    else:
        package = pytest.importorskip(reader)
        group = package.open_group(str(root), mode="r")
        assert dict(group.attrs) == {"a": 1}
        assert group["g/a"].attrs["n"] == [1, {"x": None}]
        found = group["g/a"][...]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(tree.read("g/a"), expected)


def test_chains_have_at_most_sixteen_codecs_of_bytes(tree: Tree, root: Path) -> None:
    zstd = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
    bytes_ = {"name": "bytes", "configuration": {"endian": "little"}}
    values = np.arange(24, dtype="f4").reshape(6, 4)
    tree.create_array("a", v3("codecs", [bytes_] + [zstd] * 16))
    tree.write("a", values)
    np.testing.assert_array_equal(zarrcore.open_array(root, path="a")[...], values)
    np.testing.assert_array_equal(tree.read("a"), values)
    many = [bytes_] + [zstd] * 17
    held = {"name": "conditional", "configuration": {"codecs": [zstd] * 16}}
    for codecs in (
        many,
        [bytes_, held],
        [bytes_, {"name": "conditional", "configuration": {"codecs": [zstd] * 17}}],
    ):
        with refused(UNSUPPORTED, "more than 16 codecs of bytes"):  # which is valid: Python reads it
            tree.create_array("b", v3("codecs", codecs))


def test_shards_are_created_and_appended_to(tree: Tree, root: Path) -> None:
    document = v3("codecs", [SHARDS])
    tree.create_array("a", document)
    values = np.arange(24, dtype="f4").reshape(6, 4)
    tree.write("a", values)
    tree.append("a", values + 100)
    np.testing.assert_array_equal(
        zarrcore.open_array(root, path="a")[...], np.concatenate([values, values + 100])
    )


def test_a_node_is_created_where_there_is_none(tree: Tree, root: Path, zarr_format: int) -> None:
    tree.create_array("g/a", ARRAYS[zarr_format])
    before = files(root)
    for path in ("g/a", "g", ""):
        with refused(EXISTS, "is there already"):
            tree.create_array(path, ARRAYS[zarr_format])
        with refused(EXISTS, "is there already"):
            tree.create_group(path, GROUPS[zarr_format])
    with refused(EXISTS, "no node can be below it"):
        tree.create_group("g/a/b/c", GROUPS[zarr_format])
    assert files(root) == before


def test_one_of_many_creators_wins(tree: Tree, root: Path, zarr_format: int) -> None:
    statuses: list[int] = []

    def work(number: int) -> None:
        document = ARRAYS[zarr_format] | {"attributes": {"by": number}}
        for i in range(10):
            try:
                tree.create_array(f"a/b/{i}", document)
                statuses.append(0)
            except LibraryError as error:
                statuses.append(error.args[0])

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(statuses) == [EXISTS] * 30 + [0] * 10
    assert len(tree.list("a/b")) == 10
    assert not [path for path in root.rglob("*") if "partial" in path.name]


def test_documents_that_are_refused_leave_nothing(tree: Tree, root: Path) -> None:
    bad: list[tuple[Any, int]] = [
        (b"", METADATA),
        (b"[]", METADATA),
        (b"{", METADATA),
        (b'{"zarr_format": 4}', METADATA),
        (b'{"zarr_format": 3}', METADATA),
        (V3 | {"node_type": "group"}, METADATA),
        (v3("data_type", "string"), UNSUPPORTED),
        (v3("shape", [-1, 2]), METADATA),
        (v3("fill_value", float("nan")), METADATA),
        (v3("attributes", [1]), METADATA),
        (V2 | {"attributes": 1}, METADATA),
        (json.dumps(V3).replace('"shape"', '"shape": [1], "shape"', 1).encode(), METADATA),
        (v3("attributes", {"x": json.loads("[" * 300 + "]" * 300)}), METADATA),
        (b"\xff\xfe", METADATA),
        (b'{"zarr_format": 3, "node_type": "\xff"}', METADATA),
    ]
    for document, status in bad:
        with refused(status):
            tree.create_array("g/a", document)
    for document in (
        V3,
        {"zarr_format": 3, "node_type": "group", "other": 1},
        b"null",
        {"zarr_format": 2, "attributes": []},
    ):
        with pytest.raises(LibraryError):
            tree.create_group("g", document)
    assert files(root) == {}


NAMES = [
    "/a",
    "a/",
    "a//b",
    ".",
    "a/..",
    "../a",
    "...",
    "a\\b",
    "zarr.json",
    "a/.zarray",
    ".zattrs/a",
    ".zc-x",
    "c/.zc-locks",
    "/",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_no_node_can_have(tree: Tree, root: Path, name: str) -> None:
    for call in (
        tree.create_group,
        tree.erase,
        tree.document,
        tree.read,
        tree.list,
        tree.attribute,
        tree.group,
    ):
        with refused(ARGUMENT):
            call(name)
    with refused(ARGUMENT):
        tree.create_array(name, V3)
    with refused(ARGUMENT):
        tree.resize(name, 1)
    assert files(root) == {}


def test_names_that_are_too_long(tree: Tree) -> None:
    for name in ("x" * 300, "/".join(["x" * 200] * 40)):
        with refused(IO):
            tree.create_group(name)


def test_a_store_for_reading_takes_no_change(library: Any, error_of: Any, tree: Tree, root: Path) -> None:
    tree.create_array("a", V3)
    before = files(root)
    reading = Tree(library, error_of, root, 0)
    for call in (
        lambda: reading.create_group("g"),
        lambda: reading.create_array("g", V3),
        lambda: reading.erase("a"),
        lambda: reading.resize("a", 1, 1),
        lambda: reading.append("a", np.zeros((1, 4), "f4")),
        lambda: reading.set_attribute("a", "x", 1),
        lambda: reading.delete_attribute("a", "x"),
        lambda: reading.write("a", np.zeros((6, 4), "f4")),
    ):
        with refused(ARGUMENT, "reading only"):
            call()
    reading.close()
    assert files(root) == before
    with refused(MISSING):
        Tree(library, error_of, root / "absent", READ_WRITE)
    with refused(IO, "is a file"):
        Tree(library, error_of, root / "a" / "zarr.json")


# ---- finding ----


def test_lists_are_those_of_python(tree: Tree, root: Path, zarr_format: int) -> None:
    group = zarrcore.create_group(root, zarr_format=zarr_format)
    for name in ("b", "a", "Z", "g/inner", "\xe4"):
        group.create_array(name, shape=(3,), dtype="i4", attributes={"name": name})
    (root / "other").mkdir()
    (root / "file").write_text("x")
    found = tree.list()
    assert list(found) == sorted(["b", "a", "Z", "g", "\xe4"])
    assert {name: kind for name, (kind, _) in found.items()} == {
        name: "group" if isinstance(node, zarrcore.Group) else "array" for name, node in group.members()
    }
    for name in ("a", "\xe4"):
        document = found[name][1]
        assert document["attributes"] == {"name": name}
        assert document == tree.document(name)
    inner = tree.group("g")
    assert list(inner.list()) == ["inner"]
    assert inner.attribute("inner", "name") == "g/inner"
    inner.create_group("more", GROUPS[zarr_format])
    assert list(tree.list("g")) == ["inner", "more"]
    inner.close()
    with refused(ARGUMENT, "is an array"):
        tree.list("a")
    with refused(MISSING):
        tree.list("other")


def test_unreadable_nodes_keep_nobody_from_seeing_the_others(tree: Tree, root: Path) -> None:
    tree.create_array("a", V3)
    tree.create_group("g")
    (root / "g" / "zarr.json").write_text("{")
    found = tree.list()
    assert found["g"] == ("unreadable", None)
    assert found["a"][0] == "array"
    with refused(METADATA):
        tree.document("g")
    tree.erase("g")
    assert list(tree.list()) == ["a"]


def test_groups_of_format_2_that_nodes_imply(tree: Tree, root: Path) -> None:
    zarrcore.create_array(root / "g" / "a", shape=(3,), dtype="i4", zarr_format=2)[...] = 7
    with refused(MISSING):
        tree.list()  # they are two levels down
    assert tree.list("g")["a"][0] == "array"
    tree.create_group("", GROUPS[2])
    assert tree.list()["g"] == ("group", {"zarr_format": 2, "attributes": {}})
    np.testing.assert_array_equal(tree.read("g/a"), [7, 7, 7])


def test_consolidated_metadata_are_read_and_followed(tree: Tree, root: Path, zarr_format: int) -> None:
    group = zarrcore.create_group(root, zarr_format=zarr_format)
    group.create_array("g/a", shape=(6, 4), dtype="f4", attributes={"x": 1})[...] = 5
    with refused(MISSING, "no consolidated metadata"):
        tree.list("", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarrcore.consolidate_metadata(root)
    found = tree.list("", 1)
    assert {name: kind for name, (kind, _) in found.items()} == {"g": "group", "g/a": "array"}
    assert found["g/a"][1]["attributes"] == {"x": 1}
    with tree.nodes("", 1) as nodes:
        at = next(i for i in range(2) if tree.api.node_name(nodes, i) == b"g/a")
        handle = tree.get(tree.api.open_node, nodes, at)
        with refused(ARGUMENT):
            tree.get(tree.api.open_node, nodes, 1 - at)
    np.testing.assert_array_equal(tree.values(handle), np.full((6, 4), 5))  # the list is gone
    tree.api.release(handle)

    tree.create_array("g/b", ARRAYS[zarr_format])
    tree.set_attribute("g/a", "x", 2)
    tree.set_attribute("g", "y", 3)
    tree.append("g/a", np.ones((1, 4), "f4"))
    tree.create_group("h", GROUPS[zarr_format])
    copy = tree.list("", 1)
    assert {name: kind for name, (kind, _) in copy.items()} == {
        "g": "group",
        "g/a": "array",
        "g/b": "array",
        "h": "group",
    }
    assert copy["g/a"][1]["attributes"] == {"x": 2}
    assert copy["g/a"][1]["shape"] == [7, 4]
    for name, (_, document) in copy.items():
        assert document == tree.document(name)
    opened = zarrcore.open_group(root, use_consolidated=True)
    assert opened["g/a"].shape == (7, 4)
    assert opened["g"].attrs["y"] == 3
    tree.erase("g")
    assert list(tree.list("", 1)) == ["h"]


def test_consolidated_names_lead_nowhere_else(tree: Tree, root: Path) -> None:
    tree.create_group("")
    document = json.loads((root / "zarr.json").read_text())
    document["consolidated_metadata"] = {
        "kind": "inline",
        "must_understand": False,
        "metadata": {"../../x": V3},
    }
    (root / "zarr.json").write_text(json.dumps(document))
    with tree.nodes("", 1) as nodes, refused(ARGUMENT, "all dots"):
        tree.get(tree.api.open_node, nodes, 0)


@contextlib.contextmanager
def consolidated(root: Path, zarr_format: int, names: str) -> Iterator[dict[str, Any]]:
    """A group of arrays with consolidated metadata, whose entries may be changed."""
    group = zarrcore.create_group(root, zarr_format=zarr_format)
    for name in names:
        group.create_array(name, shape=(3,), dtype="i4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarrcore.consolidate_metadata(root)
    path = root / ("zarr.json" if zarr_format == 3 else ".zmetadata")
    document = json.loads(path.read_text())
    yield document["consolidated_metadata"]["metadata"] if zarr_format == 3 else document["metadata"]
    path.write_text(json.dumps(document))


@pytest.mark.parametrize("damage", [{"node_type": "table"}, 5, None, "x", []], ids=str)
def test_a_damaged_entry_of_consolidated_metadata_hides_no_other(
    tree: Tree, root: Path, zarr_format: int, damage: Any
) -> None:
    with consolidated(root, zarr_format, "ab") as entries:
        if zarr_format == 3:
            entries["b"] = damage
        else:
            entries["b/.zattrs"] = damage if damage != {"node_type": "table"} else 1.5
    found = tree.list("", 1)
    assert found["a"][0] == "array"
    assert found["b"] == ("unreadable", None)
    with tree.nodes("", 1) as nodes, refused(ARGUMENT, "no array"):
        tree.get(tree.api.open_node, nodes, 1)


def test_consolidated_names_are_not_cut_at_a_zero(tree: Tree, root: Path, zarr_format: int) -> None:
    end = "" if zarr_format == 3 else "/.zarray"
    with consolidated(root, zarr_format, "a") as entries:
        array = entries["a" + end]
        entries.update({f"a\0b{end}": array, f"\0{end}": array, f"c\0/d{end}": array, f"a{end}\0": array})
    found = tree.list("", 1)
    assert found.pop("a")[0] == "array"
    names = {"a\\u0000b", "\\u0000", "c\\u0000/d"} | ({"a\\u0000"} if zarr_format == 3 else set())
    assert found == dict.fromkeys(names, ("unreadable", None))


def test_documents_are_as_long_as_in_python(tree: Tree, root: Path) -> None:
    text = "x" * (21 << 20)
    zarrcore.create_array(root / "a", shape=(3,), dtype="i4", attributes={"x": text})[...] = 7
    np.testing.assert_array_equal(tree.read("a"), [7, 7, 7])
    assert tree.attribute("a", "x") == text
    header = (Path(__file__).parents[2] / "csrc" / "document" / "json.h").read_text()
    (shift,) = re.findall(r"define ZC_DOCUMENT_MAX \(\(size_t\)1 << (\d+)\)", header)
    assert 1 << int(shift) == MAX_DOCUMENT_NBYTES


def test_paths_of_any_number_of_groups_are_errors_at_most(tree: Tree) -> None:
    """Each name of such a path once took a frame of the stack."""
    path = "/".join(["a"] * 200_000)
    with refused(IO, "too long"):
        tree.create_group(path, GROUPS[3])
    with refused(IO, "too long"):
        tree.create_array(path, V3)
    with refused(IO, "too long"):
        tree.erase(path)


# ---- attributes ----


def test_attributes_are_set_and_deleted(tree: Tree, root: Path, zarr_format: int) -> None:
    tree.create_group("", GROUPS[zarr_format])
    tree.create_array("a", ARRAYS[zarr_format])
    for path in ("", "a"):
        tree.set_attribute(path, None, {})
        tree.set_attribute(path, "text", "\xe4\u4e16\U0001f600")
        tree.set_attribute(path, "list", [1, 2.5, None, {"x": True}])
        tree.set_attribute(path, "list", [1])
        node = zarrcore.open(root, path=path)
        assert dict(node.attrs) == {"text": "\xe4\u4e16\U0001f600", "list": [1]}
        assert tree.attribute(path) == dict(node.attrs)
        assert tree.attribute(path, "text") == "\xe4\u4e16\U0001f600"
        tree.delete_attribute(path, "list")
        with refused(MISSING, "no attribute"):
            tree.attribute(path, "list")
        with refused(MISSING, "no attribute"):
            tree.delete_attribute(path, "list")
        assert list(zarrcore.open(root, path=path).attrs) == ["text"]
    before = files(root)
    for text in (b"", b"{", b"NaN", b"1 2", b'{"a": 1, "a": 2}', b"\xff", b"[" * 300 + b"]" * 300):
        with refused(METADATA):
            tree.set_attribute("a", "x", text)
    with refused(METADATA, "object"):
        tree.set_attribute("a", None, [1])
    with refused(MISSING):
        tree.set_attribute("b", "x", 1)
    with refused(ARGUMENT, "UTF-8"):  # was said to be without memory
        tree.set_attribute("a", "\udcff", 1)
    assert files(root) == before


def test_other_members_stay_as_they_were_written(tree: Tree, root: Path) -> None:
    text = json.dumps(V3 | {"extension": {"must_understand": False, "n": "@"}, "attributes": {"big": "@"}})
    text = text.replace('"@"', "123456789012345678901234567890.10e+05")
    (root / "a").mkdir()
    (root / "a" / "zarr.json").write_text(text)
    tree.set_attribute("a", "x", 1)
    tree.resize("a", 3, 4)
    changed = (root / "a" / "zarr.json").read_text()
    assert changed.count("123456789012345678901234567890.10e+05") == 2
    assert json.loads(changed)["shape"] == [3, 4]
    assert json.loads(changed)["attributes"]["x"] == 1


def test_numbers_that_old_writers_left_stay(tree: Tree, root: Path) -> None:
    tree.create_array("a", ARRAYS[2])
    (root / "a" / ".zattrs").write_text('{"x": NaN, "y": -Infinity}')
    tree.set_attribute("a", "z", 1)
    text = (root / "a" / ".zattrs").read_text()
    assert "NaN" in text
    assert "-Infinity" in text


def test_threads_lose_no_change(tree: Tree, zarr_format: int) -> None:
    tree.create_array("a", ARRAYS[zarr_format])

    def work(number: int) -> None:
        for i in range(15):
            tree.set_attribute("a", f"{number}-{i}", i)
            tree.append("a", np.full((1, 4), number, "f4"))

    workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len([name for name in tree.attribute("a") if "-" in name]) == 60
    found = tree.read("a")
    assert found.shape == (66, 4)
    assert sorted(found[6:, 0]) == sorted([0, 1, 2, 3] * 15)


# ---- shapes ----


@pytest.mark.parametrize("seed", range(6))
def test_resizing_is_what_python_does(tree: Tree, root: Path, tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = [
        V3,
        V2,
        V2 | {"dimension_separator": "/", "fill_value": 3},
        v3("codecs", [SHARDS]),
        v3("chunk_key_encoding", {"name": "default", "configuration": {"separator": "."}}),
        v3(
            "chunk_grid",
            {
                "name": "rectilinear",
                "configuration": {"kind": "inline", "chunk_shapes": [[[2, 2], 3], [1, 4]]},
            },
        ),
    ][seed]
    tree.create_array("a", chosen)
    other = tmp_path / "python" / "a"
    other.mkdir(parents=True)
    for path in (root / "a").iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    array = zarrcore.open_array(other, mode="r+")
    for step in range(25):
        shape = tuple(int(n) for n in rng.integers(0, 12 if step % 5 else 40, 2))
        if step % 3 == 2:
            axis = int(rng.integers(2))
            grown = list(array.shape)
            grown[axis] = int(rng.integers(0, 5))
            values = rng.integers(1, 9, grown).astype("f4")
            tree.append("a", values, axis)
            array.append(values, axis)
        else:
            tree.resize("a", *shape)
            array.resize(shape)
            values = rng.integers(0, 9, shape).astype("f4")
            if step % 2:
                tree.write("a", values)
                array[...] = values
        np.testing.assert_array_equal(tree.read("a"), array[...])
        np.testing.assert_array_equal(zarrcore.open_array(root, path="a")[...], array[...])
        ours, theirs = files(root / "a"), files(other)
        assert list(ours) == list(theirs)
        assert {name: value for name, value in ours.items() if isinstance(value, bytes)} == {
            name: value for name, value in theirs.items() if isinstance(value, bytes)
        }
        assert (
            zarrcore.open_array(root, path="a").metadata == array.metadata
        )  # Python adds what has a default


def test_what_lies_outside_does_not_come_back(tree: Tree, root: Path, zarr_format: int) -> None:
    tree.create_array("a", ARRAYS[zarr_format])
    tree.write("a", np.ones((6, 4), "f4"))
    tree.resize("a", 3, 3)
    tree.resize("a", 6, 4)
    expected = np.zeros((6, 4), "f4")
    expected[:3, :3] = 1
    np.testing.assert_array_equal(tree.read("a"), expected)


def test_what_a_killed_append_left_is_not_seen(tree: Tree, root: Path) -> None:
    tree.create_array("a", V3)
    tree.write("a", np.ones((6, 4), "f4"))
    longer = json.loads((root / "a" / "zarr.json").read_text()) | {"shape": [300, 4]}
    shorter = (root / "a" / "zarr.json").read_bytes()
    (root / "a" / "zarr.json").write_text(json.dumps(longer))
    tree.write("a", np.full((300, 4), 9, "f4"))
    (root / "a" / "zarr.json").write_bytes(shorter)
    for shape in ((7, 4), (13, 4), (300, 4)):
        tree.resize("a", *shape)
        found = tree.read("a")
        assert not found[6:].any(), shape


@pytest.mark.parametrize("separator", ["/", "."])
def test_a_new_array_does_not_read_chunks_that_were_left(
    tree: Tree, root: Path, zarr_format: int, separator: str
) -> None:
    keys: dict[str, Any] = {"dimension_separator": separator}
    if zarr_format == 3:
        keys = {"chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}}}
    tree.create_array("a", array := {**ARRAYS[zarr_format], **keys})
    tree.write("a", np.ones((6, 4), "f4"))
    (root / "a" / ("zarr.json" if zarr_format == 3 else ".zarray")).unlink()
    before = files(root)
    with refused(EXISTS, "chunks of an array without a document are there, such as a/"):
        tree.create_array("a", array)
    assert files(root) == before
    for name in ("0x0", "c.txt", "c/notes.txt", "x/0.0"):
        (root / "b" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "b" / name).write_text("somebody's")
    tree.create_array("b", array)
    assert not tree.read("b").any()


def test_a_handle_of_an_array_that_has_changed(tree: Tree, root: Path) -> None:
    tree.create_array("a", V3)
    tree.create_array("b", V3)
    with tree.array("a") as handle, tree.array("b") as other:
        tree.resize("a", 8, 4)
        np.testing.assert_array_equal(tree.values(handle), np.zeros((6, 4)))  # as it was
        tree.resize("a", 3, 4)
        with refused(STALE, "shrunk"):
            tree.values(handle)
        np.testing.assert_array_equal(tree.values(other), np.zeros((6, 4)))
        tree.erase("b")
        with refused(STALE, "no longer there"):
            tree.values(other)
        tree.create_array("b", v3("data_type", "int32"))
        with refused(STALE, "another array"):
            tree.values(other)
    with tree.array("b") as handle:
        assert not tree.values(handle).any()


def test_shapes_that_are_refused_change_nothing(tree: Tree, root: Path) -> None:
    tree.create_array("a", V3)
    tree.create_group("g")
    before = files(root)
    for shape in ((1,), (1, 2, 3), (-1, 2), (2**63 - 1, -5)):
        with refused(ARGUMENT):
            tree.resize("a", *shape)
    with refused(ARGUMENT, "is a group"):
        tree.resize("g", 1, 2)
    with refused(ARGUMENT):
        tree.append("a", np.zeros((2, 5), "f4"))
    with refused(ARGUMENT):
        tree.append("a", np.zeros((2, 4), "f4"), axis=2)
    with refused(ARGUMENT):
        tree.append("a", np.zeros((2, 4), "f4"), axis=-1)
    with refused(ARGUMENT):
        tree.append("a", np.zeros((2,), "f4"))
    with refused(-18):
        tree.create_array("i", v3("data_type", "uint8"))
        tree.append("i", np.full((2, 4), 300, "i4"))
    tree.erase("i")
    assert files(root) == before
    tree.resize("a", 2**62, 4)
    assert tree.document("a")["shape"] == [2**62, 4]
    with refused(-10):
        huge = (b"f4", 2, _ints(2**62 + 2**61, 4), 1, 1, None, 1, 0)
        tree.check(tree.api.append, tree.pointer, b"a", 0, *huge)


def _ints(*values: int) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


# ---- removing ----


def test_erasing_stays_inside(tree: Tree, root: Path, tmp_path: Path, zarr_format: int) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    tree.create_group("", GROUPS[zarr_format])
    tree.create_array("g/a", ARRAYS[zarr_format])
    tree.write("g/a", np.ones((6, 4), "f4"))
    (root / "g" / "link").symlink_to(outside)
    (root / "g" / "a" / "file").symlink_to(outside / "precious")
    tree.erase("g")
    assert (outside / "precious").read_text() == "x"
    assert not (root / "g").exists()
    with refused(MISSING):
        tree.erase("g")
    with refused(ARGUMENT, "root"):
        tree.erase("")
    assert list(zarrcore.open_group(root).members()) == []


def test_links_that_leave_the_store_take_no_change(tree: Tree, root: Path, tmp_path: Path) -> None:
    outside = Tree(tree.api, tree.error_of, tmp_path / "outside")
    outside.create_array("a", V3)
    tree.create_group("")
    (root / "link").symlink_to(tmp_path / "outside")
    before = files(tmp_path / "outside")
    for call in (
        lambda: tree.erase("link/a"),
        lambda: tree.create_group("link/g"),
        lambda: tree.set_attribute("link/a", "x", 1),
        lambda: tree.resize("link/a", 1, 1),
    ):
        with refused(IO, "symbolic link"):
            call()
    assert files(tmp_path / "outside") == before
    outside.close()


def test_writes_under_way_leave_nothing(tree: Tree, root: Path) -> None:
    """Writers and somebody who removes and creates: after the last removal nothing is there."""
    stop = threading.Event()
    statuses: set[int] = set()

    def work() -> None:
        while not stop.is_set():
            try:
                tree.write("g/a", np.ones((6, 4), "f4"))
                statuses.add(0)
            except LibraryError as error:
                statuses.add(error.args[0])

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(200):
            tree.create_array("g/a", V3)
            tree.erase("g")
            assert not (root / "g").exists()
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert statuses <= {0, MISSING, STALE, IO}


# ---- handles ----


def test_names_of_dimensions_and_lengths_of_chunks(api: Any, tmp_path: Path, zarr_format: int) -> None:
    names = {"dimension_names": ["t", None]} if zarr_format == 3 else {}
    array = zarrcore.create_array(
        tmp_path, shape=(7, 4), chunks=(3, 4), dtype="i4", zarr_format=zarr_format, **names
    )
    if zarr_format == 2:
        array.attrs["_ARRAY_DIMENSIONS"] = ["t", "x"]
    handle = api.handle(tmp_path)
    last = None if zarr_format == 3 else b"x"
    assert [api.dimension_name(handle, d) for d in (-1, 0, 1, 2)] == [None, b"t", last, None]
    lengths = _ints(0, 0, 0, 0)
    assert api.chunk_lengths(handle, 0, lengths, 4) == 0
    assert list(lengths) == [3, 3, 1, 0]
    assert api.chunk_lengths(handle, 0, lengths, 2) == -5
    assert api.chunk_lengths(handle, 2, lengths, 4) == ARGUMENT
    api.release(handle)
    plain = zarrcore.create_array(tmp_path / "plain", shape=(7, 4), dtype="i4", zarr_format=zarr_format)
    del plain
    handle = api.handle(tmp_path / "plain")
    assert api.dimension_name(handle, 0) is None
    api.release(handle)


def test_names_of_dimensions_are_not_cut_at_a_zero(api: Any, tmp_path: Path, zarr_format: int) -> None:
    names = ["t\0", "t\0x\0"]
    more = {"dimension_names": names} if zarr_format == 3 else {}
    array = zarrcore.create_array(tmp_path, shape=(7, 4), dtype="i4", zarr_format=zarr_format, **more)
    if zarr_format == 2:
        array.attrs["_ARRAY_DIMENSIONS"] = names
    handle = api.handle(tmp_path)
    assert [api.dimension_name(handle, d) for d in (0, 1)] == [b"t\\u0000", b"t\\u0000x\\u0000"]
    api.release(handle)


def test_extension_modules_open_by_path(capi: Any, error_of: Any, tmp_path: Path) -> None:
    zarrcore.create_array(tmp_path / "a", shape=(3,), dtype="i4")[...] = 4
    zarrcore.create_group(tmp_path / "g")
    handle, error = ctypes.c_void_p(), error_of()
    assert capi.open(os.fsencode(tmp_path / "a"), 0, ctypes.byref(handle), error) == 0
    out = np.zeros(3, "i4")
    assert capi.region(handle, out) == 0
    assert out.tolist() == [4, 4, 4]
    assert capi.region(handle, out, write=True) == ARGUMENT
    capi.release(handle)
    assert capi.open(os.fsencode(tmp_path / "a"), 1, ctypes.byref(handle), error) == 0
    assert capi.region(handle, out + 1, write=True) == 0
    capi.release(handle)
    for path, flags, status in ((b"/nowhere", 0, MISSING), (b"", 0, ARGUMENT), (b"/tmp", 1 << 20, ARGUMENT)):
        handle.value = 1
        assert capi.open(path, flags, ctypes.byref(handle), error) == status, error.message
        assert handle.value is None
    assert capi.open(os.fsencode(tmp_path / "g"), 0, ctypes.byref(handle), error) == UNSUPPORTED, (
        error.message
    )
    (tmp_path / "a" / "zarr.json").write_text("{")
    assert capi.open(os.fsencode(tmp_path / "a"), 0, ctypes.byref(handle), error) == METADATA
    assert capi.open(os.fsencode(tmp_path / "a"), 2, ctypes.byref(handle), error) == UNSUPPORTED
