# SPDX-License-Identifier: MIT
"""What notebooks show: escaped, bounded in size and requests, and never an error."""

from __future__ import annotations

import asyncio
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.display.drawing import Side, drawing, starts
from zarrcore.display.page import brief, text
from zarrcore.storage import MemoryStore

MOST = 30_000
HOSTILE = "<script>alert('x')</script>&\"'\x1b[31m"


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of these tests are complete on a busy machine too."""
    monkeypatch.setattr("zarrcore.display.page.MOST_SECONDS", 60.0)


class Page(HTMLParser):
    """Checks that tags are closed, and none of them runs anything."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.words: list[str] = []
        assert len(html) <= MOST
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "iframe", "object", "link", "a")
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        self.tags.append(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def page(shown: Any) -> Page:
    return Page(shown._repr_html_())


def test_an_array_is_drawn_and_described(tmp_path: Path) -> None:
    array = zarrcore.create_array(
        tmp_path / "a", shape=(40, 60, 80), chunks=(10, 15, 20), shards=(20, 30, 40), dtype="i2",
        dimension_names=("time", "lat", None), attributes={"units": "K"},
    )  # fmt: skip
    array[:20, :30, :40] = 1
    shown = page(array)
    for fact in ("40 × 60 × 80", "Shards 20 × 30 × 40", "Chunks 10 × 15 × 20", "1 of 8 shards", "time 40"):
        assert fact in shown.text
    assert "units 'K'" in shown.text and "ZstdCodec" in shown.text
    assert shown.tags.count("polygon") == 3
    assert "chunks=(10, 15, 20) shards=(20, 30, 40)>" in repr(array)
    assert page(array.async_array).text.startswith("AsyncArray")


def test_every_kind_of_array_has_a_page() -> None:
    root = zarrcore.create_group({})
    for name, options in {
        "scalar": {"shape": (), "dtype": "f8"},
        "empty": {"shape": (0, 5), "dtype": "f8", "chunks": (1, 5)},
        "text": {"shape": 4, "dtype": "T", "fill_value": "<b>"},
        "five": {"shape": (2, 3, 4, 5, 6), "dtype": "M8[s]"},
        "edges": {"shape": (60, 100), "chunks": [[10, 50], [99, 1]], "dtype": "?"},
        "huge": {"shape": (10**12, 10**12), "chunks": (1, 1), "dtype": "u1"},
        "record": {"shape": 3, "dtype": [("a", "i4"), ("b", "f4")]},
    }.items():
        array = root.create_array(name, **options)
        shown = page(array)
        assert "svg" in shown.tags or name in ("scalar", "empty"), name
        assert "unreadable" not in shown.text and "Error" not in shown.text, shown.text
    assert "chunks=<variable>" in repr(root["edges"])
    assert "not counted" in page(root["huge"]).text
    assert "drawn: the last 3 of 5 dimensions" in page(root["five"]).text
    assert "<b>" in page(root["text"]).text


def test_stored_chunks_are_drawn_where_they_are() -> None:
    array = zarrcore.create_array({}, shape=(4, 10), chunks=(2, 5), dtype="i1")
    array[2:, :5] = 1
    (path,) = re.findall(r'<path d="([^"]*Z)"', array._repr_html_())
    assert path.count("Z") == 1
    points = [tuple(map(float, point.split(","))) for point in path[1:-1].split("L")]
    (corner,) = re.findall(r'points="([\d.]+),([\d.]+) ', array._repr_html_())
    assert points[0][0] == float(corner[0]) and points[0][1] > float(corner[1])
    assert "1 of 4 chunks" in page(array).text


@pytest.mark.parametrize("consolidated", [False, True])
def test_hostile_names_and_attributes_are_escaped(consolidated: bool) -> None:
    store: dict[str, Any] = {}
    root = zarrcore.create_group(store, attributes={HOSTILE: HOSTILE})
    root.create_array(HOSTILE.replace("/", "_"), shape=3, dtype="i1", attributes={"a": {HOSTILE: 1}})
    group = root.create_group("below", attributes={HOSTILE: [HOSTILE]})
    group.create_array("x", shape=3, dtype="i1", dimension_names=[HOSTILE])
    if consolidated:
        root = zarrcore.consolidate_metadata(store)
    for node in (root, group, group["x"], root[HOSTILE.replace("/", "_")]):
        html = node._repr_html_()
        assert "<script" not in html and "\x1b" not in html
        assert "<script" in Page(html).text or node.path == ""
    report = zarrcore.verify({**store, f"below/x/{HOSTILE}": b"x"})
    assert "<script" not in report._repr_html_() and "\\x1b" in page(report).text


@pytest.mark.parametrize("before", [0, 30, 120, 190])
def test_a_password_that_is_cut_off_is_not_shown(before: int) -> None:
    url = f"{'x' * before} https://user:{'pass' * 20}@host/{'y' * 300}"
    for shown in (text(url), brief(url), brief([{"url": url}]), brief({url: 1})):
        assert "pass" not in shown


def test_passwords_are_not_shown() -> None:
    root = zarrcore.create_group({}, attributes={"from": "https://me:secret@host/x?token=secret"})
    assert "secret" not in root._repr_html_()


def test_a_group_is_a_tree(tmp_path: Path) -> None:
    root = zarrcore.create_group(tmp_path, attributes={"title": "survey"})
    root.create_array("surface/deep/t", shape=(3, 4), dtype="f4")
    root.create_group("none")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/zarr.json").write_text("{")
    (tmp_path / "stray").write_text("no node")
    shown = page(root)
    assert "t 3 × 4 float32" in shown.text and "none/ empty" in shown.text and "surface/" in shown.text
    assert "broken unreadable" in shown.text and "title 'survey'" in shown.text and "stray" not in shown.text
    assert shown.tags.count("details") == 3
    assert "no members" in page(root["none"]).text


def test_of_a_large_group_the_first_members_are_shown() -> None:
    store: dict[str, Any] = {}
    root = zarrcore.create_group(store)
    for k in range(500):
        store[f"g{k:03}/zarr.json"] = b'{"zarr_format": 3, "node_type": "group"}'
    shown = page(root).text
    assert "g039/" in shown and "and 460 more" in shown and "g040/" not in shown
    consolidated = page(zarrcore.consolidate_metadata(store)).text
    assert "g039/" in consolidated and "and 460 more" in consolidated and "g040/" not in consolidated


def test_a_page_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    root = zarrcore.create_group({})
    array = root.create_array("below/a", shape=4, chunks=2, dtype="i1")
    for k in range(100):
        root.store.set(f"g{k:03}/zarr.json", b'{"zarr_format": 3, "node_type": "group"}')
    monkeypatch.setattr("zarrcore.display.page.MOST_SECONDS", 0.0)
    assert "not counted" in page(array).text
    assert "below/ …" in page(root).text and "and others" in page(root).text


def test_pages_stay_small() -> None:
    store: dict[str, Any] = {}
    many = {f"{k}" * 100: list(range(50)) for k in range(60)}
    root = zarrcore.create_group(store, attributes=many)
    for k in range(42):
        root.create_group(f"{k:02}{'n' * 200}", attributes=many)
    array = root.create_array("a", shape=(4, 4), chunks=(2, 2), dtype="i1", attributes=many)
    assert "more" in page(root).text and "and 20 more" in page(array).text
    page(zarrcore.consolidate_metadata(store))
    report = zarrcore.verify({**store, **{f"a/stray{k}{'s' * 300}": b"" for k in range(2000)}})
    assert "and 1" in page(report).text


class Network(MemoryStore):
    """A store whose requests take long, so they are counted."""

    _is_near = False
    requests = 0

    def _count(self) -> None:
        type(self).requests += 1

    def get(self, *args: Any, **kwargs: Any) -> Any:
        self._count()
        return super().get(*args, **kwargs)

    def list_prefix(self, prefix: str) -> Any:
        self._count()
        return super().list_prefix(prefix)

    def list_dir(self, prefix: str) -> Any:
        self._count()
        return super().list_dir(prefix)

    def _size(self, key: str) -> Any:
        self._count()
        return super()._size(key)


def test_nothing_is_asked_of_a_store_over_a_network() -> None:
    store = Network({})
    root = zarrcore.create_group(store)
    array = root.create_array("a", shape=4, chunks=2, dtype="i1")
    Network.requests = 0
    assert "not counted" in page(array).text
    assert "not listed over a network" in page(root).text
    assert root._ipython_key_completions_() == []
    assert Network.requests == 0
    root = zarrcore.consolidate_metadata(store)
    Network.requests = 0
    assert "a 4 int8" in page(root).text and root._ipython_key_completions_() == ["a"]
    assert Network.requests == 0


def test_a_page_is_shown_where_the_store_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = zarrcore.create_group(tmp_path / "g")
    array = root.create_array("a", shape=4, chunks=2, dtype="i1")

    def fail(*_: Any, **__: Any) -> Any:
        raise PermissionError("not <allowed>")

    monkeypatch.setattr(type(root.store), "_first_names", fail)
    monkeypatch.setattr(type(root.store), "_size", fail)
    for node in (root, array):
        assert "not <allowed>" in page(node).text
    assert root._ipython_key_completions_() == []


def test_an_array_that_is_gone_has_a_page(tmp_path: Path) -> None:
    root = zarrcore.create_group(tmp_path / "g")
    array = root.create_array("a", shape=4, chunks=2, dtype="i1")
    del root["a"]
    page(array)
    page(root)


def test_completion_of_names(tmp_path: Path) -> None:
    root = zarrcore.create_group(tmp_path)
    for name in ("surface/t", "ocean", "b"):
        root.create_group(name)
    assert root._ipython_key_completions_() == ["b", "ocean", "surface"]
    assert root["surface"]._ipython_key_completions_() == ["t"]
    store: dict[str, Any] = {}
    root = zarrcore.create_group(store)
    store.update({f"{k:04}/zarr.json": b"{}" for k in range(3000)})
    assert len(root._ipython_key_completions_()) == 1000


def test_reports_and_caches_have_pages(tmp_path: Path) -> None:
    array = zarrcore.create_array(tmp_path / "a", shape=8, chunks=2, dtype="i4", compressors="crc32c")
    array[:] = 1
    assert "Requests 4, 48 bytes" in page(array.explain()).text
    (tmp_path / "a/c/1").write_bytes(b"short")
    report = page(zarrcore.verify(tmp_path / "a")).text
    assert "1 error " in report and "c/1" in report
    cache = zarrcore.ChunkCache(1 << 20)
    memory = zarrcore.array(np.arange(4), chunks=2).with_cache(cache)
    memory[0], memory[0], memory[0]
    shown = cache._repr_html_()
    # A bar of the browser's, as it was, looks full on a dark page.
    assert "2 of 3 (67%)" in shown and "of 1,048,576 bytes (0%)" in shown and "<meter" not in shown


def test_asynchronous_groups_have_pages() -> None:
    async def shown() -> str:
        group = await zarrcore.api.asynchronous.create_group({})
        return group._repr_html_()

    assert "AsyncGroup" in Page(asyncio.run(shown())).text


def test_a_grid_with_many_chunks_is_not_drawn() -> None:
    assert starts([1], 1000) == [] and starts([1] * 1000, 1000) == []
    assert starts([400], 1000) == [400, 800] and starts([1000], 1000) == []
    assert "<path" not in drawing([Side(1000, "", [], [])])
    assert drawing([]) == drawing([Side(0, "x", [], [])]) == ""


def test_the_display_is_loaded_when_something_is_shown() -> None:
    import subprocess
    import sys

    program = "import zarrcore, sys; repr(zarrcore.zeros(3)); print(sum('display' in m for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == 0
