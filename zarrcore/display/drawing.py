"""A drawing of an array and its grid of chunks, as SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from zarrcore._typed import NamedTuple
from zarrcore.display.page import text

_LONGEST, _SHORTEST = 150.0, 26.0  # of a side, in pixels
_MOST_LINES = 24  # of a side
_SLANT = (0.5, -0.38)  # in which direction the third dimension goes

Point = tuple[float, float]


class Side(NamedTuple):
    """One dimension: length and name, and where chunks and shards begin, as far as these are drawn."""

    length: int
    name: str
    chunks: Sequence[int]
    shards: Sequence[int]


def starts(lengths: Sequence[int], length: int) -> list[int]:
    """Return where the chunks of a dimension begin after the first; [] if there are too many to draw.

    `lengths` are those of the chunks, or the one length of all of them.

    Examples
    --------
    >>> starts([4], 10), starts([1, 9], 10)
    ([4, 8], [1])
    """
    if len(lengths) == 1:
        step = lengths[0]
        return list(range(step, length, step)) if 0 < step < length <= step * _MOST_LINES else []
    found: list[int] = []
    at = 0
    for one in lengths[: _MOST_LINES + 1]:
        at += one
        if at >= length:
            return found
        found.append(at)
    return []


def drawing(sides: Sequence[Side], stored: Iterable[Sequence[tuple[int, int]]] = ()) -> str:
    """Return up to three dimensions as SVG, the slowest first.

    `stored` are the boxes of stored chunks, (start, stop) along each of at most two dimensions.
    """
    if not sides or len(sides) > 3 or any(side.length < 1 for side in sides):
        return ""
    longest = max(side.length for side in sides)
    sizes = [max(_SHORTEST, _LONGEST * (side.length / longest) ** 0.4) for side in sides]
    depth = sizes[0] if len(sides) == 3 else 0.0
    high = sizes[-2] if len(sides) > 1 else _SHORTEST
    slant = (depth * _SLANT[0], depth * _SLANT[1])
    left, top = 3.0, 6.0 - slant[1]
    front = _Face((left, top), (sizes[-1], 0.0), (0.0, high))
    across, down = sides[-1], (sides[-2] if len(sides) > 1 else None)
    parts = [front.outline(0.16), front.boxes(stored, across, down), front.lines(across, down)]
    if len(sides) == 3:
        roof = _Face((left, top), (sizes[-1], 0.0), slant)
        flank = _Face((left + sizes[-1], top), slant, (0.0, high))
        parts += [roof.outline(0.08), roof.lines(across, sides[0])]
        parts += [flank.outline(0.24), flank.lines(sides[0], down)]
    right, bottom = left + sizes[-1] + slant[0], top + high
    parts.append(_label((left + sizes[-1] / 2, bottom + 14), across, "middle"))
    if down is not None:
        parts.append(_label((right + 6, top + high / 2 + slant[1] + 4), down, "start"))
    if len(sides) == 3:
        parts.append(_label((left + slant[0] / 2 - 2, top + slant[1] / 2 - 3), sides[0], "end"))
    room = 12 + 6.8 * max((len(_name(side)) for side in sides[-2:]), default=0)
    shift = max(0.0, 6.8 * len(_name(sides[0])) - left - slant[0] / 2) if len(sides) == 3 else 0.0
    shift = max(shift, 3.4 * len(_name(across)) - sizes[-1] / 2 - left)
    width, height = right + room + shift, bottom + 20
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="{-shift:.0f} 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="chunk grid">{"".join(parts)}</svg>'
    )


def _name(side: Side) -> str:
    return f"{side.name[:16]} {side.length}".strip()


def _label(at: Point, side: Side, anchor: str) -> str:
    return f'<text x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}">{text(_name(side))}</text>'


class _Face:
    """A parallelogram: its corner, and the vectors of both of its sides."""

    def __init__(self, corner: Point, across: Point, down: Point) -> None:
        self._corner, self._across, self._down = corner, across, down

    def _at(self, x: float, y: float) -> str:
        """Return a point, from fractions of the sides."""
        return ",".join(
            f"{c + x * a + y * d:.1f}" for c, a, d in zip(self._corner, self._across, self._down, strict=True)
        )

    def outline(self, shade: float) -> str:
        corners = " ".join(self._at(x, y) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1)))
        return (
            f'<polygon points="{corners}" style="fill:var(--zc-accent);fill-opacity:{shade};'
            'stroke:currentColor;stroke-width:1.2"/>'
        )

    def boxes(self, stored: Iterable[Sequence[tuple[int, int]]], across: Side, down: Side | None) -> str:
        """Return a path that fills the chunks that are stored."""
        path = []
        for box in stored:
            x = [at / across.length for at in box[-1]]
            y = [at / down.length for at in box[-2]] if down is not None else [0, 1]
            corners = ((x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1]))
            path.append(f"M{'L'.join(self._at(*corner) for corner in corners)}Z")
        return f'<path d="{"".join(path)}" style="fill:var(--zc-accent);fill-opacity:.5"/>' if path else ""

    def lines(self, across: Side, down: Side | None) -> str:
        """Return the edges of chunks as thin lines, those of shards as thick ones."""
        found = ""
        for kind, width, strength in (("chunks", 0.7, 0.5), ("shards", 1.6, 0.9)):
            path = [
                f"M{self._at(at / across.length, 0)}L{self._at(at / across.length, 1)}"
                for at in getattr(across, kind)
            ]
            if down is not None:
                path += [
                    f"M{self._at(0, at / down.length)}L{self._at(1, at / down.length)}"
                    for at in getattr(down, kind)
                ]
            if path:
                found += (
                    f'<path d="{"".join(path)}" style="stroke:currentColor;stroke-width:{width};'
                    f'stroke-opacity:{strength};fill:none"/>'
                )
        return found
