"""The object stores of the package obstore as a store: S3, GCS, Azure, HTTP, without Python in between."""

from __future__ import annotations

import os
import random
import re
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.errors import BaseZarrError, StoreError, ZarrUserWarning, shown
from zarrcore.storage import parts
from zarrcore.storage.base import overrides
from zarrcore.storage.byte_range import (
    ByteRange,
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    as_request,
    resolve_range,
)
from zarrcore.storage.clients import Client, obstore
from zarrcore.storage.ends import Ends
from zarrcore.storage.remote import (
    RemoteStore,
    concurrency,
    in_parallel,
    interruptibly,
    lists_documents,
    serve,
)
from zarrcore.storage.servers import SCHEMES, place_in_bucket
from zarrcore.storage.validation import (
    as_view,
    is_document,
    join_path,
    key_prefix,
    normalize_path,
    too_large,
    validate_key,
    validate_prefix,
)
from zarrcore.storage.versions import Fetched, replaced, strong

if TYPE_CHECKING:
    from zarrcore._core.engine import Feed

R = TypeVar("R")

_MOST_AT_ONCE = 20 << 20  # bytes of one request; more are sent in parts, so that none takes too long
_PART = 8 << 20  # bytes of a large value that are held at a time, while it is copied
_MOST_ROOM = 256 << 20  # bytes of an answer for which room is made before they have come
_NOT_IMPLEMENTED = "status code: 501 "
_MARK = "zarrcoreput"  # no name that a proxy refuses: neither signs nor upper case
_LOOKS = 8  # at a value that is replaced between a look at its size and the request for a part of it
_ABSENT = ()  # the version of no value
_LONGEST_WAIT = 1.0  # seconds, before a value that others have replaced is replaced
_NO_BUCKET = re.compile("<Code>(NoSuchBucket|ContainerNotFound)</Code>")


class _NoBucketError(Exception):
    """There is no bucket, and so no answer to whether it has a value."""


def _require_bucket(error: FileNotFoundError) -> None:
    """Refuse the answer that there is no such bucket, whose status is that of an absent value."""
    if _NO_BUCKET.search(str(error)):
        raise _NoBucketError(str(error)) from error


