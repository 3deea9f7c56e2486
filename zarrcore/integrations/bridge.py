"""The ways between objects of this package and those of zarr-python, which is loaded when one is taken."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zarrcore.arrays.array import Array
    from zarrcore.groups.group import Group
    from zarrcore.integrations.zarr_python.accelerated import Acceleration


def from_zarr(node: object) -> Array | Group:
    """Return an array or a group of zarr-python as one of zarrcore, over the same data.

    Parameters
    ----------
    node : zarr.Array, zarr.Group, zarr.AsyncArray or zarr.AsyncGroup
        The array or group, in any store.

    Returns
    -------
    Array or Group
        Its documents are read again; it is read-only if `node` is.

    Raises
    ------
    TypeError
        If `node` is something else.
    ImportError
        If zarr-python 3 is not installed.

    Examples
    --------
    >>> import zarr
    >>> import zarrcore
    >>> theirs = zarr.create_array({}, data=np.arange(4))
    >>> zarrcore.from_zarr(theirs)[1:3]
    array([1, 2])
    """
    return _integration("from_zarr")(node)  # type: ignore[no-any-return]


def as_zarr(node: Any) -> Any:
    """Do what the methods of that name of arrays and groups do."""
    return _integration("as_zarr")(node)


def accelerate() -> Acceleration:
    """Replace the methods by which arrays of zarr-python read and write selections.

    From now on, in all threads, ``array[...]``, ``oindex``, ``vindex``, ``blocks`` and the methods whose
    names begin with ``get_`` and ``set_`` of every ``zarr.Array`` call the engine of zarrcore, without the
    event loop of zarr-python.  What the engine does not take stays with zarr-python: fields, strings and
    objects, codecs and data types of other packages, memory of a GPU, and chunk grids that are not regular.
    So does what fails: errors are those of zarr-python, as results are.

    Returns
    -------
    Acceleration
        A context manager that ends at the exit of ``with``; its method ``undo`` ends it too.  Accelerations
        may be nested, and overlap in several threads: with the last one zarr-python has its methods back.

    Raises
    ------
    ImportError
        If zarr-python 3 is not installed.

    Warns
    -----
    UserWarning
        Once, if zarr-python is of a release that is not known: it keeps its methods then.

    Examples
    --------
    >>> import zarr
    >>> import zarrcore
    >>> array = zarr.create_array({}, data=np.arange(6).reshape(2, 3))
    >>> with zarrcore.accelerate():
    ...     array[1, ::2]
    array([3, 5])
    """
    return _integration("accelerate")()  # type: ignore[no-any-return]


def _integration(name: str) -> Any:
    """Return a function of the integration, which needs zarr-python."""
    loaded = sys.modules.get("zarr")
    if loaded is not None and loaded.__name__ != "zarr":
        raise ImportError(f"{name} needs zarr-python, but {loaded.__name__} has its place in sys.modules")
    try:
        return getattr(import_module("zarrcore.integrations.zarr_python"), name)
    except ImportError as error:
        raise ImportError(
            f"{name} needs zarr-python 3.1 or later: pip install 'zarrcore[zarr]' ({error})"
        ) from error
