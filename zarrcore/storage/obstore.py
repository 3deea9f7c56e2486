"""The object stores of the package obstore as a store: S3, GCS, Azure, HTTP, without Python in between."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from zarrcore.errors import BaseZarrError, StoreError
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import (
    ByteRange,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    as_request,
    resolve_range,
)
from zarrcore.storage.side_by_side import concurrency, side_by_side
from zarrcore.storage.validation import is_document, validate_key, validate_prefix
from zarrcore.storage.values import as_view

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Self

    from typing_extensions import Buffer


class ObjectStore(Store):
    """A store of obstore.

    Many values, or parts of them, are fetched in parallel, at most ``async.concurrency`` at a time.

    Parameters
    ----------
    store : obstore.store.ObjectStore
        Where the values are, for example ``obstore.store.S3Store("bucket", prefix="path")``.
    read_only : bool
        Refuse every write.
    """

    def __init__(self, store: Any, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        if not is_object_store(store):
            raise TypeError(
                f"ObjectStore: expected a store of the package obstore (pip install zarrcore[remote]), "
                f"got {store!r}"
            )
        self.store = store

    # --- reading ---

    def get(self, key: str, byte_range: ByteRange | None = None) -> bytes | None:
        request = as_request(byte_range)
        with self._failures(validate_key(key)):
            try:
                return self._get(key, request)
            except FileNotFoundError:
                return None

    def _get(self, key: str, request: ByteRange | None) -> bytes:
        import obstore

        if request is None:
            return bytes(obstore.get(self.store, key).bytes())
        try:
            match request:
                case RangeByteRequest(start, end) if start < end:
                    return bytes(obstore.get_range(self.store, key, start=start, end=end))
                case OffsetByteRequest(offset):
                    options: Any = {"range": {"offset": offset}}
                    return bytes(obstore.get(self.store, key, options=options).bytes())
                case SuffixByteRequest(suffix) if suffix:
                    options = {"range": {"suffix": suffix}}
                    return bytes(obstore.get(self.store, key, options=options).bytes())
        except obstore.exceptions.BaseError:
            # It begins after the end of the value, or is counted from the end, which not all stores can.
            start, stop = resolve_range(request, self._head(key))
            if start < stop and not isinstance(request, SuffixByteRequest):
                raise
        else:  # no byte is wanted, for which obstore has no words
            start, stop = resolve_range(request, self._head(key))
        return bytes(obstore.get_range(self.store, key, start=start, end=stop)) if start < stop else b""

    def _head(self, key: str) -> int:
        """Return the size of a value; FileNotFoundError if there is none."""
        import obstore

        return int(obstore.head(self.store, key)["size"])

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[bytes | None]:
        # Not obstore.get_ranges, which panics where a range begins after the end of a value in memory.
        return side_by_side(lambda request: self.get(*request), list(key_ranges))

    def exists(self, key: str) -> bool:
        return self._size(key) is not None

    def getsize(self, key: str) -> int:
        size = self._size(key)
        if size is None:
            raise self._absent(key)
        return size

    def _size(self, key: str) -> int | None:
        with self._failures(validate_key(key)):
            try:
                return self._head(key)
            except FileNotFoundError:
                return None

    def getsize_prefix(self, prefix: str) -> int:
        return sum(item["size"] for item in self._objects(prefix))

    # --- listing ---

    def list(self) -> Iterator[str]:
        return self.list_prefix("")

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (item["path"] for item in self._objects(prefix))

    def _objects(self, prefix: str) -> Iterator[Any]:
        import obstore

        prefix = validate_prefix(prefix)
        with self._failures(prefix):
            listing = obstore.list(self.store, prefix=prefix or None)
        return self._items(listing, prefix)

    def _items(self, listing: Any, prefix: str) -> Iterator[Any]:
        with self._failures(prefix):
            for page in listing:
                yield from (item for item in page if item["path"].startswith(prefix))

    def list_dir(self, prefix: str) -> Iterator[str]:
        import obstore

        prefix = validate_prefix(prefix)
        with self._failures(prefix):
            found = obstore.list_with_delimiter(self.store, prefix=prefix or None)
        paths = [*found["common_prefixes"], *(item["path"] for item in found["objects"])]
        names = (path[len(prefix) :].rstrip("/") for path in paths if path.startswith(prefix))
        return iter(dict.fromkeys(name for name in names if name))

    # --- writing ---

    def set(self, key: str, value: Buffer) -> None:
        import obstore

        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        with self._failures(key):
            obstore.put(self.store, key, data)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        import obstore

        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        with self._failures(key):
            try:
                obstore.put(self.store, key, data, mode="create")
            except obstore.exceptions.AlreadyExistsError:
                return False
            except obstore.exceptions.NotSupportedError:
                return super().set_if_not_exists(key, data)
        return True

    def delete(self, key: str) -> None:
        import obstore

        self._check_writable()
        with self._failures(validate_key(key)), suppress(FileNotFoundError):
            obstore.delete(self.store, key)

    def erase_values(self, keys: Iterable[str]) -> None:
        self._check_writable()
        side_by_side(self.delete, [validate_key(key) for key in keys])

    def erase_prefix(self, prefix: str) -> None:
        import obstore

        self._check_writable()
        found = [*self.list_prefix(prefix)]
        chunks = [key for key in found if not is_document(key)]
        for keys in ([key for key in found if is_document(key)], chunks):  # see Store.erase_prefix
            if not keys:
                continue
            try:
                with self._failures(prefix):
                    obstore.delete(self.store, keys)  # many keys in one request, where the store can
            except FileNotFoundError:  # another writer was faster with one of them
                self.erase_values(keys)

    # --- life ---

    def with_read_only(self, read_only: bool = False) -> Self:
        return self._copy_with_read_only(read_only)

    def __str__(self) -> str:
        return f"object_store://{self.store}"

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is type(self)
            and self.read_only == other.read_only
            and bool(self.store == other.store)
        )

    __hash__ = None  # type: ignore[assignment]

    def _address(self, path: str) -> str:
        if type(self.store).__name__ != "LocalStore":
            return super()._address(path)
        return os.path.realpath(
            f"{self.store.prefix or ''}/{path}"
        )  # the same address as that of a LocalStore

    def _scope(self, path: str) -> str:
        is_local = type(self.store).__name__ == "LocalStore"
        return f"{self._address(path)}/" if is_local else super()._scope(path)

    def _concurrent_requests(self) -> int:
        return concurrency()

    @contextmanager
    def _failures(self, key: str) -> Iterator[None]:
        """Whatever obstore raises as an error of this package that names the key."""
        try:
            yield
        except (BaseZarrError, FileNotFoundError, MemoryError):
            raise
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise StoreError(f"{self}: key {key!r}: {type(error).__name__}: {reason}", key=key) from error


def is_object_store(value: object) -> bool:
    """Return whether something is a store of obstore; without importing that."""
    return type(value).__module__.partition(".")[0] == "obstore" and hasattr(value, "put")
