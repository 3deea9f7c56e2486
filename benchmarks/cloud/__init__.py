# SPDX-License-Identifier: MIT
"""A server of objects for measurements (server.c), with latency and bandwidth as asked for, which counts."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

HERE = Path(__file__).resolve().parent
PROGRAM = HERE.parents[1] / "build" / "benchmarks" / "cloud-server"


@dataclass(frozen=True)
class Counts:
    """What was asked since :meth:`Server.begin`; `most` requests were under way at the same time."""

    requests: int
    connections: int
    failed: int
    most: int
    sent: int  # bytes of objects
    received: int


def build() -> None:
    """Compile the server."""
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    unfinished = PROGRAM.with_suffix(".partial")
    command = ["cc", "-O2", "-std=gnu11", "-Wall", "-Wextra", str(HERE / "server.c"), "-o", str(unfinished)]
    subprocess.run(command, check=True)
    unfinished.replace(PROGRAM)


class Server:
    """The server, in a process of its own within a ``with`` block; it ends with this process at last."""

    def __enter__(self) -> Self:
        build()
        self._process = subprocess.Popen([str(PROGRAM)], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def options(self) -> dict[str, Any]:
        """The ``storage_options`` of ``s3://`` URLs on this server."""
        return {"key": "testing", "secret": "testing", "endpoint_url": self.url}

    def begin(
        self, *, latency: float = 0, connection_rate: float = 0, total_rate: float = 0, fail_every: int = 0
    ) -> None:
        """Count from zero; answer after `latency` seconds, with so many bytes a second (0: any)."""
        words = f"latency={latency}&connection_rate={connection_rate}&total_rate={total_rate}"
        self._ask("PUT", f"_control?{words}&fail_every={fail_every}")

    def counts(self) -> Counts:
        """What was asked since then."""
        return Counts(**self._ask("GET", "_counts"))

    def _ask(self, method: str, path: str) -> Any:
        request = urllib.request.Request(f"{self.url}/{path}", method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
