"""A ZIP archive in another store: its directory and the entries that are wanted are read by ranges."""

from __future__ import annotations

import io
import zipfile
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import IO, Any, TypeAlias, cast

from zarrcore._locks import holding, one_at_a_time
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.errors import StoreError
from zarrcore.storage.byte_range import ByteRange, RangeByteRequest, SuffixByteRequest, resolve_range
from zarrcore.storage.ends import Ends
from zarrcore.storage.place import StorePath
from zarrcore.storage.remote import in_parallel
from zarrcore.storage.spans import Span, joined
from zarrcore.storage.validation import as_view, too_large
from zarrcore.storage.versions import Fetched
from zarrcore.storage.zip_directory import LOCAL_HEADER, UNUSUAL, Directory

_TAIL = 1 << 17  # bytes at the end of an archive in which its directory probably is
_SLACK = 64  # bytes that an extra field probably has at most

Wanted: TypeAlias = tuple[zipfile.ZipInfo, ByteRange | None]
Read: TypeAlias = Callable[[Directory, zipfile.ZipInfo, ByteRange | None], bytes]


class RangedArchive:
    """An archive that is read by ranges.

    All that is read is of the version of the archive whose directory was read, where the store has versions.

    Parameters
    ----------
    place : StorePath
        The store, and the key of the archive.
    opened : callable
        Makes a :class:`zipfile.ZipFile` of a file object and its name, and checks the names in it.
    """

    mode = "r"
    compression = zipfile.ZIP_STORED

    def __init__(self, place: StorePath, opened: Callable[[Any, str], Directory]) -> None:
        self.target = place
        self._opened = opened
        self._close()

    def __reduce__(self) -> Any:
        return type(self), (self.target, self._opened)

    def close(self) -> None:
        """Forget the directory; the next use reads it again, which may be that of another archive."""
        with self._alone():
            self._close()

    def _alone(self) -> Any:
        return one_at_a_time((RangedArchive, id(self)), None)

    def _close(self) -> None:
        self._zip: Directory | None = None
        self._version: str | None = None
        self._size = 0
        self.is_here = False  # all of it came with its directory
        self._offsets: list[int] = []  # of all entries and of the directory, sorted
        self._headers: dict[int, bytes] = {}  # local headers, up to the extra field, by their offset
        self._ends = Ends(trusted=True)  # of entries, where the indexes of shards are

    def restart(self) -> None:
        raise StoreError(f"{self.target}: an archive in another store is only read")

    # --- the directory ---

    @holding
    def held(self) -> Iterator[Directory]:
        """Yield the archive, whose directory is read if it was not."""
        yield self._ready()[1]

    def _ready(self) -> tuple[RangedArchive, Directory]:
        """Return the archive, open; who has waited too long for the first reader gets one of its own."""
        directory = self._zip
        if directory is None:
            with self._alone() as is_alone:
                if not is_alone:
                    return RangedArchive(self.target, self._opened)._ready()
                directory = self._zip or self._open()
        return self, directory

    def _open(self) -> Directory:
        tail = self._ask(SuffixByteRequest(_TAIL), None)
        if tail.value is None:
            raise FileNotFoundError(f"{self.target}: there is no such archive")
        size = tail.size
        if size is None:  # a store without versions
            size = len(tail.value) if len(tail.value) < _TAIL else self._whole_size()
        self._version, self._size = tail.version, size
        self.is_here = len(tail.value) == size
        segments = [(size - len(tail.value), tail.value)]
        found = self._opened(_Segments(self, [segments], MAX_DOCUMENT_NBYTES), str(self.target))
        self._offsets = sorted({*(info.header_offset for info in found.filelist), found.start_dir})
        # Again, as it may have been closed meanwhile; what others look for is the last one.
        self._version, self._size = self._version or tail.version, size
        self._zip = found
        return found

    def _whole_size(self) -> int:
        store, key = self.target.store, self.target.path
        size: object = store.getsize(key)
        if not isinstance(size, int) or size < _TAIL:
            reason = f"expected its size from getsize, got {size!r:.80}"
            raise StoreError(f"{store}: key {key!r}: {reason}", key=key)
        return size

    def _ask(self, part: ByteRange, same: str | None) -> Fetched:
        store, key = self.target.store, self.target.path
        if store._versioned:
            return store._fetch(key, part, same=same)
        value = store.get(key, part)
        try:
            return Fetched(None if value is None else bytes(as_view(value, key)))
        except TypeError as error:
            raise StoreError(f"{store}: {error}", key=key) from error

    def fetch(self, spans: Sequence[Span]) -> list[tuple[int, bytes]]:
        """Return ranges of the archive, all at once, with where they begin."""
        version = self._version
        answers = (in_parallel if self.target.store._concurrent_requests() else _one_by_one)(
            lambda span: self._ask(RangeByteRequest(*span), version), spans
        )
        if version is None and any(answer.version for answer in answers):
            self._settle()
        for answer in answers:
            is_other = answer.size not in (None, self._size) or answer.version not in (version, self._version)
            if answer.is_replaced or answer.value is None or is_other:
                raise StoreError(
                    f"{self.target}: the archive has been replaced since it was opened; close the store to "
                    "read the new one"
                )
        return [(start, answer.value or b"") for (start, _), answer in zip(spans, answers, strict=True)]

    def _settle(self) -> None:
        """Take the version of a file that was too young to have one when its directory was read.

        It is that of the same archive if the directory is still the same.
        """
        now = RangedArchive(self.target, self._opened)
        known, found = self._zip, now._open()
        if known is not None and _entries(found) == _entries(known) and self._zip is known:
            self._version = self._version or now._version

    # --- entries ---

    def read(self, wanted: Sequence[Wanted], read: Read) -> list[bytes | Exception]:
        """Return parts of entries, or what reading them raised: at most two rounds of requests."""
        ready, directory = self._ready()
        if ready is not self:
            return ready.read(wanted, read)
        known = [self._known(*one) for one in wanted]
        rest = [one for one, value in zip(wanted, known, strict=True) if value is None]
        first = self.fetch(joined(span for one in rest for span in self._probable(*one)))
        self._learn(rest, first)
        missing = [span for one in rest for span in self._certain(*one) if _find(first, *span) is None]
        view = copy(directory)  # which has a file of its own: other threads read as well
        view.fp = cast("IO[bytes]", _Segments(self, [first, self.fetch(joined(missing))]))
        found = iter([_tried(read, view, *one) for one in rest])
        values = [next(found) if value is None else value for value in known]
        for one, answer in zip(wanted, values, strict=True):
            if isinstance(one[1], SuffixByteRequest) and isinstance(answer, bytes):
                self._ends.note(*_place(*one), None, answer)
        return values

    def _known(self, info: zipfile.ZipInfo, part: ByteRange | None) -> bytes | None:
        found = self._ends.find(*_place(info, part))
        return None if found is None else found[1]

    def _probable(self, info: zipfile.ZipInfo, part: ByteRange | None) -> list[Span]:
        """Return the ranges in which a part of an entry is, unless the entry is unusual."""
        if not info.file_size and not info.compress_size:
            part = None
        at, end = info.header_offset, self._end_of(info)
        head = _header_size(info)
        if not _is_ranged(info, part):
            # With the extra field, whose length is in the local header alone.
            return self._within(at, min(end, at + head + _SLACK + len(info.extra) + info.compress_size))
        if at in self._headers:
            return self._certain(info, part)
        extra = end - at - head - info.compress_size
        guess = at + head + (extra if 0 <= extra <= _SLACK and not info.flag_bits & 0x8 else 0)
        first, last = resolve_range(part, info.file_size)
        return [*self._within(at, min(end, at + head + _SLACK)), *self._within(guess + first, guess + last)]

    def _certain(self, info: zipfile.ZipInfo, part: ByteRange | None) -> list[Span]:
        """Return the range in which a part of an entry is, once its local header is known."""
        header = self._headers.get(info.header_offset)
        if header is None or not _is_ranged(info, part):  # what cannot be read fails, and names the reason
            return []
        lengths = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        start = info.header_offset + LOCAL_HEADER + lengths
        first, last = resolve_range(part, info.file_size)
        return self._within(start + first, start + last)

    def _within(self, start: int, stop: int) -> list[Span]:
        return [(start, min(stop, self._size))] if start < min(stop, self._size) else []

    def _end_of(self, info: zipfile.ZipInfo) -> int:
        """Return where the next entry begins, or the directory."""
        at = bisect_right(self._offsets, info.header_offset)
        return self._offsets[at] if at < len(self._offsets) else self._size

    def _learn(self, wanted: Sequence[Wanted], segments: list[tuple[int, bytes]]) -> None:
        """Note where the contents of entries begin, from their local headers."""
        for info, part in wanted:
            at = info.header_offset
            header = _find(segments, at, at + _header_size(info)) if _is_ranged(info, part) else None
            if header is not None and header[:4] == b"PK\3\4":
                self._headers[at] = header


