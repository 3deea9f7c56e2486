"""How a notebook shows the results of `verify` and `explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zarrcore.display.page import Budget, guarded, head, table, text

_COLORS = {"error": "zc-bad", "warning": "zc-warn"}


def report_html(
    kind: str,
    name: str,
    rows: Mapping[str, object],
    findings: Sequence[tuple[str, str, str, str]] = (),
    count: int = 0,
) -> str:
    """Return facts about something as HTML, and what was found as a list that can be opened.

    `findings` are severity, kind, place and message of each; `count` is the number of all of them.
    """
    return guarded(lambda: _page(kind, name, rows, findings, count), kind)


def _page(
    kind: str,
    name: str,
    rows: Mapping[str, object],
    findings: Sequence[tuple[str, str, str, str]],
    count: int,
) -> str:
    budget = Budget()
    shown: list[str] = []
    for severity, what, place, message in findings:
        cells = (
            f'<td class="zc-word {_COLORS.get(severity, "zc-dim")}">{text(severity)}</td>'
            f'<td class="zc-word">{text(what)}</td><td>{text(place)}</td><td>{text(message, 400)}</td>'
        )
        row = f"<tr>{cells}</tr>"
        if not budget.allows(row):
            break
        shown.append(row)
    if len(shown) < count:
        shown.append(f'<tr><td class="zc-dim" colspan="4">and {count - len(shown)} more</td></tr>')
    listed = f"<details open><summary>Findings ({count})</summary><table>{''.join(shown)}</table></details>"
    facts = table((label, text(value, 400)) for label, value in rows.items())
    return f"{head(kind, name)}{facts}{listed if shown else ''}"
