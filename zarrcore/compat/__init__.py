"""Names that zarr-python has and zarrcore does not need; :func:`stand_in` puts zarrcore in its place.

``zarrcore.abc``, ``buffer`` and others hand the names on.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack

import zarrcore

__all__ = ["stand_in", "zarr_version"]

zarr_version = "3.4.2"
"""The release of zarr-python whose names and ways zarrcore follows, for programs that ask for it."""


def stand_in() -> ExitStack:
    """Put zarrcore in the place of zarr-python, for what is imported from now on.

    ``import zarr``, ``from zarr.storage import ...`` and ``zarr.__version__`` then are those of zarrcore, in
    all of this process.  Call it before anything imports zarr-python, which need not be installed.

    Returns
    -------
    contextlib.ExitStack
        In a ``with`` statement, or by its method ``close``, what is imported after that is zarr-python again.

    Raises
    ------
    RuntimeError
        If zarr-python has been imported: there would be two of each class.

    Examples
    --------
    >>> import zarrcore.compat
    >>> with zarrcore.compat.stand_in():
    ...     import zarr
    ...     zarr.zeros(4).__class__
    <class 'zarrcore.arrays.array.Array'>
    """
    if sys.modules.get("zarr") not in (None, zarrcore):
        raise RuntimeError("stand_in: zarr-python has been imported by this process; call it before that")
    done = ExitStack()
    done.callback(_leave, sys.modules.get("zarr"), zarrcore.__version__)
    sys.modules["zarr"], zarrcore.__version__ = zarrcore, zarr_version
    return done


def _leave(before: object, version: str) -> None:
    zarrcore.__version__ = version
    if before is None:
        for name in [name for name in sys.modules if name == "zarr" or name.startswith("zarr.")]:
            del sys.modules[name]
