# SPDX-License-Identifier: MIT
"""What goes into wheels and sdists, the checks that watch over it, and the configuration of cibuildwheel."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import build_wheels
import check_sdist
import check_wheel
import pytest

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / "wheels"


# ---- contents.txt ----


def listed() -> list[str]:
    return check_wheel.CONTENTS.read_text(encoding="utf-8").splitlines()


def test_contents_are_those_of_the_tree() -> None:
    """A file more or less in the package is a change that somebody has to have meant: `make contents`."""
    assert listed() == check_wheel.tree_contents()


@pytest.mark.parametrize(
    "name",
    [
        "zarrcore/py.typed",
        "zarrcore/__init__.pxd",
        "zarrcore/include/zarrcore.h",
        "zarrcore/include/zarrcore.hpp",
        "zarrcore/include/zarrcore.f90",
        *check_wheel.LIBRARY,
        "zarrcore/_core/engine/_modules.MODULE",
        "zarrcore/_core/engine/__init__.pyi",
        "zarrcore/_core/kernels.MODULE",
        "zarrcore/_core/kernels.pyi",
        *(f"zarrcore-VERSION.dist-info/licenses/wheels/licenses/{name}" for name in check_wheel.LICENSES[1:]),
        "zarrcore-VERSION.dist-info/licenses/LICENSE",
    ],
)
def test_contents_hold(name: str) -> None:
    assert name in listed()


def test_licenses_are_texts() -> None:
    for name in check_wheel.LICENSES[1:]:
        text = (WHEELS / "licenses" / name).read_text(encoding="utf-8")
        assert "copyright" in text.lower() and len(text) > 500, name


# ---- check_wheel ----


def make_wheel(directory: Path, names: Iterable[str], platform: str = "linux_x86_64") -> Path:
    """A wheel of empty files, named as contents.txt names them."""
    wheel = directory / f"zarrcore-9.8.7-cp312-cp312-{platform}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names:
            real = name.replace("VERSION", "9.8.7").replace(".MODULE", ".cpython-312-x86_64-linux-gnu.so")
            real = real.replace(".LIBRARY", ".1.dylib" if "macos" in platform else ".so.1")
            archive.writestr(real, b"")
    return wheel


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules of these wheels are empty: nothing for nm and readelf."""
    monkeypatch.setattr(check_wheel, "which", lambda name: None)


@pytest.mark.usefixtures("no_tools")
def test_whole_wheel_has_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel = make_wheel(tmp_path, listed())
    assert check_wheel.main([str(wheel)]) == 0
    assert capsys.readouterr().out == f"{wheel.name}: ok, {wheel.stat().st_size // 1024} KiB\n"


@pytest.mark.usefixtures("no_tools")
@pytest.mark.parametrize(
    ("surplus", "reason"),
    [
        ("zarrcore/_core/kernels.c", "does not belong into a wheel"),
        ("zarrcore/_core/engine/arrays.pyx", "does not belong into a wheel"),
        ("zarrcore/_core/left_over.MODULE", "is not in contents.txt"),
        ("zarrcore.libs/libz.so.1", "is not in contents.txt"),
        ("tests/test_it.py", "is not in contents.txt"),
    ],
)
def test_surplus_files_are_found(tmp_path: Path, surplus: str, reason: str) -> None:
    found = check_wheel.faults(make_wheel(tmp_path, [*listed(), surplus]))
    assert any(fault.startswith(surplus.partition(".MODULE")[0]) and reason in fault for fault in found)


