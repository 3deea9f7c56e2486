# SPDX-License-Identifier: MIT
"""The C API in its two flavours, called through ctypes (which lets go of the GIL during calls)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from capi_callbacks import Callbacks
from capi_documents import LibraryError
from capi_regions import Region
from capi_watch import Watch

import zarrcore

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "csrc" / "include" / "zarrcore.h"
SANITIZE = os.environ.get("ZARRCORE_SANITIZE", "")  # as `make asan` and `make tsan` say

INTS = ctypes.POINTER(ctypes.c_int64)
SIZE = ctypes.POINTER(ctypes.c_size_t)


class Error(ctypes.Structure):
    """struct zarrcore_error."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("status", ctypes.c_int32),
        ("sys_errno", ctypes.c_int32),
        ("chunk_ndim", ctypes.c_int32),
        ("chunk", ctypes.c_int64 * 64),
        ("in_shard", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("inner_chunk", ctypes.c_uint64),
        ("offset", ctypes.c_uint64),
        ("nbytes", ctypes.c_uint64),
        ("codec", ctypes.c_char * 32),
        ("key", ctypes.c_char * 256),
        ("message", ctypes.c_char * 320),
    ]

    def __init__(self) -> None:
        super().__init__(struct_size=ctypes.sizeof(Error))

    @property
    def place(self) -> tuple[int, ...] | None:
        return None if self.chunk_ndim < 0 else tuple(self.chunk[: self.chunk_ndim])


class Extent(ctypes.Structure):
    """struct zarrcore_extent."""

    _fields_ = [("offset", ctypes.c_uint64), ("nbytes", ctypes.c_uint64)]


C_TYPES = {
    "int": ctypes.c_int,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "void": None,
    "char *": ctypes.c_char_p,
    "void *": ctypes.c_void_p,
    "zarrcore_array *": ctypes.c_void_p,
    "zarrcore_array **": ctypes.POINTER(ctypes.c_void_p),
    "int64_t *": INTS,
    "size_t *": SIZE,
    "zarrcore_error *": ctypes.POINTER(Error),
    "zarrcore_extent *": ctypes.POINTER(Extent),
    "zarrcore_region *": ctypes.POINTER(Region),
    "char **": ctypes.POINTER(ctypes.c_void_p),
    "zarrcore_store *": ctypes.c_void_p,
    "zarrcore_store **": ctypes.POINTER(ctypes.c_void_p),
    "zarrcore_nodes *": ctypes.c_void_p,
    "zarrcore_nodes **": ctypes.POINTER(ctypes.c_void_p),
    "zarrcore_callbacks *": ctypes.POINTER(Callbacks),
    "zarrcore_watch *": ctypes.POINTER(Watch),
    "zarrcore_allocator *": ctypes.c_void_p,
    "zarrcore_reply *": ctypes.c_void_p,
}


NEED_PYTHON = {"from_python", "raise"}


def c_type(text: str) -> Any:
    """The ctypes type of a C declaration with or without a name."""
    text = re.sub(r"\bconst\b", "", text).strip()
    base, stars = re.fullmatch(r"(\w+)\s*(\**)\s*\w*", text).groups()
    return C_TYPES[f"{base} {stars}".strip()]


def slots() -> list[tuple[str, str, str]]:
    """(result, name, arguments) of the slots of the table, in order."""
    text = HEADER.read_text(encoding="utf-8")
    body = text[text.index("typedef struct zarrcore_api {") : text.index("} zarrcore_api;")]
    found = re.findall(r"^ {4}([\w ]+\**)\(\*(\w+)\)\(([^)]*)\);", body, re.MULTILINE)
    return [(result.strip(), name, " ".join(args.split())) for result, name, args in found]


def library_functions() -> dict[str, tuple[str, str]]:
    """(result, arguments) of the functions that libzarrcore alone has."""
    text = HEADER.read_text(encoding="utf-8")
    found = re.findall(r"^ZARRCORE_PUBLIC ([\w ]+\**)zarrcore_(\w+)\(([^)]*)\);", text, re.MULTILINE)
    own = {name for _, name, _ in slots()}
    return {name: (result.strip(), " ".join(args.split())) for result, name, args in found if name not in own}


class Api:
    """Functions by name; ``bind`` makes one from (name, result type, argument types)."""

    def __init__(self, bind: Callable[[str, Any, list[Any]], Any], flavour: str) -> None:
        self.flavour = flavour
        self.arguments: dict[str, list[str]] = {}
        self.own_arguments: dict[str, list[str]] = {}  # of those that the table has not
        for result, name, args in slots():
            self.add(bind, result, name, args)
        if flavour == "library":
            for name, (result, args) in library_functions().items():
                self.add(bind, result, name, args)
                self.own_arguments[name] = self.arguments.pop(name)

    def add(self, bind: Callable[[str, Any, list[Any]], Any], result: str, name: str, args: str) -> None:
        types = [] if args == "void" else [c_type(arg) for arg in args.split(",")]
        self.arguments[name] = [] if args == "void" else re.findall(r"(\w+)(?:,|$)", args)
        setattr(self, name, bind(name, c_type(result), types))

    def handle(self, path: Path, *, writable: bool = True) -> int:
        """Open the array in a directory."""
        if self.flavour == "capsule":
            array = zarrcore.open_array(path, mode="r+" if writable else "r")
            return self.from_python(id(array))  # the object itself: ctypes hands over its address
        handle, error = ctypes.c_void_p(), Error()
        status = self.open(os.fsencode(path), int(writable), ctypes.byref(handle), error)
        if status != 0:
            raise LibraryError(status, error.message.decode())
        return handle.value

    def region(
        self,
        handle: int,
        memory: np.ndarray,
        start: Sequence[int] | None = None,
        step: Sequence[int] | None = None,
        *,
        write: bool = False,
        threads: int = 0,
        error: Error | None = None,
    ) -> int:
        """Read into, or write from, an ndarray of any strides."""
        count, strides = ints(memory.shape), ints(memory.strides)
        args = (handle, ints(start), ints(step), count, memory.ctypes.data, strides, threads)
        return self.write(*args, 0, error) if write else self.read(*args, error)


