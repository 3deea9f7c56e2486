# SPDX-License-Identifier: MIT
"""Bring the sources of C libraries that PyPI has inside of sdists, pinned by version and sha256.

libdeflate (in the package `deflate`) makes gzip and zlib chunks fast; zstd (in `backports.zstd`) is newer
than the one that blosc's archive contains and writes small chunks faster; yyjson reads the metadata
documents of libzarrcore, the library for programs without Python.  They come to ``wheels/sources/``, where
builds look for them and sdists take them along.  What is there already is kept.  blosc, which everyday builds
have from its wheel, is brought only where it is asked for by name.

``fetch_sources.py [NAME...]`` is a step of its own, which `make` takes once: a build loads nothing.  Needs
pip and its index.  ``--optional``: without them a warning names what will be missing, and that is all.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "sources"
TIMEOUT = 300  # seconds


class FetchError(RuntimeError):
    """The sources are not available."""


@dataclass(frozen=True)
class Library:
    """One library inside of an sdist."""

    package: str
    """The sdist's name on PyPI."""
    version: str
    sha256: str
    root: str
    """Directory of the library in the sdist."""
    files: tuple[str, ...]
    """Paths that are taken, relative to the sdist's own directory; a directory stands for all in it."""
    without: str
    """What is missing without the library, for people."""
    only_by_name: bool = False


LIBRARIES = {
    "libdeflate": Library(
        package="deflate",
        version="0.9.0",
        sha256="962e0a6f1ea3a94b900a8ea0ce138fa92bfcbafda5b86367104a259ffcd3462b",
        root="libdeflate",
        files=(
            "libdeflate/COPYING",
            "libdeflate/common_defs.h",
            "libdeflate/lib/",
            "libdeflate/libdeflate.h",
        ),
        without="gzip and zlib chunks are left to zlib, at about half the speed",
    ),
    "zstd": Library(
        package="backports.zstd",
        version="1.8.0",
        sha256="9dae4f4c481716e3db473d667457b4f508ff7459c0931b567a5c9677fb3db316",
        root="src/c/zstd",
        files=(
            "src/c/zstd/LICENSE",
            "src/c/zstd/lib/common/",
            "src/c/zstd/lib/compress/",
            "src/c/zstd/lib/decompress/",
            "src/c/zstd/lib/zstd.h",
            "src/c/zstd/lib/zstd_errors.h",
        ),
        without="the older zstd in blosc's archive is linked, which writes small chunks a third slower",
    ),
    "yyjson": Library(
        package="yyjson",
        version="4.0.6",
        sha256="fcd4dc15c1e39a30bf9fa85d56903029111506860fc3080ab0d81c6c6dacaa8c",
        root="yyjson",
        files=("LICENSE", "yyjson/yyjson.c", "yyjson/yyjson.h"),
        without="`make lib` needs yyjson from the system, and its tests are skipped",
    ),
    "blosc": Library(
        package="blosc",
        version="1.11.4",
        sha256="e0b312d9554d3aea93c75af4ad70dfa8b815ef4fe2b658c313b2f27ed0f41d37",
        root="blosc/c-blosc",
        files=(
            "blosc/c-blosc/LICENSE.txt",
            "blosc/c-blosc/LICENSES/",
            "blosc/c-blosc/blosc/",
            "blosc/c-blosc/internal-complibs/",
        ),
        without="`make csrc-foreign` has nothing to link",
        only_by_name=True,
    ),
}


def fetch(name: str, destination: Path = SOURCES) -> Path:
    """Bring one library to ``destination/name``; returns that path."""
    library = LIBRARIES[name]
    target = destination / name
    if target.is_dir():
        return target
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination) as directory:
        sdist = _download(library, Path(directory))
        unpacked = Path(directory, "tree")
        unpack(sdist, library, unpacked)
        unpacked.replace(target)  # whole or not at all
    return target


def _download(library: Library, directory: Path) -> Path:
    """The sdist, by pip, which compares the checksum."""
    pin = directory / "pin.txt"
    pin.write_text(f"{library.package}=={library.version} --hash=sha256:{library.sha256}\n", encoding="ascii")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", library.package, "--require-hashes", "--dest", str(directory), "-r", str(pin)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise FetchError(f"pip gave no answer within {TIMEOUT} s") from None
    if done.returncode != 0:
        raise FetchError(done.stderr.strip() or f"pip failed with status {done.returncode}")
    (sdist,) = directory.glob("*.tar.gz")
    return sdist


def unpack(sdist: Path, library: Library, destination: Path) -> None:
    """The library's files, without the sdist's own directory and that of the library."""
    with tarfile.open(sdist) as tar:
        for member in tar.getmembers():
            inner = member.name.partition("/")[2]
            if member.isfile() and any(_is_within(inner, wanted) for wanted in library.files):
                member.name = inner.removeprefix(f"{library.root}/")
                tar.extract(member, destination, filter="data")
    missing = [
        name for name in library.files if not (destination / name.removeprefix(f"{library.root}/")).exists()
    ]
    if missing:
        raise FetchError(f"{sdist.name} holds no {', '.join(missing)}")


def _is_within(path: str, wanted: str) -> bool:
    return path.startswith(wanted) if wanted.endswith("/") else path == wanted


def main(argv: Sequence[str]) -> int:
    """Fetch as the command line asks; print where each library is."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--optional", action="store_true", help="a failure is a warning")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(LIBRARIES)}; default: all")
    options = parser.parse_args(argv)
    unknown = sorted(set(options.names) - set(LIBRARIES))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    status = 0
    for name in options.names or (name for name in LIBRARIES if not LIBRARIES[name].only_by_name):
        library = LIBRARIES[name]
        try:
            print(fetch(name))
        except (FetchError, OSError, tarfile.TarError) as error:
            last = (str(error).splitlines() or ["?"])[-1]
            kind = "warning" if options.optional else "error"
            print(
                f"{kind}: {name} cannot be brought ({library.package} {library.version} from PyPI): {last}\n"
                f"  Without it {library.without}.  `make sources` tries again.",
                file=sys.stderr,
            )
            status = 0 if options.optional else 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
