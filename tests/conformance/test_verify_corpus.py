# SPDX-License-Identifier: MIT
"""zarrcore.verify on the conformance corpus: no alarm for sound data, one for malformed data."""

from __future__ import annotations

import json
import sys
import tarfile
from pathlib import Path

import pytest

import zarrcore

CORPUS = Path(__file__).parents[2].parent / "shared" / "conformance"

# What is refused in these is the call, not the store.
OF_THE_CALL = {"neg/path"}
OF_THE_CALL_IDS = {"neg-v3-open-array-on-group", "neg-v3-open-group-on-array"}

pytestmark = [
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus does not lie beside this repository"),
    pytest.mark.slow,
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    root = tmp_path_factory.mktemp("corpus")
    found = json.loads((CORPUS / "manifest.json").read_text(encoding="utf-8"))["entries"]
    for name in sorted({entry["archive"] for entry in found}):
        with tarfile.open(CORPUS / name) as archive:
            archive.extractall(root, filter="data")
    return [{**entry, "place": root / entry["store"]} for entry in found]


def test_sound_data_raise_no_alarm(entries: list[dict]) -> None:
    places = {entry["place"] for entry in entries if entry["kind"] != "negative"}
    assert len(places) > 700
    reports = {str(place): zarrcore.verify(place) for place in sorted(places)}
    assert {place: str(report) for place, report in reports.items() if not report.ok} == {}
    assert sum(report.chunks for report in reports.values()) > 5000


@pytest.mark.skipif(sys.platform == "win32", reason="names of files")
def test_malformed_data_are_found(entries: list[dict]) -> None:
    missed = []
    for entry in entries:
        if entry["kind"] != "negative" or entry["expect"] != "error":
            continue
        if entry["class"] in OF_THE_CALL or entry["id"] in OF_THE_CALL_IDS:
            continue
        if zarrcore.verify(entry["place"]).ok:
            missed.append(entry["id"])
    assert missed == []
