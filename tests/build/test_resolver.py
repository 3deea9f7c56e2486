# SPDX-License-Identifier: MIT
"""wheels/native_libs.py: the order of its sources, that it never mixes them, what it says when it fails."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import stat
import sys
from pathlib import Path

import blosc_source
import native_libs
import pytest

ALL = ("blosc", "zstd", "lz4", "zlib")
FILES = {"blosc": "libblosc.so", "zstd": "libzstd.so", "lz4": "liblz4.so", "zlib": "libz.so"}


def make_prefix(root: Path, libraries: tuple[str, ...] = ALL) -> Path:
    """A prefix that holds these libraries, as far as a resolver can see."""
    for directory in ("include", "lib"):
        (root / directory).mkdir(parents=True)
    for library in libraries:
        (root / "include" / native_libs.HEADERS[library]).touch()
        (root / "lib" / FILES[library]).touch()
    return root


def make_pkg_config(path: Path, known: tuple[str, ...]) -> str:
    """A pkg-config that knows these packages."""
    path.write_text(
        "#!/bin/sh\n"
        f"known=' {' '.join(known)} '\n"
        'case "$1" in\n'
        "--exists) for word in $2; do break; done\n"
        '  case "$known" in *" $word "*) exit 0;; esac; exit 1;;\n'
        "--cflags) echo -I/sys/include;;\n"
        "--libs) echo -L/sys/lib -lblosc -lzstd -llz4 -lz -pthread;;\n"
        "--modversion) echo 1.21.3; echo 1.5.4; echo 1.9.4; echo 1.2.13;;\n"
        "esac\n",
        encoding="ascii",
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


PACKAGES = ("blosc", "libzstd", "liblz4", "zlib")
needs_sh = pytest.mark.skipif(
    not os.path.exists("/bin/sh"), reason="the stand-in for pkg-config is a shell script"
)


@pytest.fixture(autouse=True)
def no_libdeflate_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it is about the other four; test_deflate.py is about that."""
    monkeypatch.setattr(native_libs, "DEFLATE_SOURCE", tmp_path / "none")
    monkeypatch.setattr(native_libs, "ZSTD_SOURCE", tmp_path / "none")


@pytest.fixture
def no_blosc_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> importlib.metadata.Distribution:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", absent)


class FakePackage:
    """An installed `blosc` with these files."""

    def __init__(self, root: Path, version: str, files: tuple[str, ...]) -> None:
        self.root, self.version = root, version
        self.files = [importlib.metadata.PackagePath(name) for name in files]
        for name in files:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).touch()

    def locate_file(self, file: importlib.metadata.PackagePath) -> Path:
        return self.root / file


def fake_package(monkeypatch: pytest.MonkeyPatch, root: Path, version: str, *files: str) -> None:
    package = FakePackage(root, version, files)
    monkeypatch.setattr(importlib.metadata, "distribution", lambda name: package)


# ---- prefixes ----


def test_prefix_of_blosc_holds_for_all(tmp_path: Path) -> None:
    prefix = make_prefix(tmp_path)
    libs = native_libs.resolve({"ZARRCORE_BLOSC_DIR": str(prefix)})
    assert libs.origin == "prefix"
    assert libs.libraries == ("blosc", "zstd", "lz4", "z")
    assert libs.include_dirs == (str(prefix / "include"),)
    assert libs.library_dirs == (str(prefix / "lib"),)
    assert libs.define_macros == (("ZC_LIBS_ORIGIN", "prefix"), ("ZC_SYSTEM_LIBS", "1"))
    assert f"-I{prefix / 'include'}" in libs.cflags()
    assert "-lzstd" in libs.ldflags()


def test_each_library_may_have_its_prefix(tmp_path: Path) -> None:
    prefixes = {library: make_prefix(tmp_path / library, (library,)) for library in ALL}
    libs = native_libs.resolve({f"ZARRCORE_{name.upper()}_DIR": str(path) for name, path in prefixes.items()})
    assert libs.library_dirs == tuple(str(prefixes[library] / "lib") for library in ALL)


@pytest.mark.parametrize("missing", ALL)
def test_prefix_that_lacks_one_is_an_error(tmp_path: Path, missing: str) -> None:
    """Never filled up from elsewhere."""
    prefix = make_prefix(tmp_path, tuple(library for library in ALL if library != missing))
    with pytest.raises(
        native_libs.ResolveError, match=f"^{missing}: .*{native_libs.HEADERS[missing]} not found"
    ):
        native_libs.resolve({"ZARRCORE_BLOSC_DIR": str(prefix)})


def test_prefix_without_the_library_file_is_an_error(tmp_path: Path) -> None:
    prefix = make_prefix(tmp_path)
    (prefix / "lib" / "liblz4.so").unlink()
    with pytest.raises(native_libs.ResolveError, match="^lz4: no library in"):
        native_libs.resolve({"ZARRCORE_BLOSC_DIR": str(prefix)})


