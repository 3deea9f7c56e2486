"""Plots of a run as SVG: small, with text that can be selected, for light and dark pages."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from html import escape

from benchmarks.document import Document
from benchmarks.libraries import FLOOR, SUBJECT
from benchmarks.verdict import Verdict, by_family, verdicts

WIDTH = 860
_STYLE = """\
text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}
.h{font-size:15px;font-weight:600}.s{font-size:11px;fill:#59636e}.f{font-weight:600}
.e{text-anchor:end}.m{text-anchor:middle}
.g{stroke:#d8dee4;fill:none}.one{stroke:#59636e;fill:none}
.met{fill:#1a7f64}.miss{fill:#cf4a1c}.bar{fill:#1a7f64;opacity:.22}.barm{fill:#cf4a1c;opacity:.25}
.q{stroke:#59636e;fill:none}.goal{stroke:#1f2328;stroke-width:2;fill:none}
.l{fill:none;stroke-width:1.5}.l0{stroke:#1a7f64;stroke-width:3}.l1{stroke:#8250df}.l2{stroke:#bf8700}
.l3{stroke:#cf4a1c}.l4{stroke:#0969da}.l5{stroke:#54aeff}.l6{stroke:#59636e;stroke-dasharray:4 3}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.s{fill:#9198a1}.g{stroke:#2b3138}.one{stroke:#9198a1}
.met{fill:#3fc79a}.miss{fill:#f0883e}.bar{fill:#3fc79a}.barm{fill:#f0883e}
.q{stroke:#9198a1}.goal{stroke:#e6edf3}
.l0{stroke:#3fc79a}.l1{stroke:#b392f0}.l2{stroke:#e3b341}.l3{stroke:#f0883e}
.l4{stroke:#4493f8}.l5{stroke:#9ecbff}.l6{stroke:#9198a1}}"""

#: Of each plot, by the name of its file.
TITLES = {
    "families.svg": "Times faster than the best peer, by family of cases",
    "cases.svg": "Times faster than the best peer, all cases",
    "threads.svg": "Reads per second by number of threads",
}


def all_plots(run: Document) -> dict[str, str]:
    """Every plot by the name of its file; those that would be empty are left out."""
    found = verdicts(run.results.values())
    plots = {"families.svg": families(found), "cases.svg": cases(found)} if found else {}
    if run.probes.get("threads"):
        plots["threads.svg"] = threads(run.probes["threads"])
    return plots


# ---- ratios ----


class _Axis:
    """Ratios on a logarithmic axis, between two positions."""

    def __init__(self, ratios: Iterable[float], left: int, right: int) -> None:
        ratios = list(ratios)
        self._low, self._high = min(0.5, min(ratios) / 1.1), max(10.0, max(ratios) * 1.15)
        self._left, self._right = left, right

    def x(self, ratio: float) -> float:
        share = math.log(ratio / self._low) / math.log(self._high / self._low)
        return round(self._left + share * (self._right - self._left), 1)

    def grid(self, top: int, bottom: int) -> list[str]:
        """Lines and numbers; that of 1, where zarrcore is as fast as the best peer, is stronger."""
        parts = []
        for tick in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200):
            if self._low <= tick <= self._high:
                x, kind = self.x(tick), "one" if tick == 1 else "g"
                parts.append(f'<path class="{kind}" d="M{x} {top}V{bottom}"/>')
                parts += [
                    f'<text class="s m" x="{x}" y="{y}">{tick:g}x</text>' for y in (top - 6, bottom + 14)
                ]
        return parts


_LEGEND = (
    '<circle class="met" cx="{0}" cy="{2}" r="4"/><text class="s" x="{1}" y="{3}">goal met</text>'
    '<circle class="miss" cx="{4}" cy="{2}" r="4"/><text class="s" x="{5}" y="{3}">goal missed</text>'
    '<path class="goal" d="M{6} {7}v12"/><text class="s" x="{8}" y="{3}">goal</text>'
)


def _legend(x: int, y: int) -> str:
    return _LEGEND.format(x, x + 9, y - 4, y, x + 75, x + 84, x + 165, y - 10, x + 172)


def families(found: list[Verdict]) -> str:
    """A row for each family: a dot for each case, a bar up to the median, a mark at the goal."""
    row, top = 23, 76
    groups = by_family(found)
    left = 30 + round(6.4 * max(len(family.title) for family in groups))  # pixels of a character, on average
    bottom = top + row * len(groups)
    axis = _Axis([v.wall.ratio for v in found] + [f.goal for f in groups], left, WIDTH - 60)
    parts = [
        '<text class="h" x="16" y="26">Times faster than the best peer</text>',
        '<text class="s" x="16" y="44">Every dot is a case; bars end at the median of a family</text>',
        _legend(WIDTH - 270, 26),
        *axis.grid(top, bottom),
    ]
    for number, (family, members) in enumerate(groups.items()):
        y = top + row * number + row // 2
        middle = statistics.median(v.wall.ratio for v in members)
        parts.append(f'<text class="e" x="{left - 14}" y="{y + 4}">{escape(family.title)}</text>')
        parts.append(_bar(axis, middle, y - 6, 12, met=middle >= family.goal))
        parts.append(_goal(axis, family.goal, y - 8, 16))
        parts += [_dot(axis, one, y) for one in members]
        parts.append(f'<text class="f" x="{WIDTH - 50}" y="{y + 4}">{_times(middle)}</text>')
    return _svg(WIDTH, bottom + 26, TITLES["families.svg"], parts)


def cases(found: list[Verdict]) -> str:
    """A bar for each case, with quartiles, goal, ratio and best peer."""
    row, top, left = 15, 76, 250
    lines: list[str] = []
    axis = _Axis([v.wall.ratio for v in found] + [v.family.goal for v in found], left, WIDTH - 170)
    y, group = top + 4, ""
    for one in found:
        if one.case.split("/")[0] != group:
            group = one.case.split("/")[0]
            y += row + 6
            lines.append(f'<text class="f" x="16" y="{y}">{group}</text>')
        y += row
        wall, kind = one.wall, "met" if one.met else "miss"
        lines.append(f'<text class="s e" x="{left - 8}" y="{y}">{escape(one.case.partition("/")[2])}</text>')
        lines.append(_bar(axis, wall.ratio, y - 9, 9, met=one.met))
        quartiles = round(axis.x(wall.high) - axis.x(wall.low), 1)
        lines.append(f'<path class="q" d="M{axis.x(wall.low)} {y - 4}h{quartiles:g}"/>')
        lines.append(_goal(axis, one.family.goal, y - 11, 13))
        lines.append(f'<text class="s {kind} e" x="{WIDTH - 116}" y="{y}">{_times(wall.ratio)}</text>')
        lines.append(f'<text class="s" x="{WIDTH - 108}" y="{y}">{wall.other}</text>')
    bottom = y + 8
    head = [
        '<text class="h" x="16" y="26">Times faster than the best peer, all cases</text>',
        '<text class="s" x="16" y="44">Bars: medians over the rounds; thin lines: quartiles</text>',
        _legend(WIDTH - 270, 26),
        *axis.grid(top, bottom),
    ]
    return _svg(WIDTH, bottom + 26, TITLES["cases.svg"], head + lines)


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x" if ratio < 10 else f"{ratio:.3g}x"


def _bar(axis: _Axis, ratio: float, y: int, height: int, *, met: bool) -> str:
    start, end = sorted((axis.x(1), axis.x(ratio)))
    kind = "bar" if met else "barm"
    return f'<path class="{kind}" d="M{start} {y}H{end}v{height}H{start}z"/>'


def _goal(axis: _Axis, goal: float, y: int, height: int) -> str:
    return f'<path class="goal" d="M{axis.x(goal)} {y}v{height}"/>'


def _dot(axis: _Axis, one: Verdict, y: int) -> str:
    kind = "met" if one.met else "miss"
    title = f"<title>{escape(one.case)}: {one.wall.ratio:.2f}x {one.wall.other}</title>"
    x = axis.x(one.wall.ratio)
    return f'<circle class="{kind}" cx="{x}" cy="{y}" r="4" fill-opacity=".8">{title}</circle>'


# ---- threads ----

_LINES = (SUBJECT, "zarr", "zarr-fused", "zarrs", "tensorstore", "tensorstore-mmap", FLOOR)


def threads(probe: dict[str, dict[str, dict[str, list[float]]]]) -> str:
    """Reads per second against the number of threads: a panel for each case, a line for each library."""
    panels = 3
    wide, high, top = (WIDTH - 40) // panels, 210, 84
    parts = ['<text class="h" x="16" y="26">Whole reads with 1, 2, ... threads</text>']
    parts.append(
        '<text class="s" x="16" y="44">Reads per second; plain C shows what the machine can do</text>'
    )
    x = 16
    for name in _LINES:
        if any(name in seen for seen in probe.values()):
            kind, label = f"l l{_LINES.index(name)}", "plain C" if name == FLOOR else name
            parts.append(f'<path class="{kind}" d="M{x} 62h18"/>')
            parts.append(f'<text class="s" x="{x + 23}" y="66">{label}</text>')
            x += 52 + 7 * len(label)
    for number, (case, seen) in enumerate(probe.items()):
        x, y = 20 + wide * (number % panels), top + (high + 16) * (number // panels)
        parts += _panel(case, seen, x, y, wide - 24, high - 40)
    rows = -(-len(probe) // panels)
    return _svg(WIDTH, top + rows * (high + 16), TITLES["threads.svg"], parts)


def _panel(
    case: str, seen: dict[str, dict[str, list[float]]], x: int, y: int, width: int, height: int
) -> list[str]:
    speeds = {
        name: {int(count): 1 / statistics.median(seconds) for count, seconds in by_count.items()}
        for name, by_count in seen.items()
    }
    ticks = sorted({count for by_count in speeds.values() for count in by_count})
    highest = max(value for by_count in speeds.values() for value in by_count.values())
    step = _round_step(highest)
    ceiling = step * math.ceil(highest / step)
    left, right, floor = x + 34, x + width - 10, y + 16 + height
    span = math.log2(ticks[-1] / ticks[0]) or 1

    def at(count: int, value: float) -> str:
        across = left + 26 + (right - left - 52) * math.log2(count / ticks[0]) / span
        return f"{across:.1f} {floor - height * value / ceiling:.1f}"

    parts = [f'<text class="f" x="{left}" y="{y + 4}">{escape(case.removesuffix("/read"))}</text>']
    for value in (step * n for n in range(round(ceiling / step) + 1)):
        line = floor - height * value / ceiling
        parts.append(f'<path class="g" d="M{left} {line:.1f}H{right}"/>')
        parts.append(f'<text class="s e" x="{left - 6}" y="{line + 4:.1f}">{value:g}</text>')
    for count in ticks:
        label = f"{count} thread{'s' if count > 1 else ''}" if len(ticks) < 3 else f"{count}"
        parts.append(f'<text class="s m" x="{at(count, 0).split()[0]}" y="{floor + 15}">{label}</text>')
    for name in reversed(_LINES):
        if name in speeds:
            points = "L".join(at(count, value) for count, value in sorted(speeds[name].items()))
            parts.append(f'<path class="l l{_LINES.index(name)}" d="M{points}"><title>{name}</title></path>')
    for count, value in speeds.get(SUBJECT, {}).items():
        across, down = at(count, value).split()
        parts.append(f'<circle class="met" cx="{across}" cy="{down}" r="4"/>')
    return parts


def _round_step(highest: float) -> float:
    """1, 2 or 5 times a power of ten, so that three to six steps reach the highest value."""
    power = 10.0 ** math.floor(math.log10(highest))
    return next(power * step for step in (0.2, 0.5, 1, 2) if highest / (power * step) <= 6)


def _svg(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return "\n".join([head, f"<title>{title}</title>", f"<style>{_STYLE}</style>", *parts, "</svg>", ""])
