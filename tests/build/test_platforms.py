# SPDX-License-Identifier: MIT
"""wheels/check_platforms.py, which compiles the C core for platforms that this machine is not."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wheels"))
try:
    import check_platforms
    import native_libs
finally:
    sys.path.remove(str(ROOT / "wheels"))

needs_zig = pytest.mark.skipif(find_spec("ziglang") is None, reason="ziglang is not installed (make wheel)")


def test_every_part_of_the_core_is_compiled() -> None:
    parts = {path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()}
    assert parts - {"include", "numpy", "tests"} == {*check_platforms.PARTS, "document"}
    assert len(check_platforms.sources()) > 50


@needs_zig
@pytest.mark.timeout(600)
@pytest.mark.parametrize("target", check_platforms.TARGETS)
def test_warnings_are_faults(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = tmp_path / "good.c", tmp_path / "bad.c"
    good.write_text("#include <string.h>\nint zc_good(void);\nint zc_good(void) { return 0; }\n")
    bad.write_text("int zc_bad(int unused);\nint zc_bad(int unused) { return 0; }\n")
    monkeypatch.setattr(check_platforms, "sources", lambda: [good, bad])
    libs = native_libs.NativeLibs(origin="wheel", detail="")
    (said,) = check_platforms.faults(target, check_platforms.flags(libs))
    assert "unused parameter 'unused'" in said and "bad.c" in said
