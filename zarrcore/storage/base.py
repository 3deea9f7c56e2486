"""The abstract store interface of the Zarr v3 core specification, and what stores can do besides."""

from __future__ import annotations

import errno
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from inspect import isasyncgenfunction, iscoroutinefunction, isfunction
from typing import TYPE_CHECKING, Any, Self

from zarrcore._locks import one_at_a_time
from zarrcore._typing import Buffer
from zarrcore._validate import describe
from zarrcore.errors import ReadOnlyError, StoreError
from zarrcore.storage import validation
from zarrcore.storage.announced import announce_changes
from zarrcore.storage.derived import hide_shortcuts
from zarrcore.storage.validation import (
    as_view,
    is_document,
    join_path,
    lasting,
    removal_step,
    validate_key,
    validate_prefix,
)

if TYPE_CHECKING:
    from zarrcore._core.engine import Place
    from zarrcore.storage.alone import StillThere
    from zarrcore.storage.byte_range import ByteRange
    from zarrcore.storage.pinned import Changed
    from zarrcore.storage.versions import Fetched

_MOST_REPEATS = 1_000  # of keys in a listing, besides each one's second time


def __getattr__(name: str) -> Any:
    """Return a class of the module `wrapper`, which is loaded when it is needed; pickles look for it here."""
    if name not in ("ReadOnlyStore", "WrapperStore"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("zarrcore.storage.wrapper"), name)