def test_different_prefixes_without_one_for_blosc(tmp_path: Path) -> None:
    environ = {"ZARRCORE_ZSTD_DIR": str(tmp_path / "a"), "ZARRCORE_LZ4_DIR": str(tmp_path / "b")}
    with pytest.raises(native_libs.ResolveError, match="ZARRCORE_BLOSC_DIR is not set"):
        native_libs.resolve(environ)


@pytest.mark.parametrize("mode", ["wheel", "source"])
def test_prefix_contradicts_other_sources(tmp_path: Path, mode: str) -> None:
    environ = {"ZARRCORE_BLOSC_DIR": str(make_prefix(tmp_path)), "ZARRCORE_LIBS": mode}
    with pytest.raises(native_libs.ResolveError, match="contradict each other"):
        native_libs.resolve(environ)


@needs_sh
def test_prefix_wins_over_system(tmp_path: Path) -> None:
    environ = {
        "ZARRCORE_BLOSC_DIR": str(make_prefix(tmp_path / "prefix")),
        "PKG_CONFIG": make_pkg_config(tmp_path / "pkg-config", PACKAGES),
    }
    assert native_libs.resolve(environ).origin == "prefix"


# ---- system ----


@needs_sh
@pytest.mark.parametrize("mode", ["system", "auto", ""])
def test_system_when_all_four_answer(tmp_path: Path, mode: str) -> None:
    environ = {"ZARRCORE_LIBS": mode, "PKG_CONFIG": make_pkg_config(tmp_path / "pkg-config", PACKAGES)}
    libs = native_libs.resolve(environ)
    assert libs.origin == "system"
    assert libs.detail == "blosc 1.21.3, zstd 1.5.4, lz4 1.9.4, zlib 1.2.13"
    assert libs.include_dirs == ("/sys/include",)
    assert libs.library_dirs == ("/sys/lib",)
    assert libs.libraries == ("blosc", "zstd", "lz4", "z")
    assert libs.extra_link_args == ("-pthread",)
    assert libs.archives == ()
    assert libs.has_headers


@needs_sh
@pytest.mark.parametrize("missing", PACKAGES)
def test_system_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    known = tuple(name for name in PACKAGES if name != missing)
    environ = {"PKG_CONFIG": make_pkg_config(tmp_path / "pkg-config", known)}
    with pytest.raises(native_libs.ResolveError, match=f"does not know {missing} >="):
        native_libs.resolve({**environ, "ZARRCORE_LIBS": "system"})
    fake_package(monkeypatch, tmp_path / "site", "1.11.4", "lib/libblosc.a", "include/blosc.h")
    libs = native_libs.resolve(environ)
    assert libs.origin == "wheel"
    assert libs.libraries == () and libs.library_dirs == ()


def test_pkg_config_that_does_not_exist(tmp_path: Path) -> None:
    environ = {"ZARRCORE_LIBS": "system", "PKG_CONFIG": str(tmp_path / "none")}
    with pytest.raises(native_libs.ResolveError, match="does not know blosc >= .*libzstd"):
        native_libs.resolve(environ)


# ---- wheel ----


def test_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_package(
        monkeypatch, tmp_path, "1.11.4", "x/lib64/libblosc.a", "x/include/blosc.h", "blosc/__init__.py"
    )
    libs = native_libs.resolve({"ZARRCORE_LIBS": "wheel"})
    assert libs.origin == "wheel"
    assert libs.archives == (str(tmp_path.resolve() / "x/lib64/libblosc.a"),)
    assert libs.include_dirs == (str(tmp_path.resolve() / "x/include"),)
    macros = (("ZC_LIBS_ORIGIN", "wheel"),)
    assert libs.define_macros == macros, "the wheel holds blosc.h, but not the headers of the other three"


@pytest.mark.parametrize("version", ["1.11.1", "1.9", "1.10.6.dev3"])
def test_wheel_that_is_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    fake_package(monkeypatch, tmp_path, version, "lib/libblosc.a", "include/blosc.h")
    with pytest.raises(native_libs.ResolveError, match=f"version {version}, but 1.11.2 is needed"):
        native_libs.from_wheel()


@pytest.mark.parametrize("name", ["libblosc.a", "blosc.h"])
def test_wheel_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    files = tuple(file for file in ("lib/libblosc.a", "include/blosc.h") if not file.endswith(name))
    fake_package(monkeypatch, tmp_path, "1.11.4", *files)
    with pytest.raises(native_libs.ResolveError, match=f"holds no {name}"):
        native_libs.from_wheel()


# ---- source ----


def test_source_needs_a_directory() -> None:
    with pytest.raises(native_libs.ResolveError, match="needs ZARRCORE_BLOSC_SRC"):
        native_libs.resolve({"ZARRCORE_LIBS": "source"})


def test_source_that_is_none(tmp_path: Path) -> None:
    environ = {"ZARRCORE_LIBS": "source", "ZARRCORE_BLOSC_SRC": str(tmp_path)}
    with pytest.raises(native_libs.ResolveError, match="no c-blosc source tree"):
        native_libs.resolve(environ, build_dir=tmp_path / "build")


