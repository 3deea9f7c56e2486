# SPDX-License-Identifier: MIT
"""verify, repair, compact and explain of whatever somebody points at: a clear answer, and no change."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import BaseZarrError
from zarrcore.testing.process import in_child

NOBODY = 65534
LAYOUTS: dict[str, dict[str, Any]] = {
    "chunks": {}, "shards": {"shards": (20,)}, "format-2": {"zarr_format": 2}, "strings": {"dtype": str},
}  # fmt: skip


def filled(path: Path, layout: str = "chunks") -> Path:
    options = {"dtype": "i4", **LAYOUTS[layout]}
    array = zarrcore.create_array(path, shape=(40,), chunks=(10,), **options)
    array[...] = np.arange(1, 41).astype(array.dtype)
    return path


def document(path: Path) -> Path:
    return next(path / name for name in ("zarr.json", ".zarray") if (path / name).exists())


def chunk(path: Path) -> Path:
    return next(place for place in sorted(path.rglob("*")) if place.is_file() and place.name[0].isdigit())


def cut(file: Path, share: float = 0.5) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: int(len(data) * share)])


# --- places that are no arrays, or that zarrcore does not know: all of the verbs fail, or say so ---


def nothing(path: Path) -> None:
    pass


def empty_directory(path: Path) -> None:
    path.mkdir()


def file_of(content: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(content)

    return make


def directory_of(**files: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        for name, content in files.items():
            place = path / name.replace("__", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)

    return make


def directory_with(name: str, content: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.mkdir()
        (path / name).write_bytes(content)

    return make


def cut_document(share: float) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        cut(document(filled(path)), share)

    return make


def no_document(path: Path) -> None:
    document(filled(path)).unlink()


NO_ARRAYS: dict[str, Callable[[Path], None]] = {
    "nothing": nothing,
    "empty-directory": empty_directory,
    "empty-file": file_of(b""),
    "text": file_of(b"nothing of Zarr\n"),
    "hdf5": file_of(b"\x89HDF\r\n\x1a\n" + bytes(2000)),
    "netcdf3": file_of(b"CDF\x01" + bytes(200)),
    "tiff": file_of(b"II*\0\x08\0\0\0" + bytes(100)),
    "npy": file_of(b"\x93NUMPY\x01\0v\0{'descr': '<f8', 'fortran_order': False, 'shape': (9,)}" + bytes(99)),
    "cut-zip": file_of(b"PK\x03\x04\x14\0" + bytes(100)),
    "parquet-directory": directory_of(part__0=b"PAR1" + bytes(64) + b"PAR1", _metadata=b"PAR1"),
    "photographs": directory_of(a__b__c=b"\xff\xd8\xff\xe0", a__d=b""),
    "icechunk": directory_of(refs__branch=b"{}", snapshots__x=b"ICE\xf0\x9f\xa7\x8aCHUNK", config=b"\0"),
    "other-json": directory_with("zarr.json", b'{"name": "a package", "version": "1.0.0"}'),
    "zarr-9": directory_with("zarr.json", b'{"zarr_format": 9, "node_type": "array"}'),
    "no-json": directory_with("zarr.json", b"\x00\xff\xfe binary"),
    "cut-document": cut_document(0.5),
    "empty-document": cut_document(0),
    "no-document": no_document,
}


# --- arrays of which a part is missing or half-written: they open, and what is wrong is found ---


def cut_chunk(path: Path) -> None:
    cut(chunk(path))


def empty_chunk(path: Path) -> None:
    cut(chunk(path), 0)


def left_temporary_file(path: Path) -> None:
    place = chunk(path)
    left = place.with_name(".zc-0123456789abcdef.partial")
    left.write_bytes(place.read_bytes()[:7])
    os.utime(left, (0, 0))


def directory_for_a_chunk(path: Path) -> None:
    place = chunk(path)
    place.unlink()
    place.mkdir()


HALF_WRITTEN = [cut_chunk, empty_chunk, left_temporary_file, directory_for_a_chunk]


def seen(path: Path) -> dict[str, Any]:
    """Return all that is at a place: kinds, modes, times, contents."""
    found = {}
    for place in [path, *path.rglob("*")] if path.exists() else []:
        status = place.lstat()
        content = place.read_bytes() if place.is_file() else None
        found[str(place)] = (status.st_mode, status.st_mtime_ns, status.st_ino, content)
    return found


def compacted(place: Path) -> Any:
    return zarrcore.compact(zarrcore.open_array(place, mode="r+"))


def explained(place: Path) -> Any:
    return zarrcore.open_array(place, mode="r").explain(np.s_[...])


def repaired(place: Path) -> Any:
    return zarrcore.repair(zarrcore.verify(place))


def repaired_for_good(place: Path) -> Any:
    return zarrcore.repair(zarrcore.verify(place), dry_run=False)


VERBS: dict[str, Callable[[Path], Any]] = {
    "verify": zarrcore.verify, "repair": repaired, "repair --apply": repaired_for_good,
    "compact": compacted, "explain": explained,
}  # fmt: skip


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    pytest.importorskip("click")
    from zarrcore.cli.app import run

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            run(list(words))
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return int(end.value.code or 0), out, err

    return call


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("name", NO_ARRAYS)
def test_what_is_no_array(name: str, verb: str, tmp_path: Path, command: Any) -> None:
    place = tmp_path / "place"
    NO_ARRAYS[name](place)
    before = seen(tmp_path)
    if verb == "verify":
        report = zarrcore.verify(place)
        assert report.errors and "place" in str(report), report
    elif "repair" in verb:
        assert VERBS[verb](place) == []
    else:
        with pytest.raises((BaseZarrError, OSError), match="place|zarr.json"):
            VERBS[verb](place)
    code, out, err = command(*verb.split()[:1], str(place), *verb.split()[1:])
    assert seen(tmp_path) == before
    assert code == 1, (out, err)  # after repair as well: a document that is wrong is left to its owner
    if verb != "verify":
        assert out == "" and err.startswith("zarrcore: ") and err.count("\n") == 1


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("damage", HALF_WRITTEN)
def test_what_is_half_written(
    damage: Callable[[Path], None], layout: str, verb: str, tmp_path: Path, command: Any
) -> None:
    place = filled(tmp_path / "place", layout)
    damage(place)
    before = seen(tmp_path)
    answer = VERBS[verb](place)
    expected = before
    if verb == "verify":
        assert [*answer] and all(finding.key for finding in answer)
    elif verb == "explain":
        assert len(answer.chunks) in (2, 4)
        assert ("Fails" in str(answer)) == (layout == "shards" and damage in (cut_chunk, empty_chunk))
    elif verb == "repair --apply" and damage is left_temporary_file:
        left = next(name for name in before if name.endswith(".partial"))
        expected = {name: found for name, found in before.items() if name != left}
        expected[str(Path(left).parent)] = seen(tmp_path)[str(Path(left).parent)]  # a new time
    assert seen(tmp_path) == expected
    code, out, err = command(*verb.split()[:1], str(place), *verb.split()[1:])
    assert seen(tmp_path) == expected
    assert code in (0, 1) and (out or (code == 1 and "error left: see zarrcore verify" in err)), (out, err)


# --- without rights ---


@pytest.fixture
def public() -> Iterator[Path]:
    """A directory that everyone may enter, so that one who may not do all else can be tried."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    for place in [path, *path.rglob("*")]:
        if place.is_dir():
            place.chmod(0o755)
    shutil.rmtree(path)


