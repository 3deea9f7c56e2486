"""Any filesystem of the package fsspec as a store: S3, GCS, Azure, HTTP, SFTP, archives, caches."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, Self
from urllib.parse import quote

from zarrcore._extension import own_form
from zarrcore._locks import one_at_a_time
from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.errors import BaseZarrError, StoreError, masked, shown
from zarrcore.storage import files, filesystems, single_files
from zarrcore.storage.byte_range import (
    ByteRange,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    as_request,
)
from zarrcore.storage.credentials import WITHHELD, Credentials, has_credentials, unwrapped
from zarrcore.storage.filesystems import Withheld, blocking, is_local, layers, protocols
from zarrcore.storage.loops import Unawaited, run_to_end
from zarrcore.storage.remote import RemoteStore, concurrency, lists_documents, reads_at_once
from zarrcore.storage.servers import KINDS, SCHEMES, place_of_files
from zarrcore.storage.validation import (
    as_view,
    is_document,
    join_path,
    too_large,
    validate_key,
    validate_prefix,
)
from zarrcore.storage.walking import keys_of_pages, names_on_page, walked, walks

ALLOWED_EXCEPTIONS: tuple[type[Exception], ...] = (
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
)
"""Exceptions that mean, by default, that there is no value at a key."""

_MUCH = 1 << 26
_NO_BUCKET = re.compile("(?i)specified (bucket|container) does not exist")  # which is no absent value
_FTP_ABSENT = re.compile("(?i)550 (?!.*(denied|permission))")
_SECRET = re.compile("key|secret|token|pass|user|cred|sas|auth|anon|asynchronous|loop|session|cache|listing")
_SERVERS = (  # in the environment, which of those that have buckets of the same names is meant
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "STORAGE_EMULATOR_HOST",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "AZURE_STORAGE_CONNECTION_STRING",
)
_MAGIC = frozenset("*?[")  # fsspec takes paths with one of these for patterns when it removes several


_CONNECTIONS = {"max_pool_connections": 64}


class FsspecStore(RemoteStore):
    """A filesystem of fsspec; the value of the key ``a/b`` is the file ``path/a/b``.

    Many values are fetched in parallel where the filesystem is an asynchronous one (S3, GCS, Azure, HTTP),
    at most ``async.concurrency`` of them at a time.  Others, for which fsspec does not state whether they may
    be used by several threads at once, are asked for one value after the other.

    Parameters
    ----------
    fs : fsspec.AbstractFileSystem
        The filesystem, made for synchronous or for asynchronous use.
    read_only : bool
        Refuse every write.
    path : str
        Where the store has its root, without a scheme.
    allowed_exceptions : tuple of type
        Exceptions of the filesystem that mean that there is no value.  Any other is an error, never an absent
        chunk.  Of files of this machine, by default only `FileNotFoundError`: where a file is in the place of
        a directory, or the other way round, nobody knows what the chunk held.

    Notes
    -----
    Whether a value is replaced atomically is up to the filesystem: object stores do, files of this machine
    are renamed into place, others may show a reader half of a value.

    Closing the store leaves the filesystem open, which fsspec shares with others.

    Examples
    --------
    >>> store = FsspecStore.from_url("memory://example-of-a-store")
    >>> store.set("a/b", b"value")
    >>> store.get("a/b"), store.get("a/c"), [*store.list()]
    (b'value', None, ['a/b'])
    """

    _handled = FileExistsError
    _bounds_chunks = True

    def __init__(
        self,
        fs: Any,
        read_only: bool = False,
        path: str = "/",
        allowed_exceptions: tuple[type[Exception], ...] = ALLOWED_EXCEPTIONS,
    ) -> None:
        super().__init__(read_only=read_only)
        if not hasattr(fs, "cat_ranges"):
            raise TypeError(f"FsspecStore: expected a filesystem of fsspec, got {fs!r}")
        self.fs = fs
        single_files.take(fs)
        self.path = path
        self.allowed_exceptions = allowed_exceptions
        self._blocking: tuple[int, Any] | None = None
        self._here: tuple[int, Any] | None = None
        self._found_at: str | None = None
        self._root: str = self._files._strip_protocol(path).rstrip("/")

    @classmethod
    def from_url(
        cls,
        url: str,
        storage_options: dict[str, Any] | None = None,
        read_only: bool = False,
        allowed_exceptions: tuple[type[Exception], ...] = ALLOWED_EXCEPTIONS,
    ) -> Self:
        """Return the store of a URL, whose scheme selects the filesystem.

        Parameters
        ----------
        url : str
            Such as ``s3://bucket/path`` or ``simplecache::https://host/path``.
        storage_options : dict, optional
            Options of the filesystem.  Where they do not say how many connections s3fs may have, it has 64.
        read_only, allowed_exceptions
            As for the class.

        Raises
        ------
        StoreError
            If fsspec or the package that it needs for the scheme is not installed, or the scheme is unknown.
        """
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise StoreError(
                f"{masked(url)!r}: URLs other than file: need the packages obstore or fsspec: "
                "pip install 'zarrcore[remote]'"
            ) from error
        try:
            fs, path = url_to_fs(url, **_with_connections(url, storage_options or {}))
        except (ImportError, ValueError) as error:  # of a package that is missing, or for an unknown scheme
            raise StoreError(masked(f"{url!r}: fsspec has no filesystem for it: {error}")) from error
        return cls(fs, read_only, path, allowed_exceptions)

    @classmethod
    def from_mapper(
        cls,
        fs_map: Any,
        read_only: bool = False,
        allowed_exceptions: tuple[type[Exception], ...] = ALLOWED_EXCEPTIONS,
    ) -> Self:
        """Return the store of a mapping made by ``fsspec.get_mapper``.

        Parameters
        ----------
        fs_map : fsspec.FSMap
            The mapping.
        read_only, allowed_exceptions
            As for the class.
        """
        return cls(fs_map.fs, read_only, fs_map.root, allowed_exceptions)

    @classmethod
    def from_upath(
        cls,
        upath: Any,
        read_only: bool = False,
        allowed_exceptions: tuple[type[Exception], ...] = ALLOWED_EXCEPTIONS,
    ) -> Self:
        """Return the store of a path of universal_pathlib.

        Parameters
        ----------
        upath : UPath
            The path.
        read_only, allowed_exceptions
            As for the class.
        """
        return cls(upath.fs, read_only, upath.path, allowed_exceptions)

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> bytes | None:
        return own_form(self, "get_partial_values", [(key, byte_range)])[0]  # type: ignore[no-any-return]

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        keys = list(keys)
        # One byte more shows that the value is too large, without asking for its size first.
        values = self.get_partial_values([(key, (0, most + 1)) for key in keys])
        for key, value in zip(keys, values, strict=True):
            if value is not None and len(value) > most:
                raise StoreError(f"{self}: key {key!r}: {too_large(f'{most} and more', most)}", key=key)
        return values

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[bytes | None]:
        requests = [(validate_key(key), self._span(key, byte_range)) for key, byte_range in key_ranges]
        for key, _ in requests:
            self._refuse_special(key)
        asked = [(key, *span) for key, span in requests if span is not None]
        found: Iterator[Any]
        try:
            found = iter(asked and self._ranges(asked))
        except Exception as error:  # of a cache of whole files: one of them is absent, or cannot be fetched
            found = iter([error]) if len(asked) == 1 else map(self._range, asked)
        return [
            (b"" if self.exists(key) else None) if span is None else self._answer(key, span, next(found))
            for key, span in requests
        ]

    def _ranges(self, asked: Sequence[tuple[str, int | None, int | None]]) -> Sequence[Any]:
        """Return bytes or an exception for each request."""
        paths = [self._path(key) for key, _, _ in asked]
        starts = [start for _, start, _ in asked]
        stops = [self._bounded(*request) for request in asked]
        limit = {"batch_size": reads_at_once()} if self._coroutine("cat_ranges") else {}
        read = partial(self._call, "cat_ranges", paths, starts, stops, on_error="return", **limit)
        if (cache := self._cache) is None:
            return read()  # type: ignore[no-any-return]
        return filesystems.read_through(self._files, cache, paths, read)

    def _range(self, request: tuple[str, int | None, int | None]) -> Any:
        try:
            return self._ranges([request])[0]
        except Exception as error:
            return error

    def _span(self, key: str, byte_range: ByteRange | None) -> _Span | None:
        if byte_range is None and is_document(key) and (self._files.async_impl or self._is_local):
            return 0, MAX_DOCUMENT_NBYTES + 1
        return _span(byte_range)

    def _bounded(self, key: str, start: int | None, stop: int | None) -> int | None:
        """The end of a range, within the file where the filesystem would make room for all of the range."""
        if stop is None or stop - (start or 0) <= _MUCH or self._files.async_impl:
            return stop
        info = self._info(key)
        return stop if info is None else max(start or 0, min(stop, info["size"]))

    def _answer(self, key: str, span: _Span, answer: Any) -> bytes | None:
        absent = self.allowed_exceptions
        if absent is ALLOWED_EXCEPTIONS and self._is_local and not is_document(key):
            absent = (FileNotFoundError,)
        if isinstance(answer, absent) and not self._is_failure(answer):
            if self._cache is not None and not filesystems.is_trusted(self._cache):
                below = self._below_cache
                return below._answer(key, span, below._range((key, *span)))
            self._refuse_hidden(key)
            return None
        if isinstance(answer, BaseException):
            status, message = getattr(answer, "status", None), str(answer).lower()
            if status == 416 or "not satisfiable" in message:  # it begins after the end of the value
                return b""
            cause = answer.__cause__ if isinstance(answer, absent) else None
            raise self._failed(key, cause or answer) from answer
        start, stop = span
        most = None if start is None else -start if start < 0 else None if stop is None else stop - start
        try:
            nbytes = memoryview(answer).nbytes
        except TypeError:
            reason = f"the filesystem answers with {type(answer).__name__}, which is no bytes"
            raise StoreError(f"{self}: key {key!r}: {reason}", key=key) from None
        if most is not None and nbytes > most:
            raise StoreError(f"{self}: key {key!r}: {most} bytes were asked for, {nbytes} came", key=key)
        return bytes(answer)

    def exists(self, key: str) -> bool:
        if self._has_objects:
            # Where nothing is, they are asked once for a byte, and twice for what there is.
            return self.get_partial_values([(key, (0, 1))])[0] is not None
        return self._info(key) is not None

    def _size(self, key: str) -> int | None:
        info = self._info(key)
        size = None if info is None else info.get("size")
        return super()._size(key) if info is not None and size is None else size

    def _info(self, key: str) -> Any | None:
        """Return what the filesystem knows of a file; None if there is none."""
        if self._cache is not None:  # which looks for it among the names in its directory
            return self._below_cache._info(key)
        info = self._ask(key, "info", self._path(key))
        return info if info is not None and info["type"] == "file" else None

    def _ask(self, key: str, method: str, path: str, **options: Any) -> Any:
        """Call a method of the filesystem; None if nothing is at a path."""
        with self._failures(key):
            self._files.invalidate_cache()  # listings that are remembered lack what others wrote since
            try:
                return self._call(method, path, **options)
            except self.allowed_exceptions as error:
                if self._is_failure(error):
                    raise self._failed(key, error.__cause__ or error) from error
                return None

    def _is_failure(self, absence: BaseException) -> bool:
        """Whether an exception that stands for an absent value hides that nobody knows what is there.

        fsspec's filesystems for the web and for FTP say of whatever went wrong that the file is not found.
        """
        if _NO_BUCKET.search(str(absence)):
            return True
        cause = absence.__cause__
        if cause is None or isinstance(cause, self.allowed_exceptions):
            return False
        if type(cause).__module__ == "ftplib":
            return _FTP_ABSENT.match(str(cause)) is None
        return self._is_web and getattr(cause, "status", None) != 404

    # --- listing ---

    @property
    def supports_listing(self) -> bool:  # type: ignore[override]
        return not self._is_web or lists_documents(self)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key, _ in self._found(prefix, sizes=False))

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        return self._found(prefix, sizes=True)

    def _found(self, prefix: str, *, sizes: bool) -> Iterator[tuple[str, int | None]]:
        if self._is_web:
            return ((key, None) for key in keys_of_pages(self, prefix))  # pages show no sizes
        start = self._below(prefix)
        if walks(self._files):
            found: Iterable[tuple[str, Any]] = walked(self, prefix)
        else:
            answer = self._ask(prefix, "find", start.rstrip("/"), detail=sizes) or {}
            found = answer.items() if sizes else ((path, {}) for path in answer)
        skip = len(start) - len(validate_prefix(prefix))
        return (
            (path[skip:], info.get("size"))
            for path, info in found
            if path.startswith(start) and _is_listed(path)
        )

    def list_dir(self, prefix: str) -> Iterator[str]:
        if self._is_web:
            return names_on_page(self, prefix)
        start = self._below(prefix)
        found = self._ask(prefix, "ls", start.rstrip("/"), detail=False) or ()
        names = (path[len(start) :].rstrip("/") for path in found if path.startswith(start))
        return iter(dict.fromkeys(name for name in names if name and _is_listed(name)))

    def _claim(self, prefix: str) -> bool:
        if prefix or not self._root or not self._has_objects:
            return False
        try:
            return next(iter(self.list_dir("")), None) is None
        except (BaseZarrError, OSError):  # not everyone who may write may list
            return False

    @property
    def _sees_directories(self) -> bool:  # type: ignore[override]
        return self._has_objects

    def _is_directory(self, prefix: str) -> bool:
        # s3fs makes two requests to list a directory that is absent, and one to ask whether there is one.
        try:
            return bool(self._ask(prefix, "isdir", self._below(prefix).rstrip("/")))
        except (BaseZarrError, OSError):  # not everyone who may write may list
            return True

    # --- writing ---

    def set(self, key: str, value: Buffer) -> None:
        self._write(key, value, is_new=False)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        return self._write(key, value, is_new=True)

    def _write(self, key: str, value: Buffer, *, is_new: bool) -> bool:
        self._check_writable()
        path, data = self._path(key), bytes(as_view(value, key))
        with self._failures(key):
            if self._is_local:
                return files.write_file(path, data, is_new=is_new, **self._rules)
            if not is_new:
                self._pipe(path, data)
                return True
            # Filesystems without a way to create a file alone: one thread at a time for each path.
            with one_at_a_time(self._address(key)):
                if self.exists(key):
                    return False
                try:
                    self._pipe(path, data, mode="create")
                except FileExistsError:
                    return False
        return True

    def _pipe(self, path: str, data: bytes, **options: Any) -> None:
        fs = self._files
        try:
            self._call("pipe_file", path, data, **options)
        except FileNotFoundError:
            if fs.async_impl:
                raise
            fs.makedirs(fs._parent(path), exist_ok=True)  # object stores know no directories, others do
            fs.pipe_file(path, data, **options)

    def delete(self, key: str) -> None:
        self._check_writable()
        path = self._path(key)
        with self._failures(key), suppress(*self.allowed_exceptions):
            if self._is_local and self._root:
                files.remove_file(path, self._root, "inside")
            else:
                self._call("rm_file", path)

    def erase_values(self, keys: Iterable[str]) -> None:
        self._check_writable()
        names = [*keys]
        paths = [self._path(key) for key in names]
        if self._files.async_impl and paths and _MAGIC.isdisjoint("".join(paths)):
            with suppress(Exception):  # one key was absent, or could not be removed: each alone shows which
                self._call("rm", paths)
                return
        super().erase_values(names)

    @property
    def _rules(self) -> dict[str, Any]:
        """How files of this machine are written: not through links that lead out of the root."""
        return {"root": self._root, "follow": "inside"} if self._root else {}

    def erase_prefix(self, prefix: str) -> None:
        if self._is_local and self._root:
            from zarrcore.storage.local import LocalStore

            self._check_writable()
            LocalStore(self._root, fsync=False, locks="none").erase_prefix(prefix)  # which unlinks links
            return
        super().erase_prefix(prefix)
        fs, start = self._files, self._below(prefix)
        if fs.async_impl:  # it has no directories, which are empty now
            return
        names = [""] if validate_prefix(prefix) else [*self.list_dir("")]  # the root itself stays
        for path in [(start + name).rstrip("/") for name in names]:
            with self._failures(prefix), suppress(*self.allowed_exceptions):
                if fs.isdir(path):
                    fs.rm(path, recursive=True)

    # --- life ---

    def __str__(self) -> str:
        return shown(self._files.unstrip_protocol(self._root or self._files.root_marker))

    def _identity(self) -> object:
        return self._root, self.read_only, self._files

    def __getstate__(self) -> dict[str, Any]:
        state, fs = {**vars(self), "_blocking": None, "_here": None, "_found_at": None}, self.fs
        if isinstance(fs, Withheld):
            return state
        given = getattr(fs, "storage_args", ()), getattr(fs, "storage_options", {}), self.path
        if not has_credentials(given):
            return state
        kept = {name: state[name] for name in ("fs", "path", "_root")}
        instead = {
            "fs": Withheld(type(fs), shown(self)),
            "path": masked(self.path),
            "_root": masked(self._root),
        }
        return {**state, **instead, "kept": Credentials(kept)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        kept = unwrapped(state.pop("kept", WITHHELD))
        vars(self).update(state if kept is WITHHELD else {**state, **kept})
        if not isinstance(self.fs, Withheld):
            single_files.take(self.fs)

    def _lasting_name(self) -> str | None:
        if self._in_process:
            return None
        options = {k: v for k, v in self._files.storage_options.items() if _SECRET.search(k) is None}
        options |= {word: found for word in _SERVERS if (found := os.environ.get(word))}
        try:
            described = json.dumps(options, sort_keys=True)  # other servers may have buckets of the same name
        except TypeError:
            return None
        return f"{type(self._files).__name__} {described} {self._root}"

    def _first_names(self, prefix: str) -> Iterable[str] | None:
        if not self._is_local:
            return None
        try:
            with os.scandir(self._below(prefix)) as entries:
                return [entry.name for entry in entries]
        except OSError:
            return []

    def _has_lost(self, prefix: str) -> bool:
        return self._is_local and not os.path.exists(self._below(prefix))

    def _document_in(self, prefix: str) -> str:
        return files.document_in(self._below(prefix)) if self._is_local else ""

    @property
    def _knows_documents(self) -> bool:  # type: ignore[override]
        return self._is_local

    def _concurrent_requests(self) -> int:
        return concurrency() if self._files.async_impl else 0

    @property
    def _in_process(self) -> bool:  # type: ignore[override]
        return "memory" in self._files.protocol

    def _local_root(self) -> str | None:
        return self._root if self._is_local else None

    def _address(self, path: str) -> str:
        fs, root = self._below_others
        if is_local(fs):
            return files.real_directory(f"{root}/{path}")
        if self._found_at is None:
            given = {} if isinstance(fs, Withheld) else fs.storage_options
            place = place_of_files(protocols(fs), given, root)
            self._found_at = shown(place or fs.unstrip_protocol(root or fs.root_marker))
        return f"{join_path(self._found_at, path)}/"

    def _scope(self, path: str) -> str:
        return self._address(path)

    # --- the filesystem ---

    def _call(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of the filesystem; what ends its event loop is not waited for without end."""
        work = self._coroutine(method)
        if work is None:
            fs = self._files_here
            with single_files.lock_of(fs) or nullcontext():
                return getattr(fs, method)(*args, **options)
        try:
            return run_to_end(lambda: work(*args, **options), self._files.loop, is_needed=True)
        except Unawaited as error:
            raise StoreError(f"{self}: {error}") from None

    def _coroutine(self, method: str) -> Callable[..., Any] | None:
        """Return what a method of the filesystem waits for; None where one of them has no coroutines."""
        call = getattr(self._files, method)
        work = getattr(call, "__wrapped__", None) if self._files.async_impl else None
        if not iscoroutinefunction(work):
            return None
        # What a class has wrapped needs its instance.
        return partial(work, call.__self__) if hasattr(call, "__self__") else work

    @property
    def _files(self) -> Any:
        """The filesystem in the form whose methods any thread of this process may call."""
        if self._blocking is None or self._blocking[0] != os.getpid():
            self._blocking = os.getpid(), blocking(self.fs)
        return self._blocking[1]

    @property
    def _files_here(self) -> Any:
        """The same for calls without coroutines, with an open file of this process, not of its parent."""
        if self._here is None or self._here[0] != os.getpid():
            self._here = os.getpid(), single_files.of_this_process(self._files)
        return self._here[1]

    @property
    def _is_local(self) -> bool:
        """Whether files may be looked at without the filesystem: not past what a user's class replaces."""
        return is_local(self._files) and type(self._files).__module__.startswith("fsspec.")

    @property
    def _cache(self) -> Any | None:
        """The filesystem, if it keeps files of another one."""
        return filesystems.cache_of(self._files)

    @property
    def _below_cache(self) -> FsspecStore:
        fs, root = self._below_others
        return FsspecStore(fs, True, root, self.allowed_exceptions)

    @property
    def _below_others(self) -> tuple[Any, str]:
        """The filesystem that has the values, below caches and directories, and the root there."""
        *_, lowest = layers(self._files, self._root)
        return lowest

    @property
    def _is_web(self) -> bool:
        return "http" in protocols(self._below_others[0])

    @property
    def _has_objects(self) -> bool:
        """Whether the filesystem is an object store in a cloud, and nothing over one."""
        return self._files.async_impl and any(KINDS.get(word) in SCHEMES for word in protocols(self._files))

    def _path(self, key: str) -> str:
        validate_key(key)
        files.refuse_own(key)
        key = quote(key) if self._is_web else key
        return f"{self._root}/{key}" if self._root else f"{self._files.root_marker}{key}"

    def _below(self, prefix: str) -> str:
        """Return what the paths of all keys below a prefix begin with."""
        prefix = quote(validate_prefix(prefix)) if self._is_web else validate_prefix(prefix)
        return f"{self._root}/{prefix}" if self._root else f"{self._files.root_marker}{prefix}"


def _with_connections(url: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return options with as many connections as requests are made, where s3fs would have ten."""
    if str(url).partition("://")[0] not in ("s3", "s3a"):
        return options
    return {**options, "config_kwargs": {**_CONNECTIONS, **(options.get("config_kwargs") or {})}}


_Span = tuple[int | None, int | None]


def _span(byte_range: ByteRange | None) -> _Span | None:
    """A byte range as fsspec's `start` and `end`; None if no byte is wanted, for which it has no words."""
    match as_request(byte_range):
        case None:
            return None, None
        case RangeByteRequest(start, end):
            return (start, end) if end > start else None
        case OffsetByteRequest(offset):
            return offset, None
        case SuffixByteRequest(suffix):
            return (-suffix, None) if suffix else None


def _is_listed(path: str) -> bool:
    """False for the names of files that are being written, and for directories."""
    return not path.endswith("/") and not files.is_own(path.rpartition("/")[2])
