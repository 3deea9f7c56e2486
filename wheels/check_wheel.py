# SPDX-License-Identifier: MIT
"""Is a wheel complete and clean?

Its files must be those in contents.txt; its modules must show nothing but their init functions.

``check_wheel.py [--policy NAME] WHEEL...`` checks; with a policy (manylinux_2_17, musllinux_1_2) also what
auditwheel said and which shared libraries are needed.  ``check_wheel.py --write`` writes contents.txt from
the tree.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from shutil import which

ROOT = Path(__file__).resolve().parent.parent
CONTENTS = Path(__file__).with_name("contents.txt")
FORBIDDEN = (".c", ".pyx", ".pxi", ".o", ".a", ".pyc")
#: libzarrcore for programs in C, and by which platforms' wheels it is brought.
LIBRARY = {
    "zarrcore/lib/libzarrcore.a": ("linux",),
    "zarrcore/lib/libzarrcore.LIBRARY": ("linux", "macosx"),
    "zarrcore/lib/cmake/Zarrcore/ZarrcoreConfig.cmake": ("linux", "macosx"),
    "zarrcore/lib/cmake/Zarrcore/ZarrcoreConfigVersion.cmake": ("linux", "macosx"),
    "zarrcore/lib/pkgconfig/zarrcore.pc": ("linux", "macosx"),
}
SHARED = re.compile(r"zarrcore/lib/libzarrcore\.(so\.\d+|\d+\.dylib)")
LICENSES = (
    "LICENSE",
    "bitshuffle.txt",
    "c-blosc.txt",
    "fastlz.txt",
    "libdeflate.txt",
    "lz4.txt",
    "win32-pthread.txt",
    "yyjson.txt",
    "zlib.txt",
    "zstd.txt",
)
SYSTEM_LIBRARIES = {
    "manylinux": re.compile(r"(libc|libm|libdl|librt|libpthread|ld-linux[\w-]*)\.so\.\d+"),
    "musllinux": re.compile(r"libc\.so|libc\.musl-\w+\.so\.1"),
}


def contents(names: Iterable[str]) -> list[str]:
    """The files of a wheel, without what differs between versions, Pythons and platforms."""
    plain = []
    for name in names:
        name = re.sub(r"^zarrcore-[^/]+\.dist-info/", "zarrcore-VERSION.dist-info/", name)
        name = SHARED.sub("zarrcore/lib/libzarrcore.LIBRARY", name)
        plain.append(re.sub(r"\.[^/]*\.(so|pyd)$", ".MODULE", name))
    return sorted(plain)


def tree_contents(root: Path = ROOT) -> list[str]:
    """The files that a wheel of this tree has."""
    package = root / "zarrcore"
    found = [
        path.relative_to(root).as_posix()
        for path in package.rglob("*")
        if path.suffix in (".py", ".pyi", ".pxd", ".h") or path.name == "py.typed"
    ]
    found += [f"zarrcore/include/{path.name}" for path in (root / "csrc" / "include").iterdir()]
    found += LIBRARY
    found += [f"zarrcore/_core/{path.stem}.MODULE" for path in (package / "_core").glob("*.pyx")]
    folders = {path.parent for path in (package / "_core").glob("*/*.pyx")}
    found += [f"{folder.relative_to(root).as_posix()}/_modules.MODULE" for folder in folders]
    licenses = ["LICENSE", *(f"wheels/licenses/{path.name}" for path in (root / "wheels/licenses").iterdir())]
    metadata = ["METADATA", "RECORD", "WHEEL", "top_level.txt", *(f"licenses/{name}" for name in licenses)]
    if _has_entry_points(root):
        metadata.append("entry_points.txt")
    return sorted(found + [f"zarrcore-VERSION.dist-info/{name}" for name in metadata])


def _has_entry_points(root: Path) -> bool:
    with (root / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    return any(project.get(key) for key in ("scripts", "gui-scripts", "entry-points"))


def faults(wheel: Path, policy: str | None = None) -> list[str]:
    """All that is wrong with this wheel, as sentences."""
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/")]
        found = [
            *_differences(contents(names), _wanted(wheel)),
            *(f"{name} does not belong into a wheel" for name in names if _is_forbidden(name)),
            *(f"licence {name} is missing" for name in LICENSES if not _holds_license(names, name)),
        ]
        with tempfile.TemporaryDirectory() as directory:
            modules = {name: archive.extract(name, directory) for name in names if name.endswith(".so")}
            found += _symbol_faults(modules)
            library = {name: archive.extract(name, directory) for name in names if SHARED.fullmatch(name)}
            found += _library_symbol_faults(library)
            modules |= library
            if policy is not None:
                found += _tag_faults(wheel, policy) + _library_faults(modules, policy)
    return found


def _wanted(wheel: Path) -> list[str]:
    """What contents.txt lists, as far as the wheel's platform has it."""
    platform = wheel.stem.rpartition("-")[2]
    listed = CONTENTS.read_text(encoding="utf-8").splitlines()
    return [name for name in listed if any(system in platform for system in LIBRARY.get(name, ("",)))]


