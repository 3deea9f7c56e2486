"""Pickled Python objects, for data whose writer is trusted; nothing leads here unless the caller asks."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import integer
from zarrcore.codecs.v2_filters import Filter, as_bytes
from zarrcore.errors import ChunkDecodeError

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArraySpec

__all__ = ["Pickle"]


@dataclass(frozen=True)
class Pickle(Filter):
    """A whole chunk as one pickled array.  Decoding it can run any code that its writer chose.

    Parameters
    ----------
    protocol : int
        Version of the pickle protocol.
    """

    name: ClassVar[str] = "pickle"
    protocol: int = 5

    def __post_init__(self) -> None:
        integer(self.protocol, "protocol", 0, pickle.HIGHEST_PROTOCOL)

    def encode(self, data: Any, spec: ArraySpec | None = None) -> bytes:
        return pickle.dumps(np.asarray(data), protocol=self.protocol)

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        try:
            found = pickle.loads(bytes(as_bytes(data)))
        except Exception as error:  # whatever the pickled code raises
            reason = f"not a pickle: {type(error).__name__}: {error}"
            raise ChunkDecodeError(reason, codec=self.name) from error
        if not isinstance(found, np.ndarray):
            raise ChunkDecodeError(f"expected a pickled array, found {type(found).__name__}", codec=self.name)
        return found
