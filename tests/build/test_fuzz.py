# SPDX-License-Identifier: MIT
"""The fuzz targets of the C core, their corpus, and the driver that runs them without libFuzzer."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "csrc" / "fuzz"

# Fails for inputs with "no" at the front and "!" after it, which the corpus nearly has.
TARGET = """
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n >= 3 && data[0] == 'n' && data[1] == 'o' && data[2] == '!') {
        abort();
    }
    return 0;
}
"""


def test_every_target_has_a_small_corpus() -> None:
    targets = {path.stem.removeprefix("fuzz_") for path in FUZZ.glob("fuzz_*.c")}
    assert targets == {path.name for path in (FUZZ / "corpus").iterdir()}
    assert {"codecs", "chunk", "n5_block", "selections", "shard_index"} <= targets
    for target in targets:
        assert len(list((FUZZ / "corpus" / target).iterdir())) >= 8, target
    assert sum(path.stat().st_size for path in FUZZ.rglob("corpus/*/*")) < 1 << 20


def test_every_target_stands_in_the_docs() -> None:
    text = (ROOT / "docs" / "fuzzing.md").read_text(encoding="utf-8")
    for path in FUZZ.glob("fuzz_*.c"):
        assert f"| `{path.stem.removeprefix('fuzz_')}` |" in text


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The driver with a target that has a fault."""
    if shutil.which("cc") is None or os.name == "nt":
        pytest.skip("needs a C compiler and POSIX")
    directory = tmp_path_factory.mktemp("fuzz")
    (directory / "target.c").write_text(TARGET)
    command = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", "fuzz", "target.c", FUZZ / "driver.c"]
    environ = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(command, cwd=directory, check=True, env=environ, timeout=60)
    return directory / "fuzz"


def run(program: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(argument) for argument in (program, *arguments)]
    environ = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    return subprocess.run(
        command, capture_output=True, text=True, cwd=program.parent, env=environ, timeout=100
    )


def test_the_driver_finds_a_fault_and_keeps_its_input(program: Path, tmp_path: Path) -> None:
    (tmp_path / "seed").write_bytes(b"no?")
    found = run(program, f"-artifact_prefix={tmp_path}/", "-runs=1000000", "-seed=3", tmp_path / "seed")
    assert found.returncode == 77
    (artifact,) = tmp_path.glob("crash-3-*")
    assert artifact.read_bytes().startswith(b"no!")
    assert run(program, f"-artifact_prefix={tmp_path}/again-", "-runs=0", artifact).returncode == 77


def test_the_driver_runs_its_corpus_and_then_what_it_makes_of_it(program: Path, tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / str(number)).write_bytes(bytes(number))
    done = run(program, "-runs=100", tmp_path)
    assert done.returncode == 0
    assert re.fullmatch(r"105 inputs in [0-9.]+ s\n", done.stdout)
    assert run(program, "-max_total_time=0", tmp_path).stdout.startswith("5 inputs")


def test_the_driver_refuses_what_it_does_not_know(program: Path, tmp_path: Path) -> None:
    assert run(program, "-runs=0", tmp_path / "missing").returncode == 2
    assert run(program, "-no_such_flag=1", tmp_path).returncode == 2
