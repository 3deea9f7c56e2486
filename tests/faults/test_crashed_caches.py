# SPDX-License-Identifier: MIT
"""A machine that stops while a `CacheStore` keeps values on its disk, which it never waits for."""

from __future__ import annotations

import time
from pathlib import Path

from disk import replayed
from shim import compiled, needs_shim

from zarrcore.storage import CacheStore, LocalStore

pytestmark = needs_shim

MOST = 3000
VALUES = {"a": bytes(range(200)) * 4, "b": b"b" * 700, "c": b"c" * 900, "d/e": b"e" * 1000}
PARTS = [("a", (10, 20)), ("a", (300, 5)), ("a", None), ("d/e", (990, 10))]

PROGRAM = """
import ctypes, json, sys
from zarrcore.storage import CacheStore, LocalStore, OffsetByteRequest, RangeByteRequest
shim = ctypes.CDLL(None)
for name, source in json.loads(sys.argv[2]).items():
    far = LocalStore(source)
    near = CacheStore(far, f"{sys.argv[1]}/{name}/near", max_bytes=3000)
    shim.shim_mark(b"begin")
    near.get("a", RangeByteRequest(0, 50))
    near.get("a", RangeByteRequest(290, 310))
    for key in ("b", "c", "d/e", "a", "b"):  # more than there is room for
        near.get(key)
    near.get("d/e", OffsetByteRequest(900))
    shim.shim_mark(b"end")
"""


def test_a_cache_shows_what_its_source_has_after_a_crash(tmp_path: Path) -> None:
    shim, source, near = compiled(), tmp_path / "source", tmp_path / "near"
    far = LocalStore(source)
    for key, value in VALUES.items():
        far.set(key, value)
    time.sleep(3)  # what is young has no version, and is not kept
    (tmp_path / "root" / "cache").mkdir(parents=True)
    hits = damaged = 0
    for number, (_, left, _) in enumerate(replayed(PROGRAM, {"cache": str(source)}, shim, tmp_path)):
        place = near / str(number)
        for path, data in left.items():
            (place / path).parent.mkdir(parents=True, mode=0o700, exist_ok=True)
            (place / path).write_bytes(data)
        store = CacheStore(far, place / "near", max_bytes=MOST)
        for _ in range(2):
            assert {key: store.get(key) for key in VALUES} == VALUES
            for key, part in PARTS:
                assert store.get(key, part) == far.get(key, part)
        assert store._files.nbytes() <= 2 * MOST
        hits += store.cache_stats()["hits"]
        damaged += store.cache_stats()["damaged"]
    assert hits > number
    assert damaged > 0  # some of what was on the disk was half
