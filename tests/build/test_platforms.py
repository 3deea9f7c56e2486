# SPDX-License-Identifier: MIT
"""Platforms that this machine is not.

check_platforms.py compiles the C core for them, check_foreign.py runs it, check_emulated_wheel.py and
check_musl_wheel.py try wheels.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import c_library
import check_emulated_wheel
import check_foreign
import check_musl_wheel
import check_platforms
import debian
import musl_python
import native_libs
import pytest

ROOT = Path(__file__).resolve().parents[2]

needs_zig = pytest.mark.skipif(find_spec("ziglang") is None, reason="ziglang is not installed (make wheel)")

needs_sh = pytest.mark.skipif(not os.path.exists("/bin/sh"), reason="compilers are shell scripts")


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


# ---- wheels ----


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        ("apt-get dpkg-deb make llvm-objcopy", "qemu-aarch64 (apt-get install qemu-user)"),
        (
            "qemu-aarch64-static apt-get dpkg-deb make objcopy",
            "aarch64-linux-gnu-objcopy (apt-get install binutils-aarch64-linux-gnu)",
        ),
    ],
)
def test_a_wheel_is_not_tried_without_its_tools_and_it_is_said_so(
    present: str, missing: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = present.split()
    monkeypatch.setattr(check_emulated_wheel.shutil, "which", lambda name: name if name in here else None)
    assert check_emulated_wheel.main() == 0
    assert capsys.readouterr().out == f"skipped: there is no {missing}\n"


def test_each_tool_may_have_any_of_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_emulated_wheel.shutil, "which", lambda name: f"/bin/{name}")
    assert check_emulated_wheel.tools()["aarch64-linux-gnu-objcopy"] == "/bin/aarch64-linux-gnu-objcopy"
    monkeypatch.setattr(check_emulated_wheel.shutil, "which", lambda name: name if name[0] == "l" else None)
    assert check_emulated_wheel.tools() == {"aarch64-linux-gnu-objcopy": "llvm-objcopy"}


def test_a_wheel_needs_the_python_that_tries_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(check_emulated_wheel, "pythons", lambda wanted: [])
    with pytest.raises(check_emulated_wheel.StepError, match=r"no CPython 3\.11 with headers"):
        check_emulated_wheel.make_host("3.11", tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is hidden in the static library")
def test_the_library_for_another_cpu_needs_the_objcopy_of_that_cpu(tmp_path: Path) -> None:
    """That of this machine does not know its files; the wheel for aarch64 was without libzarrcore."""
    for name in ("make", "llvm-objcopy"):
        (tmp_path / name).touch(0o755)
    where = {"PATH": str(tmp_path)}
    assert c_library.reason_against(where) == "objcopy is not installed"
    assert "objcopy" not in (c_library.reason_against({**where, "OBJCOPY": "llvm-objcopy"}) or "")
    lacking = c_library.reason_against({**where, "OBJCOPY": "aarch64-linux-gnu-objcopy"})
    assert lacking == "aarch64-linux-gnu-objcopy is not installed"


def test_a_wheel_for_musl_is_not_tried_without_its_tools_and_it_is_said_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_musl_wheel.shutil, "which", lambda name: None)
    assert check_musl_wheel.main([]) == 0
    assert capsys.readouterr().out == "skipped: there is no musl-gcc (apt-get install musl-tools)\n"


@needs_sh
def test_the_compiler_for_musl_finds_the_headers_of_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """musl-gcc does not; and it names the directory of glibc's headers as its own."""
    for name in ("linux", "asm-generic", "asm"):
        (tmp_path / "headers" / name).mkdir(parents=True)
    (tmp_path / "headers" / "linux" / "limits.h").touch()
    monkeypatch.setattr(musl_python, "KERNEL", tmp_path / "headers")
    compiler = musl_python.make_compiler(tmp_path)
    (tmp_path / "musl-gcc").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "musl-gcc").chmod(0o755)
    environ = {"PATH": f"{tmp_path}:/bin:/usr/bin"}
    done = subprocess.run([compiler, "--print-multiarch"], env=environ, capture_output=True, text=True)
    assert done.stdout == f"{musl_python.MACHINE}-linux-musl\n"
    done = subprocess.run([compiler, "-c", "a b.c"], env=environ, capture_output=True, text=True)
    assert done.stdout == f"-idirafter {tmp_path}/kernel -c a b.c\n"
    assert (tmp_path / "kernel" / "linux" / "limits.h").is_file()
    assert (tmp_path / "kernel" / "asm").is_dir()


def test_a_musl_that_knows_no_packed_relocations_gets_an_older_numpy() -> None:
    """Its loader takes no notice of them, and the import of NumPy 2.2 crashes."""
    assert check_musl_wheel.numpy_for((1, 2, 3)) == ["numpy<2.2"]
    assert check_musl_wheel.numpy_for((1, 2, 4)) == check_musl_wheel.numpy_for((1, 3)) == ["numpy"]


# ---- packages of Debian ----


@pytest.mark.parametrize(
    ("packages", "sources"),
    [
        (
            "Types: deb\n# from an archive\nURIs: http://mirror\nSuites: trixie\nSigned-By: /key.gpg\n",
            "Types: deb-src\n# from an archive\nURIs: http://mirror\nSuites: trixie\nSigned-By: /key.gpg\n",
        ),
        ("Types: deb deb-src\nSuites: sid\n", "Types: deb-src\nSuites: sid\n"),
        ("deb [signed-by=/key] http://a sid main\n", "deb-src [signed-by=/key] http://a sid main\n"),
        ("deb http://a sid main\ndeb-src http://a sid main\n", "deb-src http://a sid main\n"),
    ],
)
def test_sources_come_from_where_packages_do(packages: str, sources: str) -> None:
    assert debian.as_sources(packages) == sources


def test_where_debian_is_unknown_there_are_no_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "run", lambda *command, **options: "")
    apt = debian.Debian(tmp_path)
    with pytest.raises(debian.StepError, match="apt knows no packages of Debian"):
        apt.sources(["zlib"])
    with pytest.raises(debian.StepError, match="which package python3 stands for"):
        apt.python()


def test_the_python_of_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = ["python3", "  PreDepends: python3-minimal", "  Depends: python3.13", ""]
    monkeypatch.setattr(debian, "run", lambda *command, **options: "\n".join(said))
    assert debian.Debian(tmp_path).python() == "python3.13"
