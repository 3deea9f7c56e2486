"""A directory of the local file system as a store (Zarr v3 "File system store")."""

from __future__ import annotations

import builtins
import errno
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex

from zarrcore._typing import Buffer
from zarrcore.config import config
from zarrcore.errors import InvalidKeyError, StoreError, StoreNotFoundError, printable
from zarrcore.storage import files
from zarrcore.storage.base import Store
from zarrcore.storage.local_errors import (
    explained,
    forgive_others,
    named,
    require_directories_above,
    status_of,
)
from zarrcore.storage.validation import (
    absolute_path,
    as_view,
    is_document,
    validate_key,
    validate_prefix,
    windows_problem,
)

if TYPE_CHECKING:
    from pathlib import Path

    from zarrcore.storage.alone import StillThere
    from zarrcore.storage.byte_range import ByteRange
    from zarrcore.storage.pinned import Changed
    from zarrcore.storage.versions import Fetched

    Locks = Literal["file", "warn", "none"]


_WINDOWS = os.name == "nt"
_STATUS_FLAGS = getattr(os, "O_PATH", getattr(os, "O_NONBLOCK", 0)) | getattr(os, "O_CLOEXEC", 0)
_SCAN_FLAGS = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_PARENT_FLAGS = _SCAN_FLAGS | getattr(os, "O_PATH", 0)
_MARKS = dict.fromkeys(map(ord, "/-._~"))  # which are the same in a URL, as letters and digits are


def _above(key: str) -> str:
    """Return the prefix of a key up to its last slash, without that."""
    return key.rpartition("/")[0]


_LARGE = 1 << 24  # bytes; a copy holds larger values in parts
_PART = 1 << 22
_TRIES = 16  # to make a directory that others remove
_MAY_PASS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE, errno.ETIMEDOUT}
_YOUNG = 3 * 10**9  # nanoseconds for which a file that has changed may change again without a new time


