"""Clients of the package obstore: one for a bucket in a process, made again in its children."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Hashable, Mapping
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from math import ceil
from time import perf_counter as clock
from typing import Any

from zarrcore._locks import fresh_in_child, one_at_a_time
from zarrcore._weak import WeakSet
from zarrcore.errors import StoreError
from zarrcore.storage.credentials import (
    WITHHELD,
    Credentials,
    Found,
    has_credentials,
    refuse_without,
    unwrapped,
    without_credentials,
    without_others,
)
from zarrcore.storage.ends import Ends
from zarrcore.storage.servers import server_of
from zarrcore.storage.tags import Tags
from zarrcore.storage.versions import oldest

_MOST_SHARED = 64
_MOST_NOTES = 1000
_MOST_WAITS = 16
_NEAR = 0.001  # seconds
_WORK = 0.00006  # seconds of a CPU for a request
_MOST_ENOUGH = 16
_FOR_EACH_CPU = 3  # requests
_MOST_LATE = 3
_EXTENSION = "obstore._obstore"
_OF_CLOUDS = ("AWS_", "AZURE_", "GOOGLE_", "IDENTITY_", "MSI_")
_REGION = "x-amz-bucket-region"
_COMPARING = ("S3Store", "GCSStore", "AzureStore", "MemoryStore")
_IN_OTHER_REGION = ("configured region", "AuthorizationHeaderMalformed", "PermanentRedirect")

_package: Any = None  # obstore, as this process may use it
_inherited: str | None = None  # the file of its extension, if the parent had loaded that before the fork
_clients: WeakSet[Client] = WeakSet()
_of_parents: list[Any] = []
"""Stores that a parent of this process made: what ends one waits for locks that only its threads release."""


def is_installed() -> bool:
    """Return whether there is the package obstore; it is not loaded."""
    return _package is not None or find_spec("obstore") is not None


def obstore() -> Any:
    """Return the package obstore in a form that this process can use.

    Its requests run on threads of its own, which a child process made by fork does not have, so that a call
    would wait for ever.  The package does not make new ones, but a second copy of it makes its own.
    """
    global _package
    if _package is None:
        with one_at_a_time(_EXTENSION):
            if _package is None:
                if _inherited is not None:
                    _load_copy(_inherited)
                _package = import_module("obstore")
                import_module("obstore.store")
    return _package


def _forked() -> None:
    global _package, _inherited
    _of_parents.extend(client._made for client in _clients if client._made is not None)
    _package = None
    if _inherited is None and _EXTENSION in sys.modules:
        _inherited = sys.modules[_EXTENSION].__file__


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _load_copy(file: str) -> None:
    """Load the extension of obstore from a copy of its file, and the package around it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "obstore"]:
        del sys.modules[name]
    # The loader knows a library by its file, and would hand out the one that is loaded already.
    try:
        descriptor = os.memfd_create("obstore")
        with open(file, "rb") as source:
            at, size = 0, os.fstat(source.fileno()).st_size
            while at < size:
                at += os.sendfile(descriptor, source.fileno(), at, size - at)
        path = f"/proc/{os.getpid()}/fd/{descriptor}"
        spec = spec_from_file_location(_EXTENSION, path, loader=ExtensionFileLoader(_EXTENSION, path))
        assert spec is not None and spec.loader is not None
        extension = module_from_spec(spec)
        spec.loader.exec_module(extension)
        os.close(descriptor)
    except (ImportError, OSError, AttributeError) as error:
        raise StoreError(
            "obstore was loaded before this process was forked, so that it does not work here, and a copy of "
            f"it could not be loaded ({error}): use the start method 'spawn' or 'forkserver'"
        ) from error
    sys.modules[_EXTENSION] = extension


