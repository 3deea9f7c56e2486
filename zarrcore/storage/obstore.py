"""The object stores of the package obstore as a store: S3, GCS, Azure, HTTP, without Python in between."""

from __future__ import annotations

import os
import random
import time
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Self

from zarrcore._threads import in_threads
from zarrcore._typing import Buffer
from zarrcore.errors import ZarrUserWarning
from zarrcore.storage.clients import obstore
from zarrcore.storage.files import refuse_own
from zarrcore.storage.object_lists import ListedObjects
from zarrcore.storage.object_reads import ABSENT, MOST_AT_ONCE, ReadObjects, version_of
from zarrcore.storage.remote import concurrency
from zarrcore.storage.servers import SCHEMES
from zarrcore.storage.validation import as_view, is_document, validate_key
from zarrcore.storage.versions import RECENT

_NOT_IMPLEMENTED = "status code: 501 "
_MARK = "zarrcoreput"  # no name that a proxy refuses: neither signs nor upper case
_LONGEST_WAIT = 1.0  # seconds, before a value that others have replaced is replaced


class ObjectStore(ReadObjects, ListedObjects):
    """A store of obstore.

    Many values, or parts of them, are fetched in parallel, at most ``async.concurrency`` at a time.  A child
    process can use the store that its parent has used, whichever way it is started.

    Parameters
    ----------
    store : obstore.store.ObjectStore
        Where the values are, for example ``obstore.store.S3Store("bucket", prefix="path")``.
    read_only : bool
        Refuse every write.
    path : str
        Where the store has its root, below that of `store`.
    immutable : bool
        Nobody but this process changes values.  What is kept of them (indexes of shards, chunks in a
        :class:`zarrcore.ChunkCache`, files of a :class:`CacheStore`) is used without asking whether they are
        still the same.

    See Also
    --------
    from_url : The store of a URL.

    Examples
    --------
    >>> import obstore.store
    >>> store = ObjectStore(obstore.store.MemoryStore(), read_only=False)
    >>> array = zarrcore.create_array(store, shape=4, dtype="f4", fill_value=1)
    >>> array[:].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """

    @classmethod
    def from_url(
        cls,
        url: str,
        storage_options: dict[str, Any] | None = None,
        read_only: bool = False,
        immutable: bool = False,
    ) -> Self:
        """Return the store of a URL.

        All stores of this process over one bucket, with the same options, share their connections.

        Parameters
        ----------
        url : str
            ``s3://bucket/path``, ``gs://bucket/path``, ``az://container/path``, ``abfs://container/path``,
            also with ``container@account.host``, or ``https://host/path``.
        storage_options : dict, optional
            Options in the words of fsspec's filesystem for the scheme (``key``, ``secret``, ``anon``,
            ``endpoint_url``, ...) or of obstore (``access_key_id``, ``skip_signature``, ``client_options``,
            ``retry_config``, ...).
        read_only : bool
            Refuse every write.
        immutable : bool
            No value changes: see the class.

        Raises
        ------
        StoreError
            If obstore is not installed, or does not know the scheme or one of the options.

        Examples
        --------
        >>> store = ObjectStore.from_url("s3://bucket/data.zarr", {"anon": True})
        >>> store
        ObjectStore('s3://bucket/data.zarr')
        """
        from zarrcore.storage import buckets, options

        try:
            client, path = buckets.client_of(url, storage_options or {})
        except options.UnknownOptionError as unknown:
            raise buckets.refused(url, unknown) from None
        return cls(client, read_only=read_only, path=path, immutable=immutable)

    # --- writing ---

    def set(self, key: str, value: Buffer) -> None:
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        with self._failures(key):
            self._put(key, data)

    @property
    def _set_lent(self) -> Callable[[str, Buffer], None] | None:
        """What sends a chunk out of the caller's memory, which a store of obstore in memory would keep."""
        return self._send_lent if self._client.kind in SCHEMES else None

    def _send_lent(self, key: str, value: Buffer) -> None:
        self._check_writable()
        with self._failures(validate_key(key)):
            self._put(key, value)

    def set_if_not_exists(self, key: str, value: Buffer) -> bool:
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        errors = obstore().exceptions
        with self._failures(key):
            try:
                self._put_marked(key, data, "create")
            except errors.AlreadyExistsError:
                return False
            except errors.NotSupportedError:
                return super().set_if_not_exists(key, data)
        return True

    def _put(self, key: str, data: Any, **options: Any) -> None:
        if self._local_root() is not None:
            refuse_own(key)
        self._forget(key)
        since = RECENT.begin()
        in_parts = len(data) > MOST_AT_ONCE and "mode" not in options  # which no store has on condition
        try:
            made = self._ask("put", self._root + key, data, use_multipart=in_parts, **options)
        except FileNotFoundError as error:  # not the value: the bucket, unless the value is to be replaced
            if isinstance(options.get("mode"), dict):
                raise
            raise self._failed(key, error) from error
        if is_document(key):
            self._note_recent(key, data, version_of(made), since, is_stored=True)

    def _put_marked(self, key: str, data: bytes, mode: Any) -> None:
        """Store on condition; of documents it is known who has stored what is there.

        A client that gets no answer stores again.  If the first request was carried out all the same, the own
        value does not meet the condition any more.  Another process may have stored the same bytes: a mark in
        the metadata of the object is the difference.
        """
        if self._client.kind not in SCHEMES or not is_document(key):
            self._put(key, data, mode=mode)
            return
        marks = {_MARK: os.urandom(16).hex()}
        errors = obstore().exceptions
        try:
            self._put(key, data, mode=mode, attributes=marks)
        except (errors.AlreadyExistsError, errors.PreconditionError):
            if self._mark(key) != marks[_MARK]:
                raise

    def _mark(self, key: str) -> str | None:
        """Return the mark of what is stored; None if it has none, or may not be looked at."""
        try:
            found = self._ask("get", self._root + key, options={"head": True}).attributes.get(_MARK)
        except (obstore().exceptions.BaseError, OSError):
            return None
        return None if found is None else str(found)

    def _get_version(self, key: str, most: int | None = None) -> tuple[Buffer | None, Any]:
        if not self._compares:
            return super()._get_version(key, most)
        if is_document(key):
            return self._wait(lambda: self._document(key))
        with self._failures(validate_key(key)):
            try:
                return self._wait(lambda: self._with_version(key, most))
            except FileNotFoundError:
                return None, ABSENT

    def _replace_version(self, key: str, value: Buffer, version: Any, attempt: int = 0) -> bool:
        if version is None or not self._client.compares:
            return super()._replace_version(key, value, version)
        self._check_writable()
        data = bytes(as_view(value, validate_key(key)))
        errors = obstore().exceptions
        with self._failures(key):
            try:
                self._put_marked(key, data, "create" if version == ABSENT else dict(version))
            except (errors.AlreadyExistsError, errors.PreconditionError, FileNotFoundError):
                time.sleep(random.uniform(0, min(0.01 * 2 ** min(attempt, 10), _LONGEST_WAIT)))
                return False
            except errors.BaseError as error:
                if not isinstance(error, errors.NotSupportedError) and _NOT_IMPLEMENTED not in str(error):
                    raise
                self._client.compares = False
                warnings.warn(
                    f"{self} does not compare versions: where several processes write to one chunk, shard or "
                    "document at the same time, updates are lost",
                    ZarrUserWarning,
                    stacklevel=2,
                )
                if is_document(key):
                    return False  # what it is made of may not be the newest
                self._put(key, data)
        return True

    def delete(self, key: str) -> None:
        self._check_writable()
        self._forget(key)
        with self._failures(validate_key(key)), suppress(FileNotFoundError):
            self._ask("delete", self._root + key)
            self._forget(key)

    def erase_prefix(self, prefix: str) -> None:
        if self._local_root() is not None:
            self._refuse_outside(self.list_prefix(prefix))  # before the document of a node is removed
        super().erase_prefix(prefix)

    def erase_values(self, keys: Iterable[str]) -> None:
        self._check_writable()
        names = [validate_key(key) for key in keys]
        self._refuse_outside(names)  # before anything is removed
        for name in names:
            self._forget(name)
        with suppress(Exception):  # one key was absent, or could not be removed: each alone shows which
            if names:
                self._ask("delete", [self._root + name for name in names])  # in one request, where it can
            for name in filter(is_document, names):
                self._forget(name)
            return
        list(in_threads(self.delete, names, concurrency()))  # where one fails, none goes on
