"""Credentials in the options of stores: a pickle has them only if it is asked for.

A pickle may be a file, a cache or the memory of a scheduler.  Without credentials it can be read, and its
store refuses the first request.  A process of `multiprocessing` gets them: whoever pickles a store for it has
started it, and might have given it its own memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from multiprocessing.reduction import ForkingPickler
from typing import Any, NoReturn, Self

from zarrcore.config import config
from zarrcore.errors import StoreError, masked

# Names of options of fsspec's filesystems, of obstore, and of headers of HTTP.
_NAMES = re.compile(
    r"secret|token|passw|passphrase|api.?key|(?:encryption|customer|private).?key|[-_]key$|sas|"
    r"^(?:key|pwd|pkey|user|username|credential|credentials|connection_string)$|authorization|cookie|"
    r"(?:^|[-_])auth(?:$|[-_])|signature$",
    re.IGNORECASE,
)
_OF_PLACES = re.compile(r"(?:_file|_path|_filename|_uri|_url|_endpoint)$", re.IGNORECASE)
_OF_WAYS = frozenset({"anon", "google_default", "cloud", "browser", "cache"})  # to find a token of Google's


_YES = ("1", "true", "on", "yes", "y")  # in options of obstore

NO_TOKEN = ""
"""In options of S3, in place of the token of keys that have none: that of the environment is not theirs."""


class _Keys:
    """Keys of S3 without a token, as what obstore asks for them."""

    def __init__(self, access_key_id: str, secret_access_key: str) -> None:
        self._keys = access_key_id, secret_access_key

    def __call__(self) -> dict[str, Any]:
        names = ("access_key_id", "secret_access_key", "token", "expires_at")
        return dict(zip(names, (*self._keys, None, None), strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keys) and other._keys == self._keys

    def __hash__(self) -> int:
        return hash(self._keys)


def no_keys() -> NoReturn:
    """Refuse to give keys, to what is said to sign nothing."""
    raise StoreError("nothing is signed here")


def without_others(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a kind of store with which obstore takes nothing that is not theirs.

    It takes keys of S3 together with the token of the environment, and reads the file of Google's credentials
    that the environment names, which may be broken, also where nothing is to be signed.
    """
    if kind == "GCSStore" and str(options.get("skip_signature", "")).lower() in _YES:
        return {"credential_provider": no_keys, **options}
    if (
        options.get("session_token") != NO_TOKEN
        or not {"access_key_id", "secret_access_key"} <= options.keys()
    ):
        return options
    made = {name: value for name, value in options.items() if name != "session_token"}
    if not (os.environ.get("AWS_SESSION_TOKEN") or os.environ.get("AWS_TOKEN")):
        return made
    keys = _Keys(str(made.pop("access_key_id")), str(made.pop("secret_access_key")))
    return {**made, "credential_provider": keys}


def has_credentials(value: Any) -> bool:
    """Return whether options of a store, arguments or a URL have credentials in them."""
    if isinstance(value, str):
        return masked(value) != value
    if isinstance(value, Mapping):
        return any(_is_credential(name, item) or has_credentials(item) for name, item in value.items())
    return isinstance(value, list | tuple) and any(map(has_credentials, value))


def without_credentials(value: Any) -> Any:
    """Return options, arguments or a URL without the credentials in them."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, Mapping):
        return {
            name: without_credentials(item) for name, item in value.items() if not _is_credential(name, item)
        }
    if isinstance(value, list | tuple):
        return type(value)(map(without_credentials, value))
    return value


class Found(str):
    """A value of a profile in a file of this machine: a pickle has the name of the profile instead."""

    __slots__ = ("profile",)

    profile: str | None

    def __new__(cls, value: str, profile: str | None) -> Self:
        found = super().__new__(cls, value)
        found.profile = profile
        return found


def _is_credential(name: object, value: Any) -> bool:
    if value is None or isinstance(value, bool) or not isinstance(name, str):
        return False
    if isinstance(value, str) and (value in _OF_WAYS or value.endswith(".json") or not value):
        return False
    return _NAMES.search(name) is not None and _OF_PLACES.search(name) is None


class _Withheld:
    """What a pickle has in the place of credentials."""

    def __reduce__(self) -> str:
        return "WITHHELD"


WITHHELD = _Withheld()


class Credentials:
    """A value that a pickle has if it is asked for; otherwise `WITHHELD` is in its place."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __reduce__(self) -> Any:
        return _reduced(self) if config.get("pickle.credentials") else (_withheld, ())

    def __copy__(self) -> Credentials:
        return self

    def __deepcopy__(self, memo: object) -> Credentials:
        return self


def unwrapped(found: Any) -> Any:
    """Return what comes out of a pickle or a copy: a value or `WITHHELD`."""
    return found._value if isinstance(found, Credentials) else found


def _reduced(credentials: Credentials) -> tuple[Any, ...]:
    return _given, (credentials._value,)


def _given(value: Any) -> Any:
    return value


def _withheld() -> Any:
    return WITHHELD


ForkingPickler.register(Credentials, _reduced)  # its picklers know what is registered when they are made


def refuse_without(store: str) -> NoReturn:
    """Raise the error of a store whose credentials its pickle does not have."""
    raise StoreError(
        f"{store} came out of a pickle without the credentials that it was opened with: open it here, with "
        "storage_options= or with credentials that this process finds in its environment; or have them in "
        'pickles by zarrcore.config.set({"pickle.credentials": True}), or ZARRCORE_PICKLE__CREDENTIALS=true '
        "in the environment, where it is pickled"
    )
