"""Put the result of `make bench` into the README: from benchmarks/results/latest.md, between two markers.

    python docs/make_benchmarks.py [report.md]

What stands before the second section of the report is taken over: the machine, the verdict, and the table
against the best peer of each case.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "benchmarks" / "results" / "latest.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- benchmarks:begin -->\n", "<!-- benchmarks:end -->\n"


def excerpt(report: str) -> str:
    """The head of a report and its first section, one heading level further down; its title is left out."""
    lines = [line for line in report.splitlines() if not line.startswith("# ")]
    sections = [number for number, line in enumerate(lines) if line.startswith("## ")]
    kept = lines[: sections[1]] if len(sections) > 1 else lines
    return "\n".join(f"#{line}" if line.startswith("## ") else line for line in kept).strip() + "\n"


def filled(readme: str, text: str) -> str:
    """The README with other text between the markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{README.name} has lost its markers {BEGIN.strip()} and {END.strip()}")
    return before + begin + text + end + after


def main(arguments: Sequence[str]) -> int:
    """Fill the README from a report."""
    report = Path(arguments[0]) if arguments else REPORT
    if not report.is_file():
        print(f"{report} is not there: run make bench first", file=sys.stderr)
        return 1
    text = filled(README.read_text(encoding="utf-8"), excerpt(report.read_text(encoding="utf-8")))
    README.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
