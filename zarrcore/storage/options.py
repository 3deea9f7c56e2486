"""Options of stores in the cloud: the words of fsspec's filesystems and of obstore, as obstore takes them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import chain
from typing import Any

from zarrcore.storage.credentials import NO_TOKEN, Found


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

# Names that obstore takes as well: in any case, and with the prefixes that they have in the environment.
_PREFIXES_S3 = ("aws_",)
_PREFIXES_GCS = ("google_",)
_PREFIXES_AZURE = ("azure_storage_", "azure_")
_S3 = {
    "key": "access_key_id",
    "username": "access_key_id",
    "secret": "secret_access_key",
    "password": "secret_access_key",
    "token": "session_token",
    "anon": "skip_signature",
    "endpoint_url": "endpoint",
    "bucket_name": "bucket",
    "region_name": "region",
    "requester_pays": "request_payer",
}
_GCS = {"service_account_path": "service_account", "bucket_name": "bucket"}
_AZURE = {
    "anon": "skip_signature",
    "account_host": "endpoint",
    "sas_token": "sas_key",
    "access_key": "account_key",
    "master_key": "account_key",
    "bearer_token": "token",
    "identity_endpoint": "msi_endpoint",
    "authority_id": "tenant_id",
}
_CONNECTION = {  # of a connection string of Azure, in lower case
    "accountname": "account_name",
    "accountkey": "account_key",
    "sharedaccesssignature": "sas_key",
    "blobendpoint": "endpoint",
}
_PUBLIC = "core.windows.net"  # where accounts of Azure are, unless something else is said
_AZURE_KEYS = (
    "account_key",
    "sas_key",
    "token",
    "client_id",
    "use_azure_cli",
    "msi_endpoint",
    "federated_token_file",
)
_S3_OF_CLIENTS = {*_S3, "access_key_id", "secret_access_key", "session_token"}  # of botocore
_TIMEOUTS = ("connect_timeout", "read_timeout", "timeout")
_TIME = re.compile(r"([\d.]+)\s*([A-Za-z]+)")  # a time as obstore has it in text: "1m 30s", "500 millis"
_UNITS = {
    unit: seconds
    for units, seconds in (
        ("ns nsec", 1e-9),
        ("us usec", 1e-6),
        ("ms msec millis", 1e-3),
        ("s sec secs second seconds", 1),
        ("m min mins minute minutes", 60),
        ("h hr hrs hour hours", 3600),
        ("d day days", 86400),
        ("w week weeks", 604800),
        ("M month months", 2630016),
        ("y year years", 31557600),
    )
    for unit in units.split()
}


class _Options:
    """The options of one store while they are translated."""

    def __init__(
        self, given: Mapping[str, Any], words: Mapping[str, str] | None = None, prefixes: tuple[str, ...] = ()
    ) -> None:
        self.words, self.prefixes = words or {}, prefixes
        given = {name: value for name, value in given.items() if value is not None}
        # What obstore takes in a table of its own is the same as without it.
        table = given.pop("config", {}) if prefixes else {}
        self.given: dict[str, Any] = {}
        for name, value in chain(given.items(), table.items()):
            if value is not None and name not in _WITHOUT_EFFECT:
                self.given.setdefault(self.named(name), value)
        self.made: dict[str, Any] = {
            name: value for name in _OF_OBSTORE if (value := self.given.pop(name, None)) is not None
        }
        self.client: dict[str, Any] = dict(self.made.pop("client_options", {}))

    def named(self, name: str) -> str:
        """Return a name without the prefix that it has in the environment, which obstore takes as well."""
        low = name.lower()
        return next((low.removeprefix(word) for word in self.prefixes if low.startswith(word)), name)

    def rename(self, given: Mapping[str, Any] | None = None) -> None:
        """Take over options that differ in their name at most; one that is False need not be there.

        But for one: the environment may have it that nothing is signed.
        """
        for name, value in (self.given if given is None else given).items():
            name = self.named(name)
            word = self.words.get(name, name)
            if value is not None and (value is not False or word == "skip_signature"):
                self.made.setdefault(word, value)

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
    options = _Options(given, _S3, _PREFIXES_S3)
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
    match client.pop("verify", True):
        case False:
            options.client["allow_invalid_certificates"] = True
        case str():  # a file of certificates, which obstore takes as bytes, and each of them alone
            raise UnknownOptionError("client_kwargs['verify']")
    details = dict(config.pop("s3", {}))
    style = details.pop("addressing_style", None)
    _refuse_rest("config_kwargs['s3']", {name: value for name, value in details.items() if value})
    config.pop("max_pool_connections", None)
    _set_retries(options, dict(config.pop("retries", {})))
    options.set_timeouts(config)
    _refuse_rest("config_kwargs", config)
    options.rename()
    _refuse_rest("client_kwargs", {name: 0 for name in client if options.named(name) not in _S3_OF_CLIENTS})
    options.rename(client)
    made = options.made
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        made.setdefault("endpoint", endpoint)
    if {"access_key_id", "secret_access_key"} <= made.keys():
        made.setdefault("session_token", NO_TOKEN)
    is_anywhere = made.get("skip_signature") and profile is None and "region" not in made
    made = options.made = with_profile(made, profile)
    if is_anywhere:  # the region of the profile is that of its own buckets
        made.pop("region", None)
    if style == "virtual":
        made["virtual_hosted_style_request"] = True
        if "endpoint" in made:  # which then names the bucket as well
            scheme, _, host = made["endpoint"].partition("://")
            made["endpoint"] = f"{scheme}://{bucket}.{host}"
    return options.done()


def _set_retries(options: _Options, retries: dict[str, Any]) -> None:
    """Take over how often botocore tries again; the ways to do so (`mode`) differ in how long it waits."""
    most = retries.get("max_attempts")
    if (total := retries.get("total_max_attempts")) is not None:  # with the first one
        most = max(int(total) - 1, 0)
    if most is not None:
        options.made.setdefault("retry_config", {"max_retries": int(most)})


def _has_keys(made: Mapping[str, Any]) -> bool:
    """Return whether options of S3 have keys, or need none."""
    return bool(made.get("skip_signature") or {"access_key_id", "credential_provider"} & made.keys())


def with_profile(made: Mapping[str, Any], profile: str | None) -> dict[str, Any]:
    """Return options of a bucket with those of a profile that are not among them."""
    from zarrcore.storage.profiles import from_profile

    found = from_profile(profile, keys=not _has_keys(made))
    if "access_key_id" in found:
        found.setdefault("session_token", NO_TOKEN)
    marked = {
        name: Found(value, profile) if isinstance(value, str) else value for name, value in found.items()
    }
    return {**marked, **made}


def for_gcs(bucket: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a bucket of Google Cloud Storage; see :func:`for_s3`."""
    options = _Options(given, _GCS, _PREFIXES_GCS)
    options.take("access")
    options.set_timeouts(options.given)
    named, base_url = options.take("endpoint_url"), options.take("base_url")
    endpoint = named or base_url or os.environ.get("STORAGE_EMULATOR_HOST")
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
    options.rename()
    return options.done()