@pytest.mark.usefixtures("no_tools")
@pytest.mark.parametrize(
    "missing", ["zarrcore/py.typed", "zarrcore/_core/engine/_modules.MODULE", "zarrcore/errors.py"]
)
def test_missing_files_are_found(tmp_path: Path, missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    wheel = make_wheel(tmp_path, [name for name in listed() if name != missing])
    assert check_wheel.main([str(wheel)]) == 1
    assert f"{missing} is missing" in capsys.readouterr().err


@pytest.mark.usefixtures("no_tools")
@pytest.mark.parametrize(
    ("platform", "good"),
    [
        ("manylinux2014_x86_64.manylinux_2_17_x86_64", True),
        ("manylinux_2_17_x86_64", True),
        ("manylinux_2_34_x86_64", False),
        ("linux_x86_64", False),
    ],
)
def test_tag(tmp_path: Path, platform: str, good: bool) -> None:
    found = check_wheel.faults(make_wheel(tmp_path, listed(), platform), policy="manylinux_2_17")
    assert found == ([] if good else [f"platform {platform}: expected manylinux_2_17"])
    (fault,) = check_wheel.faults(make_wheel(tmp_path, listed(), platform), policy="musllinux_1_2")
    assert fault == f"platform {platform}: expected musllinux_1_2"


@pytest.mark.usefixtures("no_tools")
@pytest.mark.parametrize(
    "platform", ["linux_x86_64", "musllinux_1_2_aarch64", "macosx_11_0_arm64", "win_amd64"]
)
def test_libzarrcore_is_in_the_wheels_of_its_platforms(tmp_path: Path, platform: str) -> None:
    """macOS has no static one, since nothing hides what is in it there; Windows has none."""
    has = [name for name in listed() if any(s in platform for s in check_wheel.LIBRARY.get(name, [""]))]
    wheel = make_wheel(tmp_path, has, platform)
    assert check_wheel.faults(wheel) == []
    assert len(listed()) - len(has) == {"macosx": 1, "win": 5}.get(platform.split("_")[0], 0)
    if "win" in platform.split("_")[0]:
        wheel = make_wheel(tmp_path, [*has, "zarrcore/lib/libzarrcore.a"], platform)
        assert len(check_wheel.faults(wheel)) == 1


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not shutil.which("cc") or not shutil.which("readelf"),
    reason="builds and reads ELF files",
)
def test_symbols_and_libraries_are_found(tmp_path: Path) -> None:
    source, module = tmp_path / "m.c", tmp_path / "engine.so"
    source.write_text("int PyInit_engine(void) { return 0; }\nint ZSTD_compress(void) { return 0; }\n")
    other = tmp_path / "libother.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", other, source], check=True)
    link = ["-Wl,--no-as-needed", f"-L{tmp_path}", "-lother"]
    subprocess.run(["cc", "-shared", "-fPIC", "-o", module, source, *link], check=True)
    modules = {"zarrcore/engine.so": str(module)}
    assert check_wheel._symbol_faults(modules) == ["zarrcore/engine.so exports ZSTD_compress"]
    assert check_wheel._library_faults(modules) == ["zarrcore/engine.so needs libother.so"]
    needed = check_wheel._library_faults(modules, "musllinux_1_2")
    assert needed[0] == "zarrcore/engine.so needs libother.so"
    assert set(needed[1:]) <= {"zarrcore/engine.so needs libc.so.6"}, "glibc, by a compiler for that"
    assert check_wheel.SYSTEM_LIBRARIES["musllinux"].fullmatch("libc.musl-x86_64.so.1")
    assert check_wheel._library_symbol_faults({"zarrcore/lib/libzarrcore.so.1": str(other)}) == [
        f"zarrcore/lib/libzarrcore.so.1 exports {name}" for name in ("PyInit_engine", "ZSTD_compress")
    ]
    modules = {"zarrcore/engine/_modules.so": str(module)}
    sources = tmp_path / "zarrcore" / "engine"
    sources.mkdir(parents=True)
    for name in ("engine.pyx", "chains.pyx", "../other.pyx"):
        (sources / name).touch()
    assert check_wheel._symbol_faults(modules, tmp_path) == [
        "zarrcore/engine/_modules.so exports ZSTD_compress",
        "zarrcore/engine/_modules.so has no PyInit_chains",
    ]


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not shutil.which("cc") or not shutil.which("readelf"),
    reason="builds and reads ELF files",
)
def test_relocations_that_older_loaders_do_not_know_are_found(tmp_path: Path) -> None:
    """musl before 1.2.4 does not look at them: the module crashes at the first pointer."""
    source = tmp_path / "m.c"
    source.write_text("static int i, j; int *PyInit_engine[] = {&i, &j, &i, &j};\n")
    for flag in ("nopack-relative-relocs", "pack-relative-relocs"):
        command = ["cc", "-shared", "-fPIC", "-o", tmp_path / f"{flag}.so", source, f"-Wl,-z,{flag}"]
        done = subprocess.run(command, capture_output=True, text=True)
        if flag in done.stderr:
            pytest.skip(f"this linker does not pack relocations: {done.stderr.strip()}")
        assert done.returncode == 0, done.stderr
    packed = {"packed.so": str(tmp_path / "pack-relative-relocs.so")}
    plain = {"plain.so": str(tmp_path / "nopack-relative-relocs.so")}
    assert check_wheel._library_faults(plain) == []
    (fault,) = check_wheel._library_faults(packed)
    assert fault.startswith("packed.so has packed relocations (DT_RELR): it needs musl 1.2.4")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf (binutils)")
