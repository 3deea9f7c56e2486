"""The values of xarray's variables over arrays of zarrcore, many of them read in one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
from xarray import DataArray, Dataset, DataTree, Variable
from xarray.backends import zarr as theirs
from xarray.core import indexing

import zarrcore
from zarrcore import Array, AsyncArray, Group
from zarrcore._locks import RLock, forkable
from zarrcore.errors import BaseZarrError
from zarrcore.groups.members import usable
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes.documents import is_array_metadata

_LARGEST_IN_PARTS = 1 << 20  # bytes; parts of a larger array are read on their own


class Together:
    """Arrays that are read in one call when the first of them is needed, and whose values are taken once."""

    def __init__(self) -> None:
        self._waiting: dict[str, Array] = {}
        self._read: dict[str, np.ndarray] = {}
        self._lock = forkable(RLock())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()  # in another process each is read on its own

    def add(self, array: Array) -> None:
        """Have `array` read with the others."""
        with self._lock:
            self._waiting[array.path] = array

    def keep(self, array: Array, values: np.ndarray) -> None:
        """Keep the values of `array` for the one who takes them."""
        with self._lock:
            self._waiting.pop(array.path, None)
            self._read[array.path] = values

    def has(self, array: Array) -> bool:
        """Return whether the values of `array` have been read and nobody has taken them."""
        return array.path in self._read

    def take(self, array: Array, *, whole: bool) -> np.ndarray | None:
        """Return the values of `array`, once if the whole is wanted; None: it is read on its own."""
        path = array.path
        with self._lock:
            if path in self._waiting and (whole or array.nbytes <= _LARGEST_IN_PARTS):
                waiting, self._waiting = self._waiting, {}
                try:
                    values = zarrcore.read_many([(one, ...) for one in waiting.values()])
                except BaseZarrError:
                    return None  # each is read on its own, and the one that cannot be read is named
                self._read.update(zip(waiting, values, strict=True))
            return self._read.pop(path, None) if whole else self._read.get(path)


class Members(Mapping[str, Array | Group]):
    """The nodes directly in a group, each opened when it is first asked for.

    `arrays` are the metadata of those that are arrays, by their names.
    """

    def __init__(self, group: Group) -> None:
        self._group = group
        self._found = {found.path: found for found in usable(group._opened, 0)}
        self._opened: dict[str, Array | Group] = {}
        self.arrays: dict[str, ArrayMetadata] = {
            name: found.metadata for name, found in self._found.items() if is_array_metadata(found.metadata)
        }

    def __getitem__(self, name: str) -> Array | Group:
        node = self._opened.get(name)
        if node is None:  # of two threads that open it, both get the same one
            node = self._opened.setdefault(name, self._group._node(self._found[name]))
        return node

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


class Values(theirs.ZarrArrayWrapper):
    """The values of an array, read when xarray asks for them; until then it need not be open."""

    __slots__ = ("_members", "_name", "_together")

    def __init__(
        self, members: Mapping[str, Any], name: str, metadata: ArrayMetadata, together: Together
    ) -> None:
        self._members, self._name, self._together = members, name, together
        self.shape = metadata.shape
        try:
            self.dtype = metadata.np_dtype
        except BaseZarrError:
            self.dtype = self._array.dtype  # the same error, with the path of the array

    @classmethod
    def of(cls, array: Array, together: Together) -> Values:
        """Return the values of an open array."""
        return cls({"": array}, "", array.metadata, together)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self._array, self._together)

    @property
    def _array(self) -> Any:  # a member of the class of xarray that this one is derived from
        return self._members[self._name]

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        if isinstance(key, indexing.VectorizedIndexer):
            return self._with_dtype(self._array.vindex[key.tuple])
        if isinstance(key, indexing.OuterIndexer):
            return self._with_dtype(self._array.oindex[key.tuple])
        whole = _is_whole(key, self.shape)
        values = self._together.take(self._array, whole=whole)
        if values is not None:
            # The caller may change what it gets; what is kept stays as it is stored.
            return values if whole else self._with_dtype(values[key.tuple].copy())
        return self._with_dtype(self._array[key.tuple])

    def _with_dtype(self, values: Any) -> Any:
        return np.asarray(values, self.dtype) if isinstance(values, str) else values

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        array: AsyncArray = self._array.async_array
        if isinstance(key, indexing.VectorizedIndexer):
            values = await array.vindex.getitem(key.tuple)
        elif isinstance(key, indexing.OuterIndexer):
            values = await array.oindex.getitem(key.tuple)
        else:
            values = await array.getitem(key.tuple)
        return self._with_dtype(values)


class Whole(indexing.LazilyIndexedArray):
    """All values of an array of Zarr, lazily; parts of them are made of it as of xarray's own class."""

    __slots__ = ("dtype", "shape")  # asked for often, by properties that ask others

    def __init__(self, array: Any, key: indexing.ExplicitIndexer | None = None) -> None:
        if _ARE_KNOWN and key is None and type(array) is Values:  # nothing has to be worked out from slices
            self.array, self.key, self._shape = array, _all_of(len(array.shape)), array.shape
        else:
            super().__init__(array, key)
        self.dtype, self.shape = self.array.dtype, self._shape  # type: ignore[misc]


