"""What all pages share: style, escaped text, tables, and a limit of time and size."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from html import escape
from reprlib import Repr
from typing import Any

from zarrcore.errors import masked, named, printable

#: Characters of a page; nothing is added to one that has as many, except what closes it.
MOST_CHARACTERS = 22_000

#: Seconds after which a page asks its store for nothing more.
MOST_SECONDS = 0.012

# Colors are those of the notebook where it has variables for them, else they follow the text and the
# scheme of the system.
_STYLE = """<style>
.zarrcore{--zc-accent:var(--jp-brand-color1,var(--vscode-textLink-foreground,#1565c0));
--zc-bad:var(--jp-error-color1,#c62828);--zc-warn:var(--jp-warn-color1,#b26a00);
font:13px/1.5 var(--jp-ui-font-family,system-ui,sans-serif);max-width:60em;overflow-x:auto}
@media (prefers-color-scheme:dark){.zarrcore{
--zc-accent:var(--jp-brand-color1,var(--vscode-textLink-foreground,#64b5f6));
--zc-bad:var(--jp-error-color1,#ff8a80);--zc-warn:var(--jp-warn-color1,#ffb74d)}}
.zarrcore .zc-side{display:flex;flex-wrap:wrap;gap:8px 28px;align-items:flex-start}
.zarrcore table{border-collapse:collapse;margin:4px 0;color:inherit;background:none}
.zarrcore tr,.zarrcore tr:hover{background:none!important}
.zarrcore th,.zarrcore td{border:0;padding:1px 14px 1px 0;text-align:left!important;vertical-align:top;
background:none;color:inherit;overflow-wrap:anywhere;max-width:38em}
.zarrcore th{font-weight:normal;opacity:.68;white-space:nowrap}
.zarrcore .zc-head{font-weight:600;overflow-wrap:anywhere}
.zarrcore .zc-dim{opacity:.68;font-weight:normal}
.zarrcore .zc-word{overflow-wrap:normal}
.zarrcore .zc-bad{color:var(--zc-bad)}.zarrcore .zc-warn{color:var(--zc-warn)}
.zarrcore details{margin:0}.zarrcore summary{cursor:pointer}
.zarrcore ul{list-style:none;margin:0;padding-left:18px}
.zarrcore li,.zarrcore summary{overflow-wrap:anywhere}
.zarrcore svg text{fill:currentColor;font:11px var(--jp-ui-font-family,system-ui,sans-serif)}
</style>"""

_MOST_MASKED = 10_000  # characters of one value in which passwords are looked for; what follows is not shown


def _safe(value: str) -> str:
    """Return a text without passwords: one of which a part was cut off would not be known as such."""
    return masked(value[:_MOST_MASKED])


class _Short(Repr):
    def repr_str(self, x: str, level: int) -> str:
        return super().repr_str(_safe(x), level)


_SHORT = _Short()
_SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist, _SHORT.maxtuple = 3, 12, 12, 12
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 120


def text(value: object, most: int = 200) -> str:
    """Return a value as text of a page: escaped, without passwords, and cut where it is long.

    Examples
    --------
    >>> text("<b>")
    '&lt;b&gt;'
    """
    plain = _safe(str(value))
    return escape(printable(plain if len(plain) <= most else f"{plain[:most]}\u2026"))


def brief(value: object, most: int = 240) -> str:
    """Return what a value looks like in Python, as text of a page; of containers only the first items."""
    return text(_SHORT.repr(value), most)


class Budget:
    """What a page may still cost: it asks before each further part."""

    def __init__(self) -> None:
        self._left = MOST_CHARACTERS
        self._until = time.perf_counter() + MOST_SECONDS

    @property
    def has_time(self) -> bool:
        """Whether the store may be asked for more."""
        return time.perf_counter() < self._until

    def allows(self, part: str) -> bool:
        """Return whether there is room for a part, and take that room."""
        self._left -= len(part)
        return self._left >= 0


def head(kind: str, name: object) -> str:
    """Return the first line of a page."""
    return f'<div class="zc-head">{text(kind)} <span class="zc-dim">{text(name, 300)}</span></div>'


def table(rows: Iterable[tuple[str, str]]) -> str:
    """Return rows of labels and HTML as a table."""
    return (
        f"<table>{''.join(f'<tr><th>{text(label)}</th><td>{cell}</td></tr>' for label, cell in rows)}</table>"
    )


def attributes(values: Any, budget: Budget) -> str:
    """Return attributes as a list that can be opened, as many as there is room for."""
    if not values:
        return ""
    rows: list[str] = []
    for name in values:
        row = f"<tr><th>{text(name, 80)}</th><td>{brief(values[name])}</td></tr>"
        if len(rows) == 40 or not budget.allows(row):
            rows.append(f'<tr><td class="zc-dim" colspan="2">and {len(values) - len(rows)} more</td></tr>')
            break
        rows.append(row)
    return f"<details><summary>Attributes ({len(values)})</summary><table>{''.join(rows)}</table></details>"


def guarded(make: Callable[[], str], kind: str) -> str:
    """Return a page; if it cannot be made, what kept it from being made: a notebook goes on all the same."""
    try:
        return f'<div class="zarrcore">{_STYLE}{make()}</div>'
    except Exception as error:
        reason = text(named(error), 500)
        return f'<div class="zarrcore">{_STYLE}{head(kind, "")}<div class="zc-bad">{reason}</div></div>'
