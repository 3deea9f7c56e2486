"""The directory of a ZIP archive, and parts of entries without compression."""

from __future__ import annotations

import errno
import os
import struct
import zipfile
import zlib
from bisect import bisect_right
from contextlib import ExitStack
from typing import Any

from zarrcore.storage.files import sync_directory, sync_open
from zarrcore.storage.zip_locks import WriteLock

LOCAL_HEADER = 30  # bytes before the name of an entry
UNUSUAL = 0x2061  # flags: encrypted, patched, strongly encrypted, and a directory that is
_HEADER = struct.Struct("<6xHH4xIIIHH")
_IN_EXTRA_FIELD = 0xFFFFFFFF
_STREAMED = 0x8  # a flag: sizes and checksum come after the value
_UTF_8 = 0x800
_MOST_WITHOUT_ZIP64 = (1 << 31) - 1
_ZIP64_END = b"PK\6\6"
_ENDS_WITH_A_MARK = 0x2  # a flag of LZMA
_ENTRY_ROOM = 256  # bytes that an entry takes in addition to its value and twice its name, at most
_LONGEST_NAME = 0xFFFF  # bytes
_ALL, _MOST_BEFORE_ZIP64 = -1, 0xFFFF  # entries
_MOST_COMPARED = 1 << 14  # entries


