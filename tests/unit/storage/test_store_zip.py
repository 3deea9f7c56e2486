"""ZIP archives: modes, damaged ones, bad names, and processes."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import warnings
import zipfile

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ReadOnlyError, StoreError
from zarrcore.storage import LocalStore, StorePath, ZipStore
from zarrcore.storage.zip_directory import Directory
from zarrcore.testing.process import in_child


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.zip"


def archive(path, entries, compression=zipfile.ZIP_STORED):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "w", compression) as file:
            for name, value in entries:
                file.writestr(name, value)
    return path


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archives_of_others(path, compression):
    archive(path, [("a/", b""), ("a/b", b"0123456789"), ("c", b"old"), ("c", b"new")], compression)
    with ZipStore(path) as store:
        assert sorted(store.list()) == ["a/b", "c"]
        assert store.get("a/b", (3, 4)) == b"3456"
        assert store.get("c") == b"new"
        assert store.get("a") is None
        assert store.read_only
        with pytest.raises(ReadOnlyError):
            store.set("a/b", b"")


def test_a_longer_extra_field_in_the_local_header(path):
    # zipfile lets a writer give each header its own extra field; offsets have to follow the local one
    with zipfile.ZipFile(path, "w") as file:
        info = zipfile.ZipInfo("a")
        info.extra = b"\xfe\xca\x04\x00abcd"
        file.writestr(info, b"0123456789")
        info.extra = b""
    assert ZipStore(path).get("a", (2, 3)) == b"234"


def test_modes(path):
    with pytest.raises(FileNotFoundError):
        ZipStore(path).get("a")
    with ZipStore(path, mode="x") as store:
        store.set("a", b"1")
    with pytest.raises(FileExistsError):
        ZipStore(path, mode="x").set("a", b"")
    with pytest.raises(FileExistsError):
        ZipStore(path, mode="x").clear()
    with ZipStore(path, mode="a") as store:
        store.set("b", b"2")
        assert store.get("a") == b"1"
    with ZipStore(path, mode="w") as store:
        assert list(store.list()) == []
        store.set("c", b"3")
    assert list(ZipStore(path).list()) == ["c"]
    with pytest.raises(ValueError, match="mode"):
        ZipStore(path, mode="r+")
    with pytest.raises(ValueError, match="read-only"):
        ZipStore(path, mode="r", read_only=False)
    assert path == ZipStore(path).path


def test_a_new_archive_may_be_empty(path):
    ZipStore(path, mode="w").close()
    assert list(ZipStore(path).list()) == []


def test_a_store_used_after_close_appends(path):
    store = ZipStore(path, mode="w")
    store.set("a", b"1")
    store.close()
    store.close()
    store.set("b", b"2")
    assert store.get("a") == b"1"
    store.close()
    assert sorted(ZipStore(path).list()) == ["a", "b"]


def test_a_key_set_again(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ZipStore(path, mode="w") as store:
            store.set("a", b"old")
            store.set("a", b"new")
            assert store.get("a") == b"new"
    with ZipStore(path) as store:
        assert (list(store.list()), store.get("a")) == (["a"], b"new")


def test_deleting_is_refused(path):
    with ZipStore(path, mode="w") as store:
        store.set("a/b", b"1")
        for call in (
            lambda: store.delete("a/b"),
            lambda: store.erase_prefix("a"),
            lambda: store.erase_values(["a/b"]),
        ):
            with pytest.raises(StoreError, match="cannot be deleted"):
                call()
        store.erase_prefix("x")
        assert store.get("a/b") == b"1"
        store.clear()
        assert list(store.list()) == []
        store.set("c", b"2")
    assert list(ZipStore(path).list()) == ["c"]


@pytest.mark.parametrize("mode", ["r", "a"])
@pytest.mark.parametrize("contents", [b"no archive at all", b"PK\3\4 unfinished"])
def test_what_is_no_archive_is_refused(path, mode, contents):
    path.write_bytes(contents)
    with pytest.raises(StoreError, match="not a ZIP archive"):
        ZipStore(path, mode=mode).get("a")
    assert path.read_bytes() == contents


@pytest.mark.parametrize("name", ["../a", "/a", "a//b", "a/./b", "a/..", "../"])
def test_bad_names_are_refused(path, name):
    archive(path, [("good", b""), (name, b"")])
    with pytest.raises(StoreError, match="no key"):
        ZipStore(path).get("good")


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_damaged_entry_is_an_error(path, compression):
    archive(path, [("a", bytes(range(200)))], compression)
    damaged = bytearray(path.read_bytes())
    damaged[60] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match="key 'a'"):
        ZipStore(path).get("a")


def test_an_entry_cut_short_is_an_error(path):
    archive(path, [("a", bytes(100))])
    data = bytearray(path.read_bytes())
    for at in (18, 22, data.index(b"PK\1\2") + 20, data.index(b"PK\1\2") + 24):  # both sizes, in both headers
        data[at : at + 4] = (10**6).to_bytes(4, "little")
    path.write_bytes(data)
    for byte_range in (None, (50, 10**6)):
        with pytest.raises(StoreError, match="key 'a'"):
            ZipStore(path).get("a", byte_range)


def test_an_encrypted_entry_is_an_error(path):
    archive(path, [("a", b"0123456789")])
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    for byte_range in (None, (0, 3)):
        with pytest.raises(StoreError, match="encrypted"):
            ZipStore(path).get("a", byte_range)


def test_file_objects():
    file = io.BytesIO()
    with ZipStore(file, mode="w") as store:
        store.set("a", b"value")
        assert store.path is None
        with pytest.raises(StoreError, match="cleared"):
            store.clear()
    assert ZipStore(file).get("a") == b"value"
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(ZipStore(file))
    with pytest.raises(TypeError, match="file object"):
        ZipStore(3)


def test_views_share_the_archive(path):
    with ZipStore(path, mode="w") as store:
        view = store.with_read_only(True)
        store.set("a", b"value")
        assert view.get("a") == b"value"
        assert view == store
        assert hash(view) == hash(store)
    with pytest.raises(StoreError, match="mode 'r'"):
        ZipStore(path).with_read_only(False)


def test_a_writer_cannot_be_pickled(path):
    with ZipStore(path, mode="w") as store, pytest.raises(TypeError, match="pickled"):
        pickle.dumps(store)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_opens_the_archive_itself(path):
    archive(path, [("a", b"0123456789"), ("b", b"other")])
    store = ZipStore(path)
    assert store.get("a") == b"0123456789"
    with store._archive.held():  # a lock that another thread holds stays locked in the child
        assert in_child(lambda: store.get("a", (2, 2)) == b"23" and store.get("b") == b"other")
    assert store.get("b") == b"other"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_write_the_parents_archive(path):
    store = ZipStore(path, mode="w")
    store.set("a", b"value")

    def child():
        store.close()
        with pytest.raises(StoreError, match="another process"):
            store.set("b", b"")
        return True

    assert in_child(child)
    store.close()
    assert list(ZipStore(path).list()) == ["a"]


def test_what_is_replaced_is_not_listed_twice(tmp_path):
    """Rewriting attributes left an entry of the old ones in the archive's directory."""
    path = tmp_path / "a.zip"
    with ZipStore(path, mode="w") as store:
        array = zarrcore.create_array(store, name="a", shape=4, chunks=2, dtype="i4", attributes={"n": 0})
        array[...] = 7
        for n in range(5):
            array.attrs["n"] = n
    with ZipStore(path, mode="a") as store:
        array = zarrcore.open_array(store, path="a", mode="r+")
        array.attrs["n"] = 9
        array.append([8])
    names = zipfile.ZipFile(path).namelist()
    assert sorted(names) == sorted(set(names))
    assert zipfile.ZipFile(path).testzip() is None
    array = zarrcore.open_array(ZipStore(path), path="a", mode="r")
    assert dict(array.attrs) == {"n": 9}
    assert array[...].tolist() == [7, 7, 7, 7, 8]


