"""Codecs of other packages by their ids: which class an id means, and whether an object is of that class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from zarrcore._extension import is_of_a_user, owner_of
from zarrcore._validate import reason_of, suggestion
from zarrcore.codecs.base import Codec
from zarrcore.errors import MetadataValidationError, UnknownCodecError, shown
from zarrcore.registry import codec_registry, compressor_registry, provided

_FORMAT_2 = compressor_registry.what
_EXTRAS = {"pcodec": "numcodecs,pcodec", "zfpy": "numcodecs,zfp"}
"""The extras that bring codecs of numcodecs which other implementations are known to write."""
_THEIR_METHODS = (
    *("encode", "decode", "_encode_single", "_decode_single", "_encode_sync", "_decode_sync"),
    *("_encode_partial_single", "_decode_partial_single"),
)
_THE_SAME = ("zarrcore", "zarr", "numcodecs")  # what has one id in both encodes alike


def config_of(codec: Any) -> dict[str, Any]:
    """Return the JSON object of a codec object of another package, after which its class is found again.

    Raises
    ------
    MetadataValidationError
        If that is another class, which encodes in another way.
    """
    try:
        config: dict[str, Any] = codec.get_config()
    except Exception as error:
        kind = f"{type(codec).__module__}.{type(codec).__qualname__}"
        raise MetadataValidationError(f"{reason_of(error)} (get_config of {kind})") from error
    name = config.get("id") if isinstance(config, dict) else None
    if not isinstance(name, str):
        return config
    found = compressor_registry.get(name) if name in compressor_registry else None
    if found is None or not issubclass(found, Codec):
        try:
            found = type(numcodecs_codec(config))
        except (UnknownCodecError, MetadataValidationError):
            return config  # which is an error later on
    _refuse_another(codec, name, found, ("encode", "decode"), is_ours=issubclass(found, Codec))
    return config


def document_of(codec: Any) -> dict[str, Any]:
    """Return the extension object of a codec object of zarr-python, after which its class is found again.

    Raises
    ------
    MetadataValidationError
        If that is another class, which encodes in another way.
    """
    document: dict[str, Any] = codec.to_dict()
    name = document.get("name") if isinstance(document, dict) else None
    if isinstance(name, str) and name in codec_registry:
        found: Any = codec_registry.get(name)
        lender = getattr(found, "lender", None)
        if lender is not None or not is_of_a_user(found):
            _refuse_another(codec, name, lender or found, _THEIR_METHODS, is_ours=lender is None)
    return document


def _refuse_another(codec: object, name: str, found: type, methods: Iterable[str], *, is_ours: bool) -> None:
    """Refuse a codec whose class has methods of its own, in place of those of the class that readers find."""
    for method in methods:
        own = owner_of(type(codec), method)
        if own is None or _place(own) == _place(owner_of(found, method)):
            continue
        if not is_ours or own.__module__.partition(".")[0] not in _THE_SAME:
            verb = method.strip("_").partition("_")[0]
            raise MetadataValidationError(
                f"codec {name!r}: readers have {_place(found)}, which does not {verb} as {_place(own)} does: "
                "register that under a name of its own"
            )


def _place(cls: type | None) -> str:
    """Return where a class is found; a module that was imported again has others, which are alike."""
    return "" if cls is None else f"{cls.__module__}.{cls.__qualname__}"


def numcodecs_codec(config: Mapping[str, Any]) -> Any:
    """Return the numcodecs-style codec of `config`: a registered one, or else of that package.

    Raises
    ------
    UnknownCodecError
        If numcodecs is not installed, or does not know the id either.
    MetadataValidationError
        If it does not take the configuration.
    """
    name = config["id"]
    cls = compressor_registry.get(name) if name in compressor_registry else None
    if cls is not None and not issubclass(cls, Codec):
        try:
            return cls.from_config({key: value for key, value in config.items() if key != "id"})
        except Exception as error:
            raise MetadataValidationError(f"codec {name!r}: {shown(error)}") from error
    try:
        from numcodecs.registry import codec_registry as theirs
        from numcodecs.registry import get_codec
    except ImportError as error:
        if name in _EXTRAS:
            raise UnknownCodecError(_lacking(name)) from error
        known = ", ".join(sorted(compressor_registry))
        raise UnknownCodecError(
            f"unknown codec {name!r}; known are {known}; "
            f"more come with numcodecs: pip install 'zarrcore[numcodecs]'{provided(_FORMAT_2, name)}"
        ) from error
    try:
        return get_codec(dict(config))
    except Exception as error:
        if name not in theirs:
            close = suggestion(name, {*compressor_registry, *theirs})
            hint = f"{close}{provided(_FORMAT_2, name)}"
            reason = f"unknown codec {name!r}, neither here nor in numcodecs{hint}"
            raise UnknownCodecError(_lacking(name) if name in _EXTRAS else reason) from error
        raise MetadataValidationError(f"codec {name!r}: {shown(error)}") from error


def _lacking(name: str) -> str:
    return f"the codec {name!r} of numcodecs is not installed: pip install 'zarrcore[{_EXTRAS[name]}]'"