class _Segments(io.RawIOBase):
    """A file that is there in part; other parts are fetched when they are read."""

    def __init__(
        self, archive: RangedArchive, rounds: list[list[tuple[int, bytes]]], most: int = 1 << 62
    ) -> None:
        self._archive = archive
        self._rounds = rounds
        self._most = most
        self._at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = max(0, offset + (0, self._at, self._archive._size)[whence])
        return self._at

    def read(self, n: int | None = -1) -> bytes:
        size = self._archive._size
        stop = size if n is None or n < 0 else min(size, self._at + n)
        start, self._at = self._at, max(self._at, stop)
        if start >= stop:
            return b""
        if stop - start <= len(header := self._archive._headers.get(start, b"")):
            return header[: stop - start]
        for segments in self._rounds:
            if (data := _find(segments, start, stop)) is not None:
                return data
        if stop - start > self._most:
            raise zipfile.BadZipFile(too_large(stop - start, self._most))
        return self._archive.fetch([(start, stop)])[0][1]


def _find(segments: list[tuple[int, bytes]], start: int, stop: int) -> bytes | None:
    """Return bytes of one of some ranges, which are sorted, if it has all of them."""
    number = bisect_right(segments, start, key=lambda segment: segment[0]) - 1
    if number < 0:
        return None
    at, data = segments[number]
    return data[start - at : stop - at] if stop <= at + len(data) else None


