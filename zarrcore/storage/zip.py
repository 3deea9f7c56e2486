"""A ZIP archive as a store."""

from __future__ import annotations

import os
import struct
import sys
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISREG
from typing import IO, TYPE_CHECKING, Any, Literal, Self

from zarrcore._extension import own_form
from zarrcore._locks import RLock, holding
from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.errors import (
    BaseZarrError,
    ConflictError,
    InvalidKeyError,
    ReadOnlyError,
    StoreError,
    printable,
    shown,
)
from zarrcore.storage import zip_entries
from zarrcore.storage.announced import ENGINE
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import ByteRange, as_request
from zarrcore.storage.files import sync_open
from zarrcore.storage.local_errors import named
from zarrcore.storage.place import StorePath
from zarrcore.storage.validation import (
    absolute_path,
    as_view,
    is_document,
    is_text,
    join_path,
    too_large,
    validate_key,
    validate_prefix,
)
from zarrcore.storage.zip_directory import Directory
from zarrcore.storage.zip_locks import WriteLock, state_of

if TYPE_CHECKING:
    from zarrcore.storage.zip_ranges import RangedArchive

ZipMode = Literal["r", "w", "a", "x"]
_MODES = ("r", "w", "a", "x")
_UNFINISHED = "is not a ZIP archive, or an unfinished one"
_SMALL_SHARD = 1 << 18  # bytes, decoded, that come sooner as a whole than by an index and ranges


