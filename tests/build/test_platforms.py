# SPDX-License-Identifier: MIT
"""The C core on platforms that this machine is not: check_platforms.py compiles, check_foreign.py runs."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "wheels"))
try:
    import check_emulated_wheel
    import check_foreign
    import check_platforms
    import native_libs
finally:
    sys.path.remove(str(ROOT / "wheels"))

needs_zig = pytest.mark.skipif(find_spec("ziglang") is None, reason="ziglang is not installed (make wheel)")


def test_every_part_of_the_core_is_compiled() -> None:
    parts = {path.name for path in (ROOT / "csrc").iterdir() if path.is_dir()}
    assert parts - {"fuzz", "include", "numpy", "tests"} == {*check_platforms.PARTS, "document"}
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


# ---- other CPUs ----


def test_a_cpu_without_emulator_is_left_out_and_said_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_foreign.shutil, "which", lambda name: None)
    monkeypatch.setattr(check_foreign.platform, "machine", lambda: "vax")
    assert check_foreign.main([]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == len(check_foreign.TARGETS)
    assert all("skipped" in line for line in said)
    assert sum("apt-get install qemu-user" in line for line in said) == len(said) - 1
    assert "apt-get install wine64" in said[-1]


def test_the_kind_of_cpu_that_is_there_needs_no_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_foreign.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(check_foreign.platform, "machine", lambda: "aarch64")
    assert check_foreign.emulator("aarch64-linux-musl") == ""
    assert check_foreign.emulator("x86_64-linux-musl") == "/bin/qemu-x86_64"
    assert check_foreign.emulator("x86_64-windows-gnu") == "/bin/wine64"


def test_unknown_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_foreign.main(["vax-linux-musl"]) == 2
    assert "s390x-linux-musl" in capsys.readouterr().err


def test_failures_make_the_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_foreign, "emulator", lambda target: f"/bin/{target}")
    monkeypatch.setattr(check_foreign, "check", lambda target, runner: int(runner == "/bin/s390x-linux-musl"))
    assert check_foreign.main(["aarch64-linux-musl"]) == 0
    assert check_foreign.main([]) == 1
    assert "s390x-linux-musl: FAILED" in capsys.readouterr().out


def test_a_wheel_is_not_tried_without_emulator_and_it_is_said_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_emulated_wheel.shutil, "which", lambda name: None)
    assert check_emulated_wheel.main() == 0
    assert capsys.readouterr().out == "skipped: there is no qemu-aarch64 (apt-get install qemu-user)\n"


def test_a_wheel_needs_the_python_that_tries_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(check_emulated_wheel, "pythons", lambda wanted: [])
    with pytest.raises(check_emulated_wheel.StepError, match=r"no CPython 3\.11 with headers"):
        check_emulated_wheel.make_wheel("3.11", tmp_path)