def _header_size(info: zipfile.ZipInfo) -> int:
    """Return how many bytes the local header of an entry has before its extra field, if it is sound."""
    return LOCAL_HEADER + len(info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437"))


def _entries(directory: Directory) -> list[tuple[Any, ...]]:
    """Return what differs where one archive is not the other."""
    return [
        (one.filename, one.header_offset, one.CRC, one.compress_size, one.file_size)
        for one in directory.filelist
    ]


def _is_ranged(info: zipfile.ZipInfo, part: ByteRange | None) -> bool:
    """Return whether less than all of an entry is read: it is not compressed."""
    is_plain = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
    start, stop = resolve_range(part, info.file_size)
    return is_plain and stop - start < info.file_size and not info.flag_bits & UNUSUAL


def _place(info: zipfile.ZipInfo, part: ByteRange | None) -> tuple[str, int]:
    """Return where a part of an entry begins, as a key, and its size."""
    start, stop = resolve_range(part, info.file_size)
    return f"{info.header_offset} {start}", stop - start


def _tried(read: Read, view: Directory, info: zipfile.ZipInfo, part: ByteRange | None) -> Any:
    try:
        return read(view, info, part)
    except Exception as error:
        return error


def _one_by_one(call: Callable[[Span], Fetched], spans: Sequence[Span]) -> list[Fetched]:
    return [call(span) for span in spans]
