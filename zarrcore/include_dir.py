# SPDX-License-Identifier: MIT
"""Where the C headers are."""

from __future__ import annotations

from pathlib import Path


def get_include() -> str:
    """Return the directory of ``zarrcore.h``, for the include directories of an extension module.

    Returns
    -------
    str
        An absolute path.

    Raises
    ------
    FileNotFoundError
        If this installation has no headers.

    Notes
    -----
    A wheel has them in the package; a source tree that is used in place, under ``csrc``.

    Examples
    --------
    >>> import os, zarrcore
    >>> os.path.isfile(os.path.join(zarrcore.get_include(), "zarrcore.h"))
    True
    """
    package = Path(__file__).resolve().parent
    for directory in (package / "include", package.parent / "csrc" / "include"):
        if (directory / "zarrcore.h").is_file():
            return str(directory)
    raise FileNotFoundError(f"zarrcore.h is not in {package / 'include'}: the installation has no C headers")
