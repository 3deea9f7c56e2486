# SPDX-License-Identifier: MIT
"""The corpus' own runner, whose workers are forks of one process that has used zarrcore, not interpreters."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from typing import Any

import zarrcore_in_use  # noqa: F401  what workers import is there

sys.path.insert(0, os.getcwd())
import run_corpus


class Fork:
    """What the runner uses of `subprocess.Popen`."""

    def __init__(self, command: list[str], **options: Any) -> None:
        self.pid, self.returncode = os.fork(), 0
        if self.pid:
            return
        try:
            if options["stderr"] is not None:
                os.dup2(options["stderr"].fileno(), 2)
            sys.argv = command[1:]
            run_corpus.main()
        finally:
            os._exit(1)  # a worker ends by itself

    def wait(self, timeout: float = 60) -> None:
        """Wait for its end."""
        latest = time.monotonic() + timeout
        while (ended := os.waitpid(self.pid, os.WNOHANG))[0] == 0:
            if time.monotonic() > latest:
                raise subprocess.TimeoutExpired("a worker", timeout)
            time.sleep(5e-3)
        self.returncode = os.waitstatus_to_exitcode(ended[1])

    def kill(self) -> None:
        """End it."""
        os.kill(self.pid, 9)


if __name__ == "__main__":
    subprocess.Popen = Fork
    gc.freeze()  # pages that a collection does not write to are shared
    sys.exit(run_corpus.main())
