"""Codecs of format 2 and of other packages as codecs of format 3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zarrcore._validate import fail
from zarrcore.codecs.blosc import BloscShuffle
from zarrcore.codecs.by_id import config_of, document_of
from zarrcore.errors import MetadataValidationError
from zarrcore.registry import codec_registry

_SERIALIZERS = ("vlen-utf8", "vlen-bytes")


def standard_codec(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the codec of format 3 with the same encoding as one of format 2.

    Parameters
    ----------
    config : dict
        The JSON object of the codec of format 2.

    Returns
    -------
    dict
        The extension object of format 3, without what a codec takes from the data type by itself.

    Raises
    ------
    MetadataValidationError
        If format 3 has no such codec.
    """
    name = config["id"]
    options = {member: value for member, value in config.items() if member != "id"}
    if name in _SERIALIZERS:
        return {"name": name}
    if name == "blosc":
        shuffle = options.pop("shuffle", 1)
        if shuffle >= 0:  # else by the item size, as codecs of format 3 choose by default
            options["shuffle"] = str(BloscShuffle.from_int(shuffle).value)
        return {"name": name, "configuration": options}
    if name == "zstd":
        return {"name": name, "configuration": {"checksum": False, **options}}
    if name == "gzip":
        level = options.get("level", 1)
        return {"name": name, "configuration": {"level": level if level >= 0 else 6}}
    if f"numcodecs.{name}" not in codec_registry:
        raise MetadataValidationError(f"format 3 has no codec for {name!r}")
    return {"name": f"numcodecs.{name}", "configuration": options}


def extension_of(codec: object) -> Any:
    """Return the extension object of a codec object of format 2, of numcodecs or of zarr-python.

    Raises
    ------
    MetadataValidationError
        If there is none.
    """
    if isinstance(codec, type):
        fail(None, f"a codec, not its class: {codec.__name__}(...)", codec)
    for method in ("get_config", "to_dict"):
        describe_itself = getattr(codec, method, None)
        if callable(describe_itself):
            data: Any = config_of(codec) if method == "get_config" else document_of(codec)
            if "id" in data:
                return standard_codec(data)
            left = getattr(codec, "_tunable_attrs", ())  # zarr-python's Blosc: what the data type decides
            return _without(data, left) if left else data
    return fail(None, "a name or an object with a name", codec)


def _without(data: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return an extension object without some members of its configuration."""
    kept = {name: value for name, value in data["configuration"].items() if name not in names}
    return {**data, "configuration": kept}
