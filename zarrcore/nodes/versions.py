"""Changes of documents that other processes may change too: repeated until nobody comes between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from zarrcore.errors import ConflictError
from zarrcore.nodes.reading import writing
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path

T = TypeVar("T")

_MOST_ATTEMPTS = 100


class Outdated(ConflictError):
    """A document was replaced after it was read: what was made of it is to be made again."""


class Versions(dict[str, Any]):
    """The versions of documents that were read, by name, where the store of the node compares them.

    Attributes
    ----------
    attempt : int
        How often others have been faster to replace one of the documents.
    may_be_recent : bool
        Documents that were read a moment ago are not read again for the first attempt.
    are_recent : bool
        That is where the documents are from, so that others may have changed them since.
    """

    attempt = 0
    may_be_recent = False
    are_recent = False


def repeated(change: Callable[[Versions], T], *, may_be_recent: bool = False) -> T:
    """Call a function that reads documents and stores them again, until no other process comes between.

    In a store that compares no versions it is called once: there the caller's lock keeps others away.
    """
    versions = Versions()
    versions.may_be_recent = may_be_recent
    while True:
        try:
            return change(versions)
        except Outdated:
            versions.attempt += 1
            versions.may_be_recent = versions.are_recent = False
            if versions.attempt == _MOST_ATTEMPTS:
                raise


def changed(
    change: Callable[[dict[str, Any]], dict[str, Any]], attributes: dict[str, Any], versions: Versions
) -> dict[str, Any]:
    """Return what a change makes of attributes; Outdated is raised if it fails for what is not the newest."""
    try:
        return change(dict(attributes))
    except Exception as error:  # it may be about what others have changed since
        if versions.are_recent:
            raise Outdated("the attributes may have been changed since they were read") from error
        raise


def store_version(place: StorePath, name: str, data: bytes, versions: Versions | None) -> None:
    """Store a document of a node; if it is no longer of the version that was read, raise Outdated."""
    key = join_path(place.path, name)
    with writing(place, key):
        if versions is None or name not in versions:
            place.store.set(key, data)
            return
        is_stored = place.store._replace_version(key, data, versions[name], versions.attempt)
    if not is_stored:
        raise Outdated(f"{place.store}: key {key!r} was changed by another process at the same time", key=key)