def test_modules_need_none_of_the_libraries_that_are_in_the_archive() -> None:
    """Linked from the `blosc` package, no module asks for a shared library beyond those of the C library."""
    import zarrcore

    if zarrcore.show_config(mode="dicts")["origin"] != "wheel":
        pytest.skip("the libraries of this build are not in an archive")
    specs = [find_spec(f"zarrcore._core.{name}") for name in ("engine._modules", "kernels", "vlen._modules")]
    assert None not in specs
    faults = check_wheel._library_faults({spec.name: spec.origin for spec in specs})
    runtimes = ("libasan", "libubsan", "libtsan", "libgcov", "libdeflate")
    assert [fault for fault in faults if not any(name in fault for name in runtimes)] == []


# ---- check_sdist ----


def make_sdist(path: Path, names: Iterable[str]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(f"zarrcore-9.8.7/{name}"), io.BytesIO())
    return path


def test_sdist_faults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sdist = make_sdist(tmp_path / "x.tar.gz", ["a.py", "sub/b.py", "sub/c.so"])
    monkeypatch.setattr(check_sdist, "committed", lambda: {"a.py", "tests/t.py", ".gitignore"})
    monkeypatch.setattr(check_sdist, "again", lambda _: {"a.py", "sub/c.so"})
    assert check_sdist.faults(sdist) == [
        "tests/t.py is missing",
        "sub/c.so does not belong into an sdist",
        "sub/b.py differs when it is built again",
    ]


# ---- build_wheels ----


def test_step_that_fails_shows_its_output() -> None:
    with pytest.raises(build_wheels.StepError, match="no such luck"):
        build_wheels.run([sys.executable, "-c", "import sys; sys.exit('no such luck')"])


@pytest.mark.skipif(os.name == "nt", reason="sends a signal")
def test_step_that_crashes_without_a_word_is_said_to_have_crashed() -> None:
    """The build of a wheel for musl ended with a list of files that all were compiled."""
    with pytest.raises(build_wheels.StepError, match=": status -15"):
        build_wheels.run([sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"])


@pytest.mark.skipif(os.name == "nt", reason="pythons.sh is a shell script")
def test_pythons_of_this_machine() -> None:
    found = build_wheels.pythons([])
    assert len({python.version for python in found}) == len(found)
    for python in found:
        answer = subprocess.run(
            [python.path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert answer.stdout.strip() == python.version


# ---- cibuildwheel ----

PYTHONS = ("cp311", "cp312", "cp313", "cp314", "cp314t")
PLATFORMS = {
    "linux": ("manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"),
    "macos": ("macosx_x86_64", "macosx_arm64"),
    "windows": ("win_amd64",),
}


@pytest.mark.skipif(find_spec("cibuildwheel") is None, reason="cibuildwheel is not installed")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_cibuildwheel_builds(platform: str) -> None:
    command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", platform]
    command += ["--config-file", str(WHEELS / "cibuildwheel.toml"), str(ROOT)]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CIBW_")}
    done = subprocess.run(command, capture_output=True, text=True, env=environ, timeout=100)
    assert done.returncode == 0, done.stderr
    wanted = {f"{python}-{target}" for python in PYTHONS for target in PLATFORMS[platform]}
    assert set(done.stdout.split()) == wanted


def test_images_are_new_enough_for_wheels_of_numpy() -> None:
    """Those for CPython 3.14 need glibc 2.27; pip would compile numpy in an older image."""
    settings = tomllib.loads((WHEELS / "cibuildwheel.toml").read_text(encoding="utf-8"))
    images = {
        name: image for name, image in settings["tool"]["cibuildwheel"]["linux"].items() if "-image" in name
    }
    assert len(images) == 4
    for name, image in images.items():
        libc, major, minor = image.split("_")
        assert (int(major), int(minor)) >= ((2, 27) if libc == "manylinux" else (1, 2)), name