class Client:
    """A store of obstore in whichever process it is asked for.

    Parameters
    ----------
    kind : str
        Name of its class, such as ``"S3Store"``.
    args, options
        What the class takes.
    made : object, optional
        The store, if there is one.
    """

    __slots__ = (
        "__weakref__",
        "_is_withheld",
        "_late",
        "_made",
        "_notes",
        "_prefix",
        "_process",
        "_region",
        "_waits",
        "args",
        "compares",
        "ends",
        "ends_for_good",
        "kind",
        "knows_absence",
        "options",
        "server",
        "tags",
    )

    def __init__(
        self, kind: str, args: tuple[Any, ...], options: Mapping[str, Any], made: Any = None
    ) -> None:
        self.kind, self.args, self.options = kind, args, options
        self._made = made
        self._prefix = f"{made.prefix or ''}" if made is not None and kind == "LocalStore" else None
        self._process = os.getpid()
        self._region: dict[str, str] = {}  # that of the bucket, once it is known that it is another one
        self._notes: dict[str, dict[str, Any]] = {}
        self.server = server_of(kind, self.bucket, self.config)
        self.ends = Ends()
        self.ends_for_good = Ends(trusted=True)  # for stores whose values do not change
        self.tags = Tags()
        # Whether a value can be replaced on condition that nobody else has replaced it.
        self.compares = kind in _COMPARING and self.config("conditional_put") != "disabled"
        self.knows_absence = False  # whether it has told that something is not there
        self._waits: tuple[float, ...] = ()  # seconds until the last documents began to arrive
        self._late = 0  # reads in a row without an answer that came at once
        self._is_withheld = False  # whether it came out of a pickle without its credentials
        _clients.add(self)

    @classmethod
    def of(cls, store: Any) -> Client:
        """Return the client of a store of obstore that somebody has made."""
        again = getattr(store, "__getnewargs_ex__", None)  # a store in memory cannot be made again
        args, options = ((), {}) if again is None else again()
        return cls(type(store).__name__, args, options, store)

    def __reduce__(self) -> Any:
        if self.kind == "MemoryStore":
            raise TypeError("a MemoryStore of obstore cannot be pickled")
        if self._is_withheld:
            return _unpickled, (self.kind, self.args, self.options, WITHHELD)
        found = [value.profile for value in self.options.values() if isinstance(value, Found)]
        own = {name: value for name, value in self.options.items() if not isinstance(value, Found)}
        given = self.args, own
        kept = Credentials(given) if has_credentials(given) else given
        return _unpickled, (self.kind, *without_credentials(given), kept, *found[:1])

    @property
    def store(self) -> Any:
        """The store of obstore."""
        if self._is_withheld:
            refuse_without(" ".join((self.kind, *map(repr, self.args))))
        made = self._made  # which another thread may take away, once it knows a region
        if made is None or self._process != os.getpid():
            if self.kind == "MemoryStore":
                raise StoreError("a MemoryStore of obstore cannot be used after a fork")
            package = obstore()
            with one_at_a_time((Client, id(self)), None):  # two would do no harm
                region: dict[str, str] | None = None
                while region is not self._region:  # which another thread may learn meanwhile
                    region = self._region
                    options = without_others(self.kind, {**self.options, **region})
                    made = getattr(package.store, self.kind)(*self.args, **options)
                    self._made, self._process = made, os.getpid()
        return made

    @property
    def prefix(self) -> str:
        """The directory of a LocalStore, known in the child of a fork too, where the store is made again."""
        if self._prefix is None:
            self._prefix = f"{self.store.prefix or ''}"
        return self._prefix

    def note_wait(self, seconds: float) -> None:
        """Note how long an answer has taken."""
        self._waits = (*self._waits[1 - _MOST_WAITS :], seconds)

    def timed(self, get: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does what `get` does, and notes how long its first answer has taken."""
        is_noted = False

        def timed_get(*args: Any) -> Any:
            nonlocal is_noted
            began = clock()
            answer = get(*args)
            if not is_noted:
                is_noted = True
                self.note_wait(clock() - began)
            return answer

        return timed_get

    def settle(self, seconds: float | None) -> None:
        """Note how long the first answer of a read has taken, None if it has not come at once.

        A busy machine takes longer now and then; an answer that brings a connection with it does, too.
        """
        self._late = 0 if seconds is not None else self._late + 1
        if self._late == _MOST_LATE:
            self._waits, self._late = (), 0
        elif seconds is not None and seconds < min(self._waits, default=_NEAR):
            self.note_wait(seconds)

    def enough(self, cpus: int) -> int | None:
        """Return how many requests at a time are enough, if answers come at once: more threads only cost.

        While one waits for its answer, the CPUs work for the others.
        """
        fastest = min(self._waits, default=_NEAR)
        enough = max(_FOR_EACH_CPU * cpus, ceil(fastest / _WORK))
        return None if fastest >= _NEAR else min(_MOST_ENOUGH, enough)

    @property
    def identity(self) -> Any:
        """What is equal for clients of the same store with the same options."""
        return (self.kind, self.args, _hashable(self.options)) if self._is_withheld else self.store

    def notes(self, root: str) -> dict[str, Any]:
        """Return what stores with a root have found out about it."""
        if len(self._notes) >= _MOST_NOTES:
            self._notes.clear()
        return self._notes.setdefault(root, {})

    @property
    def bucket(self) -> str:
        """The name of the bucket or container, or the URL of the web server."""
        return str(self.config("bucket") or self.config("container_name") or (*self.args, "")[0])

    def config(self, name: str) -> Any:
        """Return an option of the store, or None."""
        return self.options.get(name) or dict(self.options.get("config") or {}).get(name)

    def finds_region(self, error: BaseException, used: Any) -> bool:
        """Return whether a request has failed because the bucket is in another region, which is known now.

        `used` is the store that the request was sent by: another thread may have learned the region since.
        """
        if self.kind != "S3Store" or not any(words in str(error) for words in _IN_OTHER_REGION):
            return False
        if self._made is not used:
            return True
        region = _region_of(self.bucket, self.config("endpoint") or "https://s3.amazonaws.com")
        if region is None:
            return False
        if region != self._region.get("region"):
            self._region = {"region": region}
            self._made = None
        return self._made is not used


def _region_of(bucket: str, endpoint: str) -> str | None:
    """Return the region of a bucket of S3, which everyone may ask for; None if there is no answer."""
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(f"{endpoint}/{bucket}", method="HEAD"), timeout=10) as answer:
            return answer.headers.get(_REGION)  # type: ignore[no-any-return]
    except HTTPError as error:
        return error.headers.get(_REGION)
    except (URLError, OSError, HTTPException, ValueError):  # also what is no answer, or no URL
        return None


def _unpickled(kind: str, args: Any, options: Any, kept: Any, *profile: str | None) -> Client:
    """Return the client of a pickle, with what that has of its credentials, or those of a profile here."""
    kept = unwrapped(kept)
    if kept is WITHHELD:
        client = Client(kind, args, options)
        client._is_withheld = True
        return client
    args, own = kept
    for name in profile:
        from zarrcore.storage.options import with_profile

        own = with_profile(own, name)
    return shared(kind, args, own)


_shared: dict[Hashable, Client] = {}
fresh_in_child(globals(), "_shared", are_caches=True)


def shared(kind: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Client:
    """Return the client that all of this process use who want the same, and with it its connections."""
    key = kind, _hashable(args), _hashable(options), _environment()
    try:
        known = _shared.get(key)
    except TypeError:
        return Client(kind, args, options)
    if known is not None:
        return known
    client = _shared.setdefault(key, Client(kind, args, options))
    oldest(_shared, _MOST_SHARED)
    return client


def _environment() -> frozenset[tuple[str, str | None]]:
    """Return what obstore finds in the environment when it makes a store: keys may be replaced later."""
    return frozenset(
        (name, os.environ.get(name))  # most values are of no interest: to decode them takes half of the time
        for name in os.environ
        if name.startswith(_OF_CLOUDS) or name[-6:].upper() == "_PROXY"
    )


def _hashable(value: Any) -> Any:
    if type(value) in (str, bool, int):  # most are
        return value
    if isinstance(value, Mapping):
        return frozenset((name, _hashable(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    if isinstance(value, Found):  # pickles differ from those of a text that somebody has given
        return Found, value.profile, str(value)
    return value
