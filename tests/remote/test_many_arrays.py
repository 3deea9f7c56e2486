# SPDX-License-Identifier: MIT
"""Copying and looking at many arrays through a network: several at the same time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from object_server import ObjectServer

import zarrcore
from zarrcore.storage import make_store

pytest.importorskip("obstore")


@pytest.fixture
def place(server: ObjectServer) -> Callable[[str], Any]:
    """A store of a bucket, of no client that others use."""
    words = {"key": "testing", "secret": "s", "endpoint_url": server.url}
    return lambda bucket: make_store(f"s3://{bucket}/data", storage_options=words)


def filled(group: Any, n: int) -> None:
    for number in range(n):
        group.create_array(f"a{number}", data=np.arange(20) + number, chunks=10, attributes={"n": number})
        group.create_array(f"g{number % 2}/b{number}", data=np.arange(4) - number)


def noted_in(steps: list[tuple[int, int]]) -> Callable[[int, int], None]:
    return lambda done, total: steps.append((done, total))


def same(group: Any, n: int) -> None:
    assert sorted(group.array_keys()) == [f"a{number}" for number in range(n)]
    for number in range(n):
        array = group[f"a{number}"]
        assert array.attrs.asdict() == {"n": number}
        assert np.array_equal(array[...], np.arange(20) + number)
        assert np.array_equal(group[f"g{number % 2}/b{number}"][...], np.arange(4) - number)


def test_arrays_were_copied_one_by_one(server: ObjectServer, place: Any) -> None:
    waves = []
    for n in 2, 6:
        source = zarrcore.create_group(place(f"from-{n}"))
        filled(source, n)
        target = zarrcore.create_group(place(f"to-{n}"))
        steps: list[tuple[int, int]] = []
        with server.watch() as seen:
            copied, _, nbytes = zarrcore.copy_all(source, target, progress=noted_in(steps))
        waves.append(seen.waves)
        same(target, n)
        assert copied == 2 * n + 2
        assert steps == sorted(steps)
        assert steps[-1] == (nbytes, nbytes)
        with server.watch() as seen:
            near = zarrcore.create_group({})
            zarrcore.copy_all(source, near)
        same(near, n)
        assert seen.waves <= 8, str(seen)
    assert max(waves) <= 24, waves  # it were 5 more for each array


def test_one_of_several_copies_fails(server: ObjectServer, place: Any) -> None:
    source = zarrcore.create_group(place("from"))
    filled(source, 4)
    server.fail(403, "^to/data/a2/c/1", method="PUT")
    target = zarrcore.create_group(place("to"))
    with pytest.raises(zarrcore.errors.BaseZarrError, match="a2/c/1") as raised:
        zarrcore.copy_all(source, target)
    (note,) = [note for note in raised.value.__notes__ if "complete are" in note]
    assert "while 'a2' was copied" in note
    assert "'a0'" in note
    assert "'a3'" in note
    assert "a2" not in zarrcore.open_group(place("to"))
    assert not [key for key in server.objects if key.startswith("to/data/a2/")]
    server.mend()
    assert zarrcore.copy_all(source, target, if_exists="skip_initialized")[1] == 7
    same(target, 4)


def test_what_cannot_be_decoded_is_left_out_of_several_copies(server: ObjectServer, place: Any) -> None:
    source = zarrcore.create_group(place("from"))
    filled(source, 4)
    server.objects["from/data/a1/c/0"] = b"no zstd"
    target = zarrcore.create_group(place("to"))
    with pytest.warns(zarrcore.errors.ZarrUserWarning, match="a1"):
        counts = zarrcore.copy_all(source, target, on_error="skip", compressors=None)
    assert counts[:2] == (9, 1)
    assert sorted(target.array_keys()) == ["a0", "a2", "a3"]


def test_what_is_in_the_way_is_found_before_anything_is_copied(server: ObjectServer, place: Any) -> None:
    source = zarrcore.create_group(place("from"))
    filled(source, 3)
    target = zarrcore.create_group(place("to"))
    target.create_array("g1/b1", shape=3, dtype="i4")
    before = dict(server.objects)
    with pytest.raises(zarrcore.errors.CopyError, match="g1/b1"):
        zarrcore.copy_all(source, target)
    assert server.objects == before


def test_arrays_were_verified_one_by_one(server: ObjectServer, place: Any, tmp_path: Any) -> None:
    waves = []
    for n in 2, 6:
        filled(zarrcore.create_group(place(f"at-{n}")), n)
        with server.watch() as seen:
            report = zarrcore.verify(place(f"at-{n}"))
        waves.append(seen.waves)
        assert report.ok, report
        assert (report.arrays, report.groups, report.chunks) == (2 * n, 3, 3 * n)
    assert max(waves) <= 16, waves  # it were 2 more for each of 4 and 12 arrays
    server.objects["at-6/data/a1/c/0"] = b"no zstd"
    server.objects["at-6/data/a0/c/7"] = b"outside"
    server.objects["at-6/data/a2/stray"] = b"stray"
    server.objects["at-6/data/g0/b0/zarr.json"] = b"{"
    for key, value in server.objects.items():
        if key.startswith("at-6/data/"):
            file = tmp_path / key.removeprefix("at-6/data/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(value)
    numbers: list[tuple[int, int]] = []
    far = zarrcore.verify(place("at-6"), on_progress=noted_in(numbers))
    near = zarrcore.verify(tmp_path)
    assert sorted(map(str, far.findings)) == sorted(map(str, near.findings))
    assert len(far.findings) == 4
    assert far.chunks == near.chunks == numbers[-1][0] == numbers[-1][1]
    assert [str(finding) for finding in zarrcore.verify(place("at-6"), max_findings=2)] == [
        str(finding) for finding in far.findings[:2]
    ]

    def fail(done: int, total: int) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        zarrcore.verify(place("at-6"), on_progress=fail)
