"""The object stores of the package obstore as a store: S3, GCS, Azure, HTTP, without Python in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from zarrcore._typing import Buffer
from zarrcore._validate import MAX_DOCUMENT_NBYTES
from zarrcore.errors import StoreError, masked
from zarrcore.storage.base import overrides
from zarrcore.storage.byte_range import (
    ByteRange,
    OffsetByteRequest,
    RangeByteRequest,
    SuffixByteRequest,
    as_request,
    resolve_range,
)
from zarrcore.storage.remote import RemoteStore, concurrency, in_parallel
from zarrcore.storage.validation import (
    as_view,
    is_document,
    too_large,
    validate_key,
    validate_prefix,
)

with suppress(ImportError):  # without the package nobody has a store of it
    import obstore


class ObjectStore(RemoteStore):
    """A store of obstore.

    Many values, or parts of them, are fetched in parallel, at most ``async.concurrency`` at a time.

    Parameters
    ----------
    store : obstore.store.ObjectStore
        Where the values are, for example ``obstore.store.S3Store("bucket", prefix="path")``.
    read_only : bool
        Refuse every write.
    """

    _handled = FileNotFoundError
    _bounds_chunks = True

    def __init__(self, store: Any, *, read_only: bool = False) -> None:
        super().__init__(read_only=read_only)
        if type(store).__module__.partition(".")[0] != "obstore" or not hasattr(store, "put"):
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
                return self._get(key, request, MAX_DOCUMENT_NBYTES if is_document(key) else None)
            except FileNotFoundError:
                return None

    def _get_chunks(self, keys: Sequence[str], most: int) -> Sequence[Buffer | None]:
        if overrides(self, ObjectStore):
            return self.get_many(keys)

        def get(key: str) -> bytes | None:
            with self._failures(validate_key(key)):
                try:
                    return self._get(key, None, most)
                except FileNotFoundError:
                    return None

        return in_parallel(get, keys)

    def _get(self, key: str, request: ByteRange | None, most: int | None) -> bytes:
        match request:
            case None:
                found = obstore.get(self.store, key)  # its contents are fetched by the next call
                if most is not None and (size := int(found.meta["size"])) > most:
                    raise StoreError(f"{self}: key {key!r}: {too_large(size, most)}", key=key)
                return bytes(found.bytes())
            case RangeByteRequest(start, end) if start < end:
                wanted: Any = (start, end)
            case OffsetByteRequest(offset):
                wanted = {"offset": offset}
            case SuffixByteRequest(suffix) if suffix:
                wanted = {"suffix": suffix}
            case _:
                wanted = None  # no byte, for which obstore has no words
        # It may begin after the end of the value, or be counted from the end, which not all stores can.
        with suppress(obstore.exceptions.BaseError):
            if wanted is not None:
                return bytes(obstore.get(self.store, key, options={"range": wanted}).bytes())
        start, stop = resolve_range(request, self._head(key))
        return bytes(obstore.get_range(self.store, key, start=start, end=stop)) if start < stop else b""

    def _head(self, key: str) -> int:
        """Return the size of a value; FileNotFoundError if there is none."""
        return int(obstore.head(self.store, key)["size"])

    def get_partial_values(
        self, key_ranges: Iterable[tuple[str, ByteRange | None]]
    ) -> Sequence[bytes | None]:
        # Not obstore.get_ranges, which panics where a range begins after the end of a value in memory.
        return in_parallel(lambda request: self.get(*request), list(key_ranges))

    def _size(self, key: str) -> int | None:
        with self._failures(validate_key(key)):
            try:
                return self._head(key)
            except FileNotFoundError:
                return None

    def getsize_prefix(self, prefix: str) -> int:
        return sum(item["size"] for item in self._objects(validate_prefix(prefix)))

    # --- listing ---

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (item["path"] for item in self._objects(validate_prefix(prefix)))

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        return ((item["path"], item["size"]) for item in self._objects(validate_prefix(prefix)))

    def _objects(self, prefix: str) -> Iterator[Any]:
        with self._failures(prefix):
            for page in obstore.list(self.store, prefix=prefix or None):
                yield from (item for item in page if item["path"].startswith(prefix))

    def list_dir(self, prefix: str) -> Iterator[str]:
        prefix = validate_prefix(prefix)
        with self._failures(prefix):
            found = obstore.list_with_delimiter(self.store, prefix=prefix or None)
        paths = [*found["common_prefixes"], *(item["path"] for item in found["objects"])]
        names = (path[len(prefix) :].rstrip("/") for path in paths if path.startswith(prefix))
        return iter(dict.fromkeys(name for name in names if name))

    # --- writing ---

    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        with self._failures(key):
            obstore.put(self.store, key, data)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
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
        self._check_writable()
        with self._failures(validate_key(key)), suppress(FileNotFoundError):
            obstore.delete(self.store, key)

    def erase_values(self, keys: Iterable[str]) -> None:
        self._check_writable()
        names = [validate_key(key) for key in keys]
        with suppress(Exception):  # one key was absent, or could not be removed: each alone shows which
            if names:
                obstore.delete(self.store, names)  # many keys in one request, where the store can
            return
        in_parallel(self.delete, names)

    # --- life ---

    def __str__(self) -> str:
        return masked(f"object_store://{self.store}")

    def _identity(self) -> object:
        return self.read_only, self.store

    def _local_root(self) -> str | None:
        return f"{self.store.prefix or ''}" if type(self.store).__name__ == "LocalStore" else None

    def _concurrent_requests(self) -> int:
        return concurrency()
