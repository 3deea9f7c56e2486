# SPDX-License-Identifier: MIT
"""examples/c and examples/fortran: built against libzarrcore with pkg-config, statically too, and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from capi_programs import compile_program, linked, run_program
from object_server import ObjectServer

import zarrcore

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="libzarrcore is built by make"),
]


@pytest.fixture
def values(tmp_path: Path) -> np.ndarray:
    values = np.random.default_rng(0).random((12, 7))
    zarrcore.create_array(store=tmp_path / "array", shape=(12, 7), chunks=(2, 7), shards=(6, 7), dtype="f8")[
        ...
    ] = values
    return values


def flags(prefix: Path, *options: str) -> list[str]:
    """What pkg-config says of the installation at prefix."""
    environ = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    command = ["pkg-config", *options, "zarrcore"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ)
    return done.stdout.split()


def numbers(text: str) -> np.ndarray:
    return np.array([float(line) for line in text.split("\n") if line and line.lstrip("- ")[0].isdigit()])


@pytest.mark.parametrize("linking", ["shared", "static"])
def test_c(prefix: Path, values: np.ndarray, tmp_path: Path, linking: str) -> None:
    if linking == "shared":
        libs = [*flags(prefix, "--libs"), f"-Wl,-rpath,{prefix / 'lib'}"]
    else:
        private = [flag for flag in flags(prefix, "--libs", "--static") if flag != "-lzarrcore"]
        libs = [str(prefix / "lib" / "libzarrcore.a"), *private]
    source = EXAMPLES / "c" / "read_region.c"
    program = compile_program(
        "cc", tmp_path / "read_region", "-std=c11", source, *flags(prefix, "--cflags"), *libs
    )
    done = run_program(program, tmp_path / "array", "3:10:2", "1:7")
    assert done.returncode == 0, done.stderr
    assert "dimension 0: 12 elements, chunks of 6 (inner chunks of 2)" in done.stdout
    np.testing.assert_array_equal(numbers(done.stdout), values[3:10:2, 1:7].ravel())
    assert len(numbers(run_program(program, tmp_path / "array").stdout)) == values.size

    done = run_program(program, tmp_path / "array", "3:99", "1:7")
    assert (done.returncode, "leave the array's 12" in done.stderr) == (1, True)
    done = run_program(program, tmp_path / "nothing")
    assert (done.returncode, "there is no such directory" in done.stderr) == (1, True)
    assert run_program(program, tmp_path / "array", "1:2").returncode == 2


def example(prefix: Path, name: str, target: Path, standard: str, *more: str) -> Path:
    """An example in C or C++, linked with the shared library."""
    compiler = "c++" if name.endswith(".cpp") else "cc"
    return compile_program(
        compiler, target, f"-std={standard}", "-Wpedantic", EXAMPLES / name, *linked(prefix), *more
    )


def test_progress(prefix: Path, values: np.ndarray, tmp_path: Path) -> None:
    program = example(prefix, "c/progress.c", tmp_path / "progress", "gnu11")
    assert float(run_program(program, tmp_path / "array").stdout) == pytest.approx(values.sum())
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "array")
    assert float(run_program(program, tmp_path / "packed.zip").stdout) == pytest.approx(values.sum())
    done = run_program(program, tmp_path / "nothing")
    assert (done.returncode, "there is no such directory" in done.stderr) == (1, True)


def test_a_web_server(prefix: Path, values: np.ndarray, tmp_path: Path) -> None:
    """Over libcurl; chunks are asked for together."""
    found = subprocess.run(["pkg-config", "--cflags", "--libs", "libcurl"], capture_output=True, text=True)
    if found.returncode != 0:
        pytest.skip("no libcurl (apt-get install libcurl4-openssl-dev)")
    program = example(prefix, "c/http_store.c", tmp_path / "http_store", "gnu11", *found.stdout.split())
    files = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with ObjectServer() as server:
        server.objects.update({f"data/{key}": value for key, value in files.items()})
        with server.watch() as seen:
            done = run_program(program, f"{server.url}/data", "array")
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) == pytest.approx(values.sum())
        assert seen.waves <= 4, str(seen)  # documents, the indexes of two shards, their chunks
        done = run_program(program, f"{server.url}/data", "nothing")
        assert (done.returncode, "missing" in done.stderr) == (1, True)
    done = run_program(program, f"{server.url}/data", "array")
    assert (done.returncode, "input/output error" in done.stderr) == (1, True)


def test_a_prefix_can_be_moved(prefix: Path, values: np.ndarray, tmp_path: Path) -> None:
    """Nothing in it says where it, or what it was linked with, was built."""
    moved = tmp_path / "elsewhere"
    shutil.copytree(prefix, moved, symlinks=True)
    libs = flags(moved, "--libs", "--static")
    archives = [Path(flag) for flag in libs if flag.endswith(".a")]
    assert all(moved in path.resolve().parents for path in archives), libs
    source = EXAMPLES / "c" / "read_region.c"
    private = [flag for flag in libs if flag != "-lzarrcore"]
    archive = str(moved / "lib" / "libzarrcore.a")
    program = compile_program("cc", tmp_path / "read", source, *flags(moved, "--cflags"), archive, *private)
    assert len(numbers(run_program(program, tmp_path / "array").stdout)) == values.size


def test_cpp(prefix: Path, tmp_path: Path) -> None:
    values = np.random.default_rng(0).integers(0, 100, (23, 14)).astype("i4")
    array = zarrcore.create_array(store=tmp_path / "array", shape=values.shape, chunks=(5, 4), dtype="i4")
    array[...] = values
    program = example(prefix, "cpp/rows.cpp", tmp_path / "rows", "c++17")
    done = run_program(program, tmp_path / "array")
    assert (done.returncode, float(done.stdout)) == (0, 2 * values.sum()), done.stderr
    np.testing.assert_array_equal(array[...], 2 * values)
    done = run_program(program, tmp_path / "nothing")
    assert (done.returncode, "there is no such directory (status -8)" in done.stderr) == (1, True)
    array[0, 0] = 2**31 - 1
    done = run_program(program, tmp_path / "array")
    assert (done.returncode, "value 4294967294 cannot be stored as i4" in done.stderr) == (1, True)


@pytest.mark.skipif(shutil.which("cmake") is None, reason="no cmake (apt-get install cmake)")
@pytest.mark.skipif(bool(os.environ.get("ZARRCORE_SANITIZE")), reason="its programs are not instrumented")
def test_cmake(prefix: Path, values: np.ndarray, tmp_path: Path) -> None:
    build = tmp_path / "build"
    for command in (
        ["cmake", "-S", EXAMPLES / "cmake", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}"],
        ["cmake", "--build", build],
    ):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    for program in ("read_region", "read_region_static"):
        found = run_program(build / program, tmp_path / "array").stdout
        np.testing.assert_array_equal(numbers(found), values.ravel())


def test_install_puts_the_same_files_below_destdir(prefix: Path, tmp_path: Path) -> None:
    """It plans to, at least: what it would run is what `make lib` runs, with another prefix."""
    command = [
        "make",
        "-n",
        "-C",
        str(EXAMPLES.parent / "csrc"),
        "install",
        f"DESTDIR={tmp_path}",
        "PREFIX=/usr",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("lib/libzarrcore.a", "include/zarrcore.h", "lib/pkgconfig/zarrcore.pc"):
        assert f"{tmp_path}/usr/{name}" in done.stdout
    assert {path.name for path in (prefix / "lib" / "cmake" / "Zarrcore").iterdir()} == {
        "ZarrcoreConfig.cmake",
        "ZarrcoreConfigVersion.cmake",
    }


def fortran(prefix: Path, name: str, directory: Path) -> Path:
    """An example, compiled with the module that is installed."""
    sources = [prefix / "include" / "zarrcore.f90", EXAMPLES / "fortran" / f"{name}.f90"]
    return compile_program("gfortran", directory / name, "-std=f2018", *sources, *linked(prefix))


def test_fortran(prefix: Path, values: np.ndarray, tmp_path: Path) -> None:
    program = fortran(prefix, "read_region", tmp_path)
    done = run_program(program, tmp_path / "array")
    assert done.returncode == 0, done.stderr
    np.testing.assert_allclose(numbers(done.stdout), values.sum(axis=1), rtol=1e-15)
    done = run_program(program, tmp_path / "nothing")
    assert (done.returncode, "there is no such directory" in done.stdout) == (1, True)


def test_fortran_writes(prefix: Path, tmp_path: Path) -> None:
    program = fortran(prefix, "write_rows", tmp_path)
    done = run_program(program, tmp_path / "store")
    assert done.returncode == 0, done.stdout + done.stderr
    array = zarrcore.open_array(tmp_path / "store", path="fields/height")
    rows = np.arange(1, 21)[:, None] + np.arange(1, 8) / 100
    np.testing.assert_array_equal(array[...], np.vstack([rows, np.full(7, -1), np.full(7, -2)]))
    assert (array.attrs["units"], array.dimension_names) == ("m", ("y", "x"))
    done = run_program(program, tmp_path / "store")
    assert (done.returncode, "an array is there already" in done.stdout) == (1, True)


def test_the_fortran_module_has_what_the_header_has() -> None:
    """Statuses, flags, and the arguments of each function in their order."""
    include = EXAMPLES.parent / "csrc" / "include"
    header = re.sub(r"/\*.*?\*/", "", (include / "zarrcore.h").read_text(encoding="utf-8"), flags=re.DOTALL)
    module = re.sub(r" *& *\n *", " ", (include / "zarrcore.f90").read_text(encoding="utf-8"))
    statuses = dict(re.findall(r"(zarrcore_\w+) = (-?\d+)", module))
    found = dict(re.findall(r"^ +ZARRCORE_(\w+) = (-?\d+)", header, re.MULTILINE))
    found |= dict(re.findall(r"^#define ZARRCORE_(\w+) (\d+)", header, re.MULTILINE))
    enumerators = {f"zarrcore_{name.lower()}": value for name, value in found.items()}
    assert statuses.items() <= enumerators.items()
    assert len([name for name in statuses if "_err_" in name]) == header.count("    ZARRCORE_ERR_")
    module, callbacks = re.subn(r"abstract interface.*?end interface", "", module, flags=re.DOTALL)
    assert callbacks == 1
    functions = re.findall(r"(?:function|subroutine) (zarrcore_\w+)\(([^)]*)\) bind", module)
    assert len(functions) == len(re.findall(r"^ {8}end (?:function|subroutine) ", module, re.MULTILINE))
    for name, arguments in functions:
        (declared,) = re.findall(rf"^ZARRCORE_PUBLIC [\w ]+\**{name}\(([^)]*)\);", header, re.MULTILINE)
        names = [one.split()[-1].lstrip("*").replace("type", "kind") for one in declared.split(",")]
        given = [one.strip() or "void" for one in arguments.split(",")]
        assert len(given) == len(names)
        assert all(mine == name or name == "out" for mine, name in zip(given, names, strict=True)), name


def test_without_yyjson(tmp_path: Path) -> None:
    """The build says what is missing and how to get it."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    variables = [f"BUILD={tmp_path}", "YYJSON_CFLAGS=", "YYJSON_LIBS="]
    command = ["make", "-C", str(EXAMPLES.parent / "csrc"), "has-yyjson", *variables]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0
    assert "make sources" in done.stderr
    assert "apt-get install libyyjson-dev" in done.stderr


