"""Progress of long calls: a function of the caller, or a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from math import ceil
from typing import Any, TypeAlias

#: ``progress(done, total)``, called after each step.
Step: TypeAlias = Callable[[int, int], object]

#: What `progress` may be: a function, or True for a bar.
Progress: TypeAlias = Step | bool


@contextmanager
def reporting(progress: Progress | None, what: str, *, of_bytes: bool = True) -> Iterator[Step | None]:
    """Give the function that is to be called after each step, None if there is none; True is a bar.

    `what` names what is done; the numbers are bytes, or else pieces.
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with bar(what, of_bytes=of_bytes) as step:
            yield step
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress: expected a function, True or None, got {progress!r}")


@contextmanager
def bar(what: str, *, of_bytes: bool = True, **options: Any) -> Iterator[Step]:
    """Show a bar with rate and time left on standard error or in the notebook, by rich or tqdm.

    `options` are those of rich's Progress.

    Raises
    ------
    ImportError
        If neither is installed.
    """
    try:
        import rich.progress as parts
    except ImportError:
        with _tqdm(what, of_bytes) as step:
            yield step
        return
    from rich.console import Console
    from rich.text import Text

    class Rate(parts.ProgressColumn):
        """What is done in a second, and the time left; the columns of rich show neither after one step."""

        def render(self, task: parts.Task) -> Text:
            speed = task.speed or task.completed / (task.elapsed or 1)
            if not speed:
                return Text()
            rate = f"{speed / (1 << 20):.1f} MiB/s" if of_bytes else f"{speed:.1f}/s"
            return Text(f"{rate} {timedelta(seconds=ceil((task.remaining or 0) / speed))}")

    numbers = parts.DownloadColumn(binary_units=True) if of_bytes else parts.MofNCompleteColumn()
    columns = ("{task.description}", parts.BarColumn(), numbers, Rate())
    with parts.Progress(*columns, console=Console(stderr=True), **options) as shown:
        task = shown.add_task(what, total=None)
        yield lambda done, total: shown.update(task, completed=done, total=total)


@contextmanager
def _tqdm(what: str, of_bytes: bool) -> Iterator[Step]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs rich or tqdm: pip install rich") from None
    with tqdm(desc=what, unit="B" if of_bytes else "", unit_scale=of_bytes, unit_divisor=1024) as shown:

        def step(done: int, total: int) -> None:
            shown.total = total
            shown.update(done - shown.n)

        yield step
