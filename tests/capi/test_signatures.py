# SPDX-License-Identifier: MIT
"""What the C API promises to compiled code, compared with a committed list: append, never change.

After an addition: ``python tests/capi/test_signatures.py > tests/capi/signatures.txt``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "csrc" / "include" / "zarrcore.h"
DECLARATIONS = ROOT / "zarrcore" / "__init__.pxd"
COMMITTED = Path(__file__).with_name("signatures.txt")


def flat(text: str) -> str:
    return re.sub(r"\* ", "*", " ".join(text.split()))


def without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def slots(text: str) -> list[str]:
    """Each slot as a prototype without prefix, in the order of the table."""
    (body,) = re.findall(r"typedef struct zarrcore_api \{(.*?)\} zarrcore_api;", text, re.DOTALL)
    return [flat(f"{a}{b}{c}") for a, b, c in re.findall(r"([\w ]+\**)\(\*(\w+)\)(\([^)]*\));", body)]


def prototypes(text: str) -> list[str]:
    return [flat(found) for found in re.findall(r"^ZARRCORE_PUBLIC ([^;{]*\));", text, re.MULTILINE)]


def members(text: str, name: str) -> list[str]:
    (body,) = re.findall(rf"typedef (?:struct|enum) {name} \{{(.*?)\}} {name};", text, re.DOTALL)
    return [flat(member) for member in re.split(r"[;,]", body) if member.strip()]


def with_functions(text: str, name: str) -> list[str]:
    """Members of a structure whose functions have commas in them."""
    (body,) = re.findall(rf"typedef struct {name} \{{(.*?)\}} {name};", text, re.DOTALL)
    return [flat(member) for member in body.split(";") if member.strip()]


def signatures() -> list[str]:
    """The list, one line each."""
    text = without_comments(HEADER.read_text(encoding="utf-8"))
    constants = re.findall(r"^#define (ZARRCORE_[A-Z_]+) (\d+|UINT64_MAX) *$", text, re.MULTILINE)
    return [
        *(f"constant {name} {value}" for name, value in constants),
        *(f"status {member}" for member in members(text, "zarrcore_status")),
        *(f"error {number} {member}" for number, member in enumerate(members(text, "zarrcore_error"))),
        *(f"extent {number} {member}" for number, member in enumerate(members(text, "zarrcore_extent"))),
        *(f"region {number} {member}" for number, member in enumerate(members(text, "zarrcore_region"))),
        *(f"request {number} {member}" for number, member in enumerate(members(text, "zarrcore_request"))),
        *(
            f"{name} {number} {member}"
            for name in ("callbacks", "watch", "allocator")
            for number, member in enumerate(with_functions(text, f"zarrcore_{name}"))
        ),
        *(f"slot {number} {slot}" for number, slot in enumerate(slots(text))),
        *(f"function {prototype}" for prototype in prototypes(text)),
    ]


def test_nothing_that_is_promised_has_changed() -> None:
    assert signatures() == COMMITTED.read_text(encoding="utf-8").splitlines()


def test_slots_and_prototypes_agree() -> None:
    text = without_comments(HEADER.read_text(encoding="utf-8"))
    only_python = ("zarrcore_array *from_python(", "int raise(")
    trees = text[text.index("typedef struct zarrcore_store") : text.index("#define ZARRCORE_FORWARD")]
    by_slot = {slot for slot in slots(text) if not slot.startswith(only_python)}
    by_prototype = {re.sub(r"zarrcore_(\w+)\(", r"\1(", prototype) for prototype in prototypes(text)}
    assert by_prototype - by_slot == {
        re.sub(r"zarrcore_(\w+)\(", r"\1(", prototype) for prototype in prototypes(trees)
    }
    assert by_slot <= by_prototype


def test_extension_modules_have_a_function_for_every_slot() -> None:
    text = HEADER.read_text(encoding="utf-8")
    calls = re.findall(r"^ +(?:return )?zarrcore_loaded\(\)->(\w+)\(\w+\);$", text, re.MULTILINE)
    begins = r"^static inline .*?zarrcore_(\w+)\(\w.*\)\n\{\n +(?:return )?zarrcore_loaded"
    inline = re.findall(begins, text, re.MULTILINE)
    assert inline == calls
    forwards = re.findall(
        r"^ZARRCORE_FORWARD\(([^,]*), (\w+), (\([^)]*\)),\s+(\([^)]*\))\)$", text, re.MULTILINE
    )
    table = slots(without_comments(text))
    for result, name, parameters, arguments in forwards:
        assert flat(f"{result} {name}{parameters}") in table
        given = "" if parameters == "(void)" else ", ".join(re.findall(r"(\w+)(?:,|\))", parameters))
        assert flat(arguments) == f"({given})"
    names = [re.search(r"(\w+)\(", slot).group(1) for slot in table]
    assert sorted([*calls, *(name for _, name, _, _ in forwards)]) == sorted(names)
    assert f"#define ZARRCORE_N_SLOTS {len(names)}\n" in text


def test_cython_declares_the_same() -> None:
    text = without_comments(HEADER.read_text(encoding="utf-8"))
    declared = flat(DECLARATIONS.read_text(encoding="utf-8"))
    for prototype in prototypes(text[: text.index("typedef struct zarrcore_store")]):
        assert prototype.replace("(void)", "()") in declared
    for member in members(text, "zarrcore_status"):
        assert member.split(" ")[0] in declared
    for member in members(text, "zarrcore_error"):
        assert member.replace("ZARRCORE_MAX_DIMS", "64") in declared or member == "int32_t reserved"


STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", f"-I{HEADER.parent}"]


def check_syntax(compiler: str, source: Path, *flags: str) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    done = subprocess.run([compiler, *STRICT, *flags, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("standard", ["c99", "c11", "c17", "c++11", "c++17", "c++20"])
def test_header_compiles_alone(standard: str, tmp_path: Path) -> None:
    is_cpp = "++" in standard
    source = tmp_path / ("alone.cpp" if is_cpp else "alone.c")
    source.write_text(
        "#include <zarrcore.h>\nzarrcore_error error = ZARRCORE_ERROR_INIT;\n", encoding="utf-8"
    )
    check_syntax("c++" if is_cpp else "cc", source, f"-std={standard}", "-pedantic")


MODULE = """\
#include <Python.h>
#define ZARRCORE_PYTHON_API
#include <zarrcore.h>

