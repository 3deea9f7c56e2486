"""Options of stores in the cloud: the words of fsspec's filesystems and of obstore, as obstore takes them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from zarrcore.storage.credentials import Found


class UnknownOptionError(Exception):
    """An option that obstore has no form for."""


# These tune caches, blocks and event loops of fsspec, which are not used here.
_WITHOUT_EFFECT = frozenset(
    "asynchronous batch_size block_size cache_options cache_regions cache_timeout cache_type "
    "check_connection consistency default_block_size default_cache_type default_fill_cache fixed_upload_size "
    "listings_expiry_time local_expiry_check loop max_concurrency max_paths project skip_instance_cache "
    "use_listings_cache".split()
)
_OF_OBSTORE = ("client_options", "retry_config", "credential_provider", "config")

_S3 = {
    "key": "access_key_id",
    "username": "access_key_id",
    "aws_access_key_id": "access_key_id",
    "secret": "secret_access_key",
    "password": "secret_access_key",
    "aws_secret_access_key": "secret_access_key",
    "token": "session_token",
    "aws_session_token": "session_token",
    "anon": "skip_signature",
    "endpoint_url": "endpoint",
    "region_name": "region",
    "requester_pays": "request_payer",
}
_AZURE = {"anon": "skip_signature", "account_host": "endpoint", "sas_token": "sas_key"}
_CONNECTION = {  # of a connection string of Azure
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "SharedAccessSignature": "sas_key",
    "BlobEndpoint": "endpoint",
}
_AZURE_KEYS = (
    "account_key",
    "sas_key",
    "token",
    "client_id",
    "use_azure_cli",
    "msi_endpoint",
    "federated_token_file",
)
_TIMEOUTS = ("connect_timeout", "read_timeout", "timeout")


class _Options:
    """The options of one store while they are translated."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = {
            name: value for name, value in given.items() if value is not None and name not in _WITHOUT_EFFECT
        }
        self.made: dict[str, Any] = {
            name: value for name in _OF_OBSTORE if (value := self.given.pop(name, None)) is not None
        }
        self.client: dict[str, Any] = dict(self.made.pop("client_options", {}))

    def rename(self, words: Mapping[str, str], given: dict[str, Any] | None = None) -> None:
        """Take over options that differ in their name at most; one that is False need not be there."""
        for name, value in (self.given if given is None else given).items():
            if value is not None and value is not False:
                self.made.setdefault(words.get(name, name), value)

    def take(self, name: str) -> Any:
        return self.given.pop(name, None)

    def table(self, name: str) -> dict[str, Any]:
        """Take an option that is a table of options."""
        return {key: value for key, value in dict(self.take(name) or {}).items() if value is not None}

    def set_timeouts(self, given: dict[str, Any]) -> None:
        for name in _TIMEOUTS:
            if (value := given.pop(name, None)) is not None:
                if not isinstance(value, str | int | float | timedelta):
                    raise UnknownOptionError(name)
                self.client[name] = timedelta(seconds=value) if isinstance(value, int | float) else value

    def done(self) -> dict[str, Any]:
        if str(self.made.get("endpoint") or self.made.get("base_url") or "").startswith("http:"):
            self.client.setdefault("allow_http", True)
        return {**self.made, **({"client_options": self.client} if self.client else {})}


def _refuse_rest(name: str, rest: Mapping[str, Any]) -> None:
    if rest:
        raise UnknownOptionError(f"{name}[{next(iter(rest))!r}]")