def ints(values: Sequence[int] | None) -> Any:
    """A C array of int64, or NULL."""
    return None if values is None else (ctypes.c_int64 * max(len(values), 1))(*values)


# ---- the two flavours ----


def capsule_api() -> Api:
    from zarrcore._core import engine

    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer_of(engine._C_API, b"zarrcore._core.engine._C_API")
    addresses = (ctypes.c_void_p * len(slots())).from_address(table + 16)
    numbers = {name: number for number, (_, name, _) in enumerate(slots())}

    def bind(name: str, result: Any, types: list[Any]) -> Any:
        make = ctypes.PYFUNCTYPE if name in NEED_PYTHON else ctypes.CFUNCTYPE
        return make(result, *types)(addresses[numbers[name]])

    return Api(bind, "capsule")


def library_api(path: Path) -> Api:
    library = ctypes.CDLL(str(path))

    def bind(name: str, result: Any, types: list[Any]) -> Any:
        if name in NEED_PYTHON:
            return None
        function = getattr(library, f"zarrcore_{name}")
        function.restype, function.argtypes = result, types
        return function

    return Api(bind, "library")


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command; what it said becomes part of the failure."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation of libzarrcore: the one that ZARRCORE_TEST_PREFIX names, else a new one."""
    if os.environ.get("ZARRCORE_TEST_PREFIX"):
        return Path(os.environ["ZARRCORE_TEST_PREFIX"])
    leave = pytest.fail if os.environ.get("ZARRCORE_NEED_LIBRARY") else pytest.skip  # `make pytest` needs it
    for tool in ("make", "cc", "ar", "pkg-config"):
        if shutil.which(tool) is None:
            leave(f"libzarrcore cannot be built without {tool}")
    brought = (ROOT / "wheels" / "sources" / "yyjson").is_dir()
    if not brought and subprocess.run(["pkg-config", "--exists", "yyjson"]).returncode != 0:
        leave("libzarrcore needs yyjson (`make sources` brings it)")
    # Compilers need no sanitizer in them, and scripts look for their neighbours.
    unwanted = ("LD_PRELOAD", "PYTHONSAFEPATH")
    environ = {name: value for name, value in os.environ.items() if name not in unwanted}
    native = [
        run(sys.executable, ROOT / "wheels" / "native_libs.py", what, env=environ).stdout.strip()
        for what in ("--cflags", "--libs")
    ]
    prefix = tmp_path_factory.mktemp("prefix")
    build = ROOT / "build" / "csrc" / (SANITIZE.replace(",", "-") or "release")  # as for the tests in C
    variables = [
        f"SANITIZE={SANITIZE}",
        f"PREFIX={prefix}",
        f"BUILD={os.path.relpath(build, ROOT / 'csrc')}",  # relative, as `make` names objects in its .d files
        f"NATIVE_CFLAGS={native[0]}",
        f"NATIVE_LIBS={native[1]}",
    ]
    if objects := Path(os.environ.get("ZARRCORE_OBJECTS") or os.devnull).read_text():
        variables.append(f"OBJECTS={objects}")  # of `make build`: what the package has inside
    with only_one(build):
        run("make", "-s", "-j2", "-C", ROOT / "csrc", "lib", "CC=cc", *variables, env=environ)
    return prefix


@contextlib.contextmanager
def only_one(build: Path) -> Iterator[None]:
    """Let one process at a time work in a build directory: tests may be shared among several."""
    import fcntl  # where there is make, there is this

    build.mkdir(parents=True, exist_ok=True)
    with (build / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def library(prefix: Path) -> Api:
    """libzarrcore, loaded into this process."""
    (path,) = (prefix / "lib").glob("libzarrcore*.dylib" if sys.platform == "darwin" else "libzarrcore.so.*")
    return library_api(path)


@pytest.fixture(scope="session")
def capi() -> Api:
    """The functions of the capsule."""
    return capsule_api()


@pytest.fixture(scope="session", params=["capi", "library"])
def api(request: pytest.FixtureRequest) -> Api:
    """Both flavours."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def error_of() -> type[Error]:
    """The class of error records; its instances are initialised."""
    return Error


@pytest.fixture
def extent_of() -> type[Extent]:
    """The class of extents."""
    return Extent
