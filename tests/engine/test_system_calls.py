# SPDX-License-Identifier: MIT
"""How many system calls a chunk takes: each is a request to a server on Lustre and NFS, or nearly so."""

from __future__ import annotations

from pathlib import Path

import pytest
from shim import needs_shim
from system_calls import check, compiled, counted

pytestmark = needs_shim

PROGRAM = """
options = eval(sys.argv[2])
array = zarrcore.create_array(sys.argv[1], shape=64, dtype="i4", **options)
array[...] = values = np.arange(64, dtype="i4")
out = np.empty(64, "i4")
step(
    lambda: None,
    lambda: array.read(out=out, threads=1),
    lambda: array[5],
    lambda: array.write(..., values, threads=1),
    lambda: array.write(5, 7, threads=1),
    lambda: zarrcore.open_array(sys.argv[1], mode="r"),
)
"""
ABSENT_CHUNKS = """
array = zarrcore.create_array(sys.argv[1], name="a", shape=6400, chunks=100, dtype="i4", compressors=None)
step(lambda: None, lambda: array[5], lambda: array.read(threads=1))
"""
FIRST_USES = """
values = np.arange(64, dtype="i4")
how = dict(shape=64, chunks=64, dtype="i4", compressors=None)
root = zarrcore.create_group(sys.argv[1], attributes={"title": "waves"})
root.create_array("a", **how)[...] = values
zarrcore.consolidate_metadata(root.store)
plain, consolidated = (zarrcore.open_group(sys.argv[1], use_consolidated=use) for use in (False, True))
fresh = [zarrcore.open_array(sys.argv[1], path="a") for _ in range(6)]
free = iter(range(9))
step(
    lambda: None,
    lambda: plain["a"],
    lambda: consolidated["a"],
    lambda: fresh.pop()[5],
    lambda: fresh.pop().write(..., values, threads=1),
    lambda: fresh.pop().oindex.__setitem__(([5, 7],), 7),
    lambda: zarrcore.create_array(f"{sys.argv[1]}-{next(free)}", **how),
)
"""
READ = 3  # open, read, close
READ_SHARD = READ + 2  # its size, and its index
LOOK = 1  # at the document, before a write that comes 10 ms after the last look, as on a busy machine
WRITE = 7 + LOOK  # open and close the directory, the number of the process; make, write, close, rename a file
PATCH = READ + 1 + WRITE  # the size of what there was
PATCH_SHARD = READ_SHARD + 1 + WRITE  # the inner chunks before and after the patched one
OPEN = READ + 1  # the size of the document, and which one it is; a long one takes another read
OPEN_V2 = 10  # three documents are looked for
CREATE = 20  # directory, its lock, document; what else may be there; which document it is
ABSENT = 2  # open nothing; look for the document, which is there
LINKED = 3  # of each path through a link in that of the root: find that out, open and close the root


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("counter"))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("dict(chunks=64, compressors=None)", [READ, READ, WRITE, PATCH, OPEN]),
        ("dict(chunks=64)", [READ, READ, WRITE, PATCH, OPEN]),
        ("dict(chunks=64, compressors=zarrcore.codecs.BloscCodec())", [READ, READ, WRITE, PATCH, OPEN]),
        ("dict(chunks=64, zarr_format=2)", [READ, READ, WRITE, PATCH, OPEN_V2]),
        ("dict(chunks=8, shards=64)", [READ_SHARD, READ_SHARD, WRITE, PATCH_SHARD, OPEN + 1]),
    ],
)
def test_a_chunk_takes_no_more_system_calls_than_it_needs(
    counter: Path, tmp_path: Path, options: str, expected: list[int]
) -> None:
    """Steps: read all, read an item, write all, write an item, open."""
    calls = check(counter, expected, PROGRAM, tmp_path, options)
    assert calls[0] > 1


def test_the_first_use_of_an_array_takes_no_more_system_calls_than_it_needs(
    counter: Path, tmp_path: Path
) -> None:
    """Steps: open a member, by consolidated metadata too; read an item, write all, write some; create one.

    Which document was read took one more call at each opening, two at the first write.
    """
    # Where the array really is, as locks need it: its directory, and each above it, may be a link.
    place = len((tmp_path / "a").parts)
    expected = [OPEN, OPEN, LOOK + READ, 1 + place + WRITE, 1 + place + PATCH, place - 1 + CREATE]
    calls = check(counter, expected, FIRST_USES, tmp_path)
    assert calls[0] == OPEN


@pytest.mark.parametrize("linked", [False, True])
def test_an_absent_chunk_takes_one_system_call(counter: Path, tmp_path: Path, linked: bool) -> None:
    """Where a link led to the store, the directories above each were looked at twice more."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    one, many = counted(counter, ABSENT_CHUNKS, tmp_path / ("link" if linked else "real"))
    assert 1 < one <= ABSENT + 2 * LINKED * linked
    assert 64 < many <= 64 + 8 + 2 * LINKED * linked
