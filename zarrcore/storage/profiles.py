"""Keys of S3 from where the tools of AWS keep them: profiles in files, or whatever botocore finds."""

from __future__ import annotations

import os
from configparser import ConfigParser, Error
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from zarrcore.errors import StoreError

# With one of these, obstore finds what it needs in the environment.
_IN_ENVIRONMENT = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
_FILES = {
    "AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials",
    "AWS_CONFIG_FILE": "~/.aws/config",
}
_KEYS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
}
_ASKED_AGAIN = timedelta(minutes=5)


def from_profile(profile: str | None, *, keys: bool = True) -> dict[str, Any]:
    """Return the options of obstore that a profile stands for; no keys if the environment has some.

    Parameters
    ----------
    profile : str, optional
        Its name; by default that in ``AWS_PROFILE``, or ``"default"``.
    keys : bool
        Whether its keys are wanted, or only where it says that the buckets are.

    Raises
    ------
    StoreError
        If there is no such profile, or only botocore could use it and is not installed.
    """
    wants_keys = keys and (profile is not None or not any(map(os.environ.get, _IN_ENVIRONMENT)))
    name = profile or os.environ.get("AWS_PROFILE") or "default"
    paths = [os.path.expanduser(os.environ.get(word) or path) for word, path in _FILES.items()]
    files = ConfigParser(interpolation=None)
    try:
        files.read(paths)
    except (Error, OSError, UnicodeError) as error:
        raise StoreError(f"{' and '.join(paths)}: cannot be read: {type(error).__name__}") from None
    found: dict[str, str] = {}
    for section in (f"profile {name}", name):  # as it is called in either file
        if files.has_section(section):
            found.update(files[section])
    if not found:
        if name == "default" or not wants_keys:
            return {}
        raise StoreError(f"there is no profile {name!r} in {' or '.join(paths)}")
    options = {word: found[key] for key, word in _KEYS.items() if key in found}
    places = _places(files, found)
    if not wants_keys:
        return places
    if "access_key_id" in options and "role_arn" not in found:
        return {**options, **places}
    if (
        name == "default"
        and not {"role_arn", "sso_session", "sso_start_url", "credential_process"} & found.keys()
    ):
        return places
    if find_spec("botocore") is None:
        raise StoreError(
            f"the profile {name!r} of AWS has no keys of its own, and botocore, which finds them elsewhere, "
            "is not installed: pip install botocore"
        )
    return {"credential_provider": BotoKeys(name), **places}


def _places(files: ConfigParser, found: dict[str, str]) -> dict[str, str]:
    """Return what a profile says of where buckets are: their region, and a server other than that of AWS."""
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or found.get("region")
    services = f"services {found.get('services')}"
    of_s3 = files[services].get("s3", "") if files.has_section(services) else ""
    lines = (line.partition("=") for line in of_s3.splitlines())
    endpoint = {key.strip(): value.strip() for key, _, value in lines}.get("endpoint_url") or found.get(
        "endpoint_url"
    )
    if os.environ.get("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "").lower() == "true":
        endpoint = None
    return {name: value for name, value in (("region", region), ("endpoint", endpoint)) if value}


class BotoKeys:
    """Ask botocore for the keys of a profile, and for new ones when they expire."""

    def __init__(self, profile: str) -> None:
        self._profile = profile

    @cached_property
    def _keys(self) -> Any:
        from botocore.session import Session

        return Session(profile=self._profile).get_credentials()

    def __call__(self) -> dict[str, Any]:
        if self._keys is None:
            raise StoreError(f"botocore finds no keys for the profile {self._profile!r} of AWS")
        keys = self._keys.get_frozen_credentials()
        return {
            "access_key_id": keys.access_key,
            "secret_access_key": keys.secret_key,
            "token": keys.token,
            "expires_at": datetime.now(UTC) + _ASKED_AGAIN,
        }

    def __getstate__(self) -> dict[str, Any]:
        return {"_profile": self._profile}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BotoKeys) and other._profile == self._profile

    def __hash__(self) -> int:
        return hash(self._profile)
