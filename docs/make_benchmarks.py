"""Show the result of `make bench` in README.md and docs/benchmarks.md, from benchmarks/results/latest.json.

    python docs/make_benchmarks.py [results]

The README gets the verdict, a chart and a table of all libraries, between two markers. The page also gets
the families of cases, what missed its goal, and the probes. The plots and tables next to the JSON are
written again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from benchmarks import document, report  # noqa: E402  (needs the path above)
from benchmarks.document import Document  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- benchmarks:begin -->\n", "<!-- benchmarks:end -->\n"
IMAGES = "benchmarks/results/"


def section(run: Document) -> str:
    """Return what the README shows: the verdict, a chart, and a table of all libraries."""
    about = run.about
    lines = [
        f"Measured by `make bench` on {about['date'][:10]} ({about['machine']}; {about['size']}, "
        f"{about['rounds']} rounds) with {about['versions']}:",
        "",
        *report.summary(run)[:1],
        "",
        *report.picture("families.svg", IMAGES),
        *report.projects(run.results.values()),
        "The table shows the geometric mean, over the cases of a row, of another library's time divided by "
        "zarrcore's; of zarr-python's two pipelines and tensorstore's two ways to read files, the faster one "
        "counts.",
    ]
    return "\n".join(lines) + "\n"


def page(run: Document) -> str:
    """Return the text of docs/benchmarks.md."""
    lines = [
        "# Benchmarks",
        "",
        "Made by `make bench`: [how it measures](../benchmarks/README.md), "
        "[all tables](../benchmarks/results/latest.md), "
        "[profiles of what misses its goal](../benchmarks/results/profiles.md), "
        "[volumes of 512 MiB](../benchmarks/results/full/latest.md).",
        "",
        *report.overview(run, "../" + IMAGES),
    ]
    return "\n".join(lines).rstrip() + "\n"


def filled(readme: str, text: str) -> str:
    """Return the README with `text` between the markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{README.name} has lost its markers {BEGIN.strip()} and {END.strip()}")
    return before + begin + text + end + after


def main(arguments: Sequence[str]) -> int:
    """Write plots, report, page and README section."""
    folder = Path(arguments[0]) if arguments else RESULTS
    if not (folder / "latest.json").is_file():
        print(f"{folder / 'latest.json'} is not there: run make bench first", file=sys.stderr)
        return 1
    run = document.load(folder / "latest.json")
    report.publish(run, folder)
    PAGE.write_text(page(run), encoding="utf-8")
    README.write_text(filled(README.read_text(encoding="utf-8"), section(run)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
