"""A member whose document cannot be used hides none of the others, and is not hidden itself."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError, MetadataValidationError, NodeIOError
from zarrcore.storage import MemoryStore, WrapperStore


class Waiting(WrapperStore):
    """A store that is asked side by side, level by level."""

    def _concurrent_requests(self):
        return 4


class Failing(MemoryStore):
    def get(self, key, byte_range=None):
        if key == "g/a/zarr.json":
            raise OSError("no route to host")
        return super().get(key, byte_range)


@pytest.mark.parametrize("store", [Failing(), MemoryStore({"g/a/zarr.json": b"{"})])
def test_an_error_of_a_document_names_the_store_and_the_node(store):
    with pytest.raises((OSError, MetadataValidationError)) as caught:
        zarrcore.open_array(store, path="g/a", mode="r")
    if isinstance(caught.value, NodeIOError):
        assert str(caught.value).startswith(f"node 'g/a' in {store}, key 'g/a/zarr.json': OSError")
    else:
        assert caught.value.__notes__ == [f"while the metadata were read in {store} at path 'g/a'"]


ARRAY = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default"},
    "fill_value": 0,
    "codecs": ["bytes"],
}
BROKEN = {
    "no JSON": b"{",
    "no object": b"[]",
    "not all of it": b'{"zarr_format": 3, "node_type": "array"}',
    "no such data type": json.dumps(ARRAY | {"data_type": "of.the.future"}).encode(),
    "no such codec": json.dumps(ARRAY | {"codecs": ["of.the.future"]}).encode(),
    "no such format": b'{"zarr_format": 4, "node_type": "array"}',
}


@pytest.fixture(params=[MemoryStore, lambda: Waiting(MemoryStore())], ids=["memory", "waiting"])
def root(request):
    root = zarrcore.create_group(request.param())
    root["ok"] = np.arange(3)
    root.create_group("sub")["x"] = np.arange(4)
    return root


@pytest.mark.parametrize("document", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("path", ["bad", "sub/bad"])
def test_the_others_are_seen(root, path, document):
    root.store.set(f"{path}/zarr.json", document)
    above = root if path == "bad" else root["sub"]
    assert list(above) == list(above.keys()) == sorted({"bad", *above})
    assert "bad" in above
    assert len(above) == above.nmembers() == len(list(above))
    assert root.nmembers(None) == 4
    tree = repr(root.tree())
    assert f"bad (unreadable: {path}/zarr.json: " in tree
    assert "ok (3,) int64" in tree
    assert "x (4,) int64" in tree
    info = root.info_complete().items()
    assert (info["No. members"], info["No. arrays"], info["No. groups"]) == (4, 2, 1)
    assert info["No. unreadable"] == 1
    assert above["ok" if path == "bad" else "x"].size > 2


@pytest.mark.parametrize("document", BROKEN.values(), ids=BROKEN.keys())
def test_nothing_is_left_out(root, document):
    root.store.set("bad/zarr.json", document)
    target = zarrcore.create_group({})
    for use in (
        root.members,
        lambda: root.members(max_depth=None),
        lambda: list(root.arrays()),
        lambda: list(root.group_keys()),
        lambda: root["bad"],
        lambda: zarrcore.copy_all(root, target),
        lambda: zarrcore.consolidate_metadata(root.store),
    ):
        with pytest.raises(BaseZarrError, match=r"bad/zarr\.json: "):
            use()
    assert list(target) == []


def test_it_can_be_removed_and_replaced(root):
    root.store.set("bad/zarr.json", b"{")
    root.create_array("bad", shape=2, dtype="u1", overwrite=True)
    assert [name for name, _ in root.members()] == ["bad", "ok", "sub"]
    root.store.set("bad/zarr.json", b"{")
    del root["bad"]
    assert list(root) == ["ok", "sub"]
    assert "No. unreadable" not in root.info_complete().items()


def test_in_consolidated_metadata(root):
    zarrcore.consolidate_metadata(root.store)
    document = json.loads(bytes(root.store.get("zarr.json")))
    document["consolidated_metadata"]["metadata"]["ok"]["data_type"] = "of.the.future"
    root.store.set("zarr.json", json.dumps(document).encode())
    group = zarrcore.open_group(root.store)
    assert list(group) == ["ok", "sub"]
    assert "ok (unreadable: zarr.json: consolidated_metadata.metadata.ok" in repr(group.tree())
    with pytest.raises(MetadataValidationError, match="of.the.future"):
        group.members()
    assert group["sub/x"].shape == (4,)


def test_format_2():
    store = {}
    root = zarrcore.create_group(store, zarr_format=2)
    root["ok"] = np.arange(3)
    store["bad/.zarray"] = b"{}"
    assert repr(root.tree()).startswith("/\n├── bad (unreadable: bad/.zarray: ")
    with pytest.raises(MetadataValidationError, match=r"bad/\.zarray"):
        root.members()


def test_errors_of_the_store_are_told(root):
    class Failing(WrapperStore):
        def get(self, key, byte_range=None):
            if key.startswith("bad/"):
                raise OSError("the disk is gone")
            return super().get(key, byte_range)

    root.store.set("bad/zarr.json", b"{")
    group = zarrcore.open_group(Failing(root.store), mode="r")
    for use in (lambda: "bad" in group, lambda: list(group), group.tree):
        with pytest.raises(OSError, match="the disk is gone"):
            use()


class Unreachable(WrapperStore):
    """Fails in one method, by name."""

    fails = ""

    def _call(self, method, *args, **kwargs):
        if method.__name__ == self.fails:
            raise ConnectionError("https://user:secret@host is gone\nfor good")
        return super()._call(method, *args, **kwargs)


@pytest.mark.parametrize(
    ("method", "use", "key"),
    [
        ("get", lambda store: zarrcore.open_array(store, path="g/a", zarr_format=3), "key 'g/a/zarr.json'"),
        ("get_many", lambda store: zarrcore.open_group(store, path="g", mode="r").members(), None),
        ("list_dir", lambda store: zarrcore.open_group(store, path="g", mode="r").members(), "prefix 'g/'"),
        ("list_dir", lambda store: list(zarrcore.open_group(store, path="g", mode="r")), "prefix 'g/'"),
        ("list_dir", lambda store: zarrcore.open(store, path="none", mode="r"), "prefix 'none/'"),
        (
            "list_prefix",
            lambda store: zarrcore.open_array(store, path="g/a").nchunks_initialized,
            "prefix 'g/a/'",
        ),
        (
            "list_dir",
            lambda store: zarrcore.create_array(store, name="g", shape=1, dtype="i1", overwrite=True),
            "prefix 'g/'",
        ),
        ("list_dir", lambda store: zarrcore.migrate(store, dry_run=True), "prefix ''"),
    ],
)
def test_errors_of_the_store_have_a_type_and_name_the_place(method, use, key, monkeypatch):
    store = Unreachable(MemoryStore())
    zarrcore.create_array(store, name="g/a", shape=3000, chunks=1, dtype="i4")
    monkeypatch.setattr(Unreachable, "fails", method)
    with pytest.raises(NodeIOError, match="ConnectionError") as caught:
        use(store)
    error = caught.value
    assert isinstance(error, OSError)
    assert isinstance(error.__cause__, ConnectionError)
    text = str(error)
    assert f"in {store}" in text
    assert key is None or key in text
    assert repr(error.path or "/") in text
    assert "secret" not in text
    assert "\n" not in text
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.key, copy.path) == (text, error.key, error.path)
