"""A progress bar, where there is a terminal to show it and rich to draw it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from zarrcore.progress import Step, bar


@contextmanager
def progress_bar(what: str, *, of_bytes: bool = True) -> Iterator[Step | None]:
    """Give a function that takes how much is done, and of how much; None if nothing is shown."""
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield None
        return
    with bar(what, of_bytes=of_bytes, transient=True) as step:
        yield step
