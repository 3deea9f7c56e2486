"""Which objects there are in an object store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from zarrcore._extension import own_form
from zarrcore.errors import BaseZarrError, StoreError
from zarrcore.storage.clients import obstore
from zarrcore.storage.objects import Objects
from zarrcore.storage.remote import lists_documents
from zarrcore.storage.servers import SCHEMES
from zarrcore.storage.validation import validate_prefix


class ListedObjects(Objects):
    """Objects that are listed, page by page or directly below a prefix."""

    @property
    def supports_listing(self) -> bool:  # type: ignore[override]
        return self._client.kind != "HTTPStore" or lists_documents(self)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return (key for key, _ in own_form(self, "_list_sizes", prefix))

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        skip = len(self._root)
        return ((item["path"][skip:], item["size"]) for item in self._objects(validate_prefix(prefix)))

    def _objects(self, prefix: str) -> Iterator[Any]:
        start = self._root + prefix
        with self._failures(prefix):
            before = None
            pages = self._first_page(start)
            first = next(pages, None)
            if not first:
                self._doubt_nothing()
            for page in chain([first or []], pages):
                begin = page[0]["path"] if page else None
                if begin is not None and begin == before:
                    raise StoreError("the server lists the same again and again")
                before = begin
                yield from (item for item in page if item["path"].startswith(start))

    def _doubt_nothing(self) -> None:
        """Believe that there is nothing only of a server that does not have what nobody can have stored.

        The page of a login, a proxy or a console, where a listing was asked for, reads as one without keys.
        """
        if self._client.kind not in SCHEMES or self._client.knows_absence:
            return
        errors = obstore().exceptions
        try:
            self._ask("get", f"{self._root}.zarrcore-{os.urandom(16).hex()}")
        except (FileNotFoundError, errors.PermissionDeniedError, errors.UnauthenticatedError):
            self._client.knows_absence = True
            return
        raise StoreError("the server answers with pages that have nothing to do with what it is asked for")

    def _first_page(self, start: str) -> Iterator[Any]:
        """Return the pages of a listing; the first one, fetched here, shows if the bucket is elsewhere."""
        package, store = obstore(), self.store
        try:
            pages = package.list(store, prefix=start or None)
            first = next(pages, None)
        except package.exceptions.BaseError as error:
            if not self._client.finds_region(error, store):
                raise
            return iter(package.list(self.store, prefix=start or None))
        return chain(() if first is None else (first,), pages)

    def list_dir(self, prefix: str) -> Iterator[str]:
        prefix = self._root + validate_prefix(prefix)
        with self._failures(prefix):
            found = self._wait(lambda: self._ask("list_with_delimiter", prefix=prefix or None))
            names = _names_in(found, prefix)
            if not (found["common_prefixes"] or found["objects"]):
                self._wait(self._doubt_nothing)
        return iter(names)

    def getsize_prefix(self, prefix: str) -> int:
        return sum(item["size"] for item in self._objects(validate_prefix(prefix)))

    @property
    def _awaits_names(self) -> bool:
        return self._client.kind != "HTTPStore"

    async def _await_names(self, prefix: str) -> Any:
        """Return the names directly below a prefix, or :class:`Elsewhere`."""
        from zarrcore.storage.arriving import Elsewhere

        start = self._root + validate_prefix(prefix)
        try:
            found = await obstore().list_with_delimiter_async(self.store, prefix=start or None)
        except Exception:
            return Elsewhere()
        names = tuple(_names_in(found, start))
        return names if names or self._client.knows_absence else Elsewhere()  # which doubts it

    _claims_places = True

    def _claim(self, prefix: str) -> bool:
        # One listing takes the place of a request for each document that might be there.
        if not self._root + prefix or self._client.kind == "HTTPStore":
            return False
        try:
            with self._failures(prefix):  # what is stored next shows whether a server is one
                return next(self._first_page(self._root + prefix), None) in (None, [])
        except (BaseZarrError, OSError):  # not everyone who may write may list
            return False


def _names_in(found: Any, prefix: str) -> Iterable[str]:
    """Return the names in a listing of what is directly below a prefix."""
    paths = [*found["common_prefixes"], *(item["path"] for item in found["objects"])]
    names = (path[len(prefix) :].rstrip("/") for path in paths if path.startswith(prefix))
    return dict.fromkeys(name for name in names if name)