def for_s3(bucket: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a bucket of S3 as obstore takes them.

    Raises
    ------
    UnknownOptionError
        If only fsspec has a form for one of them.
    """
    options = _Options(given)
    for name in ("version_aware", "session", "s3_additional_kwargs"):
        if options.take(name):
            raise UnknownOptionError(name)
    if options.take("use_ssl") is False:
        options.client["allow_http"] = True
    client, config, profile = (
        options.table("client_kwargs"),
        options.table("config_kwargs"),
        options.take("profile"),
    )
    client.pop("use_ssl", None)
    if client.pop("verify", True) is False:
        options.client["allow_invalid_certificates"] = True
    style = dict(config.pop("s3", {})).pop("addressing_style", None)
    config.pop("max_pool_connections", None)
    if retries := config.pop("retries", None):
        options.made.setdefault("retry_config", {"max_retries": int(retries["max_attempts"])})
    options.set_timeouts(config)
    _refuse_rest("config_kwargs", config)
    options.rename(_S3)
    _refuse_rest("client_kwargs", {name: 0 for name in client if name not in _S3})
    options.rename(_S3, client)
    made = options.made
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        made.setdefault("endpoint", endpoint)
    if style == "virtual":
        made["virtual_hosted_style_request"] = True
        if "endpoint" in made:  # which then names the bucket as well
            scheme, _, host = made["endpoint"].partition("://")
            made["endpoint"] = f"{scheme}://{bucket}.{host}"
    if (
        not made.get("skip_signature")
        and not {"access_key_id", "credential_provider", "config"} & made.keys()
    ):
        options.made = with_profile(made, profile)
    return options.done()


def with_profile(made: Mapping[str, Any], profile: str | None) -> dict[str, Any]:
    """Return options of a bucket with those of a profile that are not among them."""
    from zarrcore.storage.profiles import from_profile

    found = from_profile(profile)
    marked = {
        name: Found(value, profile) if isinstance(value, str) else value for name, value in found.items()
    }
    return {**marked, **made}


def for_gcs(bucket: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a bucket of Google Cloud Storage; see :func:`for_s3`."""
    options = _Options(given)
    options.take("access")
    options.set_timeouts(options.given)
    endpoint = options.take("endpoint_url") or os.environ.get("STORAGE_EMULATOR_HOST")
    if endpoint:
        options.made["base_url"] = endpoint if "://" in endpoint else f"http://{endpoint}"
    token, is_open = options.take("token"), options.take("anon")
    if token == "anon" or is_open:
        options.made["skip_signature"] = True
    elif isinstance(token, Mapping) and token.get("type") == "service_account":
        options.made["service_account_key"] = json.dumps(token)
    elif isinstance(token, str) and token.endswith(".json"):
        options.made["application_credentials"] = token
    elif token not in (None, "google_default", "cloud"):
        raise UnknownOptionError("token")
    options.rename({})
    return options.done()


def for_azure(container: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a container of Azure; see :func:`for_s3`."""
    options = _Options(given)
    text = options.take("connection_string") or os.environ.get("AZURE_STORAGE_CONNECTION_STRING")
    is_open = options.given.get("anon")
    if text:
        split = (part.partition("=") for part in text.split(";") if part)
        parts = {name: value for name, _, value in split}
        options.rename({}, {word: parts[name] for name, word in _CONNECTION.items() if name in parts})
    credential = options.take("credential")
    if isinstance(credential, str):
        options.made["sas_key" if "sig=" in credential else "account_key"] = credential
    elif credential is not None:
        raise UnknownOptionError("credential")
    options.rename(_AZURE)
    made = options.made
    if "endpoint" in made and "://" not in made["endpoint"]:
        made["endpoint"] = f"https://{made['endpoint']}"
    known = {
        *made,
        *(name.lower().removeprefix("azure_storage_").removeprefix("azure_") for name in os.environ),
    }
    has_keys = known & {*_AZURE_KEYS, "sas_token", "credential_provider", "config"}
    if is_open is None and not has_keys and not made.get("use_emulator"):
        made["skip_signature"] = True  # as adlfs does
    return options.done()


def for_http(url: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a web server as obstore takes them; see :func:`for_s3`."""
    options = _Options(given)
    client = options.table("client_kwargs")
    headers = {**client.pop("headers", {}), **options.table("headers")}
    client.pop("trust_env", None)
    options.set_timeouts(client)
    _refuse_rest("client_kwargs", client)
    if headers:
        options.client["default_headers"] = {**options.client.get("default_headers", {}), **headers}
    if rest := options.given or options.made.keys() & {"config", "credential_provider"}:
        raise UnknownOptionError(next(iter(rest)))
    if url.startswith("http:"):
        options.client.setdefault("allow_http", True)
    return options.done()


def for_pages(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of a web server as obstore takes them in the words of fsspec, which lists its pages.

    What has no counterpart there, such as tries again, is left out: pages are only listed by it.
    """
    from aiohttp import ClientTimeout

    client = dict(made.get("client_options") or {})
    headers = {
        name: value.decode("latin-1") if isinstance(value, bytes) else value
        for name, value in dict(client.get("default_headers") or {}).items()
    }
    if "user_agent" in client:
        headers.setdefault("User-Agent", client["user_agent"])
    times = {
        word: client[name].total_seconds()
        for name, word in (("timeout", "total"), ("connect_timeout", "connect"))
        if isinstance(client.get(name), timedelta)
    }
    options = {
        "headers": headers,
        "proxy": client.get("proxy_url"),
        "ssl": False if client.get("allow_invalid_certificates") else None,
        "timeout": ClientTimeout(**times) if times else None,
    }
    return {name: value for name, value in options.items() if value not in (None, {})}


TRANSLATORS: dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "S3Store": for_s3,
    "GCSStore": for_gcs,
    "AzureStore": for_azure,
    "HTTPStore": for_http,
}
"""For each kind of store of obstore, what translates its options; given its bucket and the options."""
