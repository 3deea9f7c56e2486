"""Measure what the page guide/performance.md advises, and draw pictures/chunks.svg and pictures/codecs.svg.

    python docs/make_performance.py

Times are CPU seconds of one thread, the best of several rounds, so that they can be compared on a machine
that has other things to do; files come from the memory of the system.
"""

from __future__ import annotations

import json
import math
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import zarrcore

PICTURES = Path(__file__).parent / "pictures"
RESULTS = PICTURES / "performance.json"
EDGE, ROUNDS = 256, 5

Rows = list[tuple[str, dict[str, float]]]


def field() -> np.ndarray:
    """Return float32 values like those of a model: smooth, with noise in the last digits; 64 MiB."""
    at = np.linspace(0, 6, EDGE, dtype="f4")
    smooth = np.sin(at)[:, None, None] * np.cos(at)[:, None] + np.sin(2 * at)
    noise = np.random.default_rng(0).normal(size=(EDGE, EDGE, EDGE)).astype("f4")
    return (smooth + noise * np.float32(0.01)).round(3).astype("f4")


def seconds(call: Callable[[], object]) -> float:
    """Return the CPU time of the best of several rounds."""
    call()
    best = math.inf
    for _ in range(ROUNDS):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return best


def files(folder: Path) -> int:
    """Return how many files there are below a folder."""
    return sum(path.is_file() for path in folder.rglob("*"))


def of_chunks(values: np.ndarray, folder: Path) -> Rows:
    """Measure reads of all, of a plane and of a line, by the size of the chunks."""
    rows: Rows = []
    for chunk, shard in ((16, 0), (32, 0), (64, 0), (128, 0), (256, 0), (32, 128)):
        name = f"{chunk}³" + (f" in shards of {shard}³" if shard else "")
        place = folder / f"{chunk}-{shard}"
        options: dict[str, Any] = {"chunks": (chunk,) * 3} | ({"shards": (shard,) * 3} if shard else {})
        array = zarrcore.create_array(place, data=values, **options)
        reads = {"all": ..., "a plane": np.s_[:, :, 7], "a line": np.s_[7, 7]}
        found = {
            what: seconds(lambda array=array, at=at: array.read(at, threads=1)) for what, at in reads.items()
        }
        rows.append((f"{name}, {files(place):,} files", found))
    return rows


def of_codecs(values: np.ndarray, folder: Path) -> Rows:
    """Measure writing and reading all by codec; the sizes go into the names."""
    blosc = zarrcore.codecs.BloscCodec
    codecs: dict[str, Any] = {
        "none": None, "lz4": blosc(cname="lz4", shuffle="noshuffle"), "lz4, shuffled": blosc(cname="lz4"),
        "zstd 0": zarrcore.codecs.ZstdCodec(), "zstd 5": zarrcore.codecs.ZstdCodec(level=5),
        "zstd, bits shuffled": blosc(cname="zstd", shuffle="bitshuffle"),
        "gzip 5": zarrcore.codecs.GzipCodec(),
    }  # fmt: skip
    rows: Rows = []
    for name, codec in codecs.items():
        place = folder / f"codec {name}"
        array = zarrcore.create_array(
            place, shape=values.shape, chunks=(64,) * 3, dtype="f4", compressors=codec
        )
        found = {
            "write": seconds(lambda array=array: array.write(..., values, threads=1)),
            "read": seconds(lambda array=array: array.read(threads=1)),
        }
        rows.append((f"{name}, ratio {values.nbytes / array.nbytes_stored():.1f}", found))
    return rows


COLORS = ("#1a7f64", "#0969da", "#8250df")


def drawn(title: str, note: str, rows: Rows) -> str:
    """Return bars as SVG, on a logarithmic scale of milliseconds."""
    series = [*rows[0][1]]
    times = [1e3 * one for _, found in rows for one in found.values()]
    low, high = 10 ** math.floor(math.log10(min(times))), 10 ** math.ceil(math.log10(max(times)))
    left, width, step = 220, 440, 14 * len(series) + 12
    height = 94 + step * len(rows)

    def x(ms: float) -> float:
        return left + width * math.log(ms / low) / math.log(high / low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 {height}" width="740" height="{height}" '
        'role="img">',
        f"<title>{escape(title)}</title>",
        '<style>text{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1f2328}'
        ".h{font-size:15px;font-weight:600}.s{fill:#59636e}.g{stroke:#d0d7de}"
        "@media (prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.g{stroke:#3d444d}}</style>",
        f'<text class="h" x="12" y="22">{escape(title)}</text>',
        f'<text class="s" x="12" y="40">{escape(note)}</text>',
    ]
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        at = x(10.0**power)
        parts.append(f'<line class="g" x1="{at:.0f}" y1="68" x2="{at:.0f}" y2="{height - 22}"/>')
        parts.append(
            f'<text class="s" x="{at:.0f}" y="{height - 8}" text-anchor="middle">{10.0**power:g} ms</text>'
        )
    for k, name in enumerate(series):
        parts.append(f'<rect x="{left + 110 * k}" y="53" width="10" height="10" rx="2" fill="{COLORS[k]}"/>')
        parts.append(f'<text x="{left + 15 + 110 * k}" y="62">{escape(name)}</text>')
    for number, (name, found) in enumerate(rows):
        top = 74 + step * number
        parts.append(
            f'<text x="{left - 10}" y="{top + step / 2:.0f}" text-anchor="end">{escape(name)}</text>'
        )
        for k, value in enumerate(found.values()):
            end, y = x(1e3 * value), top + 14 * k
            shown = f"{1e3 * value:,.0f}" if value > 1 else f"{1e3 * value:.3g}"
            parts.append(
                f'<rect x="{left}" y="{y}" width="{max(1, end - left):.0f}" height="11" rx="2" '
                f'fill="{COLORS[k]}"/>'
                f'<text class="s" x="{end + 5:.0f}" y="{y + 10}">{shown}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    """Measure and draw; with ``--draw`` only draw what was measured before."""
    if sys.argv[1:] == ["--draw"]:
        results = json.loads(RESULTS.read_text(encoding="utf-8"))
    else:
        values = field()
        with tempfile.TemporaryDirectory() as name:
            rows = {"chunks": of_chunks(values, Path(name)), "codecs": of_codecs(values, Path(name))}
        about = f"zarrcore {zarrcore.__version__}, {platform.system()} {platform.machine()}, one thread"
        results = {"about": about, "date": time.strftime("%Y-%m-%d"), **rows}
        RESULTS.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    note = f"64 MiB of float32 in files; CPU time, best of {ROUNDS}; {results['about']}, {results['date']}"
    titles = {"chunks": "What chunks of one size cost", "codecs": "What codecs cost, chunks of 64³"}
    for name, title in titles.items():
        (PICTURES / f"{name}.svg").write_text(drawn(title, note, results[name]), encoding="utf-8")


if __name__ == "__main__":
    main()
