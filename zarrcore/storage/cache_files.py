"""A directory of cached values, bounded in bytes, which several processes and threads may use at once.

One file has what is known of one value: a head with its name and version, then pieces of the value, each with
checksums of its blocks.  A file is replaced by renaming, and gets further pieces at its end under a lock of
its own.  Whoever is killed leaves a temporary file, or half of a last piece, which nobody reads.  A file that
is damaged is removed.  This module knows neither stores nor keys.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from io import FileIO

import numpy as np

from zarrcore._locks import holding
from zarrcore._typed import NamedTuple
from zarrcore._typing import Buffer
from zarrcore.errors import StoreError, printable
from zarrcore.storage.byte_range import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarrcore.storage.inherited import NO_LOCKS

_MAGIC = b"zc-keep1"
_HEAD = struct.Struct("<8s16sdHHI")  # magic, nonce, time; bytes of name and version, which follow; checksum
_PIECE = struct.Struct("<4sBQQI")  # magic, flags, start, bytes; checksum of these and those of its blocks
_COUNT = struct.Struct("<Q")
_OF_PIECE = b"\x89zcp"
_ENDS, _FROM_END, _ABSENT = 1, 2, 4  # flags
_BLOCK = 1 << 16  # bytes that have a checksum
_FIRST = 1 << 16  # bytes of a file that are read in one go
_MOST_NOTED = 10_000
_STALE = 60.0  # seconds after which the temporary file of a writer is one of somebody who was killed
_PATIENCE = 1.0  # seconds that a writer waits for another one; without the lock nothing is kept
_BEING_WRITTEN = float("inf")
_USED = 1.0  # seconds within which a file counts as used at the same time
_NAME = re.compile(r"[0-9a-f]{62}|\.zc-[0-9a-f]{16}\.partial")
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# A cache of zarrcore: it may be removed at any time.\n"
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # opening a FIFO must not wait for a writer


class Piece(NamedTuple):
    """Bytes of a value: from `start` on, or without one its last bytes; perhaps up to its end."""

    start: int | None
    data: Buffer
    ends: bool


class Known(NamedTuple):
    """What is kept of a value; `values` has an answer to each request, or None."""

    version: str
    nonce: bytes
    fetched: float  # when the value was asked for first,
    checked: float  # and when the file was changed last, in seconds since 1970
    absent: bool
    size: int | None  # of the whole value, if it is known
    values: list[bytes | None]


class _Place(NamedTuple):
    """Where a piece lies in a file."""

    at: int
    flags: int
    start: int
    stop: int
    sums: bytes


class _DamagedError(Exception):
    """A file does not contain what was written."""


class CacheFiles:
    """The directory.

    Parameters
    ----------
    directory : str
        Its path; it is made when it is first written to, for its owner alone.
    max_bytes : int
        The most bytes of all files together, beside what is being written.
    """

    def __init__(self, directory: str, max_bytes: int) -> None:
        self.directory = directory
        self.max_bytes = min(max_bytes, 1 << 62)  # a count of bytes fits into its file
        self.evictions = self.damaged = 0
        self._root = os.path.join(directory, "zarrcore-1")
        self._is_ours = False  # whether that has been found out
        self._noted: dict[str, tuple[bytes, int, list[_Place]]] = {}

    # --- reading ---

    def look(self, name: str, parts: Sequence[ByteRequest | None]) -> Known | None:
        """Return what is kept under a name; None if there is nothing, or nothing that can be read."""
        path = self._path(name)
        try:
            if not self._is_ours:
                self._check()
            with _opened(path, os.O_RDONLY) as file:
                known = self._read(file, name, parts)
                status = os.fstat(file.fileno())
                if (now := time.time()) - status.st_atime > _USED:
                    os.utime(path, ns=(int(now * 1e9), status.st_mtime_ns))
                return known
        except _DamagedError:
            self.damaged += 1
            _remove(path)
        except OSError:  # nothing is there, or it belongs to somebody else
            pass
        return None

    def _read(self, file: FileIO, name: str, parts: Sequence[ByteRequest | None]) -> Known:
        first = file.read(_FIRST)
        nonce, fetched, version, at = _head(first, name)
        size = os.fstat(file.fileno()).st_size
        noted = self._noted.get(name)
        known = noted[2] if noted is not None and noted[0] == nonce and noted[1] <= size else []
        places, end = _places(file, first, noted[1] if known and noted else at, size, list(known))
        if not places:  # the first one is there before the file has its name
            raise _DamagedError
        if size > _FIRST:
            if len(self._noted) >= _MOST_NOTED:
                self._noted.clear()
            self._noted[name] = nonce, end, places
        absent = any(place.flags & _ABSENT for place in places)
        values = [None if absent else _part(file, first, places, part) for part in parts]
        size_ = _size_of(places)
        return Known(version, nonce, fetched, os.fstat(file.fileno()).st_mtime, absent, size_, values)

    def touch(self, name: str) -> None:
        """Note that what is kept was found to be valid just now."""
        with suppress(OSError):
            os.utime(self._path(name))

    # --- writing ---

    def put(self, name: str, version: str, pieces: Sequence[Piece], *, whole: bool) -> bytes | None:
        """Keep pieces of a value beside those of the same version, or instead of them if they are all of it.

        No pieces: the value is absent.

        Returns
        -------
        bytes, optional
            What distinguishes the file from others in its place, earlier or later; None if nothing is kept.

        Raises
        ------
        OSError
            If the disk is full, or the directory cannot be written to; then nothing is kept.
        """
        records = b"".join(_record(piece) for piece in pieces) or _record(None)
        text, tag = _encoded(name), version.encode("utf-8", "surrogateescape")
        size = _HEAD.size + len(text) + len(tag) + len(records)
        if max(len(text), len(tag)) > 0xFFFF or not self._reserve(size):
            return None
        path = self._path(name)
        nonce = None if whole or not pieces else _append(path, name, version, records)
        if nonce is None:
            nonce = secrets.token_bytes(16)
            start = _HEAD.pack(_MAGIC, nonce, time.time(), len(text), len(tag), 0)[:-4]
            check = _COUNT.pack(_checksum(start + text + tag))[:4]
            _replace(path, start + check + text + tag + records)
        return nonce

    def drop(self, name: str) -> None:
        """Forget what is kept under a name."""
        _remove(self._path(name))

    def drop_all(self, start: str) -> None:
        """Forget what is kept under all names that begin with a text."""
        wanted = _encoded(start)
        for path, _, _ in self._scan():
            with suppress(OSError), _opened(path, os.O_RDONLY) as file:
                fields = _fields(file.read(_FIRST))
                if fields is not None and fields[2].startswith(wanted):
                    _remove(path)

    def nbytes(self) -> int:
        """Return the bytes of all files together."""
        return sum(size for _, size, _ in self._scan())

    # --- the limit ---

    def _reserve(self, size: int) -> bool:
        """Make room for some bytes; False if they are too many, or somebody keeps the lock for long."""
        if size > self.max_bytes:
            return False
        self._make()
        path = os.path.join(self._root, "bytes")
        fd = os.open(path, os.O_RDWR | os.O_CREAT | _FLAGS | _NO_WAIT, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "no regular file", path)
            with _locked(fd) as is_locked:
                if not is_locked:
                    return False
                data = os.read(fd, _COUNT.size)
                total = _COUNT.unpack(data)[0] if len(data) == _COUNT.size else None
                if total is None or total + size > self.max_bytes:
                    total = self._evict(min(self.max_bytes - size, self.max_bytes * 3 // 4))
                os.lseek(fd, 0, os.SEEK_SET)
                _write(fd, _COUNT.pack(total + size))  # before anything is written: what is killed counts
        finally:
            os.close(fd)
        return True

    def _evict(self, most: int) -> int:
        """Remove what has not been used for longest until no more bytes are left; return how many are."""
        found = sorted(self._scan(), key=lambda entry: entry[2])
        total = sum(size for _, size, _ in found)
        for path, size, used in found:
            if total <= most or used == _BEING_WRITTEN:
                break
            _remove(path)
            self.evictions += 1
            total -= size
        return total

    def _scan(self) -> Iterator[tuple[str, int, float]]:
        """Yield path, size and time of use of each file; what killed writers have left is removed."""
        now = time.time()
        for directory in _listed(self._root):
            is_ours = re.fullmatch("[0-9a-f]{2}", directory.name) and directory.is_dir(follow_symlinks=False)
            for entry in _listed(directory.path) if is_ours else ():
                if _NAME.fullmatch(entry.name) is None:
                    continue
                with suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if entry.name.startswith(".") and abs(now - found.st_mtime) > _STALE:
                        _remove(entry.path)
                    elif stat.S_ISREG(found.st_mode):
                        used = _BEING_WRITTEN if entry.name.startswith(".") else found.st_atime
                        yield entry.path, found.st_size, used

    def _make(self) -> None:
        """Make the directory, if it is not there, so that nobody else can put anything into it."""
        if not os.path.isdir(self._root):
            os.makedirs(self.directory, 0o700, exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(self._root, 0o700)
                with open(os.path.join(self._root, "CACHEDIR.TAG"), "xb") as file:
                    file.write(_TAG)
        self._check()

    def _check(self) -> None:
        """Refuse a directory into which others can put files, which would be read as values.

        Nor may it be a link: files are removed there to make room.
        """
        status = _directory_at(self._root)
        if os.name == "posix":
            above = os.stat(self.directory).st_mode  # where others could put another one in its place
            may_replace = above & stat.S_IWOTH and not above & stat.S_ISVTX
            if may_replace or status.st_mode & stat.S_IWOTH:
                where = self.directory if may_replace else self._root
                raise StoreError(
                    f"{printable(where)}: all users may write to this directory, and what they put "
                    "there would be read as values: chmod o-w"
                )
            if not _is_trusted(status):
                raise PermissionError(errno.EACCES, "the directory belongs to another user", self._root)
        self._is_ours = True

    def _path(self, name: str) -> str:
        digest = sha256(_encoded(name)).hexdigest()
        return os.path.join(self._root, digest[:2], digest[2:])


# --- the bytes of a file ---


def _encoded(name: str) -> bytes:
    """Return other bytes for each name: also for those that stand for one name of a file."""
    return name.encode("utf-8", "surrogatepass")


def _checksum(data: Buffer) -> int:
    from zarrcore import kernels

    return int(kernels.crc32c(data))


def _sums(data: Buffer) -> bytes:
    """Return the checksums of the blocks of some bytes."""
    from zarrcore import kernels

    items = np.frombuffer(data, np.uint8)
    n = items.size // _BLOCK
    blocks = [*kernels.crc32c(items[: n * _BLOCK].reshape(n, _BLOCK), axis=1)] if n else []
    rest = items[n * _BLOCK :]
    return np.array([*blocks, *([_checksum(rest)] if rest.size else [])], "<u4").tobytes()


def _record(piece: Piece | None) -> bytes:
    if piece is None:
        flags, start, data = _ABSENT, 0, b""
    else:
        flags = (_ENDS if piece.ends else 0) | (_FROM_END if piece.start is None else 0)
        start, data = piece.start or 0, bytes(piece.data)
    sums = _sums(data)
    head = _PIECE.pack(_OF_PIECE, flags, start, len(data), 0)[:-4]
    return head + _COUNT.pack(_checksum(head + sums))[:4] + sums + data


def _fields(first: bytes) -> tuple[bytes, float, bytes, bytes, int] | None:
    """Return nonce, time, name and version from the head of a file, and where that ends."""
    if len(first) < _HEAD.size:
        return None
    magic, nonce, fetched, name, version, check = _HEAD.unpack_from(first)
    end = _HEAD.size + name + version
    text = first[_HEAD.size : end]
    if magic != _MAGIC or len(text) != name + version or _checksum(first[: _HEAD.size - 4] + text) != check:
        return None
    return nonce, fetched, text[:name], text[name:], end


def _head(first: bytes, name: str) -> tuple[bytes, float, str, int]:
    fields = _fields(first)
    if fields is None or fields[2] != _encoded(name):
        raise _DamagedError
    return fields[0], fields[1], fields[3].decode("utf-8", "surrogateescape"), fields[4]


def _places(file: FileIO, first: bytes, at: int, size: int, places: list[_Place]) -> tuple[list[_Place], int]:
    """Return where the pieces of a file lie, from a byte on, and where the last whole one ends."""
    while at + _PIECE.size <= size:
        head = _bytes(file, first, at, _PIECE.size)
        magic, flags, start, nbytes, check = _PIECE.unpack(head)
        data = at + _PIECE.size + -(-nbytes // _BLOCK) * 4
        if magic != _OF_PIECE:
            raise _DamagedError
        if data + nbytes > size:
            break  # it is being written, or its writer was killed
        sums = _bytes(file, first, at + _PIECE.size, data - at - _PIECE.size)
        if _checksum(head[:-4] + sums) != check:
            raise _DamagedError
        places.append(_Place(data, flags, start, start + nbytes, sums))
        at = data + nbytes
    return places, at


def _bytes(file: FileIO, first: bytes, at: int, size: int) -> bytes:
    if at + size <= len(first):
        return first[at : at + size]
    file.seek(at)
    data = file.read(size)
    while len(data) < size and (more := file.read(size - len(data))):  # 2 GiB at most by one call
        data += more
    if len(data) != size:
        raise _DamagedError
    return data


def _size_of(places: list[_Place]) -> int | None:
    ends = [place.stop for place in places if place.flags & _ENDS and not place.flags & _FROM_END]
    return ends[-1] if ends else None


def _part(file: FileIO, first: bytes, places: list[_Place], part: ByteRequest | None) -> bytes | None:
    """Return a part of the value, from as many pieces as that takes; None if it is not all there."""
    size = _size_of(places)
    match part:
        case None:
            start, stop = 0, size
        case RangeByteRequest(start, stop):
            stop = stop if size is None else min(stop, size)
        case OffsetByteRequest(start):
            stop = size
        case SuffixByteRequest(suffix) if size is None:
            return _last(file, first, places, suffix)
        case SuffixByteRequest(suffix):
            start, stop = max(0, size - suffix), size  # pyright: ignore[reportOptionalOperand]
    if stop is None:
        return None
    found = []
    while start < stop:
        around = [p for p in places if p.start <= start < p.stop and not p.flags & _FROM_END]
        if not around:
            return None
        place = max(around, key=lambda p: p.stop)
        end = min(stop, place.stop)
        found.append(_checked(file, first, place, start - place.start, end - place.start))
        start = end
    return found[0] if len(found) == 1 else b"".join(found)


def _last(file: FileIO, first: bytes, places: list[_Place], n: int) -> bytes | None:
    """Return the last bytes of a value whose size is not known."""
    for place in places:
        size = place.stop - place.start
        if place.flags & _FROM_END and size >= n:
            return _checked(file, first, place, size - n, size)
    return None


def _checked(file: FileIO, first: bytes, place: _Place, start: int, stop: int) -> bytes:
    """Return bytes of a piece, after a look at the checksums of the blocks around them."""
    low = start // _BLOCK * _BLOCK
    high = min(-(-stop // _BLOCK) * _BLOCK, place.stop - place.start)
    data = _bytes(file, first, place.at + low, high - low)
    if _sums(data) != place.sums[low // _BLOCK * 4 : -(-high // _BLOCK) * 4]:
        raise _DamagedError
    return data if (low, high) == (start, stop) else data[start - low : stop - low]


# --- files ---


def _directory_at(path: str) -> os.stat_result:
    """Return the status of a directory, and raise an error for what only leads to one."""
    status = os.stat(path, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "expected a directory, and no link to one", path)
    return status


def _is_trusted(status: os.stat_result) -> bool:
    """Return whether something belongs to this user, or to the system."""
    return os.name != "posix" or status.st_uid in (os.geteuid(), 0)


@holding
def _opened(path: str, flags: int) -> Iterator[FileIO]:
    fd = os.open(path, flags | _FLAGS | _NO_WAIT)
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode) or not _is_trusted(status):
        os.close(fd)
        raise OSError(errno.EINVAL, "no regular file, or that of another user", path)
    with FileIO(fd, "r+" if flags & os.O_RDWR else "r") as file:
        yield file


def _append(path: str, name: str, version: str, records: bytes) -> bytes | None:
    """Write pieces to the end of the file of a value of the same version; None if there is none."""
    try:
        with _opened(path, os.O_RDWR) as file, _locked(file.fileno()) as is_locked:
            first = file.read(_FIRST)
            nonce, _, kept, at = _head(first, name)
            if kept != version or not is_locked:
                return None
            status = os.fstat(file.fileno())
            places, end = _places(file, first, at, status.st_size, [])
            if any(place.flags & _ABSENT for place in places):
                return None
            try:
                file.truncate(end)  # what a writer that was killed has left
                file.seek(end)
                _write(file.fileno(), records)
            except OSError:
                with suppress(OSError):
                    file.truncate(end)
                raise
            return nonce
    except (FileNotFoundError, _DamagedError):
        return None


def _replace(path: str, data: bytes) -> None:
    above = os.path.dirname(path)
    try:
        os.mkdir(above, 0o700)
    except FileExistsError:
        _directory_at(above)
    temporary = os.path.join(above, f".zc-{secrets.token_hex(8)}.partial")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600)
    try:
        try:
            _write(fd, data)
        finally:
            os.close(fd)
        os.replace(temporary, path)
    except BaseException:
        _remove(temporary)
        raise


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _listed(path: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            return list(entries)
    except OSError:
        return []


@holding
def _locked(fd: int) -> Iterator[bool]:
    """Hold the lock of an open file, against threads and processes; False if others keep it for too long."""
    deadline = time.monotonic() + _PATIENCE
    while not (is_locked := _lock(fd)) and time.monotonic() < deadline:
        time.sleep(0.002)
    try:
        yield is_locked
    finally:
        if is_locked:
            _unlock(fd)


if sys.platform == "win32":
    import msvcrt

    def _lock(fd: int) -> bool:
        os.lseek(fd, 0, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        with suppress(OSError):
            msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(fd: int) -> bool:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in NO_LOCKS
        return True

    def _unlock(fd: int) -> None:
        with suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_UN)  # also if a child made by fork has the descriptor
