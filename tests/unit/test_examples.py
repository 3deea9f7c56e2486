"""The demonstration runs, reads what others wrote, and tells when something is wrong."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = ["--size", "1MiB", "--threads", "2", "--no-color"]

pytest.importorskip("rich")
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="only the package is here, not its source tree")


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The demonstration, with the signal handler that it sets put back afterwards."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    handler = signal.getsignal(signal.SIGTERM)
    import demo

    yield demo
    signal.signal(signal.SIGTERM, handler)
    for name in ("demo", "show_data", "measure_threads"):
        sys.modules.pop(name, None)


def test_runs(demo: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main(SMALL) == 0
    out = capsys.readouterr().out
    assert ", 0 failed" in out
    assert "Every element came back" in out
    assert "\x1b" not in out


def test_mismatch_is_told(
    demo: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import zarrcore

    monkeypatch.setattr(zarrcore.Array, "read", lambda self, selection, out, threads: out.fill(0))
    assert demo.main([*SMALL, "--skip-data"]) == 1
    assert "came back wrong" in capsys.readouterr().out


def test_damaged_data_is_told(demo: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import zarrcore

    zarrcore.save(tmp_path / "data" / "good.zarr", np.arange(9))
    zarrcore.save(tmp_path / "data" / "bad.zarr", np.arange(9))
    (tmp_path / "data" / "bad.zarr" / "c" / "0").write_bytes(b"damaged")
    assert demo.main([*SMALL, "--data", str(tmp_path / "data")]) == 1
    assert "1 failed" in capsys.readouterr().out


def test_interruption_cleans_up(demo: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import tempfile

    def interrupted(console: object, directory: str, **how: object) -> bool:
        (Path(directory) / "left").write_bytes(b"x")
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "measure", interrupted)
    assert demo.main([*SMALL, "--skip-data"]) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "size"), [("512MiB", 512 << 20), ("2G", 2 << 30), ("1.5kb", 1536), ("77", 77), ("3M", 3 << 20)]
)
def test_sizes(demo: ModuleType, text: str, size: int) -> None:
    assert demo.parse_size(text) == size
