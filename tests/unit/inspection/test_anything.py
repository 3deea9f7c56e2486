# SPDX-License-Identifier: MIT
"""Whatever bytes a store has: verify and repair answer, and a dry run changes nothing.

``ZC_TEST_STORES=1500`` and ``ZC_TEST_SEED`` make the run longer and different.
"""

from __future__ import annotations

import json
import os
import random

import numpy as np
import pytest

import zarrcore
from zarrcore.storage import MemoryStore

STORES = int(os.environ.get("ZC_TEST_STORES", "40"))
SEED = int(os.environ.get("ZC_TEST_SEED", "5"))
PLACES = ["zarr.json/zarr.json", "a0/c/0/0/zarr.json", "t/.zarray", ".zmetadata", "a1/.zgroup",
          "x/y/zarr.json", "attributes.json", "meta", "a2/meta"]  # fmt: skip
VALUES = [None, -1, [], {}, "x", 2**70, [2**40, 2**40], True, {"a": 1}]


@pytest.fixture(scope="module")
def sound() -> dict[str, bytes]:
    store = MemoryStore()
    zarrcore.create_group(store)
    for number, options in enumerate([{}, {"shards": (6, 8)}, {"zarr_format": 2}]):
        array = zarrcore.create_array(
            store, name=f"a{number}", shape=(10, 10), chunks=(3, 4), dtype="i4", **options
        )
        array[...] = np.arange(1, 101).reshape(10, 10)
    text = zarrcore.create_array(store, name="t", shape=10, chunks=3, dtype="str")
    text[...] = [str(number) for number in range(10)]
    zarrcore.consolidate_metadata(store)
    return {key: bytes(store.get(key)) for key in store.list()}


def change(rng: random.Random, values: dict[str, bytes]) -> None:
    key = rng.choice([*values])
    data = bytearray(values[key])
    kind = rng.randrange(6)
    if kind == 0 and data:
        data[rng.randrange(len(data))] = rng.randrange(256)
    elif kind == 1:
        del data[rng.randrange(len(data) + 1) :]
    elif kind == 2:
        data += rng.randbytes(5)
    elif kind == 3:
        values[f"{key}/x"] = b"1"
    elif kind == 4:
        values[rng.choice(PLACES)] = rng.choice([*values.values()])
    elif key.endswith("zarr.json") and bytes(data[:1]) == b"{":
        try:
            document = json.loads(data)
        except ValueError:
            return
        document[rng.choice([*document])] = rng.choice(VALUES)
        data = bytearray(json.dumps(document).encode())
    values[key] = bytes(data)


def test_any_bytes(sound: dict[str, bytes]) -> None:
    for number in range(STORES):
        rng = random.Random(SEED * 100_000 + number)
        values = dict(sound)
        for _ in range(rng.randint(1, 3)):
            change(rng, values)
        store, before = MemoryStore(values), dict(values)
        report = zarrcore.verify(store)
        json.loads(report.to_json())
        unexpected = [
            finding for finding in report if finding.kind == "store" and "Error: " in finding.message
        ]
        assert unexpected == [], number
        zarrcore.repair(report, quarantine=MemoryStore())
        assert values == before, number
        aside = MemoryStore()
        done = [
            action.key for action in zarrcore.repair(report, quarantine=aside, dry_run=False) if action.done
        ]
        moved = {key for key in before if values.get(key) != before[key] and "/c/" in key}
        assert all(bytes(aside.get(key)) == before[key] for key in moved), number
        assert moved <= set(done), number
