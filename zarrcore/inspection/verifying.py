"""Find out whether a store is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from zarrcore._log import info
from zarrcore.errors import BaseZarrError
from zarrcore.inspection.arrays import ArrayCheck
from zarrcore.inspection.nodes import Node, NodeWalk
from zarrcore.inspection.report import Findings, Level, VerifyReport, reason
from zarrcore.metadata.departures import collected
from zarrcore.progress import Progress, reporting
from zarrcore.storage.path import StoreLike, StorePath, make_store_path

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_FINDINGS = 100_000


def verify(
    store: StoreLike,
    *,
    path: str = "",
    level: Level = "data",
    on_progress: Progress | None = None,
    max_bytes: int = 1 << 30,
    max_findings: int = _MOST_FINDINGS,
    threads: int = 0,
    storage_options: dict[str, Any] | None = None,
) -> VerifyReport:
    """Check a store: find what is damaged or does not belong there; nothing is changed.

    Parameters
    ----------
    store : store-like
        A store, a place in one, a path, a URL or a dictionary.
    path : str
        Where to begin in the store; all nodes at and below this place are looked at.
    level : {"metadata", "index", "data"}
        ``"metadata"``: documents are compared with the specifications and consolidated copies with the nodes'
        own documents; keys that no node has and files of interrupted writers are found.  ``"index"``: sizes
        of chunks and indexes of shards as well.  ``"data"``: every chunk is decoded as well, in parallel.
    on_progress : callable or True, optional
        ``on_progress(done, total)`` is called with the number of stored chunks that have been looked at, and
        that are known so far; through a network other threads call it, one at a time.  True shows a bar,
        which takes rich or tqdm.
    max_bytes : int
        Chunks that are larger than this when decoded are reported as unchecked.
    max_findings : int
        Most findings to list; further ones are counted.
    threads : int
        Number of threads that decode; 0 for the configured number.
    storage_options : dict, optional
        Options of a remote store.

    Returns
    -------
    VerifyReport
        Whatever is wrong with the store, errors of reading it included, is a finding in it.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong kind.
    Exception
        Whatever `on_progress` raises, which ends the call.

    See Also
    --------
    zarrcore.repair : Put right what can be put right without losing anything.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> array = zarrcore.create_array(store, shape=4, chunks=2, dtype="i4", compressors=None)
    >>> array[:] = [1, 2, 3, 4]
    >>> store["c/1"] = store["c/1"][:5]
    >>> report = zarrcore.verify(store)
    >>> report.ok
    False
    >>> print(report.findings[0])
    error    size         c/1, chunk (1,), 5 bytes at 0: 5 bytes stored, a chunk has 8
    """
    if level not in get_args(Level):
        raise ValueError(f"level: expected one of {', '.join(get_args(Level))}, got {level!r}")
    try:
        read_only = True if isinstance(store, str) else None
        place = make_store_path(store, path=path, read_only=read_only, storage_options=storage_options)
    except (BaseZarrError, OSError) as error:
        report = VerifyReport(str(store), path, level)
        Findings(report, max_findings, None).add("error", "store", reason(error), path=path)
        return report
    report = VerifyReport(str(place.store), place.path, level, _place=place)
    with reporting(on_progress, "verifying", of_bytes=False) as step, collected():  # departures are findings
        _look_at_all(place, level, Findings(report, max_findings, step), max_bytes, threads)
    info("verified %s", str(report).partition("\n")[0])
    return report


def _look_at_all(place: StorePath, level: Level, found: Findings, max_bytes: int, threads: int) -> None:
    def look(at: StorePath, node: Node, found: Findings) -> None:
        def run() -> None:
            ArrayCheck(at, node, found, max_bytes=max_bytes, threads=threads).run(level)

        _guarded(found, at.path, run)

    _guarded(found, place.path, lambda: NodeWalk(place, found, look).run())


def _guarded(found: Findings, path: str, call: Callable[[], None]) -> None:
    """Call; an error that nobody expected is a finding, so that the rest of the store is looked at."""
    try:
        call()
    except Exception as error:
        found.stop_if_interrupted()  # perhaps by what a generator makes another error of
        if isinstance(error, MemoryError):
            found.add("warning", "unchecked", f"not enough memory: {reason(error)}", path=path)
        elif isinstance(error, NotImplementedError):
            found.add("warning", "unchecked", reason(error), path=path)
        else:
            found.add("error", "store", reason(error), path=path)
