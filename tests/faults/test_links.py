# SPDX-License-Identifier: MIT
"""Links whose targets cannot be looked at, as on a failing disk: nothing is taken for absent or removed."""

from __future__ import annotations

from pathlib import Path

import pytest
from shim import compiled, needs_shim, run_under

pytestmark = needs_shim

# Each look at a file fails in turn; what a call does not raise has to be true.
PROGRAM = """
import ctypes, errno, os, shutil, sys, warnings
import numpy as np
import zarrcore
from zarrcore.storage import LocalStore

STAT = 256
warnings.simplefilter("ignore")
shim = ctypes.CDLL(None)
_, root, change, is_right = sys.argv
copied = lambda: zarrcore.create_group(root + '-copy')
n = failed = 0
while n == failed:
    for old in (root, root + "-copy"):
        shutil.rmtree(old, ignore_errors=True)
    zarrcore.create_array(root, name="b", data=np.arange(1, 5).reshape(2, 2), chunks=(1, 1))
    os.mkdir(root + "/else")
    for link in ("b/c/0", "b/c/1/1"):
        shutil.move(f"{root}/{link}", root + "/else")
        os.symlink("../" * link.count("/") + "else/" + link[-1], f"{root}/{link}")
    os.symlink("b", root + "/a")
    store = LocalStore(root)
    shim.shim_fail(n, 1, STAT, errno.EIO)
    error = result = None
    try:
        result = eval(change)
    except Exception as raised:
        error = raised
    hits = shim.shim_failed()
    if error is None:
        assert eval(is_right), f"call {n} of stat failed: {change} did something else, and said nothing"
    else:
        assert hits and isinstance(error, (OSError, zarrcore.errors.BaseZarrError)), repr(error)
        assert root in str(error) or "'a" in str(error) or "'b" in str(error), repr(error)
        assert os.strerror(errno.EIO) in f"{error} {error.__cause__}", repr(error)
    failed += hits
    n += 1
print(failed)
"""
COPIED = "(zarrcore.open_array(root + '-copy', path='b')[...] == [[1, 2], [3, 4]]).all()"


@pytest.mark.parametrize(
    ("change", "is_right"),
    [
        # An erasure that could not find out what a link is said nothing and left it there.
        ("store.erase_prefix('a/')", "not os.path.lexists(root + '/a')"),
        ("store.delete_dir('a')", "not os.path.lexists(root + '/a')"),
        # A link to a file was taken for one to a directory, in which there was nothing.
        ("zarrcore.copy_store(root, root + '-copy')", COPIED),
        ("zarrcore.copy(zarrcore.open_array(root, path='b'), copied(), 'b')", COPIED),
        ("sorted(store.list_prefix('b/c/'))", "result == ['b/c/0/0', 'b/c/0/1', 'b/c/1/0', 'b/c/1/1']"),
        ("zarrcore.open_array(root, path='b').nchunks_initialized", "result == 4"),
        ("zarrcore.open_array(root, path='b').nbytes_stored()", "result == 4 * 17 + 601"),
    ],
)  # fmt: skip
def test_a_link_that_cannot_be_looked_at_is_not_taken_for_something_else(
    change: str, is_right: str, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    assert int(run_under(compiled(), PROGRAM, root, change, is_right, root=root)) > 0