class LocalStore(Store):
    """A directory tree: the value of the key ``a/b`` is the file ``a/b`` below the root.

    The root need not exist: reading then finds nothing, and the first write makes it.  Keys cannot leave the
    root, and nothing is written or removed outside of it through a symbolic link.  A value is replaced by
    renaming a temporary file ``.zc-<16 hex digits>.partial``, so that readers never see half of it; such
    names are no keys and are never listed.  Those of writers that were killed are removed by the next writer
    to that directory (not on Windows) when they are a minute old, or a day old if another system wrote them.

    Parameters
    ----------
    root : str or os.PathLike
        The directory.
    read_only : bool
        Refuse every write.
    fsync : bool, optional
        Make every write durable before it returns.  Default: the configuration's ``store.fsync``.
    follow_symlinks : {"inside", True, False}
        Symbolic links below the root: follow those that lead to a place below it (the default), all of them
        when reading, or none.  Others are an error.  (Windows: reading, and writing chunks, follow all.)
    locks : {"file", "warn", "none"}, optional
        ``"file"``: writers lock the chunk, shard or metadata document that they change, so that several
        processes may change parts of one chunk, append, resize and set attributes at the same time; all of
        them have to ask for it.  The locks are those of an empty file ``.zc-locks`` in the directory of each
        array and group, which is no key and goes with its directory.  ``"warn"``: the same, and whoever finds
        that another process is writing to the same chunk or shard gets a `RegionOverlapWarning`.  Default:
        the configuration's ``store.locks``, which is ``"none"``.  (Not on Windows.)
    page_cache : bool, optional
        Let the system keep chunks and shards in memory after they are read or written.  False, for data
        larger than memory that are read once: it is asked to put out of memory what has been read, and what
        has been written and is on the disk (with `fsync`), so that other files stay there.  Default: the
        configuration's ``store.page_cache``, which is True.  (Linux; elsewhere it changes nothing.)

    Examples
    --------
    >>> import tempfile
    >>> store = LocalStore(tempfile.mkdtemp())
    >>> store.set("a/b", b"value")
    >>> store.get("a/b"), store.get("a/c"), [*store.list()]
    (b'value', None, ['a/b'])
    """

    _is_near = _knows_documents = _has_directories = True
    _bounds_chunks = _takes_parts = _versioned = True

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        read_only: bool = False,
        fsync: bool | None = None,
        follow_symlinks: bool | Literal["inside"] = "inside",
        locks: Locks | None = None,
        page_cache: bool | None = None,
    ) -> None:
        super().__init__(read_only=read_only)
        if not isinstance(root, (str, os.PathLike)):
            raise TypeError(f"LocalStore: expected a path, got {type(root).__name__}: {root!r}")
        if not (isinstance(follow_symlinks, bool) or follow_symlinks == "inside"):
            raise ValueError(
                f"LocalStore: follow_symlinks: expected 'inside', True or False, got {follow_symlinks!r}"
            )
        if locks not in ("file", "warn", "none", None):
            raise ValueError(f"LocalStore: locks: expected 'file', 'warn' or 'none', got {locks!r}")
        # Absolute, so that the store means the same directory after chdir and in another process.
        self._root: str = absolute_path(root)
        self._real_root: str | None = None
        self._real_paths: dict[str, tuple[int, int, str]] = {}  # with device and inode
        if fsync is None or locks is None or page_cache is None:
            fsync = config.get("store.fsync", False) if fsync is None else fsync
            locks = config.get("store.locks", "none") if locks is None else locks
            page_cache = config.get("store.page_cache", True) if page_cache is None else page_cache
        if locks != "none" and _WINDOWS:
            raise ValueError(f"LocalStore: locks={locks!r}: there are no such locks on Windows")
        self.fsync = bool(fsync)
        self.page_cache = bool(page_cache)
        self.locks: Locks = locks  # pyright: ignore[reportAttributeAccessIssue]
        self.follow_symlinks = follow_symlinks

    @classmethod
    def open(cls, root: str | os.PathLike[str], *, mode: str | None = None, read_only: bool = False) -> Self:
        """Open a store.

        Parameters
        ----------
        root : str or PathLike
            The directory.
        mode : {"r", "r+", "a", "w"}, optional
            ``"r"`` and ``"r+"`` require that the directory exists; ``"r"`` is read-only.
        read_only : bool
            Refuse every write.

        Raises
        ------
        FileNotFoundError
            If the mode requires a directory that does not exist.
        """
        store = cls(root, read_only=read_only or mode == "r")
        if mode in ("r", "r+") and not os.path.isdir(store._root):
            raise FileNotFoundError(f"{printable(store._root)} does not exist")
        return store

    @property
    def root(self) -> Path:
        """The directory, as an absolute path."""
        from pathlib import Path  # takes milliseconds, and who reads an array needs none

        return Path(self._root)

    def __str__(self) -> str:
        path = self._root
        is_plain = path.isascii() and path.translate(_MARKS).isalnum() and not path.startswith("//")
        return f"file://{path}" if is_plain else self.root.as_uri()

    def _identity(self) -> object:
        return self._root

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_real_root": None, "_real_paths": {}}

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        if type(self) is not LocalStore:
            return super().__reduce_ex__(protocol)
        settings = self.fsync, self.follow_symlinks, self.locks, self.page_cache
        return _unpickled, (self._root, self._read_only, *settings)

    def with_read_only(self, read_only: bool = False) -> Self:
        return self._copy_with_read_only(read_only)

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> bytes | None:
        return self._read_parts(key, [byte_range])[0]

    def _get_chunks(self, keys: Iterable[str], most: int) -> Sequence[Buffer | None]:
        return [self._read_parts(key, [None], most)[0] for key in keys]

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[bytes | None]:
        return self._read_many(list(key_ranges))

    def _read_many(
        self, requests: Sequence[tuple[str, ByteRange | None]], versions: dict[str, str] | None = None
    ) -> Sequence[bytes | None]:
        parts: dict[str, list[ByteRange | None]] = {}
        for key, byte_range in requests:
            parts.setdefault(key, []).append(byte_range)
        answers = {key: iter(self._read_parts(key, own, None, versions)) for key, own in parts.items()}
        return [next(answers[key]) for key, _ in requests]

    def _get_parts(
        self, key_ranges: Sequence[tuple[str, ByteRange | None]], versions: dict[str, str]
    ) -> Sequence[Buffer | None]:
        return self._read_many(key_ranges, versions)

    def _get_part(self, key: str, byte_range: ByteRange | None, versions: dict[str, str]) -> Buffer | None:
        return self._get_parts([(key, byte_range)], versions)[0]

    def _read_parts(
        self,
        key: str,
        byte_ranges: builtins.list[ByteRange | None],
        most: int | None = None,
        versions: dict[str, str] | None = None,
    ) -> Sequence[bytes | None]:
        """Parts of one value, through one descriptor: all come from the same version of the file."""
        path = self._path(key)
        try:
            parts = self._parts_of(path, byte_ranges, most, versions, key)
        except NotADirectoryError as error:
            self._require_directory()
            if not is_document(key):
                raise explained(error, key, path) from None
            parts = None
        except OSError as error:
            raise explained(error, key, path) from None
        if parts is not None:
            return parts
        if versions and key in versions:
            raise self._replaced(key)
        if _WINDOWS:  # which knows no difference between a missing directory and a file in its place
            self._require_directory()
            if not is_document(key):
                require_directories_above(path, key)
        return [None] * len(byte_ranges)

    def _parts_of(
        self,
        path: str,
        byte_ranges: builtins.list[ByteRange | None],
        most: int | None,
        versions: dict[str, str] | None,
        key: str,
    ) -> Sequence[bytes] | None:
        """Parts of a file; None if nothing is there."""
        if byte_ranges == [None]:
            value = files.read_file(path, self._root, self.follow_symlinks, most)
            return None if value is None else (value,)
        from zarrcore.storage.byte_range import resolve_range

        with files.open_file(path, self._root, self.follow_symlinks) as file:
            if file is None:
                return None
            found = os.fstat(file.fileno())
            size = found.st_size
            if versions is not None:
                version = f"{found.st_dev} {found.st_ino} {size} {found.st_mtime_ns} {found.st_ctime_ns}"
                if versions.setdefault(key, version) != version:
                    raise self._replaced(key)
            return [files.read_span(file, *resolve_range(byte_range, size)) for byte_range in byte_ranges]

    def _open_file(self, key: str) -> tuple[int, int] | None:
        """Return a descriptor of a value, which the caller closes, and its size; None if there is none."""
        path = self._path(key)
        try:
            return files.open_regular(path, self._root, self.follow_symlinks)
        except OSError as error:
            raise explained(error, key, path) from None

    def _replaced(self, key: str) -> StoreError:
        from zarrcore.storage.versions import replaced

        return replaced(self, key)

    def _size(self, key: str) -> int | None:
        path = self._path(key)
        try:
            return files.size_below(path, self._root, self.follow_symlinks)
        except OSError as error:
            raise explained(error, key, path) from None

    def _which_exist(self, keys: Sequence[str]) -> Iterable[bool]:
        if _WINDOWS or len(keys) < 2:
            return super()._which_exist(keys)
        return [found for above, some in groupby(keys, _above) for found in self._which_in(above, [*some])]

    def _which_in(self, above: str, keys: builtins.list[str]) -> Iterator[bool]:
        """Return which keys exist, all in one directory, which is opened once: often it is not even there."""
        paths = [self._path(key) for key in keys]
        directory = paths[0][: len(self._root) + 1 + len(above)]
        try:
            names = [path[len(directory) :].lstrip("/") for path in paths]
            found = files.which_below(directory, names, self._root, self.follow_symlinks)
        except OSError as error:
            raise explained(error, keys[0], directory) from None
        return (kind == 1 or (kind == 2 and self.exists(key)) for kind, key in zip(found, keys, strict=True))

    def _absent(self, key: str) -> Exception:
        path = self._path(key)
        is_directory = os.path.isdir(path)
        return StoreError(f"{path}: expected a file, found none") if is_directory else super()._absent(key)

    # --- writing ---

    def set(self, key: str, value: Buffer) -> None:
        self._write(key, value, is_new=False)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        return self._write(key, value, is_new=True)

    def _path_to_change(self, key: str) -> str:
        self._check_writable()
        path = self._path(key)
        if _WINDOWS:
            self._refuse_outside(path)
        return path

    @property
    def _rules(self) -> dict[str, Any]:
        return {"root": self._root, "follow": self.follow_symlinks}

    def _write(self, key: str, value: Buffer, *, is_new: bool) -> bool:
        path = self._path_to_change(key)
        try:
            return files.write_file(path, as_view(value, key), sync=self.fsync, is_new=is_new, **self._rules)
        except OSError as error:
            raise explained(error, key, path) from None

    def _in_parts(self, key: str) -> AbstractContextManager[tuple[int, Iterator[Buffer]]] | None:
        return self._parts(key) if (self._size(key) or 0) > _LARGE else None

    @contextmanager
    def _parts(self, key: str) -> Iterator[tuple[int, Iterator[Buffer]]]:
        path = self._path(key)
        with files.open_file(path, self._root, self.follow_symlinks) as file:
            if file is None:
                raise self._absent(key)
            size = os.fstat(file.fileno()).st_size
            starts = range(0, size, _PART)
            yield size, (files.read_span(file, start, min(start + _PART, size)) for start in starts)

    def _set_parts(self, key: str, nbytes: int, parts: Iterable[Buffer]) -> None:
        path = self._path_to_change(key)
        try:
            files.write_parts(path, nbytes, parts, sync=self.fsync, **self._rules)
        except StoreError:  # of what the parts come from
            raise
        except OSError as error:
            raise explained(error, key, path) from None

    def delete(self, key: str) -> None:
        path = self._path_to_change(key)
        try:
            files.remove_file(path, self._root, self.follow_symlinks, sync=self.fsync)
        except NotADirectoryError:
            return
        except OSError as error:
            if os.path.isdir(path):
                raise StoreError(f"key {key!r} is a directory; erase_prefix removes it") from None
            raise explained(error, key, path) from None

    def erase_prefix(self, prefix: str) -> None:
        """Remove all keys below `prefix`, and its directory; symbolic links are unlinked, not followed."""
        from zarrcore.storage.removing import remove_directory

        self._check_writable()
        prefix = validate_prefix(prefix)
        if not prefix:
            self._remove_entries(prefix)
            return
        path = self._path(prefix[:-1])
        try:
            with self._parent(path) as (name, fd):
                kind = stat.S_IFMT(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
                if kind == stat.S_IFDIR:
                    remove_directory(name, fd, sync=self.fsync)
                elif kind == stat.S_IFLNK and files.leads_to_directory(name, fd):
                    os.unlink(name, dir_fd=fd)
                else:
                    return
                self._sync(fd)
        except OSError as error:
            if error.errno == errno.ENOTDIR and not os.path.lexists(path):  # there is a file above it
                return
            forgive_others(os.rmdir, path, error)

    def remove_partials(self, prefix: str = "", *, min_age: float = 3600.0) -> int:
        """Remove the temporary files of writers that were killed.

        Parameters
        ----------
        prefix : str
            Where to look.
        min_age : float
            Seconds since a file was last written; a younger one may belong to a writer at work.

        Returns
        -------
        int
            How many files were removed.
        """
        self._check_writable()
        names = self._keys_below(validate_prefix(prefix), temporary=True)
        return sum(self._remove_temporary(name, min_age)[0] for name in names)

    def _remove_temporary(self, name: str, min_age: float, dry_run: bool = False) -> tuple[bool, str]:
        """Remove a temporary file that is old enough; returns whether it was removed, and a message."""
        from zarrcore.storage.moving import remove_copy

        path = f"{self._root}/{name}"
        if not files.is_temporary(os.path.basename(path)):
            return False, "not a file of this store's writers"
        status = self._status(path)
        if status is None:
            return False, "is gone already"
        if time.time() - status.st_mtime < min_age:
            return False, f"was written less than {min_age:g} seconds ago"
        if dry_run:
            return False, "would be removed"
        with self._parent(path) as (last, fd):
            if not stat.S_ISDIR(status.st_mode):
                os.unlink(last, dir_fd=fd)
            elif not remove_copy(last, fd, sync=self.fsync):
                return False, "belongs to a move that is under way"
        return True, "removed"

    def move(self, dest_root: str | os.PathLike[str]) -> None:
        """Move the whole directory to `dest_root`, which must not exist.

        A move to another file system that was killed leaves a directory ``.zc-<16 hex digits>.partial``
        beside `dest_root`, which the next one removes; or the rest of the source beside its copy, which is
        removed when the move is repeated.
        """
        from zarrcore.storage.moving import finish, goes_on, move_directory

        self._check_writable()
        target = absolute_path(dest_root)
        if not os.path.lexists(target):
            move_directory(self._root, target, sync=self.fsync)
        elif not os.path.islink(target) and goes_on(self._root, target):
            finish(self._root, sync=self.fsync)
        else:
            raise FileExistsError(f"{target} exists already")
        self._root, self._real_root = target, None
        self._real_paths.clear()

    def _rename_prefix(self, source: str, dest: str) -> bool:
        from zarrcore.storage.moving import rename_directory

        old, new = self._path(source), self._path(dest)
        self._make_above(new)
        with self._parent(new) as target, self._parent(old) as here:
            is_renamed = rename_directory(here, target)
            if is_renamed:
                self._sync(target[1])
                self._sync(here[1])
        return is_renamed

    # --- listing ---

    def list(self) -> Iterator[str]:
        return self._keys_below("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._keys_below(validate_prefix(prefix))

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        from zarrcore.storage.local_listing import files_below

        return files_below(self, validate_prefix(prefix), with_sizes=True)

    def _temporary_names(self, prefix: str) -> Iterable[str]:
        return [name for name in self._first_names(prefix) if files.is_temporary(name)]

    def list_dir(self, prefix: str) -> Iterator[str]:
        with self._scan(validate_prefix(prefix)) as (entries, _):
            return iter(sorted(entry.name for entry in entries if files.is_listed(entry)))

    def _unreadable_names(self, prefix: str) -> Iterable[str]:
        with self._scan(prefix) as (entries, _):
            return sorted(entry.name for entry in entries if files.is_unreadable(entry))

    def _list_stored(self, prefix: str) -> Iterator[str]:
        return self._keys_below(validate_prefix(prefix), unreadable=True)

    def _keys_below(self, prefix: str, **which: bool) -> Iterator[str]:
        from zarrcore.storage.local_listing import keys_below

        return keys_below(self, prefix, **which)

    @contextmanager
    def _scan(
        self, prefix: str, *, writes: bool = False
    ) -> Iterator[tuple[Iterable[os.DirEntry[str]], int | None]]:
        """``os.scandir`` that finds nothing without a directory, and its descriptor (not on Windows)."""
        directory = self._directory(prefix)
        fd = found = None
        try:
            try:
                fd = None if _WINDOWS else self._open(directory, _SCAN_FLAGS, writes=writes)
                found = os.scandir(directory if fd is None else fd)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                raise explained(error, prefix, directory) from None
            try:
                yield found or (), fd
            except OSError as error:
                raise named(error, directory) from None
        finally:
            if found is not None:
                found.close()
            if fd is not None:
                files.close(fd)

    def _remove_entries(self, prefix: str) -> None:
        from zarrcore.storage.removing import remove_entries

        with self._scan(prefix, writes=True) as (entries, fd):
            remove_entries(entries, fd, sync=self.fsync)

    # --- paths ---

    def _path(self, key: str) -> str:
        validate_key(key)
        if _WINDOWS and (problem := windows_problem(key)) is not None:
            raise InvalidKeyError(f"invalid store key {key!r}: {problem}")
        files.refuse_own(key)
        return f"{self._root}/{key}"

    def _open(self, path: str, flags: int, *, writes: bool = False) -> int:
        return files.open_below(path, flags, self._root, self.follow_symlinks, writes=writes)

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[str, int | None]]:
        """Name and directory by which to change the entry of a path, wherever links above it lead later."""
        if _WINDOWS:
            self._refuse_outside(path)
            yield path, None
            return
        above, name = os.path.split(path)
        try:
            fd = self._open(above, _PARENT_FLAGS, writes=True)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise explained(error, path[len(self._root) + 1 :], path) from None
            raise
        try:
            yield name, fd
        except OSError as error:
            raise named(error, above) from None
        finally:
            files.close(fd)

    def _make_above(self, path: str) -> None:
        """Make the directories above a path that are missing."""
        missing = []
        while not os.path.isdir(path := os.path.dirname(path)) and len(path) > len(self._root):
            missing.append(path)
        for directory in reversed(missing):
            with self._parent(directory) as (name, fd), suppress(FileExistsError):
                os.mkdir(name, dir_fd=fd)
                self._sync(fd)

    def _sync(self, fd: int | None) -> None:
        """Make changes of names in a directory durable, if writes are."""
        if self.fsync and fd is not None:
            files.sync_directory(".", fd)

    def _status(self, path: str) -> os.stat_result | None:
        """Return what is at a path; None if nothing is."""
        try:
            if _WINDOWS:
                return os.stat(path)
            fd = self._open(path, _STATUS_FLAGS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ENOLINK:
                return None
            raise explained(error, path, path) from None
        try:
            return status_of(fd, path)
        finally:
            files.close(fd)

    def _directory(self, prefix: str) -> str:
        if prefix:
            return self._path(prefix[:-1])
        self._require_directory()
        return self._root

    def _refuse_outside(self, path: str) -> None:
        """Refuse to remove what a symbolic link above it places outside of the root."""
        above = files.directory_outside(path, os.path.realpath(self._root))
        if above is not None:
            raise StoreError(
                f"{path} is not removed: a symbolic link leads to {above}, outside of the store; "
                "open that directory as a store of its own"
            )

    def _require_directory(self) -> None:
        """A file where the root should be is a mistake, not an empty store."""
        if os.path.isfile(self._root):
            is_hdf5 = self._root.lower().endswith((".h5", ".hdf5", ".hdf"))
            hint = "open HDF5 with h5py, and copy it with copy_all"
            above, name = os.path.split(self._root)
            if is_document(name):
                hint = f"it is the document of a node: open {above}"
            elif name.lower().endswith((".nc", ".nc4")):
                hint = "open NetCDF with xarray, and write it with zarrcore.xarray.to_zarr"
            elif name.lower().endswith(".json"):
                hint = "is it a document of references for ReferenceStore?"
            elif not is_hdf5:
                hint = "is it an archive for ZipStore?"
            raise StoreNotFoundError(f"{self._root}: expected a directory, found a file ({hint})")

    def _claim(self, prefix: str) -> bool:
        try:
            if prefix:
                path = self._path(prefix)
                if self.fsync or _WINDOWS:
                    with self._parent(path) as (name, fd):
                        os.mkdir(name, dir_fd=fd)
                        self._sync(fd)
                else:
                    files.make_below(path, self._root, self.follow_symlinks)
            else:
                os.mkdir(self._root)
                if self.fsync and not _WINDOWS:
                    files.sync_directory(os.path.dirname(self._root))
        except FileNotFoundError:
            return True  # the directory above is missing as well
        except (OSError, StoreError):
            return False  # something is there, or something is wrong that reading and writing tell better
        return True

    def _alone(self, path: str, *, makes: bool = True) -> AbstractContextManager[StillThere | None]:
        if _WINDOWS:
            return nullcontext()
        from zarrcore.storage.alone import alone

        directory = f"{self._root}/{path}" if path else self._root
        return alone(directory, partial(self._open_made, directory, makes=makes))

    def _open_made(self, directory: str, *, makes: bool) -> int | None:
        """Open a directory, which is made if it is missing; None if that cannot be done."""
        from zarrcore.storage.moving import make_directories

        try:
            for _ in range(_TRIES):
                with suppress(FileNotFoundError):  # also if others remove it at once
                    return self._open(directory, _SCAN_FLAGS, writes=True)
                if not makes:
                    return None
                make_directories(self._root, sync=self.fsync)
                self._make_above(f"{directory}/-")
        except OSError as error:
            if error.errno in _MAY_PASS:  # what follows may succeed, and would not be alone
                raise explained(error, directory[len(self._root) + 1 :], directory) from None
        except StoreError:
            pass
        return None  # reading and writing tell better what is wrong

    def _address(self, path: str) -> str:
        return self._scope(path)

    def _link_target(self, path: str) -> str | None:
        directory = f"{self._root}/{path}"
        is_link = os.path.islink(directory) and os.path.isdir(directory)
        return self._address(path) if is_link else None

    def _version(self, key: str) -> tuple[int, ...] | None:
        return files.version_of(f"{self._root}/{key}")

    _noticed = _version

    def _get_noticed(self, key: str) -> tuple[bytes | None, tuple[int, ...] | None]:
        return files.read_marked(self._path(key), self._root, self.follow_symlinks) or (self.get(key), None)

    def _pinned(self, key: str) -> AbstractContextManager[Callable[[], Changed]]:
        from zarrcore.storage.pinned import pinned

        return pinned(self._root, key)

    def _fetch(
        self,
        key: str,
        part: ByteRange | None = None,
        *,
        most: int | None = None,
        known: str | None = None,
        same: str | None = None,
    ) -> Fetched:
        from zarrcore.storage.versions import Fetched

        before = self._version(key)
        version = None if not before or time.time_ns() - _changed_at(before) < _YOUNG else repr(before)
        if known is not None and version == known:
            return Fetched(version=known, is_unchanged=True)
        value = self.get(key, part) if most is None or part else self._get_chunks([key], most)[0]
        if before != self._version(key):
            version = None
        if same is not None and version != same:
            return Fetched(is_replaced=True)
        return Fetched(
            None if value is None else bytes(value), version, before[1] if version and before else None
        )

    def _lasting_name(self) -> str | None:
        return f"file://{self._scope('')}"

    def _instead_of_node(self, path: str) -> str:
        directory = f"{self._root}/{path}" if path else self._root
        if not os.path.exists(self._root):
            kind = "" if self._root.lower().endswith(".zip") else "the directory "
            return f"{kind}{self._root} does not exist"
        if not os.path.isdir(directory):
            return f"{directory} is a file" if os.path.exists(directory) else f"{directory} does not exist"
        names = sorted(os.listdir(directory))
        if not names:
            return f"the directory {directory} is empty"
        named = ", ".join(map(repr, names[:3])) + (", ..." if len(names) > 3 else "")
        return f"the directory {directory} has no Zarr metadata, but {named}"

    def _first_names(self, prefix: str) -> Iterator[str]:
        with self._scan(prefix) as (entries, _):
            yield from (entry.name for entry in entries)

    def _has_lost(self, prefix: str) -> bool:
        return not os.path.exists(f"{self._root}/{prefix}")

    def _document_in(self, prefix: str) -> str:
        return files.document_in(f"{self._root}/{prefix}")

    def _scope(self, path: str) -> str:
        """Finding the real path takes many calls of the system, so it is kept: each write asks for it."""
        if not path and self._real_root is not None:
            return self._real_root
        directory = f"{self._root}/{path}" if path else self._root
        try:
            status = os.stat(directory)
        except OSError:
            return files.real_directory(directory)
        if not path:
            self._real_root = files.real_directory(directory)
            return self._real_root
        known = self._real_paths.get(path)
        if known is None or known[:2] != (status.st_dev, status.st_ino):
            if len(self._real_paths) >= 1000:
                self._real_paths.clear()
            known = (status.st_dev, status.st_ino, files.real_directory(directory))
            self._real_paths[path] = known
        return known[2]

    def _lock_file(self, path: str) -> tuple[str, str, bool, bool] | None:
        if self.locks == "none":
            return None
        scope, root = self._scope(path), self._scope("")
        if not scope.startswith(root):
            return None  # through a link that leads out: nothing is written there
        return scope + files.LOCK_FILE, root[:-1], self.locks == "warn", self.fsync

    def _native_source(self) -> Any | None:
        from zarrcore._core.engine import LocalSource

        return LocalSource(self._root, self.fsync, True, self.follow_symlinks, self.page_cache)


def _changed_at(version: tuple[int, ...]) -> int:
    """Return when a file of a :meth:`LocalStore._version` was last changed, whatever date it was given."""
    return max(version[2], version[4])


def _unpickled(
    root: str, read_only: bool, fsync: bool, follow_symlinks: Any, locks: Any, page_cache: bool = True
) -> LocalStore:
    """Return a store with the settings of one that was pickled; pickles know this name."""
    store = object.__new__(LocalStore)  # the root is absolute, and all was checked
    vars(store).update(
        _read_only=read_only,
        _root=root,
        _real_root=None,
        _real_paths={},
        fsync=fsync,
        locks=locks,
        follow_symlinks=follow_symlinks,
        page_cache=page_cache,
    )
    return store