class Store(ABC):
    """A mapping of keys to bytes (Zarr v3 core, "Abstract store interface").

    A new kind of store implements four methods, :meth:`get`, :meth:`set`, :meth:`delete` and :meth:`list`;
    all others have a default that is built on them and may be replaced by something faster.  The suite
    :class:`zarrcore.testing.store.StoreTests` checks an implementation.

    Two rules matter most.  :meth:`get` returns None if the key is absent, and for no other reason: whatever
    else keeps it from the value is an exception, because an absent chunk reads as the fill value.  And
    :meth:`set` is atomic: a reader sees the old value or the new one.

    Stores may be used from several threads at once.

    Parameters
    ----------
    read_only : bool
        Refuse every write.

    Examples
    --------
    >>> from zarrcore.storage import resolve_range
    >>> class DictStore(Store):
    ...     def __init__(self):
    ...         self.values = {}
    ...     def get(self, key, byte_range=None):
    ...         value = self.values.get(key)
    ...         return None if value is None else value[slice(*resolve_range(byte_range, len(value)))]
    ...     def set(self, key, value):
    ...         self.values[key] = bytes(value)
    ...     def delete(self, key):
    ...         self.values.pop(key, None)
    ...     def list(self):
    ...         return iter(list(self.values))
    >>> store = DictStore()
    >>> store.set("a/b", b"0123")
    >>> store.get("a/b", (1, 2)), list(store.list_dir("")), store.exists("c")
    (b'12', ['a'], False)
    """

    _read_only: bool = False

    supports_writes: bool = True
    supports_deletes: bool = True
    supports_listing: bool = True
    supports_partial_writes: bool = False
    supports_consolidated_metadata: bool = True
    _nodes_first: bool = False  # whether chunks are refused as long as their array has no document
    _is_near: bool = False  # whether reading one more document costs next to nothing
    _lists_once: bool = False  # its listing is known to repeat no key
    _knows_documents: bool = False  # whether an array has no document where `_document_in` finds none
    _has_directories: bool = False  # whether something else than a value may be in the place of one
    _in_process: bool = False  # whether other processes that get the store write into a copy of it
    _versioned: bool = False  # whether `_fetch` can be called
    _immutable: bool = False  # whether nobody but this process changes values
    _takes_parts: bool = False  # whether `_set_parts` can be called, and needs little memory
    _asynchronous: str = ""  # a method that is a coroutine, for which no such store can be made
    _bounds_chunks: bool = False  # whether `_get_chunks` reads no more than `most` bytes

    def __init_subclass__(cls, *, announces: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if coroutines := [*filter(cls._is_coroutine, vars(cls))]:
            cls._asynchronous = f"{cls.__name__}.{coroutines[0]}"
            # In zarr-python's place it is a class of a package that is being imported: that may have others.
            if sys.modules.get("zarr") is not sys.modules["zarrcore"]:
                cls._refuse_asynchronous()
        hide_shortcuts(cls, Store)
        if announces:
            announce_changes(cls)

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        if cls._asynchronous:
            cls._refuse_asynchronous()
        return super().__new__(cls)

    def __init__(self, *, read_only: bool = False) -> None:
        self._read_only = bool(read_only)

    @classmethod
    def _is_coroutine(cls, name: str) -> bool:
        """Return whether a method that this class has in place of a store's is a coroutine."""
        member = vars(cls)[name]
        return name in _VERBS and (iscoroutinefunction(member) or isasyncgenfunction(member))

    @classmethod
    def _refuse_asynchronous(cls) -> None:
        raise TypeError(
            f"{cls._asynchronous} is asynchronous, but methods of stores are plain functions here, "
            "called from several threads: write `def`, and inside of it call a blocking client, or "
            "run the coroutine in a loop of your own (asyncio.run_coroutine_threadsafe(...).result())"
        )

    @classmethod
    def open(cls, *args: Any, **kwargs: Any) -> Self:
        """Create a store; the same as calling the class.

        Parameters
        ----------
        *args, **kwargs
            The arguments of the class.
        """
        return cls(*args, **kwargs)

    # --- what a store must do ---

    @abstractmethod
    def get(self, key: str, byte_range: ByteRange | None = None) -> Buffer | None:
        """Return the value at a key, or a part of it.

        Parameters
        ----------
        key : str
            The key.
        byte_range : RangeByteRequest, OffsetByteRequest, SuffixByteRequest or (start, length), optional
            The part to return, in bytes.  What lies beyond the end of the value is left out.

        Returns
        -------
        bytes-like or None
            None if there is no value at the key, and for no other reason.

        Raises
        ------
        StoreError, OSError
            If the value could not be read.
        """

    @abstractmethod
    def set(self, key: str, value: Buffer) -> None:
        """Store a value at a key, in place of the one that was there.

        Parameters
        ----------
        key : str
            The key.
        value : bytes-like
            The value; the store keeps no reference to it.

        Raises
        ------
        ReadOnlyError
            If the store is read-only.
        StoreError, OSError
            If the value could not be stored; then the key still has its old value.
        """

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove a key and its value; do nothing if there is none.

        Parameters
        ----------
        key : str
            The key.

        Raises
        ------
        ReadOnlyError
            If the store is read-only.
        StoreError, OSError
            If the value could not be removed.
        """

    @abstractmethod
    def list(self) -> Iterator[str]:
        """Return an iterator over all keys of the store, in any order."""

    # --- reading ---

    def exists(self, key: str) -> bool:
        """Return whether there is a value at `key`."""
        return self._size(key) is not None

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        """Return many values, or parts of values.

        Parameters
        ----------
        key_ranges : iterable of (key, byte range or None)
            What to read; a key may occur several times.

        Returns
        -------
        list of bytes-like or None
            One answer for each request, in their order.  Ranges of the same key come from the same value,
            even while it is being replaced, if the store can promise that.
        """
        return [lasting(self.get(key, byte_range)) for key, byte_range in key_ranges]

    def get_many(self, keys: Iterable[str]) -> Sequence[Buffer | None]:
        """Return the values at `keys`, in their order; None for keys that have no value."""
        return self.get_partial_values([(key, None) for key in keys])

    def getsize(self, key: str) -> int:
        """Return the size of the value at `key`, in bytes.

        Raises
        ------
        FileNotFoundError
            If there is no value at the key.
        """
        size = self._size(key)
        if size is None:
            raise self._absent(key)
        return size

    def getsize_prefix(self, prefix: str) -> int:
        """Return the sum of the sizes of all values below `prefix`, in bytes."""
        return sum(map(self.getsize, self._keys_listed(prefix)))

    # --- listing ---

    def list_prefix(self, prefix: str) -> Iterator[str]:
        """Return an iterator over all keys that begin with a prefix, in full.

        Parameters
        ----------
        prefix : str
            ``""`` for all keys, or ``"a/b/"``.  A missing slash at the end is added.
        """
        prefix = validate_prefix(prefix)
        return (key for key in self._once(self.list()) if key.startswith(prefix))

    def list_dir(self, prefix: str) -> Iterator[str]:
        """Return an iterator over the names of keys and prefixes directly below `prefix`.

        Each name occurs once and has no slash.  A store that knows directories may also name empty ones.
        """
        start = len(validate_prefix(prefix))
        names = dict.fromkeys(key[start:].partition("/")[0] for key in self._keys_listed(prefix))
        return iter(names)

    def is_empty(self, prefix: str = "") -> bool:
        """Return whether there is no key below `prefix`."""
        return next(self._keys_listed(prefix), None) is None

    # --- writing ---

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        """Store a value unless the key has one.

        If several callers do this at the same time, one of them stores its value.  This default promises that
        to the threads of one process; a store that other processes write to should replace it.

        Parameters
        ----------
        key : str
            The key.
        value : bytes-like
            The value.

        Returns
        -------
        bool
            Whether the value was stored.
        """
        self._check_writable()
        with one_at_a_time((self._scope(""), key)):
            if self.exists(key):
                return False
            self.set(key, value)
            return True

    def set_partial_values(self, key_start_values: Iterable[tuple[str, int, Buffer]]) -> None:
        """Overwrite or extend parts of values.

        This default reads each value, patches it and stores it again as a whole.

        Parameters
        ----------
        key_start_values : iterable of (key, start, value)
            What to write from which byte on.  A key may occur several times if its parts do not overlap.

        Raises
        ------
        StoreError
            If parts overlap, or would leave a gap after the end of the value.
        """
        self._check_writable()
        patches: dict[str, list[tuple[int, bytes | memoryview]]] = {}
        for key, start, value in key_start_values:
            patches.setdefault(validate_key(key), []).append((start, as_view(value, key)))
        for key, parts in patches.items():
            self.set(key, validation.patched(key, self.get(key), parts))

    def erase(self, key: str) -> None:
        """Remove `key`: the specification's name for :meth:`delete`."""
        self.delete(key)

    def erase_values(self, keys: Iterable[str]) -> None:
        """Remove all of `keys`; those without a value are ignored."""
        self._check_writable()
        for key in keys:
            self.delete(key)

    def erase_prefix(self, prefix: str) -> None:
        """Remove all keys below `prefix`, metadata documents first.

        An array without its document is no array, but one without its chunks would read as fill values.
        """
        self._check_writable()
        keys = [*self._keys_listed(prefix, StoreError)]
        documents = filter(is_document, keys)
        self.erase_values(sorted(documents, key=lambda key: removal_step(key[key.rfind("/") + 1 :])))
        self.erase_values(key for key in keys if not is_document(key))

    def delete_dir(self, prefix: str) -> None:
        """Remove all keys below `prefix`: zarr-python's name for :meth:`erase_prefix`."""
        self.erase_prefix(prefix)

    def clear(self) -> None:
        """Remove all keys."""
        self.erase_prefix("")

    # --- life ---

    @property
    def read_only(self) -> bool:
        """Whether the store refuses to be written."""
        return self._read_only

    def with_read_only(self, read_only: bool = False) -> Store:
        """Return the same store, read-only or writable; this object stays as it is.

        Parameters
        ----------
        read_only : bool
            Whether the returned store refuses writes.

        Raises
        ------
        StoreError
            If the store cannot be made writable.
        """
        if read_only == self.read_only:
            return self
        if not read_only:
            raise StoreError(f"{self!r} cannot be made writable")
        # A subclass need not ask `_check_writable`, so the refusal has to come first.
        return __getattr__("ReadOnlyStore")(self)  # type: ignore[no-any-return]

    def close(self) -> None:  # noqa: B027  # most stores hold nothing open
        """Release files and connections that the store keeps open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((type(self), self._identity()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}://{id(self):#x}"

    # --- for subclasses and for the array layer ---

    def _identity(self) -> object:
        """Return what is equal for stores of one class that are equal."""
        return id(self)

    def _check_writable(self) -> None:
        """Refuse a write before anything has been done, if the store is read-only."""
        if self.read_only or not self.supports_writes:
            raise ReadOnlyError(f"{self} is read-only and cannot be written")

    def _absent(self, key: str) -> Exception:
        return FileNotFoundError(errno.ENOENT, f"no such key in {self}", key)

    def _copy_with_read_only(self, read_only: bool) -> Self:
        clone = object.__new__(type(self))
        vars(clone).update(vars(self), _read_only=bool(read_only))
        return clone

    def _size(self, key: str) -> int | None:
        """Return the size of a value; None if there is none."""
        value = self.get(key)
        return None if value is None else memoryview(as_view(value, key)).nbytes

    def _set_new(self, key: str, value: Buffer) -> bool:
        """:meth:`set_if_not_exists`, which does not pass by the `set` that a subclass replaces alone."""
        for base in map(vars, type(self).__mro__):
            if "set_if_not_exists" in base:
                break
            if "set" in base:
                return Store.set_if_not_exists(self, key, value)
        return self.set_if_not_exists(key, value) is not False  # stores for older versions return None

    @property
    def _compares(self) -> bool:
        """Whether the store can replace a value on condition that nobody else has replaced it."""
        return False

    def _get_version(self, key: str, most: int | None = None) -> tuple[Buffer | None, Any]:
        """Return a value of `most` bytes at most, and its version; None: the store compares none."""
        return self.get(key), None

    def _recent_version(self, key: str) -> tuple[Buffer | None, Any] | None:
        """Return what :meth:`_get_version` has returned of a document a moment ago; None: ask for it."""
        return None

    def _replace_version(self, key: str, value: Buffer, version: Any, attempt: int = 0) -> bool:
        """Store a value unless another process has replaced the version, of :meth:`_get_version`, meanwhile.

        If it has, this returns False after a wait that grows with the number of attempts.
        """
        self.set(key, value)
        return True

    def _can_erase(self, prefix: str) -> bool:
        """Return whether all keys with a prefix can be removed."""
        return self.supports_deletes

    _claims_places = False
    """Whether one request is enough to :meth:`_claim` any prefix, and not only the root for many nodes."""

    def _claim(self, prefix: str) -> bool:
        """Return whether one look shows that no key is below a prefix, where one will be set."""
        return False

    _sees_directories = False
    """Whether one request shows whether anything is below a prefix: see :meth:`_is_directory`."""

    def _is_directory(self, prefix: str) -> bool:
        """Return whether anything is below a prefix, as far as one request shows that."""
        return not self.is_empty(prefix)

    def _rename_prefix(self, source: str, dest: str) -> bool:
        """Give all keys below a prefix another one, where nothing is; False if that takes several steps."""
        return False

    def _notes(self) -> dict[str, Any]:
        """Return what has been found out about the store, to be added to."""
        return vars(self).setdefault("_found_out", {})  # type: ignore[no-any-return]

    def _address(self, path: str) -> str:
        """Return where a path really is: text that ends with a slash, the same for all stores of it."""
        return f"{join_path(str(self), path)}/"

    def _link_target(self, path: str) -> str | None:
        """Return the :meth:`_address` of a directory that is a link; None where there is no link."""
        return None

    def _version(self, key: str) -> tuple[int, ...] | None:
        """Numbers that differ once the value of a key does; ``()``: it has none; None: finding them costs."""
        return None

    def _noticed(self, key: str) -> Any:
        """Return what differs once somebody has replaced a document, if that costs nothing; else nothing.

        It is asked after reads, also where the class of a user may have read another value.
        """
        return None

    def _get_noticed(self, key: str) -> tuple[Any, Any] | None:
        """Return a value, and what :meth:`_noticed` is of the very one that was read, or None.

        None: to find that out together with the value costs no less than to ask.
        """
        return None

    def _pinned(self, key: str) -> AbstractContextManager[Callable[[], Changed]]:
        """Yield a function that returns what has changed of the array of a document, if that is cheap."""
        return nullcontext(lambda: "nothing")

    def _fetch(
        self,
        key: str,
        part: ByteRange | None = None,
        *,
        most: int | None = None,
        known: str | None = None,
        same: str | None = None,
    ) -> Fetched:
        """Return a value, or a part of it, with its version, of a store that is `_versioned`.

        If the version is still the one that is `known`, or is not the `same`, the answer has no value.
        """
        raise NotImplementedError

    def _expect_recheck(self) -> None:  # noqa: B027  # most stores know no versions
        """Note versions from now on: there is a cache of chunks, and it will be asked which have changed."""

    def _lasting_name(self) -> str | None:
        """Return what distinguishes the store from all others, in all processes; None: nothing does."""
        return None

    def _instead_of_node(self, path: str) -> str:
        """Return what is at a path where no node was found, as text; empty if that is not known."""
        return ""

    def _has_lost(self, prefix: str) -> bool:
        """Return whether it is certain, and known at no cost, that nothing is left of the array there."""
        # Asked once by a read that found chunks absent, which otherwise means the fill value.
        return False

    def _document_in(self, prefix: str) -> str:
        """Return the name of an array's metadata below a prefix; nothing where finding out has a cost."""
        return ""

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        """Yield keys below a prefix and their sizes, and what else is there that should not be.

        That are temporary files of writers, empty directories (with a slash at the end) and, of no size, what
        is no file or has vanished.
        """
        return ((key, self._size(key)) for key in self._keys_listed(prefix))

    def _list_stored(self, prefix: str) -> Iterator[str]:
        """Yield keys as :meth:`list_prefix`, also those that cannot be read, as links to nothing.

        And empty directories, with a slash at the end: one may be in the place of a chunk.
        """
        return self._keys_listed(prefix)

    def _keys_listed(self, prefix: str, kind: type[Exception] = TypeError) -> Iterator[str]:
        """Yield what :meth:`list_prefix`, which may be a user's, returns; other keys are an error.

        What is no text is one of this `kind`: whoever asks on behalf of a node names that.
        Chunks of another array would be copied, or removed, as those of the one below the prefix.
        """
        start = validate_prefix(prefix)
        keys = self.list_prefix(prefix)
        for key in keys if self._lists_once else self._once(keys):
            if not isinstance(key, str):
                raise kind(f"expected the names of keys from a listing, got {describe(key)}")
            if not key.startswith(start):
                raise StoreError(f"prefix {start!r}: {self} lists what is not below: {key!r:.200}")
            yield key

    def _once(self, keys: Iterable[Any]) -> Iterator[Any]:
        """Yield each key of a listing once; one that repeats itself without end is an error."""
        found, repeats = set[str](), 0
        for key in keys:
            if not isinstance(key, str):
                yield key  # whoever asks has an error for it
            elif key not in found:
                found.add(key)
                yield key
            elif (repeats := repeats + 1) > len(found) + _MOST_REPEATS:
                raise StoreError(f"{self} lists the same keys again and again, as {key!r:.200}")

    def _unreadable_names(self, prefix: str) -> Iterable[str]:
        """Return the names, directly below a prefix, of what :meth:`list_dir` leaves out for that reason."""
        return ()

    def _temporary_names(self, prefix: str) -> Iterable[str]:
        """Return the names, directly below a prefix, of temporary files of this store."""
        return ()

    def _which_exist(self, keys: Sequence[str]) -> Iterable[bool]:
        """Return for each of many keys whether there is a value, one request after the other."""
        return (bool(self.exists(key)) for key in keys)

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        """:meth:`get_many` for chunks that have `most` bytes at most, which bounds what needs to be read."""
        return self.get_many(keys)

    def _get_parts(
        self, key_ranges: Sequence[tuple[str, ByteRange | None]], versions: dict[str, str]
    ) -> Sequence[Buffer | None]:
        """:meth:`get_partial_values` for reads that ask several times for parts of one version of a value.

        `versions` belongs to the read: for each value whose parts it has seen, it has a text that no other
        version has, as far as the store knows one.  If another one is there now, ReplacedError is raised.
        """
        return self.get_partial_values(key_ranges)

    def _get_part(self, key: str, byte_range: ByteRange | None, versions: dict[str, str]) -> Buffer | None:
        """:meth:`_get_parts` of one value, without what was kept."""
        return self.get(key, byte_range)

    def _in_parts(self, key: str) -> AbstractContextManager[tuple[int, Iterator[Buffer]]] | None:
        """Return the size of a value and parts of it, all of one version; None: take it as a whole."""
        return None

    def _set_parts(self, key: str, nbytes: int, parts: Iterable[Buffer]) -> None:
        """Store a value of `nbytes` bytes that comes in parts, in a store that `_takes_parts`.

        What these raise ends it, and leaves the old value.
        """
        raise NotImplementedError

    def _first_names(self, prefix: str) -> Iterable[str] | None:
        """Return the names below a prefix, perhaps repeated; a few are used.  None: listing costs."""
        return None

    def _names_of_keys(self, prefix: str) -> Iterator[str]:
        """Yield, for each key below a prefix, the name that follows the prefix."""
        return (key[len(prefix) :].partition("/")[0] for key in self._keys_listed(prefix))

    def _walked_keys(self) -> tuple[str, Collection[str]] | None:
        """Return all keys, and how they begin, where each listing walks through them; else None."""
        return None

    def _concurrent_requests(self) -> int:
        """Return how many requests to make to the store at a time; 0: more than one is not faster."""
        return 0

    def _scope(self, path: str) -> str:
        """Return the place of all keys below a path, for locks and generations: text that ends with a slash.

        Stores over the same data must return the same.  Of a store written elsewhere nothing is known but its
        class: all stores of one class, and of classes derived from it, share their keys.
        """
        kind = next(
            cls for cls in reversed(type(self).__mro__) if issubclass(cls, Store) and cls is not Store
        )
        return join_path(f"{kind.__module__}.{kind.__qualname__}", path) + "/"

    def _lock_file(self, path: str) -> tuple[str, str, bool, bool] | None:
        """Return a file by whose locks processes keep each other away, and the next arguments of `Place`."""
        return None

    def _alone(self, path: str, *, makes: bool = True) -> AbstractContextManager[StillThere | None]:
        """Enclose what one process at a time does at a path where a node is, or will be, if the store can.

        Without `makes` nothing is made there for that.  The block receives a function that returns whether
        what is stored at the path is still there, and nobody has removed or moved it; None: nobody knows.
        """
        return nullcontext()

    def _place(self, path: str, *, documents: bool = False) -> Place:
        """Return what the locks of the chunks of an array, or of the `documents` of a node, go by."""
        from zarrcore._core.engine import Place

        scope, found = self._scope(path), self._lock_file(path)
        scope = scope if scope.endswith("/") else f"{scope}/"
        return Place(scope) if found is None else Place(scope, *found, makes=not documents)

    def _native_source(self) -> Any | None:
        """Return a source that the engine reads and writes without Python, or None if there is none."""
        return None


# What some stores have beside.  All have it, so that no `__getattr__` of a user is asked, which passes on to
# another store what it does not know: the engine would read past the `get` that is the user's.
_BESIDE = (
    "_awaiting",
    "_lend_chunks",
    "_recheck",
    "_remove_temporary",
    "_serve",
    "_set_lent",
    "_small_shard",
    "_window",
)
for _name in _BESIDE:
    setattr(Store, _name, 0 if _name == "_small_shard" else None)

_VERBS = frozenset(name for name, member in vars(Store).items() if isfunction(member) and name[0] != "_")
