"""What a look at a store has found: findings, and the report that lists them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, field
from typing import Any, Literal, TypeAlias

from zarrcore._locks import RLock
from zarrcore._records import dataclass
from zarrcore.errors import ChunkError, named, printable, shown
from zarrcore.progress import Step
from zarrcore.storage.path import StorePath

#: How much is looked at.
Level: TypeAlias = Literal["metadata", "index", "data"]

Severity: TypeAlias = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a store, or worth knowing about it.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
        Something cannot be read or is not what the specification demands; something does not belong there or
        could not be looked at; something is allowed but worth knowing.
    kind : str
        What is found, one of a few words for programs: ``"metadata"``, ``"departure"``, ``"consolidated"``,
        ``"store"``, ``"temporary"``, ``"stray"``, ``"outside"``, ``"size"``, ``"index"``, ``"overlap"``,
        ``"dead bytes"``, ``"chunk"``, ``"unsupported"`` or ``"unchecked"``.
    message : str
        What is wrong.
    path : str
        Path of the node in the store.
    key : str or None
        Store key.
    chunk, inner_chunk : tuple of int or None
        Index of the chunk in the grid, and of the inner chunk in its shard.
    byte_range : tuple of int or None
        Offset and length within the value at the key.
    clause : str or None
        The clause of the specification that is broken.
    """

    severity: Severity
    kind: str
    message: str
    path: str = ""
    key: str | None = None
    chunk: tuple[int, ...] | None = None
    inner_chunk: tuple[int, ...] | None = None
    byte_range: tuple[int, int] | None = None
    clause: str | None = None

    def __str__(self) -> str:
        return f"{self.severity:<8} {self.kind:<12} {self._place}: {self._reason}"

    @property
    def _place(self) -> str:
        place = printable(self.key if self.key is not None else self.path or "/")
        for name, at in (("chunk", self.chunk), ("inner chunk", self.inner_chunk)):
            place += "" if at is None else f", {name} {at}"
        if self.byte_range is not None:
            place += f", {self.byte_range[1]} bytes at {self.byte_range[0]}"
        return place

    @property
    def _reason(self) -> str:
        return shown(self.message) + (f" ({self.clause})" if self.clause else "")


@dataclass
class VerifyReport:
    """What :func:`zarrcore.verify` has found.

    Printing shows it as a table; :meth:`to_json` is for programs.

    Attributes
    ----------
    store : str
        The store.
    path : str
        The place in it that was looked at.
    level : {"metadata", "index", "data"}
        How much was looked at.
    findings : list of Finding
        What was found, the nodes in the order in which they were visited.
    omitted : int
        How many findings are not in the list because there were too many.
    groups, arrays, chunks, inner_chunks, nbytes : int
        What was looked at: nodes, stored chunks (shards), inner chunks of shards, and bytes of all chunks.
        Bytes and inner chunks are counted from level ``"index"`` on.
    """

    store: str
    path: str
    level: Level
    findings: list[Finding] = field(default_factory=list)
    omitted: int = 0
    groups: int = 0
    arrays: int = 0
    chunks: int = 0
    inner_chunks: int = 0
    nbytes: int = 0
    _place: StorePath | None = None

    @property
    def ok(self) -> bool:
        """Whether there is no error and no warning, and nothing was left out."""
        return not self.omitted and all(finding.severity == "note" for finding in self.findings)

    @property
    def errors(self) -> list[Finding]:
        """The findings that are errors."""
        return [finding for finding in self.findings if finding.severity == "error"]

    def counts(self) -> dict[str, int]:
        """Return the number of findings of each severity."""
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __str__(self) -> str:
        numbers = ", ".join(_number(n, name) for name, n in self.counts().items())
        head = f"{self.store} {printable(self.path or '/')}, level {self.level!r}: {numbers}"
        seen = f"{self._seen}, {_number(self.nbytes, 'byte')}"
        more = [f"... and {self.omitted} more"] if self.omitted else []
        return "\n".join([head, seen, *map(str, self.findings), *more])

    __repr__ = __str__

    @property
    def _seen(self) -> str:
        names = {"groups": "group", "arrays": "array", "chunks": "chunk", "inner_chunks": "inner chunk"}
        return ", ".join(_number(getattr(self, name), one) for name, one in names.items())

    def _repr_html_(self) -> str:
        from zarrcore.display.reports import report_html

        rows = {
            "Result": "sound"
            if self.ok
            else ", ".join(_number(n, name) for name, n in self.counts().items() if n),
            "Level": self.level,
            "Looked at": self._seen,
            "Stored": _number(self.nbytes, "byte"),
        }
        first = [(one.severity, one.kind, one._place, one._reason) for one in self.findings[:200]]
        count = len(self.findings) + self.omitted
        return report_html("Verified", f"{self.store} {self.path or '/'}", rows, first, count)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary of JSON values."""
        own = {name: value for name, value in vars(self).items() if name not in ("_place", "findings")}
        findings = [asdict(finding) for finding in self.findings]
        return {**own, "ok": self.ok, "counts": self.counts(), "findings": findings}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the report as JSON text.

        Parameters
        ----------
        indent : int, optional
            Of each level of nesting; default: all in one line.
        """
        return json.dumps(self.to_dict(), indent=indent)


