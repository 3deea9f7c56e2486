"""A progress bar, where there is a terminal to show it and rich to draw it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrcore.progress import Step


@contextmanager
def progress_bar(what: str, *, of_bytes: bool = True) -> Iterator[Step | None]:
    """Give a function that takes how much is done, and of how much; None if nothing is shown."""
    if not sys.stderr.isatty() or not _has_rich():
        yield None
        return
    from zarrcore.progress import bar

    with bar(what, of_bytes=of_bytes, transient=True) as step:
        yield step


def _has_rich() -> bool:
    from importlib.util import find_spec

    return find_spec("rich") is not None
