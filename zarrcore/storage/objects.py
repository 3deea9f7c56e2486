"""What requests to an object store of the package obstore have in common, and where its values are."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from typing import Any, TypeVar

from zarrcore.errors import shown
from zarrcore.storage.clients import Client, obstore
from zarrcore.storage.ends import Ends
from zarrcore.storage.remote import RemoteStore, concurrency, interruptibly
from zarrcore.storage.servers import SCHEMES, place_in_bucket
from zarrcore.storage.validation import is_document, join_path, key_prefix, normalize_path
from zarrcore.storage.versions import RECENT

R = TypeVar("R")

NO_BUCKET = re.compile("<Code>(NoSuchBucket|ContainerNotFound)</Code>")
_READING = ("get", "head")
_CHANGING = ("put", "delete")
_FILE_ABOVE = f"(os error {errno.ENOTDIR})"


class NoBucketError(Exception):
    """There is no bucket, and so no answer to whether it has a value."""


def _require_bucket(error: FileNotFoundError) -> None:
    """Refuse the answer that there is no such bucket, whose status is that of an absent value."""
    if NO_BUCKET.search(str(error)):
        raise NoBucketError(f"there is no such bucket: {error}") from error


class Objects(RemoteStore):
    """The objects of a client below a path, without what reads, lists or writes them."""

    _handled = FileNotFoundError

    def __init__(
        self, store: Any, *, read_only: bool = False, path: str = "", immutable: bool = False
    ) -> None:
        super().__init__(read_only=read_only)
        self._immutable = bool(immutable)
        if not isinstance(store, Client):
            if type(store).__module__.partition(".")[0] != "obstore" or not hasattr(store, "put"):
                raise TypeError(
                    f"ObjectStore: expected a store of the package obstore (pip install 'zarrcore[remote]'), "
                    f"got {store!r}"
                )
            store = Client.of(store)
        self._client: Client = store
        self.path = normalize_path(path)
        self._root = key_prefix(self.path)

    @property
    def store(self) -> Any:
        """The store of obstore; a child process made by fork has one of its own."""
        return self._client.store

    def _wait(self, call: Callable[[], R]) -> R:
        return call() if self._is_here else interruptibly(call)

    @property
    def _is_here(self) -> bool:
        return self._client.kind in ("MemoryStore", "LocalStore")

    def _ask(self, verb: str, *args: Any, **options: Any) -> Any:
        """Call a function of obstore."""
        package, store = obstore(), self.store
        if self._client.kind == "LocalStore":
            self._refuse_what_others_would_not(verb, args[0] if args else None)
        try:
            return getattr(package, verb)(store, *args, **options)
        except (FileNotFoundError, package.exceptions.BaseError) as error:
            self._require_region(error, verb, store)
        return getattr(package, verb)(self.store, *args, **options)

    def _require_region(self, error: Exception, verb: str, used: Any) -> None:
        """Raise what a request has failed with, unless that shows that the bucket is in another region."""
        if isinstance(error, FileNotFoundError):
            _require_bucket(error)
            self._client.knows_absence = True
        elif verb in _READING and self._client.kind == "LocalStore" and _FILE_ABOVE in str(error):
            raise FileNotFoundError(str(error)) from error  # see `_refuse_hidden`
        elif self._client.finds_region(error, used):
            return
        raise error

    def _refuse_what_others_would_not(self, verb: str, paths: Any) -> None:
        """Refuse requests for files of this machine that hang, or that links lead out of the root."""
        if verb not in _READING and verb not in _CHANGING:
            return
        keys = [path[len(self._root) :] for path in (paths if isinstance(paths, list) else [paths])]
        if verb in _READING:
            for key in keys:
                self._refuse_special(key)
        else:
            self._refuse_outside(keys)

    @property
    def _ends(self) -> Ends:
        return self._client.ends_for_good if self._immutable else self._client.ends

    def _forget(self, key: str) -> None:
        """Forget what is kept of a value, which is being replaced or removed."""
        for kept in (self._client.ends, self._client.ends_for_good, self._client.tags):
            kept.drop(self._root + key)
        if is_document(key):
            RECENT.drop(self._scope("") + key)

    @property
    def _bucket(self) -> str:
        """The place that all keys of the client are below."""
        scope = self._scope("")
        return scope[: len(scope) - len(self._root)]

    @property
    def _notes_tags(self) -> bool:
        return self._client.tags.wanted and not self._immutable

    # --- life ---

    def __str__(self) -> str:
        return shown(self._url_of_root() or f"object_store://{join_path(str(self.store), self.path)}")

    def _url_of_root(self, server: str = "") -> str | None:
        """Return the URL of the root of the store; None if it is not in a cloud or on the web."""
        client = self._client
        if client.kind == "HTTPStore":
            return join_path(client.bucket.rstrip("/"), self.path)
        if client.kind not in SCHEMES:
            return None
        above = normalize_path(client.config("prefix") or "")
        return place_in_bucket(client.kind, server, join_path(client.bucket, above, self.path))

    def _address(self, path: str) -> str:
        place = self._url_of_root(self._client.server)  # two of them may each have a bucket of one name
        return super()._address(path) if place is None else f"{join_path(place, path)}/"

    def _scope(self, path: str) -> str:
        return super()._scope(path) if self._url_of_root() is None else self._address(path)

    def _identity(self) -> object:
        return self.read_only, self._client.identity, self._client.server, self.path

    def _lasting_name(self) -> str | None:
        return None if self._client.kind == "MemoryStore" else self._address("")

    def _notes(self) -> dict[str, Any]:
        return self._client.notes(self._root)

    def _local_root(self) -> str | None:
        if self._client.kind != "LocalStore":
            return None
        return join_path(self._client.prefix, self.path)

    def _concurrent_requests(self) -> int:
        return concurrency()
