"""Progress of long calls: a function of the caller, or a bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

    numbers = (
        (parts.DownloadColumn(binary_units=True), parts.TransferSpeedColumn())
        if of_bytes
        else (parts.MofNCompleteColumn(),)
    )
    columns = ("{task.description}", parts.BarColumn(), *numbers, parts.TimeRemainingColumn())
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