def test_licences_are_there(prefix: Path) -> None:
    """Whoever hands on the library hands on these."""
    found = {path.name for path in (prefix / "share" / "licenses" / "zarrcore").iterdir()}
    assert {"LICENSE", "c-blosc.txt", "libdeflate.txt", "zlib.txt", "zstd.txt"} <= found


OTHER_ZLIB = """
#include <stdlib.h>
#define OTHER(name) void name(void); void name(void) { abort(); }
OTHER(inflate) OTHER(inflateInit2_) OTHER(deflate) OTHER(adler32) OTHER(crc32) OTHER(compress)
OTHER(uncompress) OTHER(LZ4_decompress_safe) OTHER(LZ4_compress_fast) OTHER(LZ4_compress_default)
OTHER(blosc_decompress) OTHER(ZSTD_decompress) OTHER(ZSTD_decompressDCtx) OTHER(ZSTD_createDCtx)
OTHER(ZSTD_compressCCtx) OTHER(libdeflate_zlib_decompress) OTHER(libdeflate_gzip_decompress)
OTHER(yyjson_read_opts)
"""
"""Functions by the names of other libraries, which nobody may call."""


needs_sealing = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("objcopy") is None or bool(os.environ.get("ZARRCORE_SANITIZE")),
    reason="needs objcopy (binutils), no sanitizer: else libraries lie next to libzarrcore.a",
)


