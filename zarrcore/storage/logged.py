"""A store that logs every call."""

from __future__ import annotations

import logging
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import ParamSpec, Self, TypeVar

from zarrcore.storage.base import Store
from zarrcore.storage.wrapper import WrapperStore

P = ParamSpec("P")
T = TypeVar("T")


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
        super().__init__(store)
        self.counter = defaultdict(int)
        self.log_level = log_level
        self.log_handler = log_handler
        self.logger = logging.getLogger(f"LoggingStore({store})")
        self.logger.setLevel(log_level)
        if log_handler is None and not self.logger.hasHandlers():
            log_handler = logging.StreamHandler(sys.stdout)
            log_handler.setFormatter(
                logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s")
            )
        if log_handler is not None:
            self.logger.addHandler(log_handler)

    def _call(self, method: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
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
