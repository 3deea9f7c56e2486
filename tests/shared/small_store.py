# SPDX-License-Identifier: MIT
"""The smallest store that a user can write, and one that fails."""

from __future__ import annotations

from typing import Any

from zarrcore.storage import Store, WrapperStore, resolve_range


class FailingStore(WrapperStore):
    """A store whose methods of some names fail from the n-th call on."""

    def __init__(self, store: Store, *names: str, left: int = 1 << 30) -> None:
        super().__init__(store)
        self.names, self.left = names, left

    def _call(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        if method.__name__ in self.names:
            self.left -= 1
            if self.left < 0:
                raise OSError(28, "No space left on device")
        return super()._call(method, *args, **kwargs)


class SmallStore(Store):
    """The four methods that a store must have, and nothing else."""

    def __init__(self):
        self.values = {}

    def get(self, key, byte_range=None):
        value = self.values.get(key)
        return None if value is None else value[slice(*resolve_range(byte_range, len(value)))]

    def set(self, key, value):
        self.values[key] = bytes(memoryview(value))

    def delete(self, key):
        self.values.pop(key, None)

    def list(self):
        return iter(list(self.values))