def lazy_variable(
    dimensions: tuple[str, ...], values: Values, attributes: dict[str, Any], encoding: dict[str, Any]
) -> Variable:
    """Return a variable of parts that nobody else has, which the constructor of `Variable` would copy."""
    if not _ARE_KNOWN or len(set(dimensions)) != len(values.shape):
        return Variable(dimensions, Whole(values), attributes, encoding, fastpath=True)
    return _of_parts(_Opened, dimensions, Whole(values), attributes, encoding)


def _of_parts(cls: type[Variable], *parts: Any) -> Variable:
    made: Any = object.__new__(cls)
    made._dims, made._data, made._attrs, made._encoding = parts
    return made  # type: ignore[no-any-return]


class _Opened(Variable):
    """A variable as xarray gets it from here, whose data it wraps; then it takes a copy, a plain variable.

    Its own ways to do so look at data that may be anything, which takes a tenth of the time of opening.
    """

    __slots__ = ()

    @property
    def data(self) -> Any:
        return super().data

    @data.setter
    def data(self, data: Any) -> None:
        if _is_wrapper(data, self._data):
            self._data = data
        else:
            Variable.data.fset(self, data)  # type: ignore[attr-defined]

    def _copy(self, deep: bool = True, data: Any = None, memo: Any = None) -> Any:
        own: Any = self._data
        plain: Any = _of_parts(Variable, self._dims, own, self._attrs, self._encoding)
        if deep or data is not None:
            return plain._copy(deep, data, memo)
        if type(own) is indexing.MemoryCachedArray:  # a copy has a cache of its own
            plain._data = object.__new__(indexing.MemoryCachedArray)
            plain._data.array = own.array
        plain._attrs, plain._encoding = _copied(self._attrs), _copied(self._encoding)
        return plain


_Opened.__name__ = Variable.__name__  # what its representation begins with


def _copied(members: dict[Any, Any] | None) -> dict[Any, Any] | None:
    return None if members is None else members.copy()


def _is_wrapper(data: Any, wrapped: Any) -> bool:
    """Return whether xarray has put nothing but its copying and caching around what a variable has."""
    if type(data) is indexing.MemoryCachedArray:
        data = data.array
    return type(data) is indexing.CopyOnWriteArray and data.array is wrapped


def _slots_of(cls: type) -> set[str]:
    return {name for base in cls.__mro__ for name in getattr(base, "__slots__", ())}


# Whether the objects of this version of xarray consist of what is set above.
_ARE_KNOWN = (
    _slots_of(Variable) == {"_dims", "_data", "_attrs", "_encoding"}
    and _slots_of(indexing.LazilyIndexedArray) == {"array", "key", "_shape"}
    and _slots_of(indexing.MemoryCachedArray) == {"array"}
)


@cache
def _all_of(ndim: int) -> indexing.BasicIndexer:
    return indexing.BasicIndexer((slice(None),) * ndim)


def _is_whole(key: indexing.ExplicitIndexer, shape: tuple[int, ...]) -> bool:
    return all(
        isinstance(item, slice) and item in (slice(None), slice(0, n, 1))
        for item, n in zip(key.tuple, shape, strict=True)
    )


def load(data: Any) -> Any:
    """Load a data set, an array or a tree into memory as its method ``load`` does, by one call of the engine.

    Over a network this takes about as long as one variable does, not as long as all of them one by one.
    Variables that are not stored with zarrcore, and parts of variables, are loaded one by one.

    Parameters
    ----------
    data : Dataset, DataArray or DataTree
        What is loaded, in place.

    Returns
    -------
    Dataset, DataArray or DataTree
        `data`.

    Raises
    ------
    ChunkError
        If a chunk cannot be read; some variables may have been loaded before.

    Examples
    --------
    >>> import xarray, zarrcore.xarray
    >>> ds = xarray.Dataset({"t": ("x", [1.0, 2.0]), "u": ("x", [3, 4])})
    >>> _ = zarrcore.xarray.to_zarr(ds, store := {})
    >>> zarrcore.xarray.load(xarray.open_dataset(store, engine="zarrcore")).u.values
    array([3, 4])
    """
    fetch(_variables(data))
    return data.load()


def fetch(variables: Iterable[Variable]) -> None:
    """Read the values of lazy variables in one call, and keep them for those who load them next."""
    found = {
        id(values): values
        for values in map(_whole_values, variables)
        if values is not None and not values._together.has(values._array)
    }
    if len(found) < 2:
        return
    try:
        read = zarrcore.read_many([(values._array, ...) for values in found.values()])
    except BaseZarrError:
        return  # loading raises it again, and names the variable
    for values, block in zip(found.values(), read, strict=True):
        values._together.keep(values._array, block)


def _variables(data: Dataset | DataArray | DataTree) -> Iterator[Variable]:
    if isinstance(data, DataArray):
        yield data.variable
        yield from (coordinate.variable for coordinate in data.coords.values())
        return
    for node in data.subtree if isinstance(data, DataTree) else [data]:
        yield from node.variables.values()


def _whole_values(variable: Variable) -> Values | None:
    """Return the stored values of a variable that is going to read all of them, and has not yet."""
    data: Any = variable._data
    while data is not None and not isinstance(data, Values):
        if isinstance(data, indexing.LazilyIndexedArray) and not _is_whole(data.key, data.array.shape):
            return None
        data = (
            None if isinstance(data, indexing.LazilyVectorizedIndexedArray) else getattr(data, "array", None)
        )
    return data
