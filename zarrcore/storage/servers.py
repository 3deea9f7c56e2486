"""Which server has a bucket: others may have buckets of the same name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

KINDS = {
    "s3": "S3Store",
    "s3a": "S3Store",
    "gs": "GCSStore",
    "gcs": "GCSStore",
    "az": "AzureStore",
    "abfs": "AzureStore",
    "abfss": "AzureStore",
    "http": "HTTPStore",
    "https": "HTTPStore",
}
"""The kind of store of obstore for each scheme of URLs."""

SCHEMES = {"S3Store": "s3", "GCSStore": "gs", "AzureStore": "az"}
"""The scheme of URLs for each kind that has buckets."""

_SERVER_OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "S3Store": {"endpoint": ("AWS_ENDPOINT_URL", "AWS_ENDPOINT")},
    "GCSStore": {"base_url": ("GOOGLE_BASE_URL",)},
    "AzureStore": {
        "endpoint": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
        "account_name": ("AZURE_STORAGE_ACCOUNT_NAME",),
        "use_fabric_endpoint": ("AZURE_USE_FABRIC_ENDPOINT",),
        "use_emulator": ("AZURE_STORAGE_USE_EMULATOR",),
    },
}
"""For each kind of store the options that say which server it is, and where obstore finds them outside."""
_SERVER_OPTIONS_OF_FSSPEC = {
    "S3Store": ("endpoint_url", "client_kwargs", "profile"),
    "GCSStore": ("endpoint_url",),
    "AzureStore": ("account_name", "account_host", "connection_string"),
}
"""The same for filesystems of fsspec."""


def server_of(kind: str, bucket: str, option: Callable[[str], Any]) -> str:
    """Return what distinguishes the server of a bucket from others.

    It is "" for the public one, where a name is that of one bucket.
    """
    options = _SERVER_OPTIONS.get(kind, {})
    found = {name: option(name) or _first_of(outside) for name, outside in options.items()}
    parts = {name: str(value).rstrip("/") for name, value in found.items() if value}
    for name in ("endpoint", "base_url"):
        if name in parts and _is_public(kind, parts[name], parts.get("account_name", "")):
            del parts[name]
    if option("virtual_hosted_style_request") and "endpoint" in parts:
        parts["endpoint"] = parts["endpoint"].replace(f"://{bucket}.", "://", 1)
    return "/".join(parts.values())


def _is_public(kind: str, endpoint: str, account: str) -> bool:
    host = endpoint.partition("://")[2]
    if kind == "S3Store":
        return host.endswith(".amazonaws.com")
    return host == ("storage.googleapis.com" if kind == "GCSStore" else f"{account}.blob.core.windows.net")


def _first_of(names: tuple[str, ...]) -> str | None:
    """Return the first variable of the environment that there is."""
    return next((found for name in names if (found := os.environ.get(name))), None)


def place_in_bucket(kind: str, server: str, path: str) -> str:
    """Return what a path, which begins with the name of a bucket, is called by all stores of it."""
    return f"{SCHEMES[kind]}://{server and f'{server}/'}{path}"


def place_of_files(protocols: tuple[str, ...], given: Mapping[str, Any], path: str) -> str | None:
    """Return the place of a path of a filesystem of fsspec with some options; None if it is in no cloud."""
    kind = next((KINDS[word] for word in protocols if word in KINDS), None)
    if kind is None:
        return None
    if kind == "HTTPStore":
        return unquote(path)
    from zarrcore.storage.options import TRANSLATORS

    bucket = path.partition("/")[0]
    chosen = {name: given[name] for name in _SERVER_OPTIONS_OF_FSSPEC[kind] if name in given}
    of_client = dict(chosen.pop("client_kwargs", None) or {})
    if "endpoint_url" in of_client:
        chosen["endpoint_url"] = of_client["endpoint_url"]
    made = TRANSLATORS[kind](bucket, {"anon": True, **chosen})
    return place_in_bucket(kind, server_of(kind, bucket, made.get), path)
