"""URLs of buckets, containers and web servers: the client of obstore for each, and the path in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from zarrcore.errors import StoreError, masked
from zarrcore.storage import clients
from zarrcore.storage.clients import Client
from zarrcore.storage.options import TRANSLATORS, UnknownOptionError, at_host
from zarrcore.storage.servers import KINDS

PACKAGES = {"S3Store": "s3fs", "GCSStore": "gcsfs", "AzureStore": "adlfs", "HTTPStore": "aiohttp"}
"""The packages that fsspec needs for what obstore has a store for."""
_AZURE = re.compile(r"([^@/]+)@([^./]+)(?:\.(.*))?")  # container@account.dfs.core.windows.net


def kind_of(url: str) -> str | None:
    """Return the kind of store of obstore for a URL; None if there is none."""
    scheme, found, rest = url.partition("://")
    if not found or "::" in scheme or ("?" in rest and scheme.startswith("http")):
        return None
    return KINDS.get(scheme.lower())


def client_of(url: str, options: Mapping[str, Any]) -> tuple[Client, str]:
    """Return the client for a URL, which others in this process may share, and the path in its bucket.

    Raises
    ------
    UnknownOptionError
        If obstore has no form for one of the options.
    StoreError
        If obstore is not installed or has no store for the URL, or refuses the value of an option.
    """
    kind = kind_of(url)
    if kind is None:
        raise StoreError(f"{masked(url)!r}: obstore has no store for it")
    if not clients.is_installed():
        raise StoreError(f"{masked(url)!r}: it needs the package obstore: pip install 'zarrcore[remote]'")
    parts = urlsplit(url, allow_fragments=False)
    bucket, path = parts.netloc, url.partition("://")[2].partition("/")[2]
    if not bucket:
        raise StoreError(f"{masked(url)!r}: there is no name of a bucket or host in it")
    if kind == "HTTPStore":
        bucket, path = f"{parts.scheme.lower()}://{bucket}", unquote(path)
    account = _AZURE.fullmatch(bucket) if kind == "AzureStore" else None
    if account is not None:
        bucket, of_host = account[1], at_host(account[2], account[3] or "")
        options = {**options, **{name: value for name, value in of_host.items() if name not in options}}
    made = TRANSLATORS[kind](bucket, options)
    if account is not None and made["account_name"] != account[2]:
        raise StoreError(f"{masked(url)!r}: storage_options are of the account {made['account_name']!r}")
    client = clients.shared(kind, (bucket,), made)
    errors = clients.obstore().exceptions
    try:
        _ = client.store
    except errors.UnknownConfigurationKeyError as error:
        found = re.search(r"key: '([^']*)'", str(error))
        raise UnknownOptionError(found[1] if found else "one of them") from None
    except (errors.BaseError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise StoreError(masked(f"{url!r}: {reason}")) from None
    return client, path


def refused(url: str, unknown: UnknownOptionError) -> StoreError:
    """Return the error for an option that obstore has no form for."""
    return StoreError(f"{masked(url)!r}: storage_options: obstore does not know {unknown}")
