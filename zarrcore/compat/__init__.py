"""Names that zarr-python has and zarrcore does not need; :func:`stand_in` puts zarrcore in its place.

``zarrcore.abc``, ``buffer`` and others hand the names on.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import zarrcore
from zarrcore._alias import InZarrsPlace
from zarrcore.compat import zarr as standing
from zarrcore.compat.zarr import __version__ as zarr_version
from zarrcore.storage import memory, place

__all__ = ["stand_in", "zarr_version"]


def stand_in() -> ExitStack:
    """Put zarrcore in the place of zarr-python, for what is imported from now on.

    ``import zarr``, ``from zarr.storage import ...`` then load what zarrcore has, in all of this process, and
    ``zarr.__version__`` is a release of zarr-python.  The methods of stores, and of the stores of arrays and
    groups, are coroutines then, as in zarr-python.  Call it before anything imports zarr-python, which need
    not be installed.

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
    from zarrcore.compat.faces import Buffers, face_of_place

    before = sys.modules.get("zarr")
    if before not in (None, zarrcore, standing):
        raise RuntimeError("stand_in: zarr-python has been imported by this process; call it before that")
    finder = next(finder for finder in sys.meta_path if isinstance(finder, InZarrsPlace))
    finder.enter(standing)
    done = ExitStack()
    done.callback(_leave, before, place.shown, memory.of_mapping)
    sys.modules["zarr"], place.shown, memory.of_mapping = standing, face_of_place, Buffers
    return done


def _leave(before: ModuleType | None, shown: Any, of_mapping: Any) -> None:
    place.shown, memory.of_mapping = shown, of_mapping
    for name in [name for name in sys.modules if name == "zarr" or name.startswith("zarr.")]:
        del sys.modules[name]
    if before is not None:
        sys.modules["zarr"] = before
