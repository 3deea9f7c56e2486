"""The report of a run: Markdown, and the plots beside it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import goals, plots
from benchmarks.document import Document
from benchmarks.driver import UNABLE, Result
from benchmarks.libraries import FLOOR, LIBRARIES, PROJECTS, SUBJECT
from benchmarks.misses import reason
from benchmarks.probe_goals import findings, speed_up
from benchmarks.probes.threads import DECODE_BOUND
from benchmarks.verdict import Verdict, best_peer, by_family, by_kind, geometric_mean, verdict, verdicts

Lines = list[str]


def publish(run: Document, folder: Path) -> None:
    """latest.md and the plots, into a folder."""
    (folder / "latest.md").write_text(markdown(run), encoding="utf-8")
    for name, text in plots.all_plots(run).items():
        (folder / name).write_text(text, encoding="utf-8")


def markdown(run: Document) -> str:
    """The whole report."""
    found = verdicts(run.results.values())
    parts = ["# zarrcore against its peers", "", *overview(run), *_titled("All cases", _cases(found))]
    for clock, title in (("wall", "Wall time"), ("cpu", "CPU time of all threads")):
        parts += [f"## {title}, all libraries", "", *_times(run.results.values(), clock)]
    parts += [*_stored(run.results.values()), *_disk(run.results.values()), *_failures(run.results.values())]
    return "\n".join(parts).rstrip() + "\n"


def overview(run: Document, images: str = "") -> Lines:
    """What the documentation shows too: all but the tables of all cases; `images` is where the plots are."""
    found = verdicts(run.results.values())
    parts = [*(f"- {key}: {value}" for key, value in run.about.items()), ""]
    parts += [*summary(run), "", *picture("families.svg", images), *families(found), *_misses(run)]
    if run.probes.get("threads"):
        parts += ["## Threads", "", *picture("threads.svg", images), *threads(run)]
    parts += [*_titled("Fresh processes", imports(run)), *_titled("Peak memory", memory(run))]
    parts += _titled("A Python thread beside a read", beside(run))
    return [*parts, *_titled("Every case", picture("cases.svg", images))]


def picture(name: str, folder: str = "") -> Lines:
    """A plot, with words for those who cannot see it."""
    return [f"![{plots.TITLES[name]}]({folder}{name})", ""]


def line(result: Result) -> str:
    """One case in one line, for whoever watches the run."""
    found = verdict(result)
    cells = []
    if found is not None:
        wall, cpu = found.wall, found.cpu
        cells = [
            f"{duration(wall.ours):>8}  {wall.ratio:6.2f}x {wall.other:16} goal {found.family.goal:<4} "
            f"{'met' if found.met else 'missed':6}  CPU {cpu.ratio:5.2f}x"
            + (f"  floor x{found.floor:.2f}" if found.floor else "")
        ]
    cells += [f"{name}: {why[:80]}" for name, why in result.failed.items() if not why.startswith(UNABLE)]
    return "  ".join([f"{result.case:44}", *cells])


def duration(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


# ---- sections that README and docs show too ----


def summary(run: Document) -> Lines:
    """The verdict in a few lines."""
    found = verdicts(run.results.values())
    if not found:
        return []
    wall, worst = [v.wall.ratio for v in found], min(found, key=lambda v: v.wall.ratio)
    cpu = statistics.geometric_mean(v.cpu.ratio for v in found)
    below = sum(ratio < goals.LEAST for ratio in wall)
    lines = [
        f"- faster than the best peer in {sum(r > 1 for r in wall)} of {len(found)} cases; geometric mean of "
        f"the ratios {geometric_mean(found):.2f} (goal {goals.MEAN:.2f}), of CPU time {cpu:.2f}",
        f"- {sum(v.met for v in found)} of {len(found)} cases meet their goal; {below} below {goals.LEAST}; "
        f"the lowest ratio is {worst.wall.ratio:.2f} ({worst.case})",
    ]
    floors = [v.floor for v in found if v.floor is not None]
    if floors:
        lines.append(
            f"- time over that of plain C, in the {len(floors)} cases where there is such a floor: "
            f"median {statistics.median(floors):.2f}, highest {max(floors):.2f}"
        )
    probed = findings(run.probes)
    if probed:
        lines.append(
            f"- threads, import, memory, Python beside a read: {sum(f.met for f in probed)} of {len(probed)} "
            "goals met"
        )
    return lines


def projects(results: Iterable[Result]) -> Lines:
    """Return a row for each kind of work: how many times faster zarrcore is than each project."""
    rows = []
    for kind, ratios in by_kind(results).items():
        if any(ratios.values()):
            counts = {len(found) for found in ratios.values() if found}
            rows.append([kind, str(max(counts)), *(_mean(found, max(counts)) for found in ratios.values())])
    return _table(["times faster than", "cases", *PROJECTS], rows)


def _mean(ratios: list[float], of: int) -> str:
    """Return the geometric mean, with the number of cases where not all of them could be timed."""
    if not ratios:
        return "not timed"
    cases = "" if len(ratios) == of else f" ({len(ratios)} case{'s' if len(ratios) > 1 else ''})"
    return f"{statistics.geometric_mean(ratios):.1f}{cases}"


def families(found: Iterable[Verdict]) -> Lines:
    """One row for each family of cases."""
    rows = []
    for family, members in by_family(found).items():
        ratios = [v.wall.ratio for v in members]
        met = sum(v.met for v in members)
        rows.append(
            [
                family.title,
                str(len(members)),
                *(f"{value:.2f}" for value in (ratios[0], statistics.median(ratios), ratios[-1])),
                f"{family.goal:.2f}",
                "yes" if met == len(members) else f"{met} of {len(members)}" if met else "no",
            ]
        )
    return _table(["cases", "number", "worst", "median", "best", "goal", "met"], rows)


def threads(run: Document) -> Lines:
    """Time with 1, 2, ... threads, against the best peer and against itself with one thread."""
    rows = []
    for case, seen in run.probes.get("threads", {}).items():
        if SUBJECT not in seen:
            continue
        for count in seen[SUBJECT]:
            found = best_peer({name: by_count[count] for name, by_count in seen.items() if count in by_count})
            if found is not None:
                goal = f"{goals.SPEED_UP:.2f}" if count == "2" and case in DECODE_BOUND else ""
                rows.append(
                    [
                        case,
                        count,
                        duration(found.ours),
                        found.other,
                        f"{found.ratio:.2f}",
                        *(_speed_up(seen.get(name, {}), count) for name in (SUBJECT, found.other, FLOOR)),
                        goal,
                    ]
                )
    head = ["case", "threads", "time", "best peer", "ratio", "speed-up", "of that peer", "of plain C", "goal"]
    return _table(head, rows) if rows else []


def imports(run: Document) -> Lines:
    """Fresh processes."""
    rows = [
        [name, duration(seen["wall"]), duration(seen["cpu"]), f"{seen['over_numpy']:.2f}"]
        for name, seen in run.probes.get("imports", {}).items()
    ]
    note = f"Goal: `import zarrcore` at most {goals.IMPORT} times the CPU time of `import numpy`."
    return _noted(note, ["process", "wall", "CPU", "beyond an empty one, over numpy's"], rows)


def memory(run: Document) -> Lines:
    """Peak memory beyond the result."""
    rows = [
        [
            case,
            _number(seen.get("allowed"), "{:.1f}"),
            *(_number(seen.get(name), "{:.1f}") for name in LIBRARIES),
        ]
        for case, seen in run.probes.get("memory", {}).items()
    ]
    note = (
        "MiB beyond the result, of a first read in a fresh process. Goal: for each thread 1 MiB, "
        "or 1.3 chunks where chunks are decoded whole."
    )
    return _noted(note, ["case", "goal", *LIBRARIES], rows)


#: Rows of the table: figure, format, scale.
_BESIDE = (
    ("turns", "{:.2f}", 1.0),
    ("wait", "{:.1f} ms", 1e3),
    ("by_cpu", "{:.2f}", 1.0),
    ("calls", "{:.2f}", 1.0),
)


def beside(run: Document) -> Lines:
    """A counting thread beside a read."""
    rows = []
    for case, seen in run.probes.get("beside", {}).items():
        for what, form, scale in _BESIDE:
            if not any(what in found for found in seen.values()):
                continue  # of a run before that was measured
            cells = (_number(seen.get(name, {}).get(what), form, scale) for name in (*LIBRARIES, FLOOR))
            rows.append([case, what, *cells])
    note = (
        "Turns of a counting Python thread over its turns beside the same read in plain C (goal: at least "
        f"{goals.BESIDE} for zarrcore), its longest wait, its turns for the same CPU time, "
        "and the reads done meanwhile."
    )
    return _noted(note, ["case", "", *LIBRARIES, FLOOR], rows)


# ---- the other sections ----


def _misses(run: Document) -> Lines:
    lines: Lines = []
    for one in sorted(verdicts(run.results.values()), key=lambda v: v.wall.ratio / v.family.goal):
        if not one.met:
            what = f"**{one.case}**: {_ratio(one.wall)}, goal {one.family.goal:.2f}"
            if one.is_too_large:
                what += f", {one.size:.3f} of the best peer's size"
            lines.append(f"- {what}. {reason(one.case)}".rstrip())
    for finding in findings(run.probes):
        if not finding.met:
            lines.append(f"- **{finding.name}**: {finding.text}. {reason(finding.name)}".rstrip())
    return _titled("What misses its goal", [*lines, ""] if lines else ["Nothing.", ""])


def _cases(found: Iterable[Verdict]) -> Lines:
    rows = []
    for one in found:
        size = "" if one.size is None else f"{one.size:.3f}"
        floor = "" if one.floor is None else f"{one.floor:.2f}"
        mark = "" if one.met else "**"
        rows.append(
            [
                f"{mark}{one.case}{mark}",
                f"{one.family.goal:.2f}",
                _ratio(one.wall),
                duration(one.wall.ours),
                one.wall.other,
                duration(one.wall.theirs),
                floor,
                _ratio(one.cpu),
                one.cpu.other,
                size,
            ]
        )
    note = (
        "Ratio: median (quartiles) of the best peer's time over zarrcore's in the same round, above 1 is "
        "faster; x floor: zarrcore's time over that of plain C; size: bytes written over those of the best "
        "peer. Bold misses its goal."
    )
    head = [
        "case",
        "goal",
        "ratio",
        "time",
        "best peer",
        "its time",
        "x floor",
        "ratio of CPU",
        "best peer",
        "size",
    ]
    return _noted(note, head, rows)


def _times(results: Iterable[Result], clock: str) -> Lines:
    rows = []
    for result in results:
        seconds = getattr(result, clock)
        names = (*LIBRARIES, FLOOR)
        rows.append(
            [result.case, *(duration(statistics.median(seconds[n])) if n in seconds else "" for n in names)]
        )
    return _table(["case", *LIBRARIES, FLOOR], rows)


def _stored(results: Iterable[Result]) -> Lines:
    rows = [
        [r.case, *(f"{r.stored[n] / 2**20:.2f}" if n in r.stored else "" for n in (*LIBRARIES, FLOOR))]
        for r in results
        if r.stored and max(r.stored.values()) > 2**20
    ]
    return _titled("MiB written", _table(["case", *LIBRARIES, FLOOR], rows) if rows else [])


def _disk(results: Iterable[Result]) -> Lines:
    rows = [[r.case, name, f"{count / 2**20:.1f}"] for r in results for name, count in r.from_disk.items()]
    table = _table(["case", "library", "MiB"], rows) if rows else []
    return _titled("Not from the page cache after all", table)


def _failures(results: Iterable[Result]) -> Lines:
    rows = [
        [r.case, name, why.removeprefix(UNABLE).replace("|", "/").replace("\n", " ")[:200]]
        for r in results
        for name, why in r.failed.items()
    ]
    return _titled("Not timed", _table(["case", "library", "why"], rows) if rows else [])


# ---- parts of tables ----


def _ratio(found: Any) -> str:
    return f"{found.ratio:.2f} ({found.low:.2f}-{found.high:.2f})"


def _speed_up(by_count: dict[str, list[float]], count: str) -> str:
    found = speed_up(by_count, count)
    return "" if found is None else f"{found:.2f}"


def _number(value: Any, form: str, scale: float = 1.0) -> str:
    return form.format(value * scale) if isinstance(value, float) else ""


def _table(head: list[str], rows: Iterable[list[str]]) -> Lines:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)] + [""]


def _noted(note: str, head: list[str], rows: list[list[str]]) -> Lines:
    return [note, "", *_table(head, rows)] if rows else []


def _titled(title: str, lines: Lines) -> Lines:
    return [f"## {title}", "", *lines] if lines else []
