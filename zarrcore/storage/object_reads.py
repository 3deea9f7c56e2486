"""Reading from an object store: values and parts of them, each of one version."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter as clock
from typing import TYPE_CHECKING, Any, cast

from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.config import config
from zarrcore.errors import StoreError
from zarrcore.storage import parts
from zarrcore.storage.byte_range import (
    ByteRange,
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    as_request,
    resolve_range,
)
from zarrcore.storage.clients import obstore
from zarrcore.storage.objects import NO_BUCKET, Objects
from zarrcore.storage.remote import in_parallel, serve, serve_near
from zarrcore.storage.validation import is_document, too_large, validate_key
from zarrcore.storage.versions import RECENT, Fetched, replaced, strong

if TYPE_CHECKING:
    from zarrcore._core.engine import Feed

MOST_AT_ONCE = 20 << 20  # bytes of one request; more are sent in parts, so that none takes too long
_PART = 8 << 20  # bytes of a large value that are held at a time, while it is copied
_MOST_ROOM = 256 << 20  # bytes of an answer for which room is made before they have come
ABSENT = ()  # the version of no value
_SLOW = 0.005  # seconds, after which an answer did not come at once
_LOOKS = 8  # at a value that is replaced between a look at its size and the request for a part of it


class ReadObjects(Objects):
    """Objects that are read: as a whole, by ranges, over several connections, or by an event loop."""

    _bounds_chunks = _versioned = True
    _small_shard = 1 << 18  # bytes, decoded, that come sooner as a whole than by an index and ranges

    def get(self, key: str, byte_range: ByteRange | None = None) -> bytes | None:
        request = as_request(byte_range)
        if request is not None:
            value = self._wait(lambda: self._any_part(key, request))
        elif is_document(key):
            return self._wait(lambda: self._document(key))[0]
        else:
            value = self._wait(lambda: self._whole_value(key, None))
        return None if value is None else bytes(value)

    def _document(self, key: str) -> tuple[bytes | None, Any]:
        """Return a metadata document and its version; None for one that is absent."""
        since, began = RECENT.begin(), clock()
        with self._failures(validate_key(key)):
            try:
                found = self._whole(key, MAX_DOCUMENT_NBYTES)
                self._client.note_wait(clock() - began)
                value, version = bytes(self._taken(found)), version_of(found.meta)
            except FileNotFoundError:
                self._refuse_hidden(key)
                value, version = None, ABSENT
        self._note_recent(key, value, version, since)
        return value, version

    def _note_recent(self, key: str, value: bytes | None, version: Any, since: object, **how: bool) -> None:
        if self._compares and not self._is_here:
            RECENT.note(self._scope("") + key, value, version, since, **how)

    def _recent_version(self, key: str) -> tuple[Buffer | None, Any] | None:
        is_kept = self._compares and not self._is_here
        return RECENT.find(self._scope("") + key) if is_kept else None

    @property
    def _compares(self) -> bool:
        return self._client.compares

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        wanted = list(keys)
        each = parts.connections_for_each(len(wanted))
        return in_parallel(lambda key: self._whole_value(key, most, each), wanted)

    def _get_parts(
        self, key_ranges: Sequence[tuple[str, ByteRange | None]], versions: dict[str, str]
    ) -> Sequence[Buffer | None]:
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
        return self._wait(lambda: self._part(validate_key(key), as_request(byte_range), versions))

    def _events(self, key: str) -> int:
        """Return how often this process has changed a value, where nobody asks whether it is the same.

        Stores with other options, which have clients of their own, may have changed it.
        """
        if not self._immutable:
            return 0
        from zarrcore._core.engine import key_events

        return key_events(self._scope(""), key)

    @property
    def _recheck(self) -> Callable[[Sequence[str]], Sequence[bool]] | None:
        """What has changed of some values whose chunks are in a cache."""
        return None if self._immutable else self._changed

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

    def _serve(self, feed: Feed, n: int, versions: dict[str, str]) -> None:
        """Answer the requests of a read in the background: for whole chunks, or for ranges of shards."""
        from zarrcore._core.engine import available_cpus, trust

        trust(obstore().Bytes)
        each = parts.connections_for_each(n)

        whole = self._whole_values(each)

        def get(key: str, byte_range: ByteRange | None, most: int | None) -> Buffer | None:
            if byte_range is None:
                return whole(key, most)
            return self._part(key, as_request(byte_range), versions)

        few = self._client.enough(available_cpus()) if n > 1 else n
        if few is None:
            serve(feed, 1, self._client.timed(get))
        if few is None or n <= few:
            serve(feed, n, get)
        else:
            serve_near(feed, n, get, few, _SLOW, self._client.settle)

    def _whole_values(self, connections: int) -> Callable[[str, int | None], Buffer | None]:
        """Return :meth:`_whole_value` for many values: what is the same for small ones is looked up once."""
        if connections > 1 or self._client.kind == "LocalStore":
            return lambda key, most: self._whole_value(key, most, connections)
        get, store, root, tags = obstore().get, self.store, self._root, self._client.tags

        def whole(key: str, most: int | None) -> Buffer | None:
            try:
                found = get(store, root + validate_key(key))
                size = found.range[1]
                if most is not None and size <= most and size < parts.LARGE and not tags.wanted:
                    return found.bytes()  # type: ignore[no-any-return]
                return self._taken(self._noted(key, found, most))
            except Exception as error:
                return self._after(error, key, most, store)

        return whole

    def _after(self, error: Exception, key: str, most: int | None, used: Any) -> Buffer | None:
        """Return a value although a request for it has failed: it is absent, or in another region."""
        with self._failures(key):
            try:
                self._require_region(error, "get", used)
                return self._taken(self._whole(key, most))
            except FileNotFoundError:
                self._refuse_hidden(key)
                return None

    def _noticed(self, key: str) -> Any:
        if self._local_root() is not None or config.get("metadata.confirm_reads") != "always":
            return super()._noticed(key)
        try:
            found = self._ask("head", self._root + key)
        except FileNotFoundError:
            return ()
        except (obstore().exceptions.BaseError, OSError):
            return None  # whoever reads it then sees the reason
        return found["e_tag"], found["version"], found["last_modified"], found["size"]

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

    async def _awaiting(self, key: str, request: Any, most: int | None, versions: dict[str, str]) -> Any:
        """Return a value or a part of it, None if it is absent, or an error, perhaps :class:`Elsewhere`.

        `versions` has the tags of the values whose parts have arrived.
        """
        from zarrcore._core.engine import trust
        from zarrcore.storage.arriving import Elsewhere

        path, package = self._root + validate_key(key), obstore()
        if self._client.kind == "LocalStore":  # see `_ask`
            return Elsewhere()
        trust(package.Bytes)
        kept = self._kept_end(key, request, versions)
        if kept is not None:
            return kept
        events, since = self._events(key), RECENT.begin()
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
            return None if self._local_root() is None and not NO_BUCKET.search(str(error)) else Elsewhere()
        except Exception as error:
            # What else there is to be done about it, the call that waits does.
            is_refused = isinstance(error, (package.exceptions.PermissionDeniedError, StoreError))
            return self._failed(key, error, request) if is_refused else Elsewhere()
        if request is not None and (versions.get(key, tag) != tag or not self._is_one(key, tag, versions)):
            self._ends.drop(path)
            return Elsewhere()
        if isinstance(request, SuffixByteRequest):
            self._ends.note(path, request.suffix, tag, bytes(data), events)
        elif request is None and is_document(key):
            self._note_recent(key, bytes(data), version_of(found.meta), since)
        return data

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
        return self._noted(key, self._ask("get", self._root + key), most)

    def _noted(self, key: str, found: Any, most: int | None) -> Any:
        """Refuse an answer that is too large, and note its tag."""
        self._refuse_large(key, found.range[1], most)
        if self._notes_tags:
            self._client.tags.note(self._root + key, strong(found.meta["e_tag"]), self._bucket)
        return found

    def _with_version(self, key: str, most: int | None) -> tuple[Buffer, Any]:
        """Return a value and its version, see :func:`version_of`."""
        found = self._whole(key, most)
        return self._taken(found), version_of(found.meta)

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

    @contextmanager
    def _in_parts(self, key: str) -> Iterator[tuple[int, Iterator[Buffer]]]:
        with self._failures(validate_key(key)):
            found = self._wait(lambda: self._ask("get", self._root + key))
        start, stop = found.range

        def parts() -> Iterator[Buffer]:
            with self._failures(key):
                if stop - start <= MOST_AT_ONCE:
                    yield found.bytes()
                else:
                    yield from found.stream(min_chunk_size=_PART)

        yield stop - start, parts()


def version_of(meta: Any) -> Any:
    """Return the names of the version of a value, None if it has none that can be compared."""
    names = ((name, meta.get(name)) for name in ("e_tag", "version"))
    return tuple((name, text) for name, text in names if strong(text)) or None


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
    data = b"".join(found.stream(min_chunk_size=MOST_AT_ONCE))
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
