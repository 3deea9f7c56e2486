"""URLs: which package opens each of them, and the store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from inspect import signature
from typing import Any
from urllib.parse import quote, unquote

from zarrcore.errors import StoreError, masked
from zarrcore.storage import buckets, clients
from zarrcore.storage.base import Store
from zarrcore.storage.clients import Client
from zarrcore.storage.fsspec import FsspecStore
from zarrcore.storage.obstore import ObjectStore
from zarrcore.storage.options import UnknownOptionError, for_pages, is_of_obstore
from zarrcore.storage.place import StorePath, is_archive
from zarrcore.storage.validation import join_path
from zarrcore.storage.zip import ZipStore


def store_of_url(url: str, storage_options: Mapping[str, Any] | None = None) -> Store:
    """Return the store of a URL: of obstore, or of fsspec for what only fsspec knows.

    Parameters
    ----------
    url : str
        The URL.
    storage_options : mapping, optional
        Options in the words of fsspec or of obstore; with ``immutable=True`` nobody changes values.

    Raises
    ------
    StoreError
        If the package that is needed is not installed, or does not know the scheme or an option.
    """
    if url.startswith("zip::") and not storage_options:
        path = url.removeprefix("zip::").removeprefix("file://")
        if os.path.isfile(path):  # it is checked by more than what fsspec's filesystem looks at
            return ZipStore(path)
    options = dict(storage_options or {})
    immutable = bool(options.pop("immutable", False))
    kind = buckets.kind_of(url)
    if is_archive(url) and (kind is not None or "::" not in url):  # which is in addresses of IPv6 as well
        above, _, name = url.rpartition("/")
        name = unquote(name) if url.lower().startswith("http") else name
        return ZipStore(StorePath(store_of_url(f"{above}/", storage_options), name))
    if kind is None:
        return FsspecStore.from_url(url, options)
    if not clients.is_installed():
        _require_known(url, kind, options, "obstore does: pip install 'zarrcore[remote]'")
        return FsspecStore.from_url(url, options)
    try:
        client, path = buckets.client_of(url, options)
    except UnknownOptionError as unknown:
        if find_spec(package := buckets.PACKAGES[kind]) is not None and find_spec("fsspec") is not None:
            _require_known(url, kind, options, f"obstore does, but does not know {unknown}")
            return FsspecStore.from_url(url, options)
        error = buckets.refused(url, unknown)
        error.add_note(f"if it is an option of {package}: pip install {package}")
        raise error from None
    if kind == "HTTPStore":
        trust_env = bool(dict(options.get("client_kwargs") or {}).get("trust_env"))
        return _WebStore(client, path=path, immutable=immutable, trust_env=trust_env)
    return ObjectStore(client, path=path, immutable=immutable)


def _require_known(url: str, kind: str, options: Mapping[str, Any], otherwise: str) -> None:
    """Refuse options in the words of obstore alone, which filesystems of fsspec leave out without a word."""
    try:
        from fsspec import get_filesystem_class

        filesystem = get_filesystem_class(url.partition("://")[0].lower())
    except (ImportError, ValueError):
        return  # that it cannot be opened is said where it is
    known = signature(filesystem.__init__).parameters
    for name in options:
        if is_of_obstore(kind, name) and name not in known:
            package = buckets.PACKAGES[kind]
            raise StoreError(
                f"{masked(url)!r}: storage_options: {package} does not know {name!r}; {otherwise}"
            )


class _WebStore(ObjectStore):
    """A web server.  Few can list; where there is aiohttp, fsspec lists what their pages link to."""

    def __init__(self, client: Client, *, path: str, immutable: bool, trust_env: bool) -> None:
        super().__init__(client, path=path, immutable=immutable)
        self._trust_env = trust_env

    def _lists(self) -> Any:
        """Return what lists: another store, or the methods of the class above."""
        if find_spec("fsspec") is None or find_spec("aiohttp") is None:
            return super()
        _ = self._client.store  # which refuses if it came without its credentials
        options = for_pages(self._client.options)
        if self._trust_env:
            options["client_kwargs"] = {"trust_env": True}
        return FsspecStore.from_url(join_path(self._client.args[0], quote(self.path)), options)

    def list_prefix(self, prefix: str) -> Iterator[str]:
        return self._lists().list_prefix(prefix)  # type: ignore[no-any-return]

    def list_dir(self, prefix: str) -> Iterator[str]:
        return self._lists().list_dir(prefix)  # type: ignore[no-any-return]

    def _list_sizes(self, prefix: str) -> Iterator[tuple[str, int | None]]:
        return self._lists()._list_sizes(prefix)  # type: ignore[no-any-return]
