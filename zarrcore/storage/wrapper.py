"""Stores that pass calls on to another one: wrappers to derive from, and one that refuses every write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from types import GenericAlias
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TypeVar

from zarrcore._typing import Buffer
from zarrcore.storage.base import Store
from zarrcore.storage.derived import MOVING, replaces

if TYPE_CHECKING:
    from zarrcore.storage.byte_range import ByteRange

P = ParamSpec("P")
T = TypeVar("T")
MethodT = TypeVar("MethodT", bound=Callable[..., Any])


def passed_on(method: MethodT, *needed: str) -> MethodT:
    """Return a method of :class:`WrapperStore` that calls the same one of the wrapped store.

    Where a subclass overrides one of the `needed` methods and not this one, the default of :class:`Store`,
    which calls these, takes its place.
    """
    name = method.__name__

    @wraps(method, updated=())
    def call(self: WrapperStore, *args: Any, **kwargs: Any) -> Any:
        if needed and self._overrides(*needed) and not self._overrides(name):
            return method(self, *args, **kwargs)
        return self._call(getattr(self._store, name), *args, **kwargs)

    return call  # type: ignore[return-value]


def of_wrapped(name: str) -> Any:
    """Return a property that is that of the wrapped store, or its method."""
    return property(lambda self: getattr(self._store, name))


_LISTS = ("list", "list_prefix")


class WrapperStore(Store, announces=False):  # the wrapped store does
    """A store that passes every call on to another one.

    To see or change single calls, override their methods; to see all of them, override :meth:`_call`.  Where
    :meth:`get` is overridden, everything that reads values goes through it, value by value, unless
    :meth:`get_partial_values` and :meth:`get_many` are overridden as well.  Where :meth:`set` is, everything
    that writes goes through it, unless :meth:`set_if_not_exists` and :meth:`set_partial_values` are as well.
    In the same way sizes and :meth:`exists` go through :meth:`get`, all that removes through :meth:`delete`,
    and all listings through :meth:`list` or :meth:`list_prefix`.

    Parameters
    ----------
    store : Store
        The store to wrap.

    Examples
    --------
    >>> class Upper(WrapperStore):
    ...     def get(self, key, byte_range=None):
    ...         value = super().get(key, byte_range)
    ...         return None if value is None else bytes(value).upper()
    >>> Upper(MemoryStore({"key": b"value"})).get("key")
    b'VALUE'
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # classes for one kind: WrapperStore[LocalStore]

    def __init__(self, store: Store) -> None:
        self._store = store

    def _call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method of the wrapped store."""
        return method(*args, **kwargs)

    def _with_store(self, store: Store) -> Self:
        """Return the same wrapper around another store."""
        return type(self)(store)

    def _overrides(self, *methods: str) -> bool:
        """Return whether a subclass overrides one of some methods."""
        return replaces(self, WrapperStore, methods)

    def with_read_only(self, read_only: bool = False) -> Store:
        return self._with_store(self._store.with_read_only(read_only))

    def _identity(self) -> object:
        return self._store

    def __str__(self) -> str:
        return f"wrapping-{self._store}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store!r})"

    read_only = of_wrapped("read_only")
    supports_writes = of_wrapped("supports_writes")
    supports_deletes = of_wrapped("supports_deletes")
    supports_listing = of_wrapped("supports_listing")
    supports_partial_writes = of_wrapped("supports_partial_writes")
    supports_consolidated_metadata = of_wrapped("supports_consolidated_metadata")
    _nodes_first = of_wrapped("_nodes_first")
    _has_directories = of_wrapped("_has_directories")
    _immutable = of_wrapped("_immutable")
    _can_erase = of_wrapped("_can_erase")
    _in_process = of_wrapped("_in_process")
    _scope = of_wrapped("_scope")
    _lock_file = of_wrapped("_lock_file")
    _alone = of_wrapped("_alone")
    _address = of_wrapped("_address")
    _link_target = of_wrapped("_link_target")
    _instead_of_node = of_wrapped("_instead_of_node")
    _document_in = of_wrapped("_document_in")
    _concurrent_requests = of_wrapped("_concurrent_requests")
    _noticed = of_wrapped("_noticed")
    _pinned = of_wrapped("_pinned")

    @property
    def _versioned(self) -> bool:  # type: ignore[override]
        return self._store._versioned and self._reads_as_wrapped

    @property
    def _bounds_chunks(self) -> bool:  # type: ignore[override]
        """Values that a subclass makes itself may have another size."""
        return self._store._bounds_chunks and self._reads_as_wrapped

    @property
    def _compares(self) -> bool:
        return self._store._compares and not self._overrides(*MOVING)

    def _get_version(self, key: str, most: int | None = None) -> tuple[Buffer | None, Any]:
        if not self._compares:
            return super()._get_version(key, most)
        return self._call(self._store._get_version, key, most)

    def _replace_version(self, key: str, value: Buffer, version: Any, attempt: int = 0) -> bool:
        if version is None:
            return super()._replace_version(key, value, version)
        return self._call(self._store._replace_version, key, value, version, attempt)

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        if not self._bounds_chunks:
            return self.get_many(keys)

        def get_many(keys: Iterable[str]) -> Sequence[Buffer | None]:
            return self._store._get_chunks(keys, most)

        return self._call(get_many, keys)

    @property
    def _reads_as_wrapped(self) -> bool:
        return not self._overrides("get", "get_partial_values", "get_many")

    def _has_lost(self, prefix: str) -> bool:
        """Where a subclass reads in a way of its own, its keys may be others in the wrapped store."""
        return self._reads_as_wrapped and self._store._has_lost(prefix)

    @property
    def _knows_documents(self) -> bool:  # type: ignore[override]
        return self._store._knows_documents and self._reads_as_wrapped

    def _get_parts(
        self, key_ranges: Sequence[tuple[str, ByteRange | None]], versions: dict[str, str]
    ) -> Sequence[Buffer | None]:
        if not self._reads_as_wrapped:
            return self.get_partial_values(key_ranges)

        def get_partial_values(key_ranges: Sequence[tuple[str, ByteRange | None]]) -> Sequence[Buffer | None]:
            return self._store._get_parts(key_ranges, versions)

        return self._call(get_partial_values, key_ranges)

    def _get_part(self, key: str, byte_range: ByteRange | None, versions: dict[str, str]) -> Buffer | None:
        if not self._reads_as_wrapped:
            return self.get(key, byte_range)

        def get(key: str, byte_range: ByteRange | None) -> Buffer | None:
            return self._store._get_part(key, byte_range, versions)

        return self._call(get, key, byte_range)

    def _list_stored(self, prefix: str) -> Iterator[str]:
        if self._overrides(*_LISTS):
            return self._keys_listed(prefix)

        def list_prefix(prefix: str) -> Iterator[str]:
            return self._store._list_stored(prefix)

        return self._call(list_prefix, prefix)

    _fetch = passed_on(Store._fetch)
    get = passed_on(Store.get)
    get_partial_values = passed_on(Store.get_partial_values, "get")
    get_many = passed_on(Store.get_many, "get", "get_partial_values")
    _size = passed_on(Store._size, "get")
    exists = passed_on(Store.exists, "get")
    getsize = passed_on(Store.getsize, "get")
    getsize_prefix = passed_on(Store.getsize_prefix, "get", "getsize", *_LISTS)
    list = passed_on(Store.list)
    list_prefix = passed_on(Store.list_prefix, "list")
    list_dir = passed_on(Store.list_dir, *_LISTS)
    is_empty = passed_on(Store.is_empty, *_LISTS)
    set = passed_on(Store.set)
    set_if_not_exists = passed_on(Store.set_if_not_exists, "set")
    set_partial_values = passed_on(Store.set_partial_values, "set", "get")
    delete = passed_on(Store.delete)
    erase_values = passed_on(Store.erase_values, "delete")
    erase_prefix = passed_on(Store.erase_prefix, "delete", "erase_values", *_LISTS)
    clear = passed_on(Store.clear, "erase_prefix", "delete", "erase_values", *_LISTS)
    close = passed_on(Store.close)


def _refused(method: MethodT) -> MethodT:
    """Return a method of :class:`ReadOnlyStore` that raises its error."""

    @wraps(method, updated=())
    def refuse(self: Store, *args: Any, **kwargs: Any) -> None:
        self._check_writable()

    return refuse  # type: ignore[return-value]


class ReadOnlyStore(WrapperStore, announces=False):
    """Any store, with every write refused.

    Examples
    --------
    >>> store = ReadOnlyStore(MemoryStore({"key": b"value"}))
    >>> store.set("key", b"other")
    Traceback (most recent call last):
        ...
    zarrcore.errors.ReadOnlyError: memory://... is read-only and cannot be written
    """

    read_only = True

    def with_read_only(self, read_only: bool = False) -> Store:
        return self if read_only else self._store

    def __str__(self) -> str:
        return str(self._store)

    set = _refused(Store.set)
    set_if_not_exists = _refused(Store.set_if_not_exists)
    set_partial_values = _refused(Store.set_partial_values)
    delete = _refused(Store.delete)
    erase_values = _refused(Store.erase_values)
    erase_prefix = _refused(Store.erase_prefix)
    clear = _refused(Store.clear)
