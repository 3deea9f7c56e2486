"""Codecs of the optional package numcodecs: what is neither in the engine nor in the standard library.

Registered classes that behave like codecs of numcodecs do not need that package.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from zarrcore.codecs.base import Codec
from zarrcore.codecs.v2_filters import Filter
from zarrcore.errors import MetadataValidationError, UnknownCodecError
from zarrcore.registry import compressor_registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zarrcore.codecs.base import ArraySpec

__all__ = ["ForeignFilter", "numcodecs_codec"]


_EXTRAS = {"pcodec": "numcodecs,pcodec", "zfpy": "numcodecs,zfp"}
"""The extras that bring codecs of numcodecs which other implementations are known to write."""


@dataclass(frozen=True)
class ForeignFilter(Filter):
    """A codec of format 2 that numcodecs implements, or a registered class that behaves like one of them.

    Parameters
    ----------
    config : dict
        Its JSON object.
    """

    config: Mapping[str, Any]

    @property
    def name(self) -> str:  # type: ignore[override]
        """The codec's id."""
        return str(self.config["id"])

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> ForeignFilter:
        """Check the configuration by making the codec once."""
        numcodecs_codec(config)
        return cls(dict(config))

    def get_config(self) -> dict[str, Any]:
        return dict(self.config)

    def __hash__(self) -> int:
        return hash((self.name, *sorted(self.config)))

    def encode(self, data: Any, spec: ArraySpec | None = None) -> Any:
        if spec is not None and isinstance(data, np.ndarray) and data.size == spec.size:
            data = data.reshape(spec.shape)  # compressors of images and volumes want their dimensions
        return numcodecs_codec(self.config).encode(data)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> Any:
        if not isinstance(data, np.ndarray):
            data = bytes(data)  # some of these codecs take nothing else
        if self.name == "zfpy" and spec is not None:
            from zarrcore.codecs.zfp import guarded

            data = guarded(data, spec.size, self.name)
        return numcodecs_codec(self.config).decode(data)


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
            raise MetadataValidationError(f"codec {name!r}: {error}") from error
    try:
        from numcodecs.registry import codec_registry, get_codec
    except ImportError as error:
        if name in _EXTRAS:
            raise UnknownCodecError(_lacking(name)) from error
        known = ", ".join(sorted(compressor_registry))
        raise UnknownCodecError(
            f"unknown codec {name!r}; known are {known}; "
            "more come with numcodecs: pip install zarrcore[numcodecs]"
        ) from error
    try:
        return get_codec(dict(config))
    except Exception as error:
        if name not in codec_registry:
            reason = f"unknown codec {name!r}, neither here nor in numcodecs"
            raise UnknownCodecError(_lacking(name) if name in _EXTRAS else reason) from error
        raise MetadataValidationError(f"codec {name!r}: {error}") from error


def _lacking(name: str) -> str:
    return f"the codec {name!r} of numcodecs is not installed: pip install zarrcore[{_EXTRAS[name]}]"
