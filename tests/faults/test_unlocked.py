# SPDX-License-Identifier: MIT
"""Locks among processes that cannot be given up."""

from __future__ import annotations

from pathlib import Path

from shim import compiled, needs_shim, run_under

pytestmark = needs_shim

UNLOCKING_FAILS = """
import ctypes, errno, fcntl, os, struct, sys
import zarrcore
from zarrcore.storage import LocalStore
array = zarrcore.create_array(LocalStore(sys.argv[1], locks="file"), shape=8, chunks=4, dtype="i4")
array[1:3] = 1
shim = ctypes.CDLL(None)
shim.shim_fail(0, 1, 4096, errno.EIO)  # the lock is to be given up
array[1:3] = 7
failed = shim.shim_failed()
fd = os.open(f"{sys.argv[1]}/.zc-locks", os.O_RDWR)  # as another process has it
fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
print(failed, array[1])
"""


def test_a_lock_that_cannot_be_given_up_is_closed(tmp_path: Path) -> None:
    """The descriptor was kept for the next lock, and other processes waited until its array was closed."""
    root = tmp_path / "root"
    assert run_under(compiled(), UNLOCKING_FAILS, root, root=root) == "1 7\n"