class ObjectStore(RemoteStore):
    """A store of obstore.

    Many values, or parts of them, are fetched in parallel, at most ``async.concurrency`` at a time.  A child
    process can use the store that its parent has used, whichever way it is started.

    Parameters
    ----------
    store : obstore.store.ObjectStore
        Where the values are, for example ``obstore.store.S3Store("bucket", prefix="path")``.
    read_only : bool
        Refuse every write.
    path : str
        Where the store has its root, below that of `store`.
    immutable : bool
        Nobody but this process changes values.  What is kept of them (indexes of shards, chunks in a
        :class:`zarrcore.ChunkCache`, files of a :class:`CacheStore`) is used without asking whether they are
        still the same.

    See Also
    --------
    from_url : The store of a URL.

    Examples
    --------
    >>> import obstore.store
    >>> store = ObjectStore(obstore.store.MemoryStore(), read_only=False)
    >>> array = zarrcore.create_array(store, shape=4, dtype="f4", fill_value=1)
    >>> array[:].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    _handled = FileNotFoundError
    _bounds_chunks = True
    _small_shard = 1 << 18  # bytes, decoded, that come sooner as a whole than by an index and ranges

    def __init__(
        self, store: Any, *, read_only: bool = False, path: str = "", immutable: bool = False
    ) -> None:
        super().__init__(read_only=read_only)
        self._immutable = bool(immutable)
        if not isinstance(store, Client):
            if type(store).__module__.partition(".")[0] != "obstore" or not hasattr(store, "put"):
                raise TypeError(
                    f"ObjectStore: expected a store of the package obstore (pip install zarrcore[remote]), "
                    f"got {store!r}"
                )
            store = Client.of(store)
        self._client: Client = store
        self.path = normalize_path(path)
        self._root = key_prefix(self.path)

    @classmethod
    def from_url(
        cls,
        url: str,
        storage_options: dict[str, Any] | None = None,
        read_only: bool = False,
        immutable: bool = False,
    ) -> Self:
        """Return the store of a URL.

        All stores of this process over one bucket, with the same options, share their connections.

        Parameters
        ----------
        url : str
            ``s3://bucket/path``, ``gs://bucket/path``, ``az://container/path``, ``abfs://container/path``,
            also with ``container@account.host``, or ``https://host/path``.
        storage_options : dict, optional
            Options in the words of fsspec's filesystem for the scheme (``key``, ``secret``, ``anon``,
            ``endpoint_url``, ...) or of obstore (``access_key_id``, ``skip_signature``, ``client_options``,
            ``retry_config``, ...).
        read_only : bool
            Refuse every write.
        immutable : bool
            No value changes: see the class.

        Raises
        ------
        StoreError
            If obstore is not installed, or does not know the scheme or one of the options.

        Examples
        --------
        >>> store = ObjectStore.from_url("s3://bucket/data.zarr", {"anon": True})
        >>> store
        ObjectStore('s3://bucket/data.zarr')
        """
        from zarrcore.storage import buckets, options

        try:
            client, path = buckets.client_of(url, storage_options or {})
        except options.UnknownOptionError as unknown:
            raise buckets.refused(url, unknown) from None
        return cls(client, read_only=read_only, path=path, immutable=immutable)

    @property
    def store(self) -> Any:
        """The store of obstore; a child process made by fork has one of its own."""
        return self._client.store

    def _wait(self, call: Callable[[], R]) -> R:
        return call() if self._is_here else interruptibly(call)

    @property
    def _is_here(self) -> bool:
        return self._client.kind in ("MemoryStore", "LocalStore")

    def _ask(self, verb: str, *args: Any, **options: Any) -> Any:
        """Call a function of obstore."""
        package, store = obstore(), self.store
        try:
            return getattr(package, verb)(store, *args, **options)
        except FileNotFoundError as error:
            _require_bucket(error)
            self._client.knows_absence = True
            raise
        except package.exceptions.BaseError as error:
            if not self._client.finds_region(error, store):
                raise
        return getattr(package, verb)(self.store, *args, **options)

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> bytes | None:
        request = as_request(byte_range)
        if request is None:
            most = MAX_DOCUMENT_NBYTES if is_document(key) else None
            value = self._wait(lambda: self._whole_value(key, most))
        else:
            value = self._wait(lambda: self._any_part(key, request))
        return None if value is None else bytes(value)

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        if overrides(self, ObjectStore):
            return self.get_many(keys)

        wanted = list(keys)
        each = parts.connections_for_each(len(wanted))
        return in_parallel(lambda key: self._whole_value(key, most, each), wanted)

    def _get_parts(
        self, key_ranges: Sequence[tuple[str, ByteRange | None]], versions: dict[str, str]
    ) -> Sequence[Buffer | None]:
        if overrides(self, ObjectStore):
            return self.get_partial_values(key_ranges)
        if not versions:
            self._client.tags.begin()
        requests = [(validate_key(key), as_request(byte_range)) for key, byte_range in key_ranges]
        parts = [self._kept_end(key, request, versions) for key, request in requests]
        missing = [at for at, part in enumerate(parts) if part is None]
        found = in_parallel(lambda at: self._part(*requests[at], versions), missing)
        for at, part in zip(missing, found, strict=True):
            parts[at] = part
        return parts

    def _get_part(self, key: str, byte_range: ByteRange | None, versions: dict[str, str]) -> Buffer | None:
        if overrides(self, ObjectStore):
            return self.get(key, byte_range)
        return self._wait(lambda: self._part(validate_key(key), as_request(byte_range), versions))

    @property
    def _ends(self) -> Ends:
        return self._client.ends_for_good if self._immutable else self._client.ends

    def _events(self, key: str) -> int:
        """Return how often this process has changed a value, where nobody asks whether it is the same.

        Stores with other options, which have clients of their own, may have changed it.
        """
        if not self._immutable:
            return 0
        from zarrcore._core.engine import key_events

        return key_events(self._scope(""), key)

    def _forget(self, key: str) -> None:
        """Forget what is kept of a value, which is being replaced or removed."""
        for kept in (self._client.ends, self._client.ends_for_good, self._client.tags):
            kept.drop(self._root + key)

    @property
    def _bucket(self) -> str:
        """The place that all keys of the client are below."""
        scope = self._scope("")
        return scope[: len(scope) - len(self._root)]

    @property
    def _recheck(self) -> Callable[[Sequence[str]], Sequence[bool]] | None:
        """What has changed of some values whose chunks are in a cache."""
        return None if self._immutable or overrides(self, ObjectStore) else self._changed

    def _changed(self, keys: Sequence[str]) -> Sequence[bool]:
        def is_other(one: tuple[str, str]) -> bool:
            key, tag = one
            try:
                return not self._fetch(key[len(self._root) :], RangeByteRequest(0, 1), known=tag).is_unchanged
            except StoreError:
                return True  # reading it shows the reason

        paths = [self._root + key for key in keys]
        found = self._client.tags.changed(paths, self._bucket, lambda asked: in_parallel(is_other, asked))
        for path, is_changed in zip(paths, found, strict=True):
            if is_changed:
                self._ends.drop(path)
        return found

    def _expect_recheck(self) -> None:
        self._client.tags.wanted = True

    @property
    def _notes_tags(self) -> bool:
        return self._client.tags.wanted and not self._immutable

    @property
    def _serve(self) -> Callable[[Feed, int, dict[str, str]], None] | None:
        return None if overrides(self, ObjectStore) else self._answer

    def _answer(self, feed: Feed, n: int, versions: dict[str, str]) -> None:
        """Answer the requests of a read in the background: for whole chunks, or for ranges of shards."""
        from zarrcore._core.engine import trust

        trust(obstore().Bytes)
        each = parts.connections_for_each(n)

        def get(key: str, byte_range: ByteRange | None, most: int | None) -> Buffer | None:
            if byte_range is None:
                return self._whole_value(key, most, each)
            return self._part(key, as_request(byte_range), versions)

        serve(feed, n, get)

    @property
    def _versioned(self) -> bool:  # type: ignore[override]
        return not overrides(self, ObjectStore)

    def _fetch(
        self,
        key: str,
        part: ByteRange | None = None,
        *,
        most: int | None = None,
        known: str | None = None,
        same: str | None = None,
    ) -> Fetched:
        found = self._asked(key, as_request(part), most=most, known=known, same=same)
        return found if found.value is None else found._replace(value=bytes(found.value))

    def _asked(
        self,
        key: str,
        request: ByteRequest | None,
        *,
        most: int | None = None,
        known: str | None = None,
        same: str | None = None,
        is_sized: bool = False,
    ) -> Fetched:
        """:meth:`_fetch` that leaves the value as obstore has it."""
        errors = obstore().exceptions
        options = {name: tag for name, tag in (("if_none_match", known), ("if_match", same)) if tag}
        wanted = None if request is None else _range_of(request)
        with self._failures(validate_key(key), request):
            try:
                if request is not None and wanted is None:  # no byte, for which obstore has no words
                    return self._asked_by_size(key, request, same)
                range_ = {} if wanted is None else {"range": wanted}
                found = self._ask("get", self._root + key, options={**options, **range_})
                tag, size = strong(found.meta["e_tag"]), int(found.meta["size"])
                if same is not None and tag != same:
                    return Fetched(is_replaced=True)
                if request is None:
                    self._refuse_large(key, size, most)
                return Fetched(cast("bytes", self._taken(found)), tag, size)
            except FileNotFoundError:
                return Fetched(is_replaced=same is not None)
            except errors.NotModifiedError:
                if known is None:  # which nobody has asked
                    raise
                return Fetched(version=known, is_unchanged=True)
            except errors.PreconditionError:
                return Fetched(is_replaced=True)
            except errors.NotSupportedError:
                if request is None or is_sized:
                    raise
            except errors.BaseError as error:
                if is_sized or ("416 " not in str(error) and not self._is_here):
                    raise
            return self._asked_by_size(key, request, same)

    def _asked_by_size(self, key: str, request: ByteRequest | None, same: str | None) -> Fetched:
        """:meth:`_asked` for what cannot be asked for before the size of the value is known."""
        for _ in range(_LOOKS):
            try:
                head = self._ask("head", self._root + key)
            except FileNotFoundError:
                return Fetched(is_replaced=same is not None)
            tag, size = strong(head["e_tag"]), int(head["size"])
            start, stop = resolve_range(request, size)
            if same is not None and tag != same:
                return Fetched(is_replaced=True)
            if start == stop:
                return Fetched(b"", tag, size)
            found = self._asked(key, RangeByteRequest(start, stop), same=tag, is_sized=True)
            if same is not None or not found.is_replaced:
                return found
        return Fetched(is_replaced=True)

    @property
    def _awaiting(self) -> Callable[..., Awaitable[Any]] | None:
        """A coroutine for what an event loop awaits; None if a subclass moves bytes in another way."""
        return None if overrides(self, ObjectStore) else self._await

    async def _await(self, key: str, request: Any, most: int | None, versions: dict[str, str]) -> Any:
        """Return a value or a part of it, None if it is absent, or an error, perhaps :class:`Elsewhere`.

        `versions` has the tags of the values whose parts have arrived.
        """
        from zarrcore._core.engine import trust
        from zarrcore.storage.arriving import Elsewhere

        path, package = self._root + validate_key(key), obstore()
        trust(package.Bytes)
        kept = self._kept_end(key, request, versions)
        if kept is not None:
            return kept
        events = self._events(key)
        options = {"if_match": versions[key]} if key in versions and request is not None else {}
        if request is not None:
            wanted = None if isinstance(request, OffsetByteRequest) else _range_of(request)
            if wanted is None:
                return Elsewhere()
            options["range"] = wanted
        try:
            found = await package.get_async(self.store, path, options=options or None)
            size, tag = int(found.meta["size"]), strong(found.meta["e_tag"])
            if request is None:
                self._refuse_large(key, size, most)
            if _is_much(found):
                return Elsewhere()
            data = await found.bytes_async()
        except FileNotFoundError as error:
            return None if self._local_root() is None and not _NO_BUCKET.search(str(error)) else Elsewhere()
        except Exception as error:
            # What else there is to be done about it, the call that waits does.
            is_refused = isinstance(error, (package.exceptions.PermissionDeniedError, StoreError))
            return self._failed(key, error, request) if is_refused else Elsewhere()
        if request is not None and (versions.get(key, tag) != tag or not self._is_one(key, tag, versions)):
            self._ends.drop(path)
            return Elsewhere()
        if isinstance(request, SuffixByteRequest):
            self._ends.note(path, request.suffix, tag, bytes(data), events)
        return data

    @property
    def _awaits_names(self) -> bool:
        return self._client.kind != "HTTPStore"

    async def _await_names(self, prefix: str) -> Any:
        """Return the names directly below a prefix, or :class:`Elsewhere`."""
        from zarrcore.storage.arriving import Elsewhere

        start = self._root + validate_prefix(prefix)
        try:
            found = await obstore().list_with_delimiter_async(self.store, prefix=start or None)
        except Exception:
            return Elsewhere()
        names = tuple(_names_in(found, start))
        return names if names or self._client.knows_absence else Elsewhere()  # which doubts it

    def _kept_end(self, key: str, request: ByteRange | None, versions: dict[str, str]) -> Buffer | None:
        """Return the end of a value that is kept; what follows is then read of the same version."""
        if not isinstance(request, SuffixByteRequest):
            return None
        kept = self._ends.find(self._root + key, request.suffix, self._events(key))
        if kept is None or not self._is_one(key, kept[0], versions):
            return None
        if self._notes_tags:
            self._client.tags.note(self._root + key, kept[0], self._bucket, is_seen=False)
        return kept[1]

    def _part(self, key: str, request: ByteRequest | None, versions: dict[str, str]) -> Buffer | None:
        """Return a part of a value, of the version whose parts were read before."""
        path, tags, events = self._root + key, self._client.tags, self._events(key)
        same = versions.get(key)
        if same is None and self._notes_tags and not isinstance(request, SuffixByteRequest):
            same = tags.noted(path)  # of an index that is in a cache, to which the range belongs
        found = self._asked(key, request, same=same)
        is_one = not found.is_replaced and self._is_one(key, found.version, versions)
        if self._notes_tags and (found.value is not None or not is_one):
            tags.note(path, found.version, self._bucket)
        if not is_one:
            self._ends.drop(path)
            raise replaced(self, key)
        if found.value is None:
            self._refuse_hidden(key)
        elif isinstance(request, SuffixByteRequest):
            self._ends.note(path, request.suffix, found.version, bytes(found.value), events)
        return found.value

    def _is_one(self, key: str, tag: str | None, versions: dict[str, str]) -> bool:
        """Return whether a tag is that of the other parts that were read; that of the first one is noted."""
        version = None if self._immutable else strong(tag)
        return version is None or versions.setdefault(key, version) == version

    def _any_part(self, key: str, request: ByteRequest) -> Buffer | None:
        """Return a part of whatever version of a value is there; None if it is absent."""
        found = self._asked(key, request)
        if found.is_replaced:
            raise replaced(self, key)
        if found.value is None:
            self._refuse_hidden(key)
        return found.value

    def _whole_value(self, key: str, most: int | None, connections: int = 1) -> Buffer | None:
        """Return a value as obstore has it; None if it is absent.

        A large value comes over several connections, if it may have them.
        """
        with self._failures(validate_key(key)):
            try:
                if connections > 1 and most is not None and self._comes_in_parts(most):
                    return self._large(key, most, connections)
                return self._taken(self._whole(key, most))
            except FileNotFoundError:
                self._refuse_hidden(key)
                return None

    def _whole(self, key: str, most: int | None) -> Any:
        """Ask for a value; its contents have yet to be taken."""
        found = self._ask("get", self._root + key)
        self._refuse_large(key, found.range[1], most)
        if self._notes_tags:
            self._client.tags.note(self._root + key, strong(found.meta["e_tag"]), self._bucket)
        return found

    def _with_version(self, key: str, most: int | None) -> tuple[Buffer, Any]:
        """Return a value and the names of its version, None if it has none that can be compared."""
        found = self._whole(key, most)
        names = {name: found.meta[name] for name in ("e_tag", "version")}
        version = tuple((name, is_) for name, is_ in names.items() if strong(is_))
        return self._taken(found), version or None

    def _taken(self, found: Any) -> Buffer:
        start, stop = found.range
        if stop - start < parts.LARGE or _is_much(found) or self._is_here:
            return _received(found)
        return parts.collected(obstore(), found)

    def _refuse_large(self, key: str, size: int, most: int | None) -> None:
        if most is not None and size > most:
            raise StoreError(f"{self}: key {key!r}: {too_large(size, most)}", key=key)

    def _comes_in_parts(self, most: int) -> bool:
        return most >= parts.WORTH_IT and not self._is_here

    def _large(self, key: str, most: int, connections: int) -> Buffer:
        """:meth:`_whole` of a value that may be large, over several connections."""
        package, path = obstore(), self._root + key
        try:
            with parts.none_of(package):
                first = self._ask("get", path, options={"range": (0, parts.PART)})
            size, tag = int(first.meta["size"]), strong(first.meta["e_tag"])
            self._refuse_large(key, size, most)
            if size <= parts.PART:
                data = _received(first)
            else:
                data = parts.rest_of(package, self.store, path, first, connections)
        except parts.NotInParts:
            return self._taken(self._whole(key, most))
        if self._notes_tags:
            self._client.tags.note(path, tag, self._bucket)
        return data

    def _head(self, key: str) -> int:
        """Return the size of a value; FileNotFoundError if there is none."""
        return int(self._ask("head", self._root + key)["size"])

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[bytes | None]:
        # Not obstore.get_ranges, which panics where a range begins after the end of a value in memory.
        return in_parallel(lambda request: self.get(*request), list(key_ranges))

    def _size(self, key: str) -> int | None:
        with self._failures(validate_key(key)):
            try:
                return self._wait(lambda: self._head(key))
            except FileNotFoundError:
                return None

    def getsize_prefix(self, prefix: str) -> int:
        return sum(item["size"] for item in self._objects(validate_prefix(prefix)))

    # --- listing ---

    @property
    def supports_listing(self) -> bool:  # type: ignore[override]
        return self._client.kind != "HTTPStore" or lists_documents(self)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key, _ in self._list_sizes(prefix))

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        skip = len(self._root)
        return ((item["path"][skip:], item["size"]) for item in self._objects(validate_prefix(prefix)))

    def _objects(self, prefix: str) -> Iterator[Any]:
        start = self._root + prefix
        with self._failures(prefix):
            before = None
            pages = self._first_page(start)
            first = next(pages, None)
            if not first:
                self._doubt_nothing()
            for page in chain([first or []], pages):
                begin = page[0]["path"] if page else None
                if begin is not None and begin == before:
                    raise StoreError("the server lists the same again and again")
                before = begin
                yield from (item for item in page if item["path"].startswith(start))

    def _doubt_nothing(self) -> None:
        """Believe that there is nothing only of a server that does not have what nobody can have stored.

        The page of a login, a proxy or a console, where a listing was asked for, reads as one without keys.
        """
        if self._client.kind not in SCHEMES or self._client.knows_absence:
            return
        errors = obstore().exceptions
        try:
            self._ask("get", f"{self._root}.zarrcore-{os.urandom(16).hex()}")
        except (FileNotFoundError, errors.PermissionDeniedError, errors.UnauthenticatedError):
            self._client.knows_absence = True
            return
        raise StoreError("the server answers with pages that have nothing to do with what it is asked for")

    def _first_page(self, start: str) -> Iterator[Any]:
        """Return the pages of a listing; the first one, fetched here, shows if the bucket is elsewhere."""
        package, store = obstore(), self.store
        try:
            pages = package.list(store, prefix=start or None)
            first = next(pages, None)
        except package.exceptions.BaseError as error:
            if not self._client.finds_region(error, store):
                raise
            return iter(package.list(self.store, prefix=start or None))
        return chain(() if first is None else (first,), pages)

    def list_dir(self, prefix: str) -> Iterator[str]:
        prefix = self._root + validate_prefix(prefix)
        with self._failures(prefix):
            found = self._wait(lambda: self._ask("list_with_delimiter", prefix=prefix or None))
            names = _names_in(found, prefix)
            if not (found["common_prefixes"] or found["objects"]):
                self._wait(self._doubt_nothing)
        return iter(names)

    # --- writing ---

    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        with self._failures(key):
            self._put(key, data)

    def _in_parts(self, key: str) -> AbstractContextManager[tuple[int, Iterator[Buffer]]] | None:
        return None if overrides(self, ObjectStore) else self._parts_of(key)

    @contextmanager
    def _parts_of(self, key: str) -> Iterator[tuple[int, Iterator[Buffer]]]:
        with self._failures(validate_key(key)):
            found = self._wait(lambda: self._ask("get", self._root + key))
        start, stop = found.range

        def parts() -> Iterator[Buffer]:
            with self._failures(key):
                if stop - start <= _MOST_AT_ONCE:
                    yield found.bytes()
                else:
                    yield from found.stream(min_chunk_size=_PART)

        yield stop - start, parts()

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        errors = obstore().exceptions
        with self._failures(key):
            try:
                self._put_marked(key, data, "create")
            except errors.AlreadyExistsError:
                return False
            except errors.NotSupportedError:
                return super().set_if_not_exists(key, data)
        return True

    def _put(self, key: str, data: bytes, **options: Any) -> None:
        self._forget(key)
        in_parts = len(data) > _MOST_AT_ONCE and "mode" not in options  # which no store has on condition
        try:
            self._ask("put", self._root + key, data, use_multipart=in_parts, **options)
        except FileNotFoundError as error:  # not the value: the bucket, unless the value is to be replaced
            if isinstance(options.get("mode"), dict):
                raise
            raise self._failed(key, error) from error

    def _put_marked(self, key: str, data: bytes, mode: Any) -> None:
        """Store on condition; of documents it is known who has stored what is there.

        A client that gets no answer stores again.  If the first request was carried out all the same, the own
        value does not meet the condition any more.  Another process may have stored the same bytes: a mark in
        the metadata of the object is the difference.
        """
        if self._client.kind not in SCHEMES or not is_document(key):
            self._put(key, data, mode=mode)
            return
        marks = {_MARK: os.urandom(16).hex()}
        errors = obstore().exceptions
        try:
            self._put(key, data, mode=mode, attributes=marks)
        except (errors.AlreadyExistsError, errors.PreconditionError):
            if self._mark(key) != marks[_MARK]:
                raise

    def _mark(self, key: str) -> str | None:
        """Return the mark of what is stored; None if it has none, or may not be looked at."""
        try:
            found = self._ask("get", self._root + key, options={"head": True}).attributes.get(_MARK)
        except (obstore().exceptions.BaseError, OSError):
            return None
        return None if found is None else str(found)

    @property
    def _compares(self) -> bool:
        return self._client.compares and not overrides(self, ObjectStore)

    def _get_version(self, key: str, most: int | None = None) -> tuple[Buffer | None, Any]:
        if not self._compares:
            return super()._get_version(key, most)
        most = MAX_DOCUMENT_NBYTES if most is None and is_document(key) else most
        with self._failures(validate_key(key)):
            try:
                return self._wait(lambda: self._with_version(key, most))
            except FileNotFoundError:
                return None, _ABSENT

    def _replace_version(self, key: str, value: Buffer, version: Any, attempt: int = 0) -> bool:
        if version is None or not self._client.compares:
            return super()._replace_version(key, value, version)
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        errors = obstore().exceptions
        with self._failures(key):
            try:
                self._put_marked(key, data, "create" if version == _ABSENT else dict(version))
            except (errors.AlreadyExistsError, errors.PreconditionError, FileNotFoundError):
                time.sleep(random.uniform(0, min(0.01 * 2 ** min(attempt, 10), _LONGEST_WAIT)))
                return False
            except errors.BaseError as error:
                if not isinstance(error, errors.NotSupportedError) and _NOT_IMPLEMENTED not in str(error):
                    raise
                self._client.compares = False
                warnings.warn(
                    f"{self} does not compare versions: where several processes write to one chunk, shard or "
                    "document at the same time, updates are lost",
                    ZarrUserWarning,
                    stacklevel=2,
                )
                self._put(key, data)
        return True

    def _claim(self, prefix: str) -> bool:
        # One listing takes the place of a request for each document that might be there.
        if not self._root + prefix or self._client.kind == "HTTPStore":
            return False
        try:
            with self._failures(prefix):  # what is stored next shows whether a server is one
                return next(self._first_page(self._root + prefix), None) in (None, [])
        except (BaseZarrError, OSError):  # not everyone who may write may list
            return False

    def delete(self, key: str) -> None:
        self._check_writable()
        self._forget(key)
        with self._failures(validate_key(key)), suppress(FileNotFoundError):
            self._ask("delete", self._root + key)

    def erase_values(self, keys: Iterable[str]) -> None:
        self._check_writable()
        names = [validate_key(key) for key in keys]
        for name in names:
            self._forget(name)
        with suppress(Exception):  # one key was absent, or could not be removed: each alone shows which
            if names:
                self._ask("delete", [self._root + name for name in names])  # in one request, where it can
            return
        in_parallel(self.delete, names)

    # --- life ---

    def __str__(self) -> str:
        return shown(self._url_of_root() or f"object_store://{join_path(str(self.store), self.path)}")

    def _url_of_root(self, server: str = "") -> str | None:
        """Return the URL of the root of the store; None if it is not in a cloud or on the web."""
        client = self._client
        if client.kind == "HTTPStore":
            return join_path(client.bucket.rstrip("/"), self.path)
        if client.kind not in SCHEMES:
            return None
        above = normalize_path(client.config("prefix") or "")
        return place_in_bucket(client.kind, server, join_path(client.bucket, above, self.path))

    def _address(self, path: str) -> str:
        place = self._url_of_root(self._client.server)  # two of them may each have a bucket of one name
        return super()._address(path) if place is None else f"{join_path(place, path)}/"

    def _scope(self, path: str) -> str:
        return super()._scope(path) if self._url_of_root() is None else self._address(path)

    def _identity(self) -> object:
        return self.read_only, self._client.identity, self._client.server, self.path

    def _lasting_name(self) -> str | None:
        return None if self._client.kind == "MemoryStore" else self._address("")

    def _notes(self) -> dict[str, Any]:
        return self._client.notes(self._root)

    def _local_root(self) -> str | None:
        if self._client.kind != "LocalStore":
            return None
        return join_path(f"{self.store.prefix or ''}", self.path)

    def _concurrent_requests(self) -> int:
        return concurrency()


def _names_in(found: Any, prefix: str) -> Iterable[str]:
    """Return the names in a listing of what is directly below a prefix."""
    paths = [*found["common_prefixes"], *(item["path"] for item in found["objects"])]
    names = (path[len(prefix) :].rstrip("/") for path in paths if path.startswith(prefix))
    return dict.fromkeys(name for name in names if name)


def _is_much(found: Any) -> bool:
    """Return whether an answer is so large, as the server has it, that obstore is not to make room for it."""
    start, stop = found.range
    return bool(stop - start > _MOST_ROOM)


def _received(found: Any) -> Buffer:
    """Return the bytes of an answer; where they are many, room is made for what has come.

    A server may claim any size; obstore makes room for that at once, and ends the process if there is none.
    """
    if not _is_much(found):
        return found.bytes()  # type: ignore[no-any-return]
    data = b"".join(found.stream(min_chunk_size=_MOST_AT_ONCE))
    start, stop = found.range
    if len(data) != stop - start:
        raise StoreError(f"{stop - start} bytes were announced, {len(data)} came")
    return data


def _range_of(request: ByteRange) -> Any:
    """Return a part of a value as obstore has it; None for no byte, for which it has no words."""
    match request:
        case RangeByteRequest(start, end) if start < end:
            return start, end
        case OffsetByteRequest(offset):
            return {"offset": offset}
        case SuffixByteRequest(suffix) if suffix:
            return {"suffix": suffix}
    return None