def _is_forbidden(name: str) -> bool:
    return name.endswith(FORBIDDEN) and name not in LIBRARY


def _differences(found: Sequence[str], wanted: Sequence[str]) -> list[str]:
    missing, surplus = sorted(set(wanted) - set(found)), sorted(set(found) - set(wanted))
    doubled = sorted({name for name in found if found.count(name) > 1})
    return [
        *(f"{name} is missing (contents.txt names it; `make contents` writes it again)" for name in missing),
        *(f"{name} is not in contents.txt (`make contents` writes it again)" for name in surplus),
        *(f"{name} is there more than once" for name in doubled),
    ]


def _holds_license(names: Sequence[str], license_name: str) -> bool:
    return any(".dist-info/licenses/" in name and name.endswith("/" + license_name) for name in names)


def _symbol_faults(modules: dict[str, str], root: Path = ROOT) -> list[str]:
    """Exported symbols other than the modules' init functions, where nm can tell."""
    if which("nm") is None or sys.platform == "darwin":
        return []
    found = []
    for name, path in modules.items():
        symbols = [line.split()[-1] for line in _output("nm", "-D", "--defined-only", path)]
        wanted = _init_functions(root / name)
        found += [f"{name} exports {symbol}" for symbol in symbols if symbol not in wanted]
        found += [f"{name} has no {init}" for init in sorted(wanted.difference(symbols))]
    return found


def _library_symbol_faults(library: dict[str, str]) -> list[str]:
    """What libzarrcore shows beside its functions, where nm can tell."""
    if which("nm") is None or sys.platform == "darwin":
        return []
    return [
        f"{name} exports {symbol}"
        for name, path in library.items()
        for symbol in (line.split()[-1] for line in _output("nm", "-D", "--defined-only", path))
        if not symbol.startswith("zarrcore_")
    ]


def _init_functions(module: Path) -> set[str]:
    """Return those of a shared object: of its own name, or of the modules whose sources lie next to it."""
    stem = module.name.partition(".")[0]
    names = [source.stem for source in module.parent.glob("*.pyx")] if stem == "_modules" else [stem]
    return {f"PyInit_{name}" for name in names}


def _tag_faults(wheel: Path, policy: str) -> list[str]:
    tags = wheel.stem.rpartition("-")[2].split(".")
    if any(tag.startswith(f"{policy}_") for tag in tags):
        return []
    return [f"platform {'.'.join(tags)}: expected {policy}"]


def _library_faults(modules: dict[str, str], policy: str = "manylinux") -> list[str]:
    """Shared libraries other than those that every system of the policy's kind has."""
    if which("readelf") is None:
        return []
    known, found = SYSTEM_LIBRARIES[policy.partition("_")[0]], []
    for name, path in modules.items():
        dynamic = "\n".join(_output("readelf", "-d", path))
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
        found += [f"{name} needs {library}" for library in needed if not known.fullmatch(library)]
        if "(RELR)" in dynamic:  # an older glibc refuses to load it, an older musl crashes
            found.append(f"{name} has packed relocations (DT_RELR): it needs musl 1.2.4 or glibc 2.36")
    return found


def _output(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main(argv: Sequence[str]) -> int:
    """Check each wheel and report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write contents.txt from the tree")
    parser.add_argument("--policy", metavar="NAME", help="what auditwheel must have found: manylinux_2_17")
    parser.add_argument("wheels", nargs="*", type=Path)
    options = parser.parse_args(argv)
    if options.write:
        CONTENTS.write_text("\n".join(tree_contents()) + "\n", encoding="utf-8")
    status = 0
    for wheel in options.wheels:
        problems = faults(wheel, options.policy)
        for problem in problems:
            print(f"{wheel}: {problem}", file=sys.stderr)
        status |= bool(problems)
        if not problems:
            print(f"{wheel.name}: ok, {wheel.stat().st_size // 1024} KiB")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