def for_azure(container: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a container of Azure; see :func:`for_s3`."""
    options = _Options(given, _AZURE, _PREFIXES_AZURE)
    text = options.take("connection_string")
    if text:
        options.rename(_connected(text))
    credential = options.take("credential")
    if isinstance(credential, str):
        options.made["sas_key" if "sig=" in credential else "account_key"] = credential
    elif credential is not None:
        raise UnknownOptionError("credential")
    is_open = options.given.get("anon", options.given.get("skip_signature"))
    options.rename()
    made = options.made
    if not text and (text := os.environ.get("AZURE_STORAGE_CONNECTION_STRING")):
        # It is not for another account than the one that it names.
        found = _connected(text)
        if made.get("account_name", found.get("account_name")) == found.get("account_name"):
            has_own = made.keys() & {*_AZURE_KEYS, "credential_provider"}
            keys = _AZURE_KEYS if has_own else ()
            options.rename({name: value for name, value in found.items() if name not in keys})
    if "endpoint" in made and "://" not in made["endpoint"]:
        made["endpoint"] = f"https://{made['endpoint']}"
    known = {*made, *_of_environment(options), "msi_endpoint" if os.environ.get("IDENTITY_ENDPOINT") else ""}
    has_keys = known & {*_AZURE_KEYS, "credential_provider"}
    if is_open is None and not has_keys and not made.get("use_emulator"):
        made["skip_signature"] = True  # as adlfs does
    return options.done()


def _of_environment(options: _Options) -> set[str]:
    """Return the options that obstore finds in the environment."""
    names = (name.lower() for name in os.environ if name.lower().startswith(options.prefixes))
    return {options.words.get(name, name) for name in map(options.named, names)}


def _connected(text: str) -> dict[str, Any]:
    """Return the options that a connection string of Azure stands for."""
    split = (part.partition("=") for part in text.split(";") if part.strip())
    parts = {name.strip().lower(): value.strip() for name, _, value in split}
    if parts.get("usedevelopmentstorage", "").lower() == "true":
        return {"use_emulator": True}
    made = {word: parts[name] for name, word in _CONNECTION.items() if name in parts}
    scheme, suffix = parts.get("defaultendpointsprotocol", "https"), parts.get("endpointsuffix", _PUBLIC)
    if "account_name" in made and (scheme, suffix) != ("https", _PUBLIC):
        made.setdefault("endpoint", f"{scheme}://{made['account_name']}.blob.{suffix}")
    return made


def at_host(account: str, suffix: str) -> dict[str, Any]:
    """Return the options of an account of Azure whose host has been given; it need not be a public one."""
    kind, _, domain = suffix.partition(".")
    if domain.endswith("fabric.microsoft.com"):
        return {"account_name": account, "use_fabric_endpoint": True}
    if not suffix or (kind in ("dfs", "blob") and domain == _PUBLIC):
        return {"account_name": account}
    host = f"blob.{domain}" if kind == "dfs" else suffix
    return {"account_name": account, "endpoint": f"https://{account}.{host}"}


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
    named = (("timeout", "total"), ("connect_timeout", "connect"), ("read_timeout", "sock_read"))
    times = {word: _seconds(client[name]) for name, word in named if client.get(name) is not None}
    options = {
        "headers": headers,
        "proxy": client.get("proxy_url"),
        "ssl": False if client.get("allow_invalid_certificates") else None,
        "timeout": ClientTimeout(**times) if times else None,
    }
    return {name: value for name, value in options.items() if value not in (None, {})}


def _seconds(time: timedelta | str) -> float:
    if isinstance(time, timedelta):
        return time.total_seconds()
    return sum(float(number) * _UNITS[unit] for number, unit in _TIME.findall(time))


TRANSLATORS: dict[str, Callable[[str, Mapping[str, Any]], dict[str, Any]]] = {
    "S3Store": for_s3,
    "GCSStore": for_gcs,
    "AzureStore": for_azure,
    "HTTPStore": for_http,
}
"""For each kind of store of obstore, what translates its options; given its bucket and the options."""

_OWN: dict[str, tuple[set[str], tuple[str, ...]]] = {
    "S3Store": ({*_S3.values()}, _PREFIXES_S3),
    "GCSStore": ({*_GCS.values(), "base_url", "service_account_key", "skip_signature"}, _PREFIXES_GCS),
    "AzureStore": ({*_AZURE.values()}, _PREFIXES_AZURE),
    "HTTPStore": (set(), ()),
}
"""For each kind of store of obstore, words of its own, and what may stand before them."""


def is_of_obstore(kind: str, name: str) -> bool:
    """Return whether an option is in the words of obstore."""
    words, prefixes = _OWN[kind]
    return name in _OF_OBSTORE or name.lower().startswith(prefixes) or name in words