class ZipStore(Store):
    """A ZIP archive whose entries are the values.

    The archive is opened at the first use.  What is written can be read through this store at once, and by
    others after :meth:`close`: use a ``with`` statement.  An archive that cannot be completed, because the
    disk is full, ends as it did before it was opened; one whose process is killed has no directory then.  ZIP
    archives cannot forget: setting a key again appends an entry in place of the old one, whose bytes stay in
    the file, and deleting a key that exists is refused.

    One store at a time writes to an archive (on POSIX, where files can be locked): from its first write until
    it is closed others are refused.  One that was opened before has what was appended when it writes, and may
    go on reading what was there.

    Parameters
    ----------
    path : str, os.PathLike, StorePath or binary file object
        The archive.  A file object must be seekable and stay open.  A :class:`StorePath` is an archive in
        another store, which is only read: its directory, and ranges of it, many at a time.
    mode : {"r", "w", "a", "x"}
        Read; write a new archive in place of an old one; append; write a new archive unless there is one.
    read_only : bool, optional
        Refuse every write; the default follows `mode`.
    compression : int
        Compression of new entries, as for :class:`zipfile.ZipFile`.  Chunks are compressed already, therefore
        none by default; entries without compression are also read in parts.
    allowZip64 : bool
        Allow archives larger than 2 GiB.
    fsync : bool, optional
        Have :meth:`close` return once the archive is on the disk; a crash of the machine before that leaves
        none that opens and lacks values.  Not for file objects.  Default: the configuration's
        ``store.fsync``.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/waves.zip"
    >>> with ZipStore(path, mode="w") as store:
    ...     zarrcore.create_array(store, shape=4, dtype="f4", fill_value=1).shape
    (4,)
    >>> with ZipStore(path) as store:
    ...     zarrcore.open_array(store, mode="r")[:].tolist()
    [1.0, 1.0, 1.0, 1.0]
    >>> folder.cleanup()
    """

    supports_deletes = False
    _bounds_chunks = True

    def __init__(
        self,
        path: str | os.PathLike[str] | StorePath | IO[bytes],
        *,
        mode: ZipMode = "r",
        read_only: bool | None = None,
        compression: int = zipfile.ZIP_STORED,
        allowZip64: bool = True,
        fsync: bool | None = None,
    ) -> None:
        if mode not in _MODES:
            raise ValueError(f"ZipStore: expected a mode of {', '.join(_MODES)}, got {mode!r}")
        if mode == "r" and read_only is False:
            raise ValueError("ZipStore: an archive opened with mode 'r' is read-only")
        super().__init__(read_only=mode == "r" if read_only is None else read_only)
        if isinstance(path, StorePath) and mode != "r":
            raise ReadOnlyError(f"{path}: an archive in another store is only read: use mode 'r'")
        self._ranges: RangedArchive | None = None  # the archive, where it is in another store
        self._archive: _Archive | RangedArchive
        if isinstance(path, StorePath):
            from zarrcore.storage.zip_ranges import RangedArchive

            self._archive = self._ranges = RangedArchive(path, _ranged)
        else:
            self._archive = _Archive(path, mode, compression, allowZip64, fsync)

    @property
    def path(self) -> Path | None:
        """The archive's path; None for a file object, or in another store."""
        return Path(self._archive.target) if isinstance(self._archive.target, str) else None

    @property
    def compression(self) -> int:
        """Compression of new entries."""
        return self._archive.compression

    def __str__(self) -> str:
        return f"zip://{printable(str(self._archive.target))}"

    def _scope(self, path: str) -> str:
        return join_path(f"zip:{id(self._archive)}", path) + "/"

    def _identity(self) -> object:
        target = self._archive.target
        return (target.store, target.path) if isinstance(target, StorePath) else target

    def with_read_only(self, read_only: bool = False) -> Self:
        if not read_only and self._archive.mode == "r":
            raise StoreError(f"{self} was opened with mode 'r' and cannot be made writable")
        return self._copy_with_read_only(read_only)  # of one archive, with one lock

    def get(self, key: str, byte_range: ByteRange | None = None) -> bytes | None:
        return self._get(key, byte_range)

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[bytes | None]:
        if self._ranges is not None:
            return self._get_ranges([(key, None) for key in keys], most)
        return [self._get(key, most=most) for key in keys]

    @property
    def _small_shard(self) -> int:
        return 0 if self._ranges is None else _SMALL_SHARD

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[Buffer | None]:
        if self._ranges is not None:
            return self._get_ranges([(key, as_request(part)) for key, part in key_ranges])
        return super().get_partial_values(key_ranges)

    def _get_ranges(
        self, requests: Sequence[tuple[str, ByteRange | None]], most: int | None = None
    ) -> list[bytes | None]:
        """Return entries, or parts of them, of an archive in another store, all at once."""
        assert self._ranges is not None
        for key, _ in requests:
            validate_key(key)
        with self._archive.held() as archive:
            found = [(key, archive.NameToInfo.get(key), part) for key, part in requests]
            if self._ranges.is_here:
                for key in (key for key, info, _ in found if info is None):
                    self._check_absent(archive, key)
        there = [(key, info, part) for key, info, part in found if info is not None]
        bound = MAX_DOCUMENT_NBYTES
        limits = {id(entry): bound if most is None and is_document(key) else most for key, entry, _ in there}

        def read(archive: Directory, info: zipfile.ZipInfo, part: ByteRange | None) -> bytes:
            return zip_entries.read(archive, info, part, limits[id(info)])

        for key, info, _ in there:  # before anything of it is asked for
            self._check_size(key, info, limits[id(info)])
        values = iter(self._ranges.read([(info, part) for _, info, part in there], read))
        answers: list[bytes | None] = []
        for key, entry, _ in found:
            value = None if entry is None else next(values)
            if isinstance(value, Exception):
                assert entry is not None
                raise self._failed(key, entry, value) from value
            answers.append(value)
        return answers

    def _check_size(self, key: str, info: zipfile.ZipInfo, most: int | None) -> None:
        if most is not None and info.file_size > most:
            raise StoreError(f"{self}: key {key!r}: {too_large(info.file_size, most)}", key=key)

    def _failed(self, key: str, info: zipfile.ZipInfo, error: Exception) -> Exception:
        if not isinstance(error, zip_entries.errors_of(info)) or isinstance(error, BaseZarrError):
            return error
        return StoreError(f"{self}: key {key!r}: {error or 'too little memory'}", key=key)

    def _get(self, key: str, byte_range: ByteRange | None = None, most: int | None = None) -> bytes | None:
        validate_key(key)
        if self._ranges is not None:
            return self._get_ranges([(key, as_request(byte_range))], most)[0]
        with self._archive.held() as archive:
            info = archive.NameToInfo.get(key)
            if info is None:
                self._check_absent(archive, key)
                return None
            most = MAX_DOCUMENT_NBYTES if most is None and is_document(key) else most
            try:
                return zip_entries.read(archive, info, byte_range, most)
            except zip_entries.errors_of(info) as error:
                raise StoreError(f"{self}: key {key!r}: {error or 'too little memory'}", key=key) from error

    def _check_absent(self, archive: Directory, key: str) -> None:
        """A damaged name makes a chunk absent, which has fill values."""
        if not is_document(key):  # many are asked for in vain
            try:
                archive.check_absent(key)
            except zipfile.BadZipFile as error:
                raise StoreError(f"{self}: key {key!r}: {error}", key=key) from error

    def _size(self, key: str) -> int | None:
        with self._archive.held() as archive:
            info = archive.NameToInfo.get(validate_key(key))
        return None if info is None else info.file_size

    def _noticed(self, key: str) -> Any:
        """Return which entry it is: another archive may have its name once this one was closed."""
        if self._ranges is not None:
            return None
        with self._archive.held() as archive:
            info = archive.NameToInfo.get(key)
        return () if info is None else (info.header_offset, info.CRC, info.file_size)

    def set(self, key: str, value: Buffer) -> None:
        self._set(key, value)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        return self._set(key, value, is_new=True)

    def _set(self, key: str, value: Buffer, *, is_new: bool = False) -> bool:
        self._check_writable()
        data = as_view(value, validate_key(key))
        if not is_text(key):  # halves of characters, which stand for bytes in names of files
            raise InvalidKeyError(f"{self}: invalid store key {key!r}: no text in UTF-8")
        assert isinstance(self._archive, _Archive)
        with self._archive.held() as archive:
            if is_new and key in archive.NameToInfo:
                return False
            with self._archive.locked() as latest:  # which has what others have appended meanwhile
                if is_new and key in latest.NameToInfo:
                    return False
                if latest is not archive and not archive.has_entry_of(latest, key):
                    # The new value may be made of the one before, whose changes would be lost.
                    reason = "another store has changed it since this one was opened; read it again"
                    raise ConflictError(f"{self}: key {key!r}: {reason}", key=key)
                try:
                    _append(latest, key, data)
                except zipfile.LargeZipFile as error:
                    reason = f"{error}: allowZip64=True allows that"
                    raise StoreError(f"{self}: key {key!r}: {reason}", key=key) from error
                except zipfile.BadZipFile as error:
                    raise StoreError(f"{self}: key {key!r:.200}: {error}", key=key) from error
                return True

    def delete(self, key: str) -> None:
        """Raise an error, unless `key` is absent: ZIP archives cannot delete entries."""
        self._check_writable()
        if self.exists(key):
            raise StoreError(f"{self}: key {key!r} cannot be deleted, because ZIP archives cannot forget")

    def _can_erase(self, prefix: str) -> bool:
        return not prefix and isinstance(self._archive.target, str)

    def erase_prefix(self, prefix: str) -> None:
        """Raise an error, unless there is no key with the prefix, or it is empty: see :meth:`clear`."""
        self.clear() if self._can_erase(prefix) else super().erase_prefix(prefix)

    def clear(self) -> None:
        """Write a new, empty archive in place of the old one."""
        self._check_writable()
        self._archive.restart()

    def list(self) -> Iterator[str]:
        return own_form(self, "list_prefix", "")  # type: ignore[no-any-return]

    def _first_names(self, prefix: str) -> Iterator[str]:
        return self._names_of_keys(prefix)

    def _walked_keys(self) -> tuple[str, Collection[str]]:
        with self._archive.held() as archive:
            return "", archive.NameToInfo

    def list_prefix(self, prefix: str) -> Iterator[str]:
        prefix = validate_prefix(prefix)
        with self._archive.held() as archive:
            names = [*archive.NameToInfo]
        return (name for name in names if name.startswith(prefix) and not name.endswith("/"))

    def close(self) -> None:
        """Close the archive.  The next use opens it again, to append if it was opened for writing."""
        _announced(self._scope(""), self._archive.close)  # another archive may be there by then

    def __getstate__(self) -> dict[str, Any]:
        if self._archive.mode != "r" or not isinstance(self._archive.target, str | StorePath):
            raise TypeError(f"{self} cannot be pickled: only an archive opened by its path with mode 'r' can")
        return vars(self)