class Directory(zipfile.ZipFile):
    """An open archive that checks what its directory says of an entry, also where only a part is read.

    A part has no checksum of its own.  So the local header has to be the one that the directory has,
    before it is read and afterwards: the file may be another one by then, written over by somebody else.
    """

    lock: WriteLock | None = None  # which keeps other writers out
    syncs = False  # whether an archive that is complete is one on the disk
    is_complete = False  # its directory was written when it was closed
    _offsets: list[int] | None = None
    _misnamed: set[str] | None = None  # what :meth:`check_absent` found

    def __init__(self, file: Any, mode: Any = "r", *args: Any) -> None:
        self._known: dict[int, tuple[int, bytes]] = {}  # what :meth:`_start_of` found, by offset
        self._pid = os.getpid()
        if mode != "a" or not isinstance(file, str):
            super().__init__(file, mode, *args)
            return
        # Not by zipfile, which begins a new archive in the place of one that it cannot open.
        with ExitStack() as kept:
            super().__init__(kept.enter_context(open(file, "r+b")), mode, *args)
            kept.pop_all()
        self._filePassed = 0

    def _RealGetContents(self) -> None:
        """Read the directory, which has as many entries as the end of the archive says.

        One that is read as part of another is a chunk that is absent, and has fill values.
        """
        super()._RealGetContents()  # type: ignore[misc]
        end = zipfile._EndRecData(self.fp)  # type: ignore[attr-defined]
        most = _ALL if end[0] == _ZIP64_END else _MOST_BEFORE_ZIP64  # some writers cut larger numbers off
        if (len(self.filelist) ^ end[4]) & most:
            raise zipfile.BadZipFile(f"the directory has {len(self.filelist)} entries, its end says {end[4]}")
        if len({info.header_offset for info in self.filelist}) < len(self.filelist):
            raise zipfile.BadZipFile("the directory has two entries that begin at one place")

    def close(self) -> None:
        """Complete the archive, also where it is collected, and let others write to it.

        A child made by fork leaves that to its parent, which goes on writing.
        """
        if self._pid == os.getpid():
            try:
                self._complete()
            finally:
                self._didModify = False
                super().close()
        else:
            self._abandon()
        if self.lock is not None:
            self.lock.release()

    def _complete(self) -> None:
        """Write the directory, without which all entries are lost; who interrupts that waits for it."""
        if self.fp is None or not self._didModify:
            return
        try:
            self._write_end_record()
        except Exception:
            raise
        except BaseException:
            self._write_end_record()
            self.is_complete = True
            raise
        self.is_complete = True

    def _write_end_record(self) -> None:
        """Write the directory, which a crash leaves on the disk only if all entries are there."""
        self._sync()
        self._file_here.seek(self.start_dir)
        super()._write_end_record()  # type: ignore[misc]
        self._sync()
        if self.syncs and os.name != "nt":
            sync_directory(os.path.dirname(os.path.realpath(str(self.filename))))

    def _sync(self) -> None:
        file: Any = self.fp
        if self.syncs:
            file.flush()
            sync_open(file.fileno(), str(self.filename))

    def _abandon(self) -> None:
        """Close the file, and write nothing of what was to be written."""
        file: Any = self.fp
        self.fp = None
        if not self._filePassed and file is not None:  # type: ignore[attr-defined]
            file.raw.close()

    def part(self, info: zipfile.ZipInfo, start: int, stop: int) -> bytes:
        """Return a part of an uncompressed entry, without reading the bytes before it."""
        at = info.header_offset
        may_change = self._others_may_write
        known = self._known.get(at) if may_change else None
        first, header = known or self._start_of(info)
        data = self._bytes_at(first + start, stop - start)
        if len(data) != stop - start:
            raise zipfile.BadZipFile(f"the archive ends within bytes {start}..{stop} of the entry")
        if may_change:
            if self._bytes_at(at, len(header)) != header:
                raise zipfile.BadZipFile("the archive was written over since it was opened")
            self._known[at] = first, header
        return data

    @property
    def _others_may_write(self) -> bool:
        """Whether it is a file of a path that this object has not written to: who writes keeps others out."""
        return not self._filePassed and not self._didModify  # type: ignore[attr-defined]

    @property
    def reads_anywhere(self) -> bool:
        """Whether it is read without a position, which another use of it in between would move."""
        return not self._filePassed and hasattr(os, "pread")  # type: ignore[attr-defined]

    @property
    def _file_here(self) -> Any:
        if self.fp is None:
            raise zipfile.BadZipFile("the archive was closed while it was used")
        return self.fp

    def _bytes_at(self, at: int, n: int) -> bytes:
        file = self._file_here
        if self.reads_anywhere:
            if self._didModify:
                file.flush()
            parts = []  # past Python's buffer, which may have what was there before
            while n > 0 and (part := os.pread(file.fileno(), n, at)):
                parts.append(part)
                at += len(part)
                n -= len(part)
            return b"".join(parts)
        file.seek(at)
        return bytes(file.read(n))

    def _start_of(self, info: zipfile.ZipInfo) -> tuple[int, bytes]:
        """Return where the value of an entry begins, and its local header, which is the one of this entry."""
        at = info.header_offset
        header = self._bytes_at(at, LOCAL_HEADER)
        if len(header) != LOCAL_HEADER or header[:4] != b"PK\3\4":
            raise zipfile.BadZipFile(f"there is no local header at byte {at}")
        flags, method, crc, stored, size, n_name, n_extra = _HEADER.unpack(header)
        header = self._bytes_at(at, LOCAL_HEADER + n_name)
        name = header[LOCAL_HEADER:].decode("utf-8" if flags & _UTF_8 else "cp437", "replace")
        pairs: list[tuple[str, object, object]] = [
            ("name", name, info.orig_filename),
            ("method", method, info.compress_type),
            ("encryption", flags & UNUSUAL, info.flag_bits & UNUSUAL),
        ]
        if not (flags | info.flag_bits) & _STREAMED:
            pairs += [("checksum", crc, info.CRC)]
            if _IN_EXTRA_FIELD not in (stored, size):
                pairs += [("size", stored, info.compress_size), ("size", size, info.file_size)]
        for what, found, expected in pairs:
            if found != expected:
                difference = f"another {what} than the directory: {found!r}, not {expected!r}"
                raise zipfile.BadZipFile(f"the local header at byte {at} has {difference}")
        # The extra field of the local header may differ from the directory's, so its length is read here.
        start: int = at + LOCAL_HEADER + n_name + n_extra
        if start + info.compress_size > self._end_of(info):
            raise zipfile.BadZipFile("the entry overlaps with another one, or with the directory")
        return start, header

    def check_absent(self, name: str) -> None:
        """Refuse a name that an entry has in its local header alone: the directory has lost it by damage.

        To read all local headers takes a fifth of the time that the directory took, but a request for each
        where the file is far away: archives of very many entries are believed.
        """
        if self._misnamed is None:
            entries = self.filelist if len(self.filelist) <= _MOST_COMPARED else []
            self._misnamed = {local for info in entries if (local := self._local_name(info)) is not None}
        if name in self._misnamed:
            raise zipfile.BadZipFile("an entry has this name in its local header, another in the directory")

    def _local_name(self, info: zipfile.ZipInfo) -> str | None:
        """Return the name that the local header has, if it is not that of the directory."""
        name = info.orig_filename.encode("utf-8" if info.flag_bits & _UTF_8 else "cp437", "replace")
        header = self._bytes_at(info.header_offset, LOCAL_HEADER + len(name))
        if header.endswith(name) or header[:4] != b"PK\3\4":  # what is no header fails when it is read
            return None
        n = int.from_bytes(header[26:28], "little")
        found = self._bytes_at(info.header_offset + LOCAL_HEADER, n)
        return found.decode("utf-8" if header[7] << 8 & _UTF_8 else "cp437", "replace")

    def _end_of(self, info: zipfile.ZipInfo) -> int:
        """Return where the next entry begins, or the directory."""
        if self._didModify:
            return self.start_dir
        if self._offsets is None:
            self._offsets = sorted({*(entry.header_offset for entry in self.filelist), self.start_dir})
        at = bisect_right(self._offsets, info.header_offset)
        return self._offsets[at] if at < len(self._offsets) else self.start_dir

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return int(self._file_here.fileno())

    def is_at(self, path: str) -> bool:
        """Return whether a path is that of the file that is open."""
        try:
            return os.path.samestat(os.fstat(self.fileno()), os.stat(path))
        except FileNotFoundError:
            return False

    @property
    def is_changed(self) -> bool:
        """Whether anything was written."""
        return bool(self._didModify)

    def has_entry_of(self, other: Directory, name: str) -> bool:
        """Return whether a name stands for the same entry in another directory of the archive."""
        ours, theirs = self.NameToInfo.get(name), other.NameToInfo.get(name)
        if ours is None or theirs is None:
            return ours is theirs
        return (ours.header_offset, ours.CRC, ours.file_size) == (
            theirs.header_offset,
            theirs.CRC,
            theirs.file_size,
        )

    def was_taken_for_empty(self) -> bool:
        """Return whether zipfile found no directory, and would append another archive; if so, it is closed.

        Somebody else has begun to write to it then.
        """
        is_new = bool(self._didModify)
        if is_new:
            self._didModify = False
            self.close()
        return is_new

    def append(self, info: zipfile.ZipInfo, data: bytes | memoryview) -> None:
        """Append an entry, in the place of the one that has its name; one that fails is not there.

        Not by zipfile, which lists what was begun.  The bytes of the old one stay in the file.
        """
        name, nbytes = info.filename, len(data)
        if len(name.encode()) > _LONGEST_NAME:
            raise zipfile.BadZipFile(f"a name of an entry has at most {_LONGEST_NAME} bytes")
        self._check_room(nbytes + 2 * len(name) + _ENTRY_ROOM)
        info.file_size, info.CRC, stored = nbytes, zlib.crc32(data), data
        compressor = zipfile._get_compressor(info.compress_type)  # type: ignore[attr-defined]
        if compressor is not None:
            stored = compressor.compress(data) + compressor.flush()
        if info.compress_type == zipfile.ZIP_LZMA:
            info.flag_bits |= _ENDS_WITH_A_MARK
        info.compress_size, info.header_offset = len(stored), self.start_dir
        file = self._file_here
        self._didModify = True
        file.seek(info.header_offset)
        file.write(header := info.FileHeader())
        file.write(stored)
        end, old = file.tell(), self.NameToInfo.get(name)
        if end != self.start_dir + len(header) + len(stored):
            raise OSError(errno.EIO, "the file took a part of what was written")  # one without a buffer may
        entries = self.filelist if old is None else [one for one in self.filelist if one is not old]
        # No signal handler is called between these lines.
        self.start_dir, self.NameToInfo[name], self.filelist = end, info, entries
        entries.append(info)

    def _check_room(self, nbytes: int) -> None:
        """Refuse an entry after which an archive without zip64 could not be completed."""
        if self._allowZip64:  # type: ignore[attr-defined]
            return
        if self.start_dir + nbytes > _MOST_WITHOUT_ZIP64:
            raise zipfile.LargeZipFile("the archive would have more than 2 GiB")
        if len(self.filelist) >= _MOST_BEFORE_ZIP64:
            raise zipfile.LargeZipFile(f"the archive would have more than {_MOST_BEFORE_ZIP64} entries")