def make_source(root: Path, body: str = "") -> Path:
    """The skeleton of a blosc sdist, one C file per library."""
    base = root / "blosc" / "c-blosc"
    parts = ("blosc", "internal-complibs/lz4-1.10.0", "internal-complibs/zlib-1.3.1")
    zstd = [f"internal-complibs/zstd-1.5.6/{name}" for name in ("common", "compress", "decompress")]
    for number, part in enumerate([*parts, *zstd]):
        (base / part).mkdir(parents=True)
        (base / part / "file.c").write_text(
            body or f"int part_{number}(void) {{ return 0; }}\n", encoding="ascii"
        )
    (base / "blosc" / "blosc.h").touch()
    (base / "blosc" / "shuffle.c").write_text("int shuffle;\n", encoding="ascii")
    (base / "blosc" / "shuffle-avx2.c").write_text("int avx2;\n", encoding="ascii")
    return root


needs_cc = pytest.mark.skipif(sys.platform == "win32", reason="needs a compiler with cc's command line")


@needs_cc
def test_source_is_compiled_once(tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "ZARRCORE_LIBS": "source",
        "ZARRCORE_BLOSC_SRC": str(make_source(tmp_path / "src")),
    }
    for variable in ("ZARRCORE_BLOSC_DIR", "ZARRCORE_ZSTD_DIR", "ZARRCORE_LZ4_DIR", "ZARRCORE_ZLIB_DIR"):
        environ.pop(variable, None)
    libs = native_libs.resolve(environ, build_dir=tmp_path / "build")
    archive = Path(libs.archives[0])
    made = archive.stat().st_mtime_ns
    assert libs.origin == "source" and libs.has_headers
    assert len(libs.include_dirs) == 4
    native_libs.resolve(environ, build_dir=tmp_path / "build")
    assert archive.stat().st_mtime_ns == made


@needs_cc
def test_source_that_does_not_compile(tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "ZARRCORE_BLOSC_SRC": str(make_source(tmp_path / "src", "#error no such thing\n")),
    }
    with pytest.raises(native_libs.ResolveError, match="no such thing"):
        native_libs.from_source(environ, build_dir=tmp_path / "build")
    assert not list(tmp_path.rglob("libblosc.a"))


@pytest.mark.parametrize(("machine", "has_avx2"), [("x86_64", True), ("AMD64", True), ("aarch64", False)])
def test_source_files_follow_the_machine(tmp_path: Path, machine: str, has_avx2: bool) -> None:
    tree = blosc_source.find_tree(make_source(tmp_path))
    files = {path.name: args for path, args in blosc_source.sources(tree, machine).items()}
    assert ("shuffle-avx2.c" in files) == has_avx2
    assert ("-DSHUFFLE_AVX2_ENABLED" in files["shuffle.c"]) == has_avx2


@needs_cc
def test_the_machine_is_the_compilers() -> None:
    assert blosc_source.machine_of(["cc"]) == platform.machine()
    assert blosc_source.machine_of(["echo", "s390x-unknown-linux-musl"]) == "s390x"
    assert blosc_source.machine_of(["true"]) == platform.machine()
    with pytest.raises(blosc_source.SourceError, match="no-such-compiler"):
        blosc_source.machine_of(["no-such-compiler"])


# ---- failures ----


def test_nothing_found_says_why_and_what_to_do(tmp_path: Path, no_blosc_package: None) -> None:
    with pytest.raises(native_libs.ResolveError) as caught:
        native_libs.resolve({"PKG_CONFIG": str(tmp_path / "none")})
    message = str(caught.value)
    assert "system: pkg-config" in message
    assert "wheel: the Python package 'blosc' is not installed" in message
    for command in (
        "pip install 'blosc>=1.11.2'",
        "apt-get install pkg-config libblosc-dev",
        "ZARRCORE_LIBS=source",
    ):
        assert command in message


def test_unknown_mode_names_the_known_ones() -> None:
    with pytest.raises(
        native_libs.ResolveError, match="'wheels': expected one of auto, system, wheel, source"
    ):
        native_libs.resolve({"ZARRCORE_LIBS": "wheels"})


def test_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ZARRCORE_LIBS", raising=False)
    monkeypatch.setenv("ZARRCORE_DEFLATE", "off")
    monkeypatch.setenv("ZARRCORE_ZSTD", "off")
    monkeypatch.setenv("ZARRCORE_BLOSC_DIR", str(make_prefix(tmp_path)))
    assert native_libs.main(["--libs"]) == 0
    assert "-lblosc" in capsys.readouterr().out
    assert native_libs.main(["--describe"]) == 0
    assert capsys.readouterr().out.startswith("prefix: ")
    assert native_libs.main([]) == 2
    assert "usage:" in capsys.readouterr().err
    monkeypatch.setenv("ZARRCORE_BLOSC_DIR", str(tmp_path / "nowhere"))
    assert native_libs.main(["--cflags"]) == 1
    assert capsys.readouterr().err.startswith("error: blosc: ")
