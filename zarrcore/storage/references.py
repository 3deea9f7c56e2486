"""References to ranges of files, as kerchunk and virtualizarr write them, as a store."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from io import BytesIO
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from zarrcore._extension import own_form
from zarrcore._typed import NamedTuple
from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES, integer
from zarrcore.errors import StoreError, masked, shown
from zarrcore.storage.base import Store
from zarrcore.storage.buckets import kind_of
from zarrcore.storage.byte_range import ByteRange, RangeByteRequest, resolve_range
from zarrcore.storage.credentials import WITHHELD, Credentials, has_credentials, refuse_without, unwrapped
from zarrcore.storage.local import LocalStore
from zarrcore.storage.place import StorePath
from zarrcore.storage.remote import in_parallel
from zarrcore.storage.spans import Span, joined
from zarrcore.storage.urls import store_of_url
from zarrcore.storage.validation import (
    absolute_path,
    as_view,
    is_document,
    too_large,
    validate_key,
    validate_prefix,
)

if TYPE_CHECKING:
    from zarrcore._core.engine import FileSpan, OpenFile

_WINDOWS = os.name == "nt"
_SCHEME = re.compile("[A-Za-z][A-Za-z0-9+.-]+://")
_TEMPLATE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_BASE64 = "base64:"
_LONGEST_URL = 1 << 16  # characters of one that is made of templates
_UNREAD: Any = object()
_MOST_RECORDS, _MOST_ROWS = 128, 1 << 22  # files of Parquet that are kept, and references in them
_MOST_ASKED = 1 << 17  # files of Parquet that are asked for one by one where a store cannot list them
_MOST_OPEN = 64  # files that the engine reads parts from at a time
_COLUMNS = ["path", "offset", "size", "raw"]
_TEXTS = {"string", "large_string", "binary", "large_binary"}  # types of Arrow


class _Range(NamedTuple):
    """Where a value is: `size` bytes of a file, or without a size all of it."""

    url: str
    offset: int
    size: int | None


_Found: TypeAlias = _Range | bytes


class UnsupportedReferencesError(StoreError):
    """References that are made by rules (``gen``, templates with arguments), which only fsspec knows."""


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
        self._refs: _Json | _Parquet = self._load()

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

    def _load(self) -> _Json | _Parquet:
        if isinstance(self._given, Mapping):
            return _Json(self._given)
        path = self._given.rstrip("/")
        if path.endswith(".json") or (not self._is_far and os.path.isfile(path)):
            text = self._file(path, self._target_options).get()
            if text is None:
                raise FileNotFoundError(f"{masked(path)!r}: there are no such references")
            return _Json(_parsed(text, path))
        return _Parquet(_directory(path, self._target_options))

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
        if not isinstance(ref, _Range) or not ref.size or ref.size > most:
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
        answers = in_parallel(_read, wants) if waits else [_read(one) for one in wants]
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


def _read(one: tuple[StorePath, ByteRange | None, int | None]) -> bytes | None:
    place, part, most = one
    if part is None and most is not None:
        value = place.store._get_chunks([place.path], most)[0]
    else:
        value = place.store.get(place.path, part)
    return None if value is None else bytes(as_view(value, place.path))


def _cut(parts: Sequence[tuple[int, bytes]], start: int, stop: int) -> Buffer | None:
    if start == stop:
        return b""
    for at, data in parts:
        if at <= start and stop <= at + len(data):
            return data if stop - start == len(data) else memoryview(data)[start - at : stop - at]
    return None


def _parsed(text: Buffer, where: str) -> Any:
    try:
        return json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{masked(where)!r}: no document of references: {error}") from None


class _Json:
    """References of a document."""

    def __init__(self, document: Any) -> None:
        if not isinstance(document, Mapping):
            raise StoreError(f"references: expected an object, got {type(document).__name__}")
        self._templates: dict[str, str] = {}
        if "version" in document and "refs" in document:
            if document["version"] != 1:
                raise StoreError(f"references: expected version 1, got {document['version']!r}")
            if document.get("gen"):
                raise UnsupportedReferencesError("references: 'gen' is a rule that only fsspec knows")
            templates = document.get("templates") or {}
            if not isinstance(templates, Mapping):
                raise StoreError("references: 'templates' is no object")
            self._templates = dict(templates)
            document = document["refs"]
        if not isinstance(document, Mapping):
            raise StoreError("references: 'refs' is no object")
        self._refs: Mapping[str, Any] = document

    def keys(self, prefix: str = "") -> Iterator[str]:
        return iter([key for key in self._refs if isinstance(key, str) and key])

    def find(self, key: str) -> _Found | None:
        if key not in self._refs:
            return None
        match self._refs[key]:
            case bytes() as raw:
                return raw
            case str() as text:
                return _inline(text, key)
            case Mapping() as document:
                return json.dumps(document).encode()
            case [str() as url]:
                return _Range(self._filled(url, key), 0, None)
            case [str() as url, int() as offset, int() as size] if min(offset, size) >= 0 and not (
                isinstance(offset, bool) or isinstance(size, bool)
            ):
                return _Range(self._filled(url, key), offset, size)
            case other:
                raise StoreError(f"key {key!r}: {shown(repr(other)[:200])} is no reference", key=key)

    def _filled(self, url: str, key: str) -> str:
        if "{{" not in url:
            return url

        room = _LONGEST_URL

        def fill(found: re.Match[str]) -> str:
            nonlocal room
            text = self._templates.get(found[1])
            if not isinstance(text, str) or "{{" in text:
                raise UnsupportedReferencesError(f"key {key!r}: the template {found[1]!r} is not known")
            room -= len(text)
            if room < 0:
                reason = f"templates make a URL of more than {_LONGEST_URL} characters"
                raise StoreError(f"key {key!r}: {reason}", key=key)
            return text

        filled = _TEMPLATE.sub(fill, url)
        if "{{" in filled:
            raise UnsupportedReferencesError(f"key {key!r}: {url!r} has a template that only fsspec knows")
        return filled


def _inline(text: str, key: str) -> bytes:
    try:
        if not text.startswith(_BASE64):
            return text.encode()
        return base64.b64decode(text[len(_BASE64) :], validate=True)
    except (binascii.Error, ValueError) as error:
        raise StoreError(f"key {key!r}: {error}", key=key) from None


class _Parquet:
    """References of a directory of Parquet files, each with so many chunks of an array."""

    def __init__(self, store: Store) -> None:
        self._store = store
        text = store.get(".zmetadata")
        if text is None:
            raise StoreError(f"{store}: there are no references: no document .zmetadata")
        document = _parsed(text, str(store))
        try:
            self._size = integer(document["record_size"], "record_size", 1)
            self._documents = {key: json.dumps(value).encode() for key, value in document["metadata"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(f"{store}: .zmetadata has no references: {error!r}") from None
        consolidated = {"metadata": document["metadata"], "zarr_consolidated_format": 1}
        self._documents[".zmetadata"] = json.dumps(consolidated).encode()
        self._grids: dict[str, tuple[int, ...] | None] = {}
        self._records: dict[tuple[str, int], Any] = {}

    def keys(self, prefix: str = "") -> Iterator[str]:
        yield from self._documents
        for name in [*self._documents]:
            field, _, document = name.rpartition("/")
            if document != ".zarray" or not (field.startswith(prefix) or prefix.startswith(f"{field}/")):
                continue
            grid = self._grid(field) or ()
            n = prod(grid) if min(grid, default=1) > 0 else 0  # which a stranger may claim: not one by one
            for number in self._records_of(field, -(-n // self._size)):
                if (columns := self._record(field, number)) is None:
                    continue
                chunks = range(number * self._size, min((number + 1) * self._size, n))
                self._check_rows(field, number, columns, chunks.stop - chunks.start)
                for chunk in chunks:
                    index: list[int] = []
                    for length in reversed(grid):
                        chunk, i = divmod(chunk, length)
                        index.insert(0, i)
                    key = f"{field}/{'.'.join(map(str, index)) or '0'}"
                    if self.find(key) is not None:
                        yield key

    def _records_of(self, field: str, n: int) -> Iterable[int]:
        """Return the numbers of the files of an array, of `n` that there may be."""
        if not self._store._is_near:
            if n > _MOST_ASKED:
                reason = f"there may be {n} files of references, more than are asked for one by one"
                raise StoreError(f"{self._store}: {field!r}: {reason}: {_MOST_ASKED}")
            return range(n)
        names = (re.fullmatch(r"refs\.(0|[1-9]\d{0,18})\.parq", name) for name in self._store.list_dir(field))
        return sorted(number for name in names if name is not None and (number := int(name[1])) < n)

    def _grid(self, field: str) -> tuple[int, ...] | None:
        """Return how many chunks an array has along its dimensions; None if there is no array."""
        if field not in self._grids:
            text = self._documents.get(f"{field}/.zarray")
            if text is None:
                return None
            try:
                document = json.loads(text)
                pairs = zip(document["shape"], document["chunks"], strict=True)
                self._grids[field] = tuple(-(-int(length) // max(int(chunk), 1)) for length, chunk in pairs)
            except (KeyError, TypeError, ValueError, OverflowError):
                raise StoreError(f"key '{field}/.zarray': no document of an array") from None
        return self._grids[field]

    def find(self, key: str) -> _Found | None:
        if key in self._documents:
            return self._documents[key]
        field, _, name = key.rpartition("/")
        grid = self._grid(field) if field else None
        if grid is None or not re.fullmatch(r"[0-9]{1,20}(\.[0-9]{1,20})*", name):
            return None
        index = [int(number) for number in name.split(".")]
        if not grid:
            index = []
        if len(index) != len(grid) or any(i >= n for i, n in zip(index, grid, strict=True)):
            return None
        number = 0
        for i, n in zip(index, grid, strict=True):
            number = number * n + i
        record, row = divmod(number, self._size)
        columns = self._record(field, record)
        if columns is None:
            return None
        self._check_rows(field, record, columns, row + 1)
        return self._row(columns, row, key)

    def _check_rows(self, field: str, number: int, columns: Any, wanted: int) -> None:
        """Refuse a file that ends before the row of a chunk: that would be read as a fill value."""
        if _rows(columns) < wanted:
            where = f"{self._store}: {field}/refs.{number}.parq"
            raise StoreError(f"{where}: {_rows(columns)} rows, where {wanted} or more must be")

    def _row(self, columns: Any, row: int, key: str) -> _Found | None:
        path, offset, size, raw = (column[row] if row < len(column) else None for column in columns)
        if isinstance(raw, bytes | bytearray):
            return bytes(raw)
        if path in (None, "") and raw is None:
            return None
        start, n = (0, 0) if offset is None and size is None else (_count(offset), _count(size))
        if start < 0 or n < 0 or raw is not None or not isinstance(path, str):
            found = shown(repr((path, offset, size, raw))[:200])
            raise StoreError(f"key {key!r}: {found} is no reference", key=key)
        return _Range(path, start, n if start or n else None)  # as fsspec has it: (0, 0) is all of the file

    def _record(self, field: str, number: int) -> Any:
        """Return the columns of one file; None if there is none."""
        place = field, number
        columns = self._records.pop(place, _UNREAD)
        if columns is not _UNREAD:
            self._records[place] = columns  # the one used last is the last one
            return columns
        name = f"{field}/refs.{number}.parq"
        data = _read((StorePath(self._store, name), None, MAX_DOCUMENT_NBYTES))
        columns = None if data is None else _columns(data, self._size, f"{self._store}: {name}")
        self._records[place] = columns
        known = [*self._records.items()]
        n_rows = sum(_rows(each) for _, each in known)
        while len(known) > 1 and (len(known) > _MOST_RECORDS or n_rows > _MOST_ROWS):
            oldest, each = known.pop(0)
            self._records.pop(oldest, None)
            n_rows -= _rows(each)
        return columns


def _count(given: Any) -> int:
    """Return a number of bytes in a table, whatever its type; -1 for what is none."""
    try:
        return int(given) if not isinstance(given, bool) and int(given) == given else -1
    except (TypeError, ValueError, OverflowError):
        return -1


def _rows(columns: Any) -> int:
    return max(map(len, columns or [()]))


def _columns(data: bytes, most: int, where: str) -> tuple[Any, ...]:
    """Return the columns of a file of Parquet, which has no more than `most` rows."""
    for read in (_read_by_arrow, _read_by_fastparquet):
        try:
            found = read(data, min(most, _MOST_ROWS))
            if "path" not in found and ("raw" not in found or found.keys() & {"offset", "size"}):
                raise ValueError("it has no column 'path'")  # all would be absent
            return tuple(found.get(name, []) for name in _COLUMNS)
        except ImportError:
            continue
        except Exception as error:
            reason = f"no table of references: {type(error).__name__}: {error}"
            raise StoreError(f"{where}: {reason}") from error
    raise StoreError(f"{where}: Parquet needs pyarrow or fastparquet")


def _refuse_large(rows: int, most: int, nbytes: int) -> None:
    if rows > most:
        raise ValueError(f"{rows} rows, where {most} may be")
    if nbytes > MAX_DOCUMENT_NBYTES:
        raise ValueError(too_large(nbytes, MAX_DOCUMENT_NBYTES))


def _read_by_arrow(data: bytes, most: int) -> dict[str, list[Any]]:
    parquet: Any = import_module("pyarrow.parquet")
    types = {field.name: field.type for field in parquet.read_schema(BytesIO(data)) if field.name in _COLUMNS}
    # Texts that repeat stay one: a small file may have any number of them.
    texts = [name for name in ("path", "raw") if str(types.get(name)) in _TEXTS]
    file = parquet.ParquetFile(BytesIO(data), read_dictionary=texts)
    groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    nbytes = sum(group.total_byte_size for group in groups)
    rows = file.metadata.num_rows
    _refuse_large(rows, most, nbytes)
    # Lists may be of any number of nulls without a byte: their type is read in their place, and no reference.
    found: dict[str, list[Any]] = {name: [kind] * rows for name, kind in types.items() if kind.num_fields}
    found |= {name: [] for name in types if name not in found}
    for batch in file.iter_batches(columns=[name for name in types if not types[name].num_fields]):
        _refuse_large(0, 0, batch.nbytes)
        for name, items in zip(batch.schema.names, batch.columns, strict=True):
            found[name] += _items(items)
    return found


def _items(items: Any) -> list[Any]:
    if not hasattr(items, "dictionary"):
        return items.to_pylist()  # type: ignore[no-any-return]
    words = items.dictionary.to_pylist()
    return [None if number is None else words[number] for number in items.indices.to_pylist()]


def _read_by_fastparquet(data: bytes, most: int) -> dict[str, list[Any]]:
    file: Any = import_module("fastparquet").ParquetFile(BytesIO(data))
    parts = [part.meta_data for group in file.row_groups for part in group.columns]
    _refuse_large(file.count(), most, sum(part.total_uncompressed_size for part in parts))
    table = file.to_pandas(columns=[name for name in file.columns if name in _COLUMNS])
    return {name: [None if _is_null(item) else item for item in table[name]] for name in table}


def _is_null(item: Any) -> bool:
    return item is None or item != item
