"""The benchmark's random arrays: what is drawn, how it is compared and shown.  No time is asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import zarrcore

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("only the package is here, not its source tree", allow_module_level=True)
sys.path.append(str(ROOT))  # behind the place that zarrcore was found in

from benchmarks.random_arrays import compare, summary  # noqa: E402
from benchmarks.random_arrays.__main__ import ITSELF  # noqa: E402
from benchmarks.random_arrays.arrays import DTYPES, VALUES, Array, make_values  # noqa: E402
from benchmarks.random_arrays.compare import Measure, Outcome, draw_case  # noqa: E402
from benchmarks.random_arrays.programs import program  # noqa: E402
from benchmarks.random_arrays.selections import Selection  # noqa: E402
from benchmarks.random_arrays.worker import RandomWorker  # noqa: E402

PEERS = Measure("the fastest peer against zarrcore", "zarrcore", ("a", "b"))


def small_cases(count: int) -> list[tuple[Array, list[Selection]]]:
    """Arrays that are made quickly."""
    drawn = (draw_case(5, number) for number in range(1000))
    return [case for case in drawn if case[0].nbytes < 200_000][:count]


# ---- drawing ----


def test_a_case_depends_on_its_seed_and_number_alone() -> None:
    assert draw_case(3, 7) == draw_case(3, 7)
    assert draw_case(3, 7) != draw_case(3, 8)
    assert draw_case(4, 7) != draw_case(3, 7)


def test_arrays_have_sizes_and_edges_within_bounds() -> None:
    arrays = [draw_case(1, number)[0] for number in range(400)]
    for array in arrays:
        assert 1000 < array.nbytes <= 65 << 20
        assert all(1 <= c <= n for c, n in zip(array.chunks, array.shape, strict=True))
        shards = array.shards or array.chunks
        assert all(s % c == 0 for s, c in zip(shards, array.chunks, strict=True))
    assert {array.dtype for array in arrays} == set(DTYPES)
    assert {array.values for array in arrays} == set(VALUES)
    regular = [all(n % c == 0 for n, c in zip(a.shape, a.chunks, strict=True)) for a in arrays]
    assert any(regular) and not all(regular)
    for name in ("big-endian", "transposed", "sharded", "format 2"):
        assert any(name in array.layout for array in arrays)
    for name in ("none", "blosc-lz4", "blosc-zlib", "zstd + crc32c", "gzip", "bz2"):
        assert any(array.codec == name for array in arrays)


def test_selections_lie_within_their_arrays() -> None:
    kinds = set()
    for number in range(100):
        array, selections = draw_case(2, number)
        shape = np.broadcast_to(np.zeros((), array.dtype), array.shape)
        for selection in selections:
            index = selection.index(array.shape)
            kinds.add(selection.kind)
            if selection.kind == "points":
                assert all((c >= 0).all() and (c < n).all() for c, n in zip(index, array.shape, strict=True))
                size = len(index[0])
            else:
                size = shape[index].size
            assert size == selection.size(array.shape) > 0
    reads = {"all", "chunk", "box", "plane", "stride", "points", "list"}
    assert kinds == reads | {f"write {kind}" for kind in ("all", "chunk", "box", "plane", "element")}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", VALUES)
def test_values_are_finite_and_reproducible(kind: str, dtype: str) -> None:
    values = make_values(kind, (50, 60), dtype, 9)
    assert values.shape == (50, 60) and values.dtype == dtype and np.isfinite(values).all()
    np.testing.assert_array_equal(values, make_values(kind, (50, 60), dtype, 9))


def test_cases_survive_a_file(tmp_path: Path) -> None:
    array, selections = draw_case(1, 0)
    times = {"zarrcore": 1.0}
    outcomes = [Outcome(0, array, selection, times, times) for selection in selections]
    compare.save(outcomes, tmp_path / "outcomes.jsonl")
    assert compare.load(tmp_path / "outcomes.jsonl") == outcomes


# ---- workers ----


def test_a_worker_reads_and_writes_what_was_drawn(tmp_path: Path) -> None:
    worker = RandomWorker("zarrcore", 0, tmp_path, tmp_path / "scratch")
    for number, (array, selections) in enumerate(small_cases(6)):
        directory = tmp_path / f"array-{number}"
        worker.make(json.loads(json.dumps(array.to_json())), str(directory))
        values, new = array.make_values(), array.make_values(array.seed + 1)
        for selection in selections:
            worker.take(json.loads(json.dumps(array.to_json())), selection.to_json(), str(directory))
            answer = worker.check()
            assert set(worker.least(2)) == {"wall", "cpu"}
            if selection.writes:
                expected, index = values.copy(), selection.index(array.shape)
                expected[index] = new[index]
                written = zarrcore.open_array(answer["written"], mode="r")[...]
                np.testing.assert_array_equal(written, expected)
            worker.release()
        np.testing.assert_array_equal(zarrcore.open_array(directory, mode="r")[...], values)


class Colleague:
    """In place of a client: a worker in this process."""

    def __init__(self, worker: RandomWorker) -> None:
        self._worker = worker

    def ask(self, do: str, **arguments: object) -> object:
        return getattr(self._worker, do)(**arguments)


def test_who_returns_other_data_is_not_timed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("zarrcore", "a", "b")
    workers = {name: RandomWorker("zarrcore", 0, tmp_path, tmp_path / name) for name in names}
    monkeypatch.setattr(workers["b"], "digest_of", lambda directory: "other")
    right = workers["b"].check
    monkeypatch.setattr(workers["b"], "check", lambda: {**right(), "digest": "other"})
    clients = {name: Colleague(worker) for name, worker in workers.items()}
    number = next(n for n in range(1000) if draw_case(5, n)[0].nbytes < 100_000)
    outcomes = list(compare.Comparison(clients, "a", (PEERS,)).run(5, number, tmp_path))  # type: ignore[arg-type]
    assert {o.selection for o in outcomes} == set(draw_case(5, number)[1])
    for outcome in outcomes:
        assert set(outcome.failed) == (set() if outcome.selection.writes else {"b"})
        assert {"zarrcore", "a"} <= set(outcome.wall) and PEERS.ratio(outcome) is not None
        assert outcome.selection.writes or "b" not in outcome.wall
    assert not (tmp_path / f"array-{number}").exists()


# ---- tables and programs ----


def outcomes() -> list[Outcome]:
    found = []
    for number in range(10):
        array, selections = draw_case(1, number)
        wall = {"zarrcore": 1.0, "a": 2.0 + number, "b": 0.5 if number == 4 else 3.0}
        cpu = dict.fromkeys(wall, 1.0)
        found += [Outcome(number, array, selection, wall, cpu) for selection in selections]
    return found


def test_the_fastest_of_the_others_counts() -> None:
    first = outcomes()[0]
    assert PEERS.best(first) == "a" and PEERS.ratio(first) == 2.0
    assert PEERS.ratio(replace(first, wall={"zarrcore": 2.0})) is None
    assert PEERS.ratio(replace(first, wall={"a": 2.0})) is None
    cpu = Outcome(
        0, first.array, first.selection, cpu={"threads=1": 1.0, "threads=2": 4.0, "threads=default": 2.0}
    )
    assert [measure.ratio(cpu) for measure in ITSELF] == [None, None, 0.25, 0.5]


def test_tables_show_the_distribution_the_families_and_the_worst() -> None:
    found = outcomes()
    low = sum(outcome.number == 4 for outcome in found)
    text = "\n".join(summary.distribution(PEERS, found))
    assert f"{len(found)} cases" in text and f"{low} below 0.9" in text
    table = summary.families(PEERS, found)
    assert sum(int(line.split("|")[2]) for line in table if line.startswith("| box ")) == 10
    rows = summary.worst(PEERS, found, 20)[2:-1]
    assert len(rows) == 20 and all(row.startswith("| 0.50 ") for row in rows[:low])
    assert "Nothing was compared." in summary.distribution(PEERS, [])
    failed = replace(found[0], failed={"a": "no such codec"})
    assert summary.failures([failed]) == ["- a: no such codec (1 cases, array 0 first)"]


def test_a_program_repeats_a_case(tmp_path: Path) -> None:
    array, selections = small_cases(1)[0]
    for selection in selections:
        text = program(Outcome(0, array, selection), f"a title: {selection.kind}", "case.py")
        compile(text, "case.py", "exec")
        (tmp_path / f"{selection.kind}.py").write_text(text, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(Path(zarrcore.__file__).parents[1])}
    for kind in ("points", "write all"):
        path = tmp_path / f"{kind}.py"
        done = subprocess.run([sys.executable, path], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and done.stdout.startswith("zarrcore "), done.stderr
