# SPDX-License-Identifier: MIT
"""The source tree of zstd: serves ``ZARRCORE_ZSTD=source`` and ``=DIR``.

CPU variants are chosen inside of zstd.  Its loops are written for -O3.
"""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import replace
from pathlib import Path

from compile_sources import SourceError, Tree

PARTS = ("common", "compress", "decompress")
X86 = ("x86_64", "amd64")


def find_tree(root: Path) -> Tree:
    """zstd at or below a directory, for example that of its release or of `fetch_sources.py`."""
    for candidate in (root / "lib", root):
        if (candidate / "zstd.h").is_file() and all((candidate / part).is_dir() for part in PARTS):
            return _tree(candidate.resolve())
    raise SourceError("no zstd source tree here (expected zstd.h, common/, compress/ and decompress/)")


def _tree(root: Path) -> Tree:
    files = [path for part in PARTS for path in sorted((root / part).iterdir())]
    assembly = platform.machine().lower() in X86 and sys.platform != "win32"
    suffixes = (".c", ".S") if assembly else (".c",)
    return Tree(
        name="zstd_static",
        sources=tuple(path for path in files if path.suffix in suffixes),
        headers=(root / "zstd.h", *(path for path in files if path.suffix == ".h")),
        include_dir=root,
        arguments=("-O3",) if assembly else ("-O3", "-DZSTD_DISABLE_ASM=1"),
    )


def encoder_of(tree: Tree) -> Tree:
    """Return the encoder alone, to be linked with the decoder of another release.

    The two share the functions of ``common/``, whose meaning may change from one release to the next, so
    each keeps its own: those of the encoder are private.
    """
    sources = tuple(path for path in tree.sources if path.parent.name != "decompress")
    return replace(
        tree,
        name="zstd_encoder",
        sources=sources,
        private=tuple(path for path in sources if path.parent.name == "common"),
    )


def version_of(tree: Tree) -> str:
    """For example "1.5.7"."""
    text = (tree.include_dir / "zstd.h").read_text(encoding="utf-8")
    numbers = dict(re.findall(r"^#define ZSTD_VERSION_(MAJOR|MINOR|RELEASE)\s+(\d+)", text, re.MULTILINE))
    try:
        return ".".join(numbers[part] for part in ("MAJOR", "MINOR", "RELEASE"))
    except KeyError:
        raise SourceError("zstd.h does not say its version") from None
