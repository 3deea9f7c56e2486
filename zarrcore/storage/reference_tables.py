"""References as they are written: the documents and tables of kerchunk and virtualizarr."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from io import BytesIO
from math import prod
from typing import Any, TypeAlias

from zarrcore._typed import NamedTuple
from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES, integer
from zarrcore.errors import StoreError, masked, shown
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import ByteRange
from zarrcore.storage.place import StorePath
from zarrcore.storage.validation import as_view, too_large

_TEMPLATE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_BASE64 = "base64:"
_LONGEST_URL = 1 << 16  # characters of one that is made of templates
_UNREAD: Any = object()
_MOST_RECORDS, _MOST_ROWS = 128, 1 << 22  # files of Parquet that are kept, and references in them
_MOST_ASKED = 1 << 17  # files of Parquet that are asked for one by one where a store cannot list them
_COLUMNS = ["path", "offset", "size", "raw"]
_TEXTS = {"string", "large_string", "binary", "large_binary"}  # types of Arrow


class Range(NamedTuple):
    """Where a value is: `size` bytes of a file, or without a size all of it."""

    url: str
    offset: int
    size: int | None


Found: TypeAlias = Range | bytes


class UnsupportedReferencesError(StoreError):
    """References that are made by rules (``gen``, templates with arguments), which only fsspec knows."""


def parsed(text: Buffer, where: str) -> Any:
    try:
        return json.loads(bytes(text))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{masked(where)!r}: no document of references: {error}") from None


class JsonReferences:
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

    def find(self, key: str) -> Found | None:
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
                return Range(self._filled(url, key), 0, None)
            case [str() as url, int() as offset, int() as size] if min(offset, size) >= 0 and not (
                isinstance(offset, bool) or isinstance(size, bool)
            ):
                return Range(self._filled(url, key), offset, size)
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


class ParquetReferences:
    """References of a directory of Parquet files, each with so many chunks of an array."""

    def __init__(self, store: Store) -> None:
        self._store = store
        text = store.get(".zmetadata")
        if text is None:
            raise StoreError(f"{store}: there are no references: no document .zmetadata")
        document = parsed(text, str(store))
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

    def find(self, key: str) -> Found | None:
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

    def _row(self, columns: Any, row: int, key: str) -> Found | None:
        path, offset, size, raw = (column[row] if row < len(column) else None for column in columns)
        if isinstance(raw, bytes | bytearray):
            return bytes(raw)
        if path in (None, "") and raw is None:
            return None
        start, n = (0, 0) if offset is None and size is None else (_count(offset), _count(size))
        if start < 0 or n < 0 or raw is not None or not isinstance(path, str):
            found = shown(repr((path, offset, size, raw))[:200])
            raise StoreError(f"key {key!r}: {found} is no reference", key=key)
        return Range(path, start, n if start or n else None)  # as fsspec has it: (0, 0) is all of the file

    def _record(self, field: str, number: int) -> Any:
        """Return the columns of one file; None if there is none."""
        place = field, number
        columns = self._records.pop(place, _UNREAD)
        if columns is not _UNREAD:
            self._records[place] = columns  # the one used last is the last one
            return columns
        name = f"{field}/refs.{number}.parq"
        data = read_value((StorePath(self._store, name), None, MAX_DOCUMENT_NBYTES))
        columns = None if data is None else _columns(data, self._size, f"{self._store}: {name}")
        self._records[place] = columns
        known = [*self._records.copy().items()]  # while other threads add theirs
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


def read_value(one: tuple[StorePath, ByteRange | None, int | None]) -> bytes | None:
    place, part, most = one
    if part is None and most is not None:
        value = place.store._get_chunks([place.path], most)[0]
    else:
        value = place.store.get(place.path, part)
    return None if value is None else bytes(as_view(value, place.path))
