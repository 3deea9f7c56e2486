"""An opened array taken apart for a pickle, and put together again: small, and mostly without parsing."""

from __future__ import annotations

from functools import cache
from typing import Any

from zarrcore.arrays.config import ArrayConfig
from zarrcore.arrays.opened import OpenArray
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata import pickled
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes import users
from zarrcore.storage.base import Store
from zarrcore.storage.path import StorePath

_config = cache(ArrayConfig)


def array_parts(array: OpenArray) -> tuple[Any, ...]:
    """Return what :func:`unpickled_array` makes an array of."""
    metadata, config, place = array._metadata, array._config, array._store_path
    text = pickled.text_of(metadata)
    settings = (
        config.order,
        config.write_empty_chunks,
        config.read_missing_chunks,
        config.sharding_coalesce_max_gap_bytes,
        config.sharding_coalesce_max_bytes,
    )
    attributes = None if text is None else metadata.attributes
    losses, known = users.pickled_losses(array.losses), (array.documented, array.seen_now())
    return (metadata if text is None else text), attributes, place.store, place.path, settings, losses, known


def unpickled_array(
    metadata: ArrayMetadata | bytes,
    attributes: dict[str, Any] | None,
    store: Store,
    path: str,
    settings: tuple[Any, ...],
    losses: tuple[bytes, int] | None,
    known: tuple[bool, tuple[str, Any] | None] = (False, None),
    *others: object,
) -> OpenArray:
    """Return the array of :func:`array_parts`.

    Raises
    ------
    MetadataValidationError, UnknownCodecError
        If a newer version has pickled it.
    """
    if others or len(settings) != 5:
        raise MetadataValidationError("the array was pickled by another version of zarrcore")
    if isinstance(metadata, bytes):
        metadata = pickled.of_text(metadata, {} if attributes is None else attributes)
    documented, seen = known
    place = StorePath._of(store, path)
    array = OpenArray(metadata, place, _config(*settings), documented=documented, seen=seen)
    array.losses = users.unpickled_losses(losses)
    return array