def without_root(check: Callable[[], None]) -> None:
    """Run a check in a child that is no superuser: that one may do everything."""

    def run() -> bool:
        if os.geteuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        check()
        return True

    assert in_child(run)


MODES = {"unreadable": 0o000, "read-only": 0o555, "not-to-be-listed": 0o311}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="modes as POSIX has them")
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("where", ["root", "chunks", "document", "chunk"])
@pytest.mark.parametrize("mode", MODES)
def test_without_rights(mode: str, where: str, verb: str, public: Path, command: Any) -> None:
    place = filled(public / "place", "shards")
    left_temporary_file(place)
    before = seen(public)
    closed = {"root": place, "chunks": place / "c", "document": document(place), "chunk": chunk(place)}[where]
    if os.geteuid() == 0:
        for each in [place, *place.rglob("*")]:
            os.chown(each, NOBODY, NOBODY)
    kept = closed.stat().st_mode & 0o777
    closed.chmod(MODES[mode] if closed.is_dir() else MODES[mode] & 0o444)

    def check() -> None:
        try:
            answer = VERBS[verb](place)
        except (BaseZarrError, OSError) as error:
            assert verb in ("compact", "explain") or verb == "repair --apply", repr(error)
            assert "place" in str(error) or "c/0" in str(error), repr(error)
        else:
            assert str(answer)
        code, out, err = command(*verb.split()[:1], str(place), *verb.split()[1:])
        assert code in (0, 1) and (out or err), (out, err)
        assert verb == "verify" or not err or err.startswith("zarrcore: ")

    without_root(check)
    closed.chmod(kept)
    after = seen(public)
    if verb != "repair --apply":
        assert {name: found[1:] for name, found in after.items()} == {
            name: found[1:] for name, found in before.items()
        }
    assert {name for name in before if name.endswith(("0", "json"))} <= {*after}