@needs_sealing
@pytest.mark.parametrize("order", ["before", "after"])
def test_a_program_has_another_zlib(prefix: Path, values: np.ndarray, tmp_path: Path, order: str) -> None:
    (tmp_path / "other.c").write_text(OTHER_ZLIB)
    other = compile_program("cc", tmp_path / "other.o", tmp_path / "other.c", "-c", "-fno-builtin")
    libs = [flag for flag in flags(prefix, "--libs", "--static") if flag != "-lzarrcore"]
    if any(flag in ("-lz", "-lblosc", "-lzstd", "-llz4") for flag in libs):
        pytest.skip("the shared libraries of the system take whatever is there first")
    library = str(prefix / "lib" / "libzarrcore.a")
    objects = [str(other), library] if order == "before" else [library, str(other)]
    source = EXAMPLES / "c" / "read_region.c"
    program = compile_program("cc", tmp_path / "read", source, *flags(prefix, "--cflags"), *objects, *libs)
    compressors = [
        zarrcore.codecs.GZip(),
        zarrcore.codecs.Zlib(),
        zarrcore.codecs.Zstd(),
        zarrcore.codecs.LZ4(),
        *(zarrcore.codecs.Blosc(cname=name) for name in ("zlib", "zstd", "lz4")),
    ]
    for number, compressor in enumerate(compressors):
        array = zarrcore.create_array(
            tmp_path / f"{number}", shape=values.shape, dtype="f8", zarr_format=2, compressors=compressor
        )
        array[...] = values
        done = run_program(program, tmp_path / f"{number}")
        assert done.returncode == 0, (compressor, done.stderr)
        np.testing.assert_array_equal(numbers(done.stdout), values.ravel())


