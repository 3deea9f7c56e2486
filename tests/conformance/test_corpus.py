# SPDX-License-Identifier: MIT
"""The conformance corpus: data sets of others that must be read, malformed ones that must be refused.

It lies beside the repository, where there is one; tests/data holds a small part of it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import zarrcore
from zarrcore.errors import ZarrcoreWarning

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "conformance"
WARM = Path(__file__).parent / "warm"

# What can only be read where an optional package is installed.
OPTIONAL_CLASSES = {"v3/ml-dtypes": "ml_dtypes"}  # data types that numpy lacks
# What cannot be read at all yet.
UNSUPPORTED: set[str] = set()
# Malformed, but written by released programs, with one meaning: read with a warning, see docs/formats.md.
READ_WITH_A_WARNING = {"neg-v3-codecs-0": "codecs", "neg-v3-fill-1": "fill_value"}

pytestmark = [
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus does not lie beside this repository"),
    pytest.mark.skipif(sys.platform == "win32", reason="the runner of the corpus forks"),
    pytest.mark.skipif("san" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer needs memory itself"),
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


def run_corpus(result: Path) -> dict:
    """What the corpus' own runner says about the zarrcore that is tested here."""
    package = Path(zarrcore.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(WARM), str(package)))}
    options = ["--module", "zarrcore_in_use", "-j", "2", "--json", str(result)]
    done = subprocess.run(
        [sys.executable, WARM / "forking_runner.py", ".", *options],
        cwd=CORPUS,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.exists(), done.stderr[-2000:]
    return json.loads(result.read_text())


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return run_corpus(tmp_path_factory.mktemp("corpus") / "result.json")


def missing(package: str) -> bool:
    return importlib.util.find_spec(package) is None


@pytest.fixture(scope="module")
def unsupported() -> set[str]:
    entries = json.loads((CORPUS / "manifest.json").read_text())["entries"]
    classes = {name for name, package in OPTIONAL_CLASSES.items() if missing(package)}
    return UNSUPPORTED | {entry["id"] for entry in entries if entry["class"] in classes}


def test_everything_else_passes(outcome: dict, unsupported: set[str]) -> None:
    failures = {
        name: result["reasons"]
        for name, result in outcome["results"].items()
        if not result["passed"] and name not in unsupported | READ_WITH_A_WARNING.keys()
    }
    assert failures == {}


def test_what_is_listed_as_unsupported_still_is(outcome: dict, unsupported: set[str]) -> None:
    assert {name for name in unsupported if outcome["results"][name]["passed"]} == set()


def test_nothing_was_left_out(outcome: dict, unsupported: set[str]) -> None:
    assert outcome["total"] == len(outcome["results"]) > 1400
    passed, total = outcome["selections"]
    assert total > 9000
    assert total - passed <= 20 * len(unsupported)


@pytest.mark.parametrize("name", READ_WITH_A_WARNING)
def test_what_departs_from_the_specification_is_named(name: str, tmp_path: Path) -> None:
    store = f"neg/{name}/store"
    with tarfile.open(CORPUS / "data" / "neg.tar.xz") as archive:
        members = [member for member in archive if member.name.startswith(store)]
        archive.extractall(tmp_path, members, filter="data")
    with pytest.warns(ZarrcoreWarning) as caught:
        zarrcore.open_array(tmp_path / store, mode="r")
    assert [warning.message.where for warning in caught] == [READ_WITH_A_WARNING[name]]
