"""References to ranges of files, as kerchunk and virtualizarr write them, as a store."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from zarrcore._extension import own_form
from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.errors import StoreError, masked, shown
from zarrcore.storage.base import Store
from zarrcore.storage.buckets import kind_of
from zarrcore.storage.byte_range import ByteRange, RangeByteRequest, resolve_range
from zarrcore.storage.credentials import WITHHELD, Credentials, has_credentials, refuse_without, unwrapped
from zarrcore.storage.local import LocalStore
from zarrcore.storage.place import StorePath
from zarrcore.storage.reference_tables import JsonReferences, ParquetReferences, Range, parsed, read_value
from zarrcore.storage.remote import in_parallel
from zarrcore.storage.spans import Span, joined
from zarrcore.storage.urls import store_of_url
from zarrcore.storage.validation import (
    absolute_path,
    is_document,
    too_large,
    validate_key,
    validate_prefix,
)

if TYPE_CHECKING:
    from zarrcore._core.engine import FileSpan, OpenFile

_WINDOWS = os.name == "nt"
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
_MOST_OPEN = 64  # files that the engine reads parts from at a time


class ReferenceStore(Store):
    """Values that are ranges of other files, such as those of NetCDF files on a server.

    Read-only.  The ranges that a call reads are asked for in one wave, those that lie close together in a
    file by one request.

    Parameters
    ----------
    references : str, os.PathLike or mapping
        The references in the form of kerchunk: a document of JSON (versions 0 and 1, without ``gen``), a
        directory of Parquet files, or what was read from a document.
    storage_options : dict, optional
        Options for the files that the references point to.
    remote_protocol : str, optional
        Scheme of the files whose URL has none, such as ``"s3"``; otherwise they are paths.
    target_options : dict, optional
        Options for the references themselves, if they are at a URL.
    read_only : bool
        Only True.

    Raises
    ------
    StoreError
        If the references are not of that form, or made by rules that only fsspec knows; or a reference from a
        URL points to a file of this machine.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("data.bin").write_bytes(b"0123456789")
    >>> store = ReferenceStore({"a/0": ["data.bin", 2, 4], "a/1": "base64:aGVsbG8="})
    >>> store.get("a/0"), store.get("a/1")
    (b'2345', b'hello')
    """

    supports_writes = False
    supports_deletes = False
    _bounds_chunks = True

    def __init__(
        self,
        references: str | os.PathLike[str] | Mapping[str, Any],
        *,
        storage_options: dict[str, Any] | None = None,
        remote_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        read_only: bool = True,
    ) -> None:
        super().__init__(read_only=True)
        self._given = references if isinstance(references, Mapping) else os.fspath(references)
        self._storage_options, self._target_options = storage_options, target_options
        self._protocol = None if remote_protocol in ("file", "local") else remote_protocol
        self._is_far = isinstance(self._given, str) and not _is_here(self._given)
        self._places: dict[str, StorePath] = {}
        self._refs: JsonReferences | ParquetReferences = self._load()

    def __reduce__(self) -> Any:
        # References in memory are what is stored, not how it is opened.
        url = "" if isinstance(self._given, Mapping) else self._given
        given = self._given, self._storage_options, self._protocol, self._target_options
        checked = url, *given[1:]
        kept = [
            Credentials(one) if has_credentials(part) else one
            for one, part in zip(given, checked, strict=True)
        ]
        return _again, (type(self), *kept)

    def __str__(self) -> str:
        return "reference://" + (shown(self._given) if isinstance(self._given, str) else f"{id(self):#x}")

    def _identity(self) -> object:
        return self._given if isinstance(self._given, str) else id(self._given)

    def _load(self) -> JsonReferences | ParquetReferences:
        if isinstance(self._given, Mapping):
            return JsonReferences(self._given)
        path = self._given.rstrip("/")
        if path.endswith(".json") or (not self._is_far and os.path.isfile(path)):
            text = self._file(path, self._target_options).get()
            if text is None:
                raise FileNotFoundError(f"{masked(path)!r}: there are no such references")
            return JsonReferences(parsed(text, path))
        return ParquetReferences(_directory(path, self._target_options))

    def _file(self, url: str, options: dict[str, Any] | None) -> StorePath:
        """Return the store and the key of a file."""
        if _is_here(url):
            above, name = os.path.split(_local_path(url))
            return StorePath(_directory(above, None), name)
        above, _, name = url.rpartition("/")
        name = unquote(name) if url.startswith("http") else name
        return StorePath(_directory(f"{above}/", options), name)

    def _source(self, given: str) -> StorePath:
        place = self._places.get(given)
        if place is None:
            is_bare = _SCHEME.match(given) is None and self._protocol is not None
            url = f"{self._protocol}://{given}" if is_bare else given
            if self._is_far and not self._may_lead_to(url):
                raise StoreError(f"{self}: {masked(url)!r}: references from a URL cannot lead to files here")
            place = self._places[given] = self._file(url, self._storage_options)
        return place

    def _may_lead_to(self, url: str) -> bool:
        """Return whether a file that a stranger names is surely in a network.

        Fsspec has files here under many schemes: those of directories, archives, caches, of this process.
        """
        scheme = _scheme(url)
        is_known = kind_of(f"{scheme}://") is not None or scheme in (_scheme(self._given), self._protocol)
        return is_known and bool(scheme) and "::" not in url

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> bytes | None:
        return own_form(self, "get_partial_values", [(key, byte_range)])[0]  # type: ignore[no-any-return]

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        return self._values([(key, None) for key in keys], most)

    @property
    def _lend_chunks(self) -> Callable[[Iterable[str], int], Sequence[Buffer | FileSpan | None]] | None:
        """What returns whole chunks to the engine, which reads those in files of this machine itself."""
        return None if _WINDOWS else self._chunks_or_spans

    def _chunks_or_spans(self, keys: Iterable[str], most: int) -> Sequence[Buffer | FileSpan | None]:
        wanted = list(keys)
        opened: dict[str, tuple[OpenFile, int]] = {}
        values: list[Buffer | FileSpan | None] = [self._span(key, most, opened) for key in wanted]
        others = [number for number, value in enumerate(values) if value is None]
        found = self._get_chunks([wanted[number] for number in others], most) if others else ()
        for number, value in zip(others, found, strict=True):
            values[number] = value
        return values

    def _span(self, key: str, most: int, opened: dict[str, tuple[OpenFile, int]]) -> FileSpan | None:
        """Return where a value is in a file of this machine; None where another way is to find that out."""
        from zarrcore._core.engine import FileSpan, OpenFile

        ref = self._refs.find(validate_key(key))
        if not isinstance(ref, Range) or not ref.size or ref.size > most:
            return None
        place = self._source(ref.url)
        if type(place.store) is not LocalStore:
            return None
        if ref.url not in opened:
            file = place.store._open_file(place.path) if len(opened) < _MOST_OPEN else None
            if file is None:
                return None
            opened[ref.url] = OpenFile(file[0]), file[1]
        held, size = opened[ref.url]
        return FileSpan(held, ref.offset, ref.size) if ref.offset + ref.size <= size else None

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[bytes | None]:
        return [None if value is None else bytes(value) for value in self._values(list(key_ranges))]

    def _values(
        self, key_ranges: Sequence[tuple[str, ByteRange | None]], most: int | None = None
    ) -> Sequence[Buffer | None]:
        """Return values or parts of them; whole ones have at most so many bytes, if that is given.

        Those that were read together are views of what was read.
        """
        requests = [(validate_key(key), part) for key, part in key_ranges]
        found = [self._refs.find(key) for key, _ in requests]
        values: list[Buffer | None] = [None] * len(requests)
        spans: dict[str, dict[int, Span]] = {}
        whole: list[tuple[int, str, ByteRange | None, int | None]] = []
        for number, ((key, part), ref) in enumerate(zip(requests, found, strict=True)):
            size = len(ref) if isinstance(ref, bytes) else None if ref is None else ref.size
            if most is not None and size is not None and size > most:
                raise StoreError(f"{self}: key {key!r}: {too_large(size, most)}", key=key)
            if isinstance(ref, bytes):
                values[number] = ref[slice(*resolve_range(part, len(ref)))]
            elif ref is not None and ref.size is None:
                bound = MAX_DOCUMENT_NBYTES if is_document(key) else None
                whole.append((number, ref.url, part, bound if most is None else most))
            elif ref is not None and ref.size is not None:
                start, stop = resolve_range(part, ref.size)
                spans.setdefault(ref.url, {})[number] = ref.offset + start, ref.offset + stop
        asked: list[tuple[str, ByteRange | None, int | None]] = [one[1:] for one in whole]
        wanted = {url: [span for span in own.values() if span[0] < span[1]] for url, own in spans.items()}
        ranges = [(url, span) for url, own in wanted.items() for span in joined(own)]
        asked += [(url, RangeByteRequest(*span), None) for url, span in ranges]
        places = [self._source(url) for url, _, _ in asked]
        waits = any(place.store._concurrent_requests() for place in places)
        wants = [(place, part, most) for place, (_, part, most) in zip(places, asked, strict=True)]
        answers = in_parallel(read_value, wants) if waits else [read_value(one) for one in wants]
        for (number, *_), answer in zip(whole, answers, strict=False):
            values[number] = self._taken(requests[number][0], found[number], answer)
        parts: dict[str, list[tuple[int, bytes]]] = {}
        for (url, (start, _)), answer in zip(ranges, answers[len(whole) :], strict=True):
            parts.setdefault(url, []).append((start, answer or b""))
        for url, own in spans.items():
            for number, (start, stop) in own.items():
                data = _cut(parts.get(url, []), start, stop)
                values[number] = self._taken(requests[number][0], found[number], data)
        return values

    def _taken(self, key: str, ref: Any, data: Buffer | None) -> Buffer:
        if data is None:
            where = f"{masked(ref.url)!r}, {ref.size} bytes at {ref.offset}" if ref.size else repr(ref.url)
            raise StoreError(f"{self}: key {key!r}: the file referred to lacks it: {where}", key=key)
        return data

    def _size(self, key: str) -> int | None:
        ref = self._refs.find(validate_key(key))
        if ref is None or isinstance(ref, bytes):
            return None if ref is None else len(ref)
        if ref.size is not None:
            return ref.size
        file = self._source(ref.url)
        return file.store._size(file.path)

    def list(self) -> Iterator[str]:
        return self._refs.keys()

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = validate_prefix(prefix)
        return (key for key in self._refs.keys(prefix) if key.startswith(prefix))

    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()

    def delete(self, key: str) -> None:
        self._check_writable()


def _again(
    kind: type[ReferenceStore], given: Any, storage: Any, protocol: Any, target: Any
) -> ReferenceStore:
    given, storage, target = unwrapped(given), unwrapped(storage), unwrapped(target)
    if given is WITHHELD or target is WITHHELD:
        refuse_without("reference://")
    return kind(given, storage_options=storage, remote_protocol=protocol, target_options=target)


def _is_here(url: str) -> bool:
    """Return whether a file is one of this machine."""
    return _SCHEME.match(url) is None or url.startswith("file://")


def _scheme(url: Any) -> str:
    return str(url).partition("://")[0].lower() if _SCHEME.match(str(url)) else ""


def _local_path(url: str) -> str:
    try:
        return absolute_path(unquote(url[7:]) if url.startswith("file://") else url)
    except ValueError as error:  # a NUL in it
        raise StoreError(f"{masked(url)!r}: {error}") from None


def _directory(url: str, options: Any) -> Store:
    """Return the store of a directory, or of a URL that ends with a slash."""
    if _is_here(url):
        return LocalStore(_local_path(url), read_only=True)
    if options is WITHHELD:
        refuse_without(masked(url))
    return store_of_url(url, options)


def _cut(parts: Sequence[tuple[int, bytes]], start: int, stop: int) -> Buffer | None:
    if start == stop:
        return b""
    for at, data in parts:
        if at <= start and stop <= at + len(data):
            return data if stop - start == len(data) else memoryview(data)[start - at : stop - at]
    return None