class _Archive:
    """The open archive, shared by a store and its read-only views."""

    def __init__(
        self,
        target: str | os.PathLike[str] | IO[bytes],
        mode: ZipMode,
        compression: int,
        allow_zip64: bool,
        fsync: bool | None,
    ) -> None:
        if isinstance(target, (str, os.PathLike)):
            target = absolute_path(target)
        elif not (hasattr(target, "read") and hasattr(target, "seek")):
            raise TypeError(f"ZipStore: expected a path or a binary file object, got {type(target).__name__}")
        elif fsync:
            raise ValueError("ZipStore: fsync=True: a file object is synced by who has opened it")
        if fsync is None and mode != "r":
            from zarrcore.config import config

            fsync = isinstance(target, str) and config.get("store.fsync", False)
        self.target = target
        self.mode: ZipMode = mode
        self.compression = compression
        self._allow_zip64 = allow_zip64
        self._fsync = bool(fsync)
        self._reset()

    def _reset(self) -> None:
        self._file: Directory | None = None
        self._lock_of_writer = WriteLock()
        self._state: tuple[int, ...] | None = None  # of the file when its directory was read
        self._end = 0, b""  # of an archive that is appended to: where its directory is, and what is in it
        self._lock = RLock()
        self._is_busy = False  # with what a signal handler in between would spoil
        self._pid = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        kept = ("target", "mode", "compression", "_allow_zip64", "_fsync")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    @holding
    def held(self) -> Iterator[Directory]:
        """Yield the archive, which is opened if it was not; other threads wait.

        What interrupts this thread may read meanwhile, unless the archive is being opened, changed or closed.
        """
        if self._pid != os.getpid():  # the parent shares the offset, and may have held the lock
            if self.mode != "r" or not isinstance(self.target, str):
                path = printable(str(self.target))
                raise StoreError(f"{path} was opened in another process; this one cannot use it")
            self._reset()
        with self._lock:
            if self._is_busy:
                path = printable(str(self.target))
                raise StoreError(f"{path} is in use: this is called from inside of another call for it")
            try:
                self._is_busy = True
                file = self._file = self._file or self._open()
                self._is_busy = not file.reads_anywhere
                yield file
            except OSError as error:
                if (with_name := named(error, str(self.target))) is not error:
                    raise with_name from None
                raise
            finally:
                self._is_busy = False

    def close(self) -> None:
        if self._pid != os.getpid():
            return  # it is the parent's to finish
        with self._lock:
            if self._file is None and self.mode not in ("w", "x"):
                return
            with self.held() as file:  # an archive without entries is an archive all the same
                self._complete(file)

    def _complete(self, file: Directory) -> None:
        self._is_busy, self._file = True, None
        try:
            try:
                is_lost = file.is_changed and isinstance(self.target, str) and not file.is_at(self.target)
            finally:  # without its directory all entries are lost
                try:
                    file.close()
                except BaseException:
                    if not file.is_complete:
                        self._restore()
                    raise
        finally:
            self._lock_of_writer.release()
        if is_lost:
            reason = "was replaced or removed while it was written to: what was written is lost"
            raise StoreError(f"{printable(str(self.target))} {reason}")

    @contextmanager
    def locked(self) -> Iterator[Directory]:
        """Yield the archive to be written to: nobody else writes to it until it is closed.

        What others have appended since it was opened is in it.  If nothing is written, others still may.
        """
        self._is_busy = True
        if self._file is None:  # what has interrupted this has closed it
            self._file = self._open()
        if isinstance(self.target, str) and not self._lock_of_writer.is_held:
            self._lock_of_writer.take(self.target)
            if state_of(self.target) != self._state:
                _announced(f"zip:{id(self)}/", self._reopen)
            self._refuse_unlocked(self._file)
        try:
            yield self._file
        finally:
            if not self._file.is_changed:
                self._lock_of_writer.release()

    def _refuse_unlocked(self, file: Directory) -> None:
        """Refuse to write where another file has taken the name between the lock and the opening."""
        if self._lock_of_writer.is_held and not self._lock_of_writer.is_of(file.fileno()):
            self._lock_of_writer.release()
            raise StoreError(f"{printable(str(self.target))} was replaced while it was opened")

    def _reopen(self) -> None:
        assert self._file is not None
        self._file.lock = None
        self._file.close()
        self._file = None
        self._file = self._open()

    def _restore(self) -> None:
        """Have an archive end as it did, if it could not be completed with what was appended."""
        at, data = self._end
        if data:
            with self._lock_of_writer.opened() as file:  # not by its name, which may be that of another file
                file.truncate(at + len(data))
                file.seek(at)
                file.write(data)
                if self._fsync:
                    file.flush()
                    sync_open(file.fileno(), str(self.target))

    def restart(self) -> None:
        if not isinstance(self.target, str):
            raise StoreError("an archive in a file object cannot be cleared")
        with self.held() as file:  # opened first, so that mode "x" still refuses a file that is not ours
            self._complete(file)
            self.mode = "w"
            self._file = self._open()

    def _open(self) -> Directory:
        try:
            return self._opened()
        except BaseException:
            self._lock_of_writer.release()
            raise

    def _opened(self) -> Directory:
        mode = self.mode
        if isinstance(self.target, str):
            with suppress(FileNotFoundError):
                if not S_ISREG(os.stat(self.target).st_mode):  # it may block
                    raise StoreError(f"{printable(self.target)} is no file, and so no ZIP archive")
            # Before a new archive is begun, or one is taken for empty, in whose place another one is begun.
            if mode in ("w", "x") or (mode == "a" and _is_empty(self.target)):
                self._lock_of_writer.take(self.target, os.O_CREAT | (os.O_EXCL if mode == "x" else 0))
                mode = "w" if mode == "x" else mode
            if mode == "a":
                _refuse_other_file(self.target)
            self._state = state_of(self.target)
        with _named_damage(str(self.target)):
            file = Directory(self.target, mode, self.compression, self._allow_zip64)
        if isinstance(self.target, str) and not self._lock_of_writer.is_held and file.was_taken_for_empty():
            raise StoreError(f"{printable(self.target)} {_UNFINISHED}")
        self._refuse_unlocked(file)
        file.lock, file.syncs = self._lock_of_writer, self._fsync
        _check_names(file, str(file.filename))
        self._end = 0, b""
        if mode == "a" and isinstance(self.target, str) and file.fp is not None:
            file.fp.seek(file.start_dir)
            self._end = file.start_dir, file.fp.read()
        elif mode in ("w", "x"):
            self.mode = "a"  # opened again, the archive keeps what has been written
            file.mode = "a"  # and ends with its directory, also where more was written and failed
        return file