@needs_sealing
def test_the_static_library_shows_its_functions_alone(prefix: Path) -> None:
    assert not (prefix / "lib" / "zarrcore").exists(), "the libraries are inside"
    command = ["nm", "-g", "-P", "--defined-only", str(prefix / "lib" / "libzarrcore.a")]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    names = {line.split()[0] for line in listing if len(line.split()) > 1}
    assert len(names) > 30 and all(name.startswith("zarrcore_") for name in names), names


def test_symbols(prefix: Path) -> None:
    """The shared library shows its API and nothing of the core or of the linked libraries."""
    if shutil.which("nm") is None or sys.platform == "darwin":
        pytest.skip("needs nm for ELF files")
    command = ["nm", "-D", "--defined-only", str(prefix / "lib" / "libzarrcore.so")]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    names = {line.split()[-1] for line in listing if line}
    header = (prefix / "include" / "zarrcore.h").read_text()
    assert len(names) == header.count("\nZARRCORE_PUBLIC ")
    assert all(name.startswith("zarrcore_") and f"{name}(" in header for name in names)


def test_a_tree_in_c(prefix: Path, tmp_path: Path) -> None:
    program = example(prefix, "c/tree.c", tmp_path / "tree", "c11")
    done = run_program(program, tmp_path / "new" / "store")
    assert done.returncode == 0, done.stderr
    assert "summer {}\nsummer/temperature {" in done.stdout
    array = zarrcore.open_group(tmp_path / "new" / "store")["summer/temperature"]
    assert array.shape == (4, 3)
    assert array.dimension_names == ("time", "station")
    assert array.attrs["units"] == "degC"
    np.testing.assert_array_equal(array[2:], [[21.5, 19.0, 18.25], [20.0, 18.5, 17.75]])
    again = run_program(program, tmp_path / "new" / "store")
    assert again.returncode == 1
    assert "already there: the root: a group is there already" in again.stderr


def test_a_tree_in_cpp(prefix: Path, tmp_path: Path) -> None:
    program = example(prefix, "cpp/tree.cpp", tmp_path / "tree", "c++17")
    done = run_program(program, tmp_path / "store")
    assert done.returncode == 0, done.stderr
    assert done.stdout == 'counts 2 "hand"\ntime, 2 chunks: 1 2 3 4 5\n0 left\n'


def test_a_store_in_memory_in_c(prefix: Path, tmp_path: Path) -> None:
    program = example(prefix, "c/memory_store.c", tmp_path / "memory", "c11")
    done = run_program(program)
    assert done.returncode == 0, done.stderr
    values = np.arange(60 * 80).reshape(60, 80)[17:19, 33:36].ravel()
    assert done.stdout == " ".join(map(str, values)) + "\nnumbers\n"
