"""The codecs of format 2 by their ids.

In format 2 a codec is a JSON object with an ``id`` and its configuration (Zarr v2, "Metadata":
``compressor`` and ``filters``); the ids and configurations are those of numcodecs.  What the engine has runs
there, what the standard library has runs through that, within the bounds that the metadata sets.
"""

from __future__ import annotations

from typing import Any

from zarrcore._validate import at, describe, fail
from zarrcore.codecs.base import Codec
from zarrcore.errors import PickleCodecDisabledError
from zarrcore.registry import compressor_registry

_ALLOW_PICKLE = "array.allow_unsafe_pickle_decode"


def _pickle(data: dict[str, Any]) -> Codec:
    from zarrcore.config import config

    if config.get(_ALLOW_PICKLE) is not True:
        raise PickleCodecDisabledError(
            f"the pickle codec is refused, because unpickling can run any code; got {describe(data)}.  "
            f"The setting {_ALLOW_PICKLE} allows it, for data that you trust"
        )
    from zarrcore.codecs.object_filters import Pickle

    with at(None, codec="pickle"):
        return Pickle.from_config(data)


def parse_v2_codec(data: object) -> Codec:
    """Return a codec of format 2 from its JSON object, a numcodecs codec or an instance.

    Raises
    ------
    UnknownCodecError
        If no codec has the id.
    PickleCodecDisabledError
        For the ``pickle`` codec, since decoding it can run any code, unless the setting
        ``array.allow_unsafe_pickle_decode`` is true.
    MetadataValidationError
        If the configuration is not valid.
    """
    if isinstance(data, Codec):
        if not hasattr(data, "get_config"):
            raise TypeError(f"expected a codec of format 2, got {data!r} of format 3")
        if getattr(data, "is_v2", True):
            return data
    if not isinstance(data, dict) and callable(getattr(data, "get_config", None)):
        from zarrcore.codecs.by_id import config_of

        data = config_of(data)
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        fail(None, "an object with an id", data)
    name = data["id"]
    if name == "pickle":
        return _pickle(data)
    if name in compressor_registry:
        cls = compressor_registry.get(name)
        if issubclass(cls, Codec):
            with at(None, codec=name):
                return cls.from_config(data)  # type: ignore[no-any-return]
    from zarrcore.codecs.foreign import ForeignFilter

    return ForeignFilter.from_config(data)