def test_an_entry_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        store.set("k", b"old")

        def fail(self, *args, **kwargs):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(zipfile.ZipInfo, "FileHeader", fail)
            with pytest.raises(OSError, match="No space"):
                store.set("k", b"new")
        assert bytes(store.get("k")) == b"old"
    assert zipfile.ZipFile(tmp_path / "a.zip").namelist() == ["k"]


def test_a_file_that_took_a_part_of_an_entry_was_taken_for_complete(path):
    class Short(io.FileIO):
        def write(self, data):
            return super().write(data[: 1 << 16])

    with Short(path, "w+") as file, ZipStore(file, mode="w") as store:
        store.set("a", b"value")
        with pytest.raises(OSError, match="a part of what was written"):
            store.set("b", bytes(1 << 17))
    assert keys_of(path) == ["a"]


def test_a_name_too_long_for_an_archive_names_the_key(path):
    with ZipStore(path, mode="w") as store:
        with pytest.raises(StoreError, match=r"key 'aaa.*at most 65535 bytes"):
            store.set("a" * 70_000, b"value")
        store.set("b", b"value")
    assert keys_of(path) == ["b"]


@contextlib.contextmanager
def files_of_at_most(nbytes):
    """As on a disk that is full."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def keys_of(path):
    assert zipfile.ZipFile(path).testzip() is None
    return sorted(zipfile.ZipFile(path).namelist())


@pytest.mark.parametrize("old", [None, b"old"])
def test_an_entry_that_cannot_be_written_is_not_listed(path, old):
    with ZipStore(path, mode="w") as store:
        store.set("a", b"value")
        if old is not None:
            store.set("b", old)
        size = 1 << 20
        with files_of_at_most(size), pytest.raises(OSError, match=f"large.*{path}"):
            store.set("b", bytes(2 * size))
        assert store.get("b") == old
        assert [*store.list()] == ["a", "b"][: 1 + (old is not None)]
        store.set("c", b"value")  # in its place
    assert keys_of(path) == ["a", "c"] if old is None else ["a", "b", "c"]
    assert path.stat().st_size < size


def test_an_interrupted_entry_is_not_listed(path, monkeypatch):
    """zipfile lists an entry, and its checksum, when it is closed, however much was written."""

    class Interrupted(io.FileIO):
        def write(self, data):
            if len(data) == 1 << 20:
                super().write(data[:100])
                raise KeyboardInterrupt
            return super().write(data)

    with Interrupted(path, "w+") as file, ZipStore(file, mode="w") as store:
        store.set("a", b"value")
        with pytest.raises(KeyboardInterrupt):
            store.set("b", bytes(1 << 20))
        assert store.get("b") is None
        store.set("c", b"value")
    assert keys_of(path) == ["a", "c"]


def test_an_archive_that_cannot_be_completed_stays_as_it_was(path):
    """The directory of an archive that is appended to is overwritten long before there is a new one."""
    with ZipStore(path, mode="w") as store:
        store.set("a", b"value")
    before = path.read_bytes()
    store = ZipStore(path, mode="a")
    for n in range(100):
        store.set(f"b/{n}", b"value")
    with files_of_at_most(8000), pytest.raises(OSError, match=f"large.*{path}"):
        store.close()
    assert path.read_bytes() == before
    with ZipStore(path, mode="a") as store:
        store.set("b", b"value")
    assert keys_of(path) == ["a", "b"]


@pytest.mark.parametrize("failing", ["_start_of", "_RealGetContents"])
def test_errors_of_the_system_name_the_archive(path, monkeypatch, failing):
    def fail(*_):
        raise OSError(5, "Input/output error")

    with ZipStore(path, mode="w") as store:
        store.set("a", b"value")
    monkeypatch.setattr(Directory, failing, fail)
    with pytest.raises(OSError, match=f"Input/output error.*{path}"):
        ZipStore(path).get("a")


def test_the_path_of_an_archive_is_enough_to_read_it(tmp_path):
    path = tmp_path / "Data.ZIP"
    with ZipStore(path, mode="w") as archive:
        zarrcore.save(archive, lat=np.array([1, 2]))
    for store in (path, str(path), path.as_uri()):
        assert zarrcore.load(store)["lat"].tolist() == [1, 2]
        assert zarrcore.open_array(store, path="lat", mode="r")[1] == 2
    before = path.read_bytes()
    path.chmod(0o444)
    if not os.access(path, os.W_OK):  # root may write it all the same
        with pytest.raises(ReadOnlyError, match="use mode 'r'"):
            zarrcore.open(path)
    assert path.read_bytes() == before


def test_a_directory_may_be_called_like_an_archive(tmp_path):
    path = tmp_path / "data.zip"
    path.mkdir()
    zarrcore.create_array(path, shape=3, dtype="i4")[...] = 5
    assert zarrcore.load(path).tolist() == [5, 5, 5]
    (tmp_path / "other.zip").write_bytes(b"no archive")
    with pytest.raises(StoreError, match="is not a ZIP archive"):
        zarrcore.open(tmp_path / "other.zip", mode="r")


@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize("damage", ["version 23.5", "can't decode byte 0xff"])
def test_a_damaged_directory_names_the_archive(tmp_path, is_far, damage):
    """The version of a format that there is not, or a name that is no UTF-8, was a bare error."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ä/b", b"value")
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\1\2")
    if damage.startswith("version"):
        data[entry + 6] = 235
    else:
        data[entry + 46] = 0xFF
    path.write_bytes(data)
    store = ZipStore(StorePath(LocalStore(tmp_path), "a.zip") if is_far else path)
    with pytest.raises(StoreError, match=rf"a\.zip cannot be used: .*{damage}"):
        store.get("b")


def test_a_lock_whose_file_was_collected_first_is_released_without_a_word(tmp_path):
    """Python printed a ValueError for each archive that was collected, rather than closed, in a circle."""
    from zarrcore.storage.zip_locks import WriteLock

    lock = WriteLock()
    lock.take(str(tmp_path / "a.zip"), os.O_CREAT)
    assert lock._file is not None
    lock._file.close()
    lock.release()
    assert not lock.is_held