class Findings:
    """A report that is being made."""

    def __init__(self, report: VerifyReport, most: int, progress: Step | None) -> None:
        self.report = report
        self._most = most
        self._progress = progress
        self._done = self._total = 0
        self.interrupted_by: Exception | None = None
        self._above: Findings | None = None
        self._lock = RLock()

    def part(self) -> Findings:
        """Return one for a part of the report, which another thread may fill and :meth:`adopt` takes over."""
        report = VerifyReport(self.report.store, self.report.path, self.report.level)
        part = Findings(report, self._most, None)
        part._above = self
        return part

    def adopt(self, part: Findings) -> None:
        """Take over what was found in a part."""
        room = max(0, self._most - len(self.report.findings))
        self.report.findings += part.report.findings[:room]
        self.report.omitted += len(part.report.findings[room:])
        for name in ("omitted", "groups", "arrays", "chunks", "inner_chunks", "nbytes"):
            setattr(self.report, name, getattr(self.report, name) + getattr(part.report, name))

    def add(self, severity: Severity, kind: str, message: str, **place: Any) -> None:
        """Note a finding; `place` are further attributes of it."""
        with self._lock:
            if len(self.report.findings) < self._most:
                self.report.findings.append(Finding(severity, kind, message, **place))
            else:
                self.report.omitted += 1

    def add_chunk_error(self, error: Exception, path: str, **place: Any) -> None:
        """Note a chunk that could not be decoded, or decoded only with more memory than there is."""
        if isinstance(error, ChunkError):
            for name in ("chunk", "inner_chunk", "key", "byte_range"):
                place[name] = getattr(error, name) if getattr(error, name) is not None else place.get(name)
            codec = f"codec {error.codec!r}: " if error.codec else ""
            message = f"{codec}{error.reason}"
        else:
            message = reason(error)
        if isinstance(error, MemoryError):
            self.add("warning", "unchecked", f"not enough memory: {message}", path=path, **place)
        else:
            self.add("error", "chunk", message, path=path, **place)

    def expect(self, number: int) -> None:
        """Note that so many more values will be looked at."""
        if self._above is not None:
            self._above.expect(number)
            return
        with self._lock:
            self._total += number

    def stop_if_interrupted(self) -> None:
        """Raise what the caller's function has raised, if it has."""
        if self.interrupted_by is not None:
            raise self.interrupted_by

    def step(self, number: int) -> None:
        """Note that so many values have been looked at."""
        try:
            if self._above is not None:
                self._above.step(number)
                return
            with self._lock:
                self.stop_if_interrupted()  # by another thread
                self._done += number
                if self._progress is not None:
                    self._progress(self._done, max(self._total, self._done))
        except Exception as error:
            self.interrupted_by = error  # the caller's own, and no finding
            raise


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def reason(error: BaseException) -> str:
    """Return the name and the first line of the text of an error."""
    return named(error).partition("\n")[0]
