"""A storage transformer: what every chunk passes on its way to the store and back."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from zarrcore.errors import MetadataValidationError
from zarrcore.storage import WrapperStore
from zarrcore.transformers import StorageTransformer


class MaskedStore(WrapperStore):
    """A store in which some bits of every value are inverted."""

    def __init__(self, store, mask):
        super().__init__(store)
        self.mask = np.uint8(mask)

    def masked(self, value):
        return None if value is None else (np.frombuffer(value, "u1") ^ self.mask).tobytes()

    def get(self, key, byte_range=None):
        return self.masked(self._store.get(key, byte_range))

    def set(self, key, value):
        self._store.set(key, self.masked(value))


@dataclass(frozen=True)
class Masked(StorageTransformer):
    """Chunks with some of their bits inverted: not secret, but not readable at a glance."""

    name: ClassVar[str] = "camera.masked"
    mask: int = 0x5A

    def __post_init__(self):
        if not isinstance(self.mask, int) or not 0 <= self.mask <= 255:
            raise MetadataValidationError(f"expected 0..255, got {self.mask!r}", where="mask")

    def wrap(self, store, prefix):
        return MaskedStore(store, self.mask)