int first_length(PyObject *object, int64_t *out);

int first_length(PyObject *object, int64_t *out)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    int64_t shape[ZARRCORE_MAX_DIMS];
    if (import_zarrcore() < 0) {
        return -1;
    }
    zarrcore_array *array = zarrcore_from_python(object);
    if (array == NULL) {
        return -1;
    }
    int status = zarrcore_shape(array, shape);
    *out = shape[0];
    if (status == ZARRCORE_OK) {
        status = zarrcore_read(array, NULL, NULL, NULL, NULL, NULL, 0, &error);
    }
    zarrcore_release(array);
    return status == ZARRCORE_OK ? 0 : error.status;
}
"""


CPP = """
#include <memory>

int owned(zarrcore_array *array)
{
    std::unique_ptr<zarrcore_array, decltype(&zarrcore_release)> owner(array, zarrcore_release);
    return ::zarrcore_ndim(owner.get());
}
"""


@pytest.mark.parametrize("standard", ["c11", "c++11", "c++17"])
def test_extension_modules_compile(standard: str, tmp_path: Path) -> None:
    is_cpp = "++" in standard
    source = tmp_path / ("module.cpp" if is_cpp else "module.c")
    source.write_text(MODULE + (CPP if is_cpp else ""), encoding="utf-8")
    include = sysconfig.get_paths()["include"]
    check_syntax("c++" if is_cpp else "cc", source, f"-std={standard}", "-isystem", include)


if __name__ == "__main__":
    print("\n".join(signatures()))
