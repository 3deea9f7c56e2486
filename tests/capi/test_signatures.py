# SPDX-License-Identifier: MIT
"""What the C API promises to compiled code, compared with a committed list: append, never change.

After an addition: ``python tests/capi/test_signatures.py > tests/capi/signatures.txt``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
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


def signatures() -> list[str]:
    """The list, one line each."""
    text = without_comments(HEADER.read_text(encoding="utf-8"))
    constants = re.findall(r"^#define (ZARRCORE_[A-Z_]+) (\d+|UINT64_MAX) *$", text, re.MULTILINE)
    return [
        *(f"constant {name} {value}" for name, value in constants),
        *(f"status {member}" for member in members(text, "zarrcore_status")),
        *(f"error {number} {member}" for number, member in enumerate(members(text, "zarrcore_error"))),
        *(f"extent {number} {member}" for number, member in enumerate(members(text, "zarrcore_extent"))),
        *(f"slot {number} {slot}" for number, slot in enumerate(slots(text))),
        *(f"function {prototype}" for prototype in prototypes(text)),
    ]


def test_nothing_that_is_promised_has_changed() -> None:
    assert signatures() == COMMITTED.read_text(encoding="utf-8").splitlines()


def test_slots_and_prototypes_agree() -> None:
    text = without_comments(HEADER.read_text(encoding="utf-8"))
    by_slot = {slot for slot in slots(text) if not slot.startswith("zarrcore_array *from_python")}
    by_prototype = {re.sub(r"zarrcore_(\w+)\(", r"\1(", prototype) for prototype in prototypes(text)}
    assert by_prototype - by_slot == {
        "int open(const char *path, int flags, zarrcore_array **out, zarrcore_error *error)"
    }
    assert by_slot <= by_prototype


def test_macros_name_every_slot() -> None:
    text = HEADER.read_text(encoding="utf-8")
    macros = re.findall(r"^#define zarrcore_(\w+) \(zarrcore_api_table->(\w+)\)$", text, re.MULTILINE)
    assert all(name == slot for name, slot in macros)
    names = [re.search(r"(\w+)\(", slot).group(1) for slot in slots(without_comments(text))]
    assert sorted(name for name, _ in macros) == sorted(names)
    assert f"#define ZARRCORE_N_SLOTS {len(names)}\n" in text


def test_cython_declares_the_same() -> None:
    text = without_comments(HEADER.read_text(encoding="utf-8"))
    declared = flat(DECLARATIONS.read_text(encoding="utf-8"))
    for prototype in prototypes(text):
        if "zarrcore_open(" not in prototype:
            assert prototype.replace("(void)", "()") in declared
    for member in members(text, "zarrcore_status"):
        assert member.split(" ")[0] in declared
    for member in members(text, "zarrcore_error"):
        assert member.replace("ZARRCORE_MAX_DIMS", "64") in declared or member == "int32_t reserved"


@pytest.mark.parametrize(
    ("compiler", "suffix", "flags"), [("cc", "c", ["-std=c99"]), ("c++", "cpp", ["-std=c++11"])]
)
def test_header_compiles_alone(compiler: str, suffix: str, flags: list[str], tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    source = tmp_path / f"alone.{suffix}"
    source.write_text(
        "#include <zarrcore.h>\nzarrcore_error error = ZARRCORE_ERROR_INIT;\n", encoding="utf-8"
    )
    strict = [
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wno-missing-field-initializers",
        "-fsyntax-only",
        f"-I{HEADER.parent}",
    ]
    done = subprocess.run([compiler, *flags, *strict, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    print("\n".join(signatures()))
