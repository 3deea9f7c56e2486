"""Stores around stores."""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Any

from zarrcore.storage.base import Store

if TYPE_CHECKING:
    import logging
    from collections import defaultdict
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import ParamSpec, Self, TypeVar

    from typing_extensions import Buffer

    from zarrcore.storage.byte_range import ByteRange

    P = ParamSpec("P")
    T = TypeVar("T")

__all__ = ["LoggingStore", "ReadOnlyStore", "WrapperStore"]


class WrapperStore(Store):
    """A store that passes every call on to another one.

    To see or change single calls, override their methods; to see all of them, override :meth:`_call`.  Where
    :meth:`get` is overridden, everything that reads values goes through it, value by value, unless
    :meth:`get_partial_values` and :meth:`get_many` are overridden as well.  Where :meth:`set` is, everything
    that writes goes through it, unless :meth:`set_if_not_exists` and :meth:`set_partial_values` are as well.

    Parameters
    ----------
    store : Store
        The store to wrap.
    """

    __class_getitem__: Any = classmethod(GenericAlias)  # classes for one kind: WrapperStore[LocalStore]

    def __init__(self, store: Store) -> None:
        self._store = store

    def _call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method of the wrapped store."""
        return method(*args, **kwargs)

    def _with_store(self, store: Store) -> Self:
        """The same wrapper around another store."""
        return type(self)(store)

    # --- what the wrapped store says about itself ---

    def _scope(self, path: str) -> str:
        return self._store._scope(path)

    def _address(self, path: str) -> str:
        return self._store._address(path)

    def _instead_of_node(self, path: str) -> str:
        return self._store._instead_of_node(path)

    def _has_lost(self, prefix: str) -> bool:
        return self._store._has_lost(prefix)

    def _concurrent_requests(self) -> int:
        return self._store._concurrent_requests()

    @property
    def read_only(self) -> bool:
        return self._store.read_only

    @property
    def supports_writes(self) -> bool:  # type: ignore[override]
        return self._store.supports_writes

    @property
    def supports_deletes(self) -> bool:  # type: ignore[override]
        return self._store.supports_deletes

    @property
    def supports_listing(self) -> bool:  # type: ignore[override]
        return self._store.supports_listing

    @property
    def supports_partial_writes(self) -> bool:  # type: ignore[override]
        return self._store.supports_partial_writes

    @property
    def supports_consolidated_metadata(self) -> bool:  # type: ignore[override]
        return self._store.supports_consolidated_metadata

    def with_read_only(self, read_only: bool = False) -> Store:
        return self._with_store(self._store.with_read_only(read_only))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._store == other._store

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"wrapping-{self._store}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._store!r})"

    # --- calls ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        return self._call(self._store.get, key, byte_range)

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        if self._changes("get") and not self._changes("get_partial_values"):
            return super().get_partial_values(key_ranges)
        return self._call(self._store.get_partial_values, key_ranges)

    def get_many(self, keys: Iterable[str]) -> Sequence[Buffer | None]:
        passed_by = self._changes("get") or self._changes("get_partial_values")
        if passed_by and not self._changes("get_many"):
            return super().get_many(keys)
        return self._call(self._store.get_many, keys)

    def _changes(self, method: str) -> bool:
        """Whether a subclass has a method of its own, which what is built on it must not pass by."""
        return getattr(type(self), method) is not getattr(WrapperStore, method)

    def exists(self, key: str) -> bool:
        return self._call(self._store.exists, key)

    def getsize(self, key: str) -> int:
        return self._call(self._store.getsize, key)

    def getsize_prefix(self, prefix: str) -> int:
        return self._call(self._store.getsize_prefix, prefix)

    def list(self) -> Iterator[str]:
        return self._call(self._store.list)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._call(self._store.list_prefix, prefix)

    def list_dir(self, prefix: str) -> Iterator[str]:
        return self._call(self._store.list_dir, prefix)

    def is_empty(self, prefix: str = "") -> bool:
        return self._call(self._store.is_empty, prefix)

    def set(self, key: str, value: Buffer) -> None:
        self._call(self._store.set, key, value)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        if self._changes("set") and not self._changes("set_if_not_exists"):
            return super().set_if_not_exists(key, value)
        return self._call(self._store.set_if_not_exists, key, value)

    def set_partial_values(self, key_start_values: Iterable[tuple[str, int, Buffer]]) -> None:
        if (self._changes("set") or self._changes("get")) and not self._changes("set_partial_values"):
            super().set_partial_values(key_start_values)
            return
        self._call(self._store.set_partial_values, key_start_values)

    def delete(self, key: str) -> None:
        self._call(self._store.delete, key)

    def erase_values(self, keys: Iterable[str]) -> None:
        self._call(self._store.erase_values, keys)

    def erase_prefix(self, prefix: str) -> None:
        self._call(self._store.erase_prefix, prefix)

    def clear(self) -> None:
        self._call(self._store.clear)

    def close(self) -> None:
        self._call(self._store.close)


class ReadOnlyStore(WrapperStore):
    """Any store, with every write refused."""

    @property
    def read_only(self) -> bool:
        return True

    def with_read_only(self, read_only: bool = False) -> Store:
        return self if read_only else self._store

    def __str__(self) -> str:
        return str(self._store)

    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        self._check_writable()
        return False

    def set_partial_values(self, key_start_values: Iterable[tuple[str, int, Buffer]]) -> None:
        self._check_writable()

    def delete(self, key: str) -> None:
        self._check_writable()

    def erase_values(self, keys: Iterable[str]) -> None:
        self._check_writable()

    def erase_prefix(self, prefix: str) -> None:
        self._check_writable()

    def clear(self) -> None:
        self._check_writable()


class LoggingStore(WrapperStore):
    """A store that logs and counts every call to another one.

    Parameters
    ----------
    store : Store
        The store to wrap.
    log_level : str
        Level of the logger.
    log_handler : logging.Handler, optional
        Where the messages go; standard output by default, unless the logger has a handler already.

    Attributes
    ----------
    counter : collections.defaultdict
        How many times each method has been called.

    Examples
    --------
    >>> from zarrcore.storage import MemoryStore
    >>> store = LoggingStore(MemoryStore(), log_level="WARNING")
    >>> store.set("a", b"value")
    >>> dict(store.counter)
    {'set': 1}
    """

    counter: defaultdict[str, int]

    def __init__(
        self, store: Store, log_level: str = "DEBUG", log_handler: logging.Handler | None = None
    ) -> None:
        from collections import defaultdict

        super().__init__(store)
        self.counter = defaultdict(int)
        self.log_level = log_level
        self.log_handler = log_handler
        self.logger = self._configured_logger()

    def _configured_logger(self) -> logging.Logger:
        import logging
        import sys

        logger = logging.getLogger(f"LoggingStore({self._store})")
        logger.setLevel(self.log_level)
        if self.log_handler is not None:
            logger.addHandler(self.log_handler)
        elif not logger.hasHandlers():
            handler = logging.StreamHandler(sys.stdout)
            handler.setFormatter(logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"))
            logger.addHandler(handler)
        return logger

    def _call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        import time

        name = method.__name__
        call = f"{type(self._store).__name__}.{name}"
        if args and isinstance(args[0], str):
            call += f"({args[0]})"
        self.counter[name] += 1
        self.logger.info("Calling %s", call)
        started = time.perf_counter()
        try:
            return super()._call(method, *args, **kwargs)
        finally:
            self.logger.info("Finished %s [%.6f s]", call, time.perf_counter() - started)

    def _with_store(self, store: Store) -> Self:
        return type(self)(store, self.log_level, self.log_handler)

    def __str__(self) -> str:
        return f"logging-{self._store}"
