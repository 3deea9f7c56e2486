# SPDX-License-Identifier: MIT
"""The source tree of libdeflate: serves ``ZARRCORE_DEFLATE=source`` and ``=DIR``.

CPU variants are chosen inside of libdeflate, no file needs arguments of its own.
"""

from __future__ import annotations

from pathlib import Path

from compile_sources import SourceError, Tree


def find_tree(root: Path) -> Tree:
    """libdeflate at or below a directory, for example that of an unpacked `deflate` sdist."""
    candidates = (root, root / "libdeflate", *sorted(root.glob("deflate-*/libdeflate")))
    for candidate in candidates:
        if (candidate / "libdeflate.h").is_file() and (candidate / "lib").is_dir():
            return _tree(candidate.resolve())
    raise SourceError("no libdeflate source tree here (expected libdeflate.h and lib/)")


def _tree(root: Path) -> Tree:
    """All C files of the library; those for other CPUs compile to nothing."""
    return Tree(
        name="deflate_static",
        sources=tuple(sorted((root / "lib").rglob("*.c"))),
        headers=tuple(sorted(root.rglob("*.h"))),
        include_dir=root,
    )
