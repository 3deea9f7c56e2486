# SPDX-License-Identifier: MIT
"""The smallest store that a user can write."""

from __future__ import annotations

from zarrcore.storage import Store, resolve_range


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
