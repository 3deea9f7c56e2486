"""The benchmark as a judge: its arithmetic, its floor and its plots. No time is asserted."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import zarrcore

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("only the package is here, not its source tree", allow_module_level=True)
sys.path.append(str(ROOT))  # behind the place that zarrcore was found in

from benchmarks import document, floor, goals, misses, plots, profiles, report  # noqa: E402
from benchmarks.cases import _MODULES, CASES  # noqa: E402
from benchmarks.document import Document  # noqa: E402
from benchmarks.driver import Result  # noqa: E402
from benchmarks.measure import Operation, repeats_for, sample  # noqa: E402
from benchmarks.probe_goals import findings  # noqa: E402
from benchmarks.verdict import best_peer, by_family, by_kind, verdict, verdicts  # noqa: E402


def result(case: str, ours: list[float], stored: int = 100, **peers: list[float]) -> Result:
    times = {"zarrcore": ours, **{name.replace("_", "-"): seconds for name, seconds in peers.items()}}
    return Result(case, wall=times, cpu=times, stored=dict.fromkeys(times, stored))


# ---- verdicts ----


def test_best_peer_is_the_one_that_is_hardest_to_beat() -> None:
    found = best_peer({"zarrcore": [1.0, 2.0, 4.0], "zarr": [3.0, 8.0, 12.0], "zarrs": [9.0, 4.0, 8.0]})
    assert found is not None
    # Within the rounds: zarr 3, 4, 3 and zarrs 9, 2, 2.
    assert (found.other, found.ratio, found.low, found.high) == ("zarrs", 2.0, 2.0, 5.5)


def test_the_floor_is_no_peer() -> None:
    assert best_peer({"zarrcore": [1.0], "floor": [0.5]}) is None
    found = verdict(result("dense/volume-raw/read", [1.0, 1.0], zarr=[2.0, 2.0], floor=[0.5, 0.8]))
    assert found is not None and found.wall.other == "zarr"
    assert found.floor == pytest.approx(1 / 0.65)


def test_a_round_that_a_peer_sat_out_is_not_compared() -> None:
    found = best_peer({"zarrcore": [1.0, 5.0, 5.0], "zarr": [4.0]})
    assert found is not None and found.ratio == 4.0


def test_a_larger_file_does_not_meet_a_goal() -> None:
    faster = result("codecs/gzip/write", [1.0], zarr=[2.0])
    found = verdict(faster)
    assert found is not None and found.met
    larger = verdict(replace(faster, stored={"zarrcore": 101, "zarr": 100}))
    assert larger is not None and not larger.met


def test_families_hold_every_case_once() -> None:
    assert sum(1 for module in _MODULES for _ in module.cases()) == len(CASES)
    used = {case.family for case in CASES.values()}
    assert used == set(goals.FAMILIES)
    found = verdicts([result(name, [1.0], zarr=[2.0]) for name in CASES])
    assert sum(len(members) for members in by_family(found).values()) == len(CASES)


def test_libraries_are_compared_in_every_kind_of_work() -> None:
    families = [family for kind in goals.KINDS.values() for family in kind]
    assert sorted(map(str, families)) == sorted(map(str, goals.FAMILIES))
    seen = [
        result("text/words-raw/read", [1.0], zarr=[8.0], zarr_fused=[2.0], zarrs=[3.0]),
        result("text/word-bytes-raw/read", [1.0], zarr=[8.0]),
    ]
    assert by_kind(seen)["strings, byte strings: read"] == {
        "zarr-python": [2.0, 8.0],
        "zarrs": [3.0],
        "tensorstore": [],
    }
    row = "| strings, byte strings: read | 2 | 4.0 | 3.0 (1 case) | not timed |"
    assert row in report.projects(seen)


# ---- measuring ----


def test_a_sample_is_a_median_and_prepares_every_call() -> None:
    seen: list[str] = []
    operation = Operation(lambda: seen.append("call"), before=lambda: seen.append("before"))
    taken = sample(operation, 3)
    assert seen == ["before", "call"] * 3
    assert taken.wall >= 0 and taken.disk == 0
    seen.clear()
    sample(Operation(lambda: seen.append("call")), 100)
    assert len(seen) == 100


def test_a_slow_call_is_not_repeated() -> None:
    calls: list[int] = []
    assert repeats_for(Operation(lambda: calls.append(1)), 0.1, first=5.0) == 1
    assert not calls
    assert repeats_for(Operation(lambda: calls.append(1)), 0.001, first=0.0) > 100


# ---- documents, reports, plots ----


@pytest.fixture
def run() -> Document:
    about = {"date": "2026-01-02T03:04", "machine": "m", "versions": "v", "size": "quick", "rounds": 2}
    found = [result(name, [1.0, 1.1], zarr=[3.0, 3.3], tensorstore_mmap=[1.2, 1.3]) for name in CASES]
    speeds = {"zarrcore": {"1": [2.0], "2": [1.0]}, "zarr": {"1": [4.0], "2": [3.0]}}
    return Document(about, {one.case: one for one in found}, {"threads": {"dense/volume-blosc/read": speeds}})


def test_a_document_comes_back(run: Document, tmp_path: Path) -> None:
    run.save(tmp_path / "latest.json")
    assert document.load(tmp_path / "latest.json") == run
    assert run.continues(document.load(tmp_path / "latest.json"))
    assert not run.continues(Document({**run.about, "versions": "others"}))


def test_plots_are_small_and_have_text(run: Document) -> None:
    drawn = plots.all_plots(run)
    assert set(drawn) == set(plots.TITLES)
    for text in drawn.values():
        assert len(text.encode()) < 70_000
        assert "prefers-color-scheme:dark" in text
        words = [
            element.text for element in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}text")
        ]
        assert all(words)
    labels = ElementTree.fromstring(drawn["families.svg"]).iter("{http://www.w3.org/2000/svg}text")
    assert {family.title for family in goals.FAMILIES} <= {label.text for label in labels}


def test_report_says_what_was_missed_and_why(
    run: Document, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "misses.md").write_text("# T\n\n## codecs/gzip/* other/*\n\nIt is\nslow.\n")
    monkeypatch.setattr(misses, "FILE", tmp_path / "misses.md")
    misses._reasons.cache_clear()
    try:
        text = report.markdown(run)
    finally:
        misses._reasons.cache_clear()
    assert "- **codecs/gzip/write**: 1.19 (1.19-1.20), goal 1.50. It is slow.\n" in text
    assert "| **codecs/gzip/write** | 1.50 |" in text and "| codecs/lz4/read | 1.00 |" in text
    assert "| dense/volume-blosc/read | 2 | 1 s | zarr | 3.00 | 2.00 | 1.33 |  | 1.85 |" in text


def test_probes_have_goals() -> None:
    found = findings(
        {
            "threads": {"codecs/zstd/read": {"zarrcore": {"1": [4.0, 2.0], "2": [2.0, 1.25]}}},
            "imports": {"import zarrcore": {"over_numpy": 1.2}},
            "memory": {"x": {"allowed": 2.0, "zarrcore": 2.5, "zarr": 9.0}, "y": {"zarrcore": "failed"}},
            "beside": {"x": {"zarrcore": {"turns": 0.97, "wait": 0.1, "by_cpu": 0.99, "calls": 1.5}}},
        }
    )
    assert {f.name: f.met for f in found} == {
        "threads/codecs/zstd/read": False,
        "imports/zarrcore": True,
        "memory/x": False,
        "beside/x": True,
    }
    assert found[0].text == "1.80 times faster with 2 threads than with 1, goal 1.85"
    assert found[3].text.endswith("goal 0.95 (0.99 of them for the same CPU time)")


# ---- the floor ----


@pytest.fixture(scope="module")
def plain() -> Any:
    why = floor.build()
    if why is not None:
        pytest.skip(why)
    from benchmarks.libraries.floor import Floor

    return Floor(2)


CHAINS: dict[str, dict[str, Any]] = {
    "raw": {"compressors": None},
    "zstd": {"compressors": [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}]},
    "gzip": {"compressors": [{"name": "gzip", "configuration": {"level": 5}}]},
    "blosc": {
        "compressors": [
            {
                "name": "blosc",
                "configuration": {
                    "cname": "blosclz",
                    "clevel": 9,
                    "shuffle": "bitshuffle",
                    "typesize": 4,
                    "blocksize": 0,
                },
            }
        ]
    },
    "big-endian": {
        "compressors": None,
        "serializer": {"name": "bytes", "configuration": {"endian": "big"}},
    },
    "transposed": {
        "compressors": None,
        "filters": [{"name": "transpose", "configuration": {"order": [2, 1, 0]}}],
    },
    "shards": {
        "compressors": [{"name": "zstd", "configuration": {"level": 3, "checksum": False}}],
        "shards": (32, 32, 32),
    },
    "format 2": {"compressors": None, "zarr_format": 2, "order": "F"},
}


@pytest.mark.parametrize("chain", CHAINS)
def test_the_floor_reads_and_writes(plain: Any, tmp_path: Path, chain: str) -> None:
    values = np.random.default_rng(1).integers(0, 1000, (64, 64, 64), "i4")
    options = {"shape": values.shape, "chunks": (16, 16, 16), "dtype": "i4", **CHAINS[chain]}
    zarrcore.create_array(tmp_path / "ours", **options)[...] = values
    array = plain.open(plain.locate(tmp_path / "ours"))
    for selection in (..., 7, (..., 9), (slice(3, 60), slice(None, None, 3), slice(20, 21)), (1, 2, 3)):
        np.testing.assert_array_equal(plain.read(array, selection), values[selection])
    zarrcore.create_array(tmp_path / "floor", **options)
    plain.write(plain.open(plain.locate(tmp_path / "floor"), writable=True), values)
    np.testing.assert_array_equal(zarrcore.open_array(tmp_path / "floor", mode="r")[...], values)


# ---- numbers of threads ----


@pytest.mark.parametrize("what", ["reading", "into", "writing"])
def test_libraries_read_and_write_on_several_numbers_of_threads(
    plain: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    pytest.importorskip("tensorstore")
    from benchmarks import scaling

    sizes = ["--mib", "16", "--threads", "1,2", "--rounds", "1", "--seconds", "0"]
    with zarrcore.config.set({"threading.max_workers": 2}):
        scaling.main([what, "--layouts", "raw", "--scratch", str(tmp_path), *sizes])
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == f"{what} machine: ms with 1, 2 threads"
    libraries = ["zarrcore", *["tensorstore"] * (what != "into"), "floor"]
    assert [line.split(" | ")[0] for line in shown[4:]] == libraries
    assert all(len(line.split(" | ")) == 3 and "GB/s" in line for line in shown[4:])


# ---- what the repository shows ----


def test_whatever_misses_its_goal_says_why_with_a_profile() -> None:
    run = document.load(profiles.RESULTS / "latest.json")
    shown = (profiles.RESULTS / "profiles.md").read_text(encoding="utf-8")
    missing = [found.case for found in verdicts(run.results.values()) if not found.met]
    assert [case for case in missing if f"| {case} |" not in shown] == []
    missing += [finding.name for finding in findings(run.probes) if not finding.met]
    assert [name for name in missing if not misses.reason(name)] == []


@pytest.mark.parametrize(
    ("line", "part", "function"),
    [
        (" ffffffff81 _copy_to_iter ([kernel.kallsyms])", "copying", "_copy_to_iter"),
        (" ffffffff81 clear_page_erms ([kernel.kallsyms])", "clearing pages", "clear_page_erms"),
        (" ffffffff81 xas_load ([kernel.kallsyms])", "other kernel", "xas_load"),
        (" 7f01 HUF_decompress.constprop.0 (/x/engine.cpython-312.so)", "codec libraries", "HUF_decompress"),
        (" 7f01 zc_read (/x/zarrcore/_core/engine.cpython-312.so)", "zarrcore", "zc_read"),
        (" 7f01 _PyEval_EvalFrameDefault (/usr/bin/python3.12)", "Python", "_PyEval_EvalFrameDefault"),
        (" 7f01 __memmove_avx512 (/usr/lib/libc.so.6)", "C library (memcpy)", "__memmove_avx512"),
    ],
)
def test_a_profile_tells_the_parts_of_the_time_apart(line: str, part: str, function: str) -> None:
    assert profiles._parted(line) == (part, function)