def _announced(scope: str, call: Callable[[], None]) -> None:
    """Call what may have other values be in an archive: what the engine has kept of them counts no more."""
    change = getattr(sys.modules.get(ENGINE), "while_changing", None)
    call() if change is None else change(scope, ("",), call, (), {})


def _is_empty(path: str) -> bool:
    try:
        return os.path.getsize(path) == 0
    except OSError:
        return True


@contextmanager
def _named_damage(where: str) -> Iterator[None]:
    """Have what zipfile raises where it reads the directory of an archive name the archive."""
    try:
        yield
    except zipfile.BadZipFile as error:
        raise StoreError(f"{printable(where)} {_UNFINISHED}: {error}") from error
    except (NotImplementedError, UnicodeDecodeError, OverflowError, struct.error) as error:
        raise StoreError(f"{printable(where)} cannot be used: {shown(error)}") from error
    except OSError as error:
        raise named(error, where) from None


def _check_names(file: zipfile.ZipFile, where: str) -> None:
    try:
        for name in file.NameToInfo:
            validate_prefix(name) if name.endswith("/") else validate_key(name)
        for info in file.filelist:
            if "\0" in info.orig_filename:  # where zipfile ends a name
                validate_key(info.orig_filename)
        if any(info.header_offset < 0 for info in file.filelist):
            raise StoreError(f"{printable(where)} is damaged: an entry lies before the beginning")
    except BaseException as error:
        file.close()
        if isinstance(error, InvalidKeyError):
            raise StoreError(f"{printable(where)}: an entry has a name that is no key: {error}") from error
        raise


def _ranged(file: Any, where: str) -> Directory:
    """Return the directory of an archive in another store."""
    with _named_damage(where):
        directory = Directory(file)
    _check_names(directory, where)
    return directory


def _refuse_other_file(path: str) -> None:
    """zipfile would append an archive to any file, and hide the entries of an unfinished one."""
    try:
        with open(path, "rb") as file:
            if file.seek(0, os.SEEK_END) and not zipfile.is_zipfile(file):
                raise StoreError(f"{printable(path)} {_UNFINISHED}")
    except FileNotFoundError:
        return


def _append(archive: Directory, key: str, data: bytes | memoryview) -> None:
    import time

    info = zipfile.ZipInfo(key, date_time=time.localtime()[:6])
    info.compress_type = archive.compression
    info.external_attr = 0o644 << 16
    archive.append(info, data)
