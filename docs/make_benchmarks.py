"""Put the result of `make bench` into the README: from benchmarks/results/latest.md, between two markers.

    python docs/make_benchmarks.py [report.md]

Taken over are the machine, the verdict, of the table against the best peer the main cases and every case that was not
faster, and the short tables at the end (fresh processes, peak memory, a Python thread beside a read).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "benchmarks" / "results" / "latest.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- benchmarks:begin -->\n", "<!-- benchmarks:end -->\n"


MAIN_CASES = re.compile(r"\| (dense/\S+/(read|write)|tiny/raw-\S+|chunks/\S+/(read|write)|codecs/\S+/read) \|")
SHORT_TABLES = ("## Fresh processes", "## Peak memory", "## A Python thread")


def excerpt(report: str) -> str:
    """The part of a report that the README shows, its sections one heading level further down."""
    head, *sections = re.split(r"^(?=## )", re.sub(r"^# .*\n", "", report, flags=re.MULTILINE), flags=re.MULTILINE)
    kept = [head, *(_main_rows(section) for section in sections[:1])]
    kept += [section for section in sections if section.startswith(SHORT_TABLES)]
    kept.append("\nAll cases and all libraries: [benchmarks/results/latest.md](benchmarks/results/latest.md).\n")
    return re.sub(r"^## ", "### ", "".join(kept), flags=re.MULTILINE).strip() + "\n"


def _main_rows(section: str) -> str:
    """A section whose tables keep the main cases, and those set in bold because zarrcore was not faster."""
    lines = section.splitlines(keepends=True)
    rows = [number for number, line in enumerate(lines) if re.match(r"\| (\*\*)?[\w-]+/", line)]
    dropped = {n for n in rows if not lines[n].startswith("| **") and not MAIN_CASES.match(lines[n])}
    return "".join(line for number, line in enumerate(lines) if number not in dropped)


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
