"""New arrays are tried before they are stored: codecs that cannot take the items are refused at once.

What most codecs can take is known from their configuration and the data type.  Of the others (those of other
packages, of users, and filters whose encoding of some items fails) only a chunk shows it.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from zarrcore._extension import is_a_users
from zarrcore._validate import at
from zarrcore.codecs.chain import CodecChain, IgnoredCodec, held_by, with_held
from zarrcore.dtypes.layout import vary
from zarrcore.errors import ChunkError, MetadataValidationError, ZarrUserWarning
from zarrcore.metadata.departures import level_of_caller
from zarrcore.registry import codec_registry, registrations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from zarrcore.codecs.base import ArraySpec, Codec
    from zarrcore.codecs.sharding import ShardingCodec
    from zarrcore.metadata import ArrayMetadata

_SURE = frozenset(
    ("bytes", "transpose", "blosc", "gzip", "zstd", "crc32c", "vlen-utf8", "vlen-bytes", "zlib", "lz4")
    + ("bz2", "crc32", "adler32", "fletcher32", "jenkins_lookup3", "shuffle")
)
"""Codecs that encode whatever they have not refused when they met the data type."""

_LARGEST = 1 << 22
"""Most bytes of a chunk that is tried where a smaller one has no place for the codecs."""


def refuse_unusable_codecs(metadata: ArrayMetadata) -> None:
    """Encode and decode a small chunk, unless it is sure that the codecs of an array can.

    Refused are codecs that fail on items of the data type, as opposed to single values, or on chunks of that
    size, and a ``cast_value`` that changes the fill value.
    """
    if _is_tried(metadata):
        return
    chain, spec = metadata.chain(), metadata.chunk_spec()
    where = "codecs" if metadata.zarr_format == 3 else "filters"
    with at(where):
        _check_inputs(chain, spec)
    if all(map(_is_sure, _all_codecs(chain.codecs))):
        if not any(map(_has_name_of_another, with_held(chain.codecs))):
            vars(chain)["_tried"] = registrations()
        return
    with at(where):
        _refuse_cast_fill(chain, spec)
    tried = _small(chain, spec)
    if tried is None:
        return
    chain, spec = tried
    fill = spec.filled()
    try:
        with np.errstate(all="ignore"):
            chain.decode(chain.encode(fill, spec), spec)
            vary(fill, 1)
            try:  # other values; some may be out of the range of the codecs
                chain.decode(chain.encode(fill, spec), spec)
            except ChunkError as error:
                if not isinstance(error.__cause__, (ValueError, OverflowError)):
                    raise
    except ChunkError as error:
        raise MetadataValidationError(
            f"the codec {error.codec!r} cannot be used for the data type {spec.dtype!r}: {error.reason}",
            where=where,
        ) from error


def refuse_misread_codecs(metadata: ArrayMetadata) -> None:
    """Refuse codecs with names of others, whose chunks these would read otherwise.

    They are those of users, and those of zarrcore where a user has registered a class in their place.
    """
    codecs = metadata.chain().codecs
    if metadata.zarr_format != 3 or _is_tried(metadata):
        return
    if not any(map(_has_name_of_another, with_held(codecs))):
        return
    tried = _small(metadata.chain(), metadata.chunk_spec())
    if tried is None:
        return
    chain, spec = tried
    values = np.empty(spec.shape, spec.np_dtype)
    values[...] = spec.fill
    vary(values, 1)
    names = ", ".join(repr(codec.name) for codec in with_held(codecs) if _has_name_of_another(codec))
    with at("codecs"):
        others = CodecChain.from_json(chain.to_json(), spec)
        try:
            encoded = chain.encode(values, spec, write_empty=True)
            alike = _has_items(others.decode(encoded, spec), chain.decode(encoded, spec))
        except ChunkError:
            alike = False
        if not alike:
            raise MetadataValidationError(
                f"{names}: what is registered under these names reads something else than what these encode; "
                "register them, or give them names of their own"
            )


def warn_of_unknown_codecs(metadata: ArrayMetadata) -> None:
    """Warn of codecs of users that nobody finds by their names, not even the process that stores them."""
    if metadata.zarr_format != 3 or _is_tried(metadata):
        return
    codecs = with_held(metadata.chain().codecs)
    unknown = {
        codec.name: codec for codec in codecs if is_a_users(codec) and codec.name not in codec_registry
    }
    for name, codec in unknown.items():
        warnings.warn(
            f"the codec {name!r} is not registered, so that nobody can open this array again: call "
            f"zarrcore.registry.register_codec({name!r}, {type(codec).__name__}), or declare it in the group "
            "zarrcore.codecs of entry points",
            ZarrUserWarning,
            stacklevel=level_of_caller(),
        )


def _is_tried(metadata: ArrayMetadata) -> bool:
    """Return whether no look at the codecs is needed: arrays that are stored alike share their chain.

    Their codecs are zarrcore's own, sure for these chunks, and nothing else was registered since.
    """
    return vars(metadata.chain()).get("_tried") is registrations()


def _has_name_of_another(codec: Codec) -> bool:
    return codec_registry.has_another(type(codec), getattr(codec, "name", None))


def _has_items(found: np.ndarray, expected: np.ndarray) -> bool:
    if expected.dtype.kind in "OT":
        return bool((found == expected).all())
    return found.tobytes() == expected.tobytes()


def _refuse_cast_fill(chain: CodecChain, spec: ArraySpec) -> None:
    """Refuse a fill value that a cast changes (Zarr extensions, codec ``cast_value``: "data_type").

    Where it is stored it would read as another value than where nothing is.  Arrays that somebody has made
    like this are read as they are.
    """
    for codec, its_spec in zip(chain.array_array, chain.array_specs(spec), strict=False):
        if codec.name != "cast_value" or its_spec.fill is None:
            continue
        fill = np.full(1, its_spec.fill, its_spec.np_dtype)
        stored = codec.encode(fill, its_spec)
        found = codec.decode(stored, its_spec)
        if (fill != found).any() and not (np.isnan(fill) & np.isnan(found)).all():
            raise MetadataValidationError(
                f"the fill value {fill[0]} is {stored[0]} after cast_value, which is read as {found[0]}"
            )
    if chain.is_sharded:
        last, shards = chain.array_specs(spec)[-1], cast("ShardingCodec", chain.array_bytes)
        _refuse_cast_fill(shards.inner_chain(last), shards.inner_spec(last))


def _check_inputs(chain: CodecChain, spec: ArraySpec) -> None:
    """Refuse codecs that cannot encode what they are given, where its size is known."""
    spec = chain.array_specs(spec)[-1]
    size = chain.array_bytes.encoded_size(spec)
    for codec in chain.bytes_bytes:
        if size is None:
            break
        codec.check_input(size)
        size = codec.encoded_size(size) if codec.is_fixed_size else None
    if chain.is_sharded:
        shards = cast("ShardingCodec", chain.array_bytes)
        _check_inputs(shards.inner_chain(spec), shards.inner_spec(spec))


def _is_sure(codec: Codec) -> bool:
    is_ours = not is_a_users(codec)
    return is_ours and codec.name in _SURE and getattr(codec, "cname", None) != "snappy"


def _all_codecs(codecs: Iterable[Any]) -> Iterator[Any]:
    """Return the codecs that are run: inner codecs and filters in place of the codecs that contain them."""
    for codec in codecs:
        if isinstance(codec, IgnoredCodec):
            continue
        if codec.name in ("sharding_indexed", "filters") and not is_a_users(codec):
            yield from _all_codecs(held_by(codec))
        else:
            yield codec


def _small(chain: CodecChain, spec: ArraySpec) -> tuple[CodecChain, ArraySpec] | None:
    """Return a chunk to try, as small as the codecs allow, and the chain for it; None if all are large."""
    small = replace(spec, shape=tuple(min(length, 4) for length in spec.shape))
    if not any(codec.name.endswith("shuffle") for codec in _all_codecs(chain.codecs)):  # it needs whole items
        try:
            return CodecChain.from_codecs(chain.codecs, small), small
        except MetadataValidationError:
            pass  # their configuration is that of the real shape
    return (chain, spec) if spec.size * (spec.item_size or 16) <= _LARGEST else None
