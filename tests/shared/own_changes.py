# SPDX-License-Identifier: MIT
"""For tests that count what a CacheStore finds: changes of other keys, made by earlier tests, do not count.

Keys share the words of the engine's table by their hash.  A key that shares one with a key that was changed
counts as changed too: that costs a hit, never a value, and depends on which tests ran before.
"""

from __future__ import annotations

from typing import Any

import pytest

from zarrcore.storage import CacheStore


def count_own_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the changes of a key counted from the first time on that a test asks for them."""
    before: dict[tuple[str, str], int] = {}
    ask = CacheStore._events

    def events(self: Any, key: str) -> int:
        n = ask(self, key)
        return n if n < 0 else n - before.setdefault((self._store._scope(""), key), n)

    monkeypatch.setattr(CacheStore, "_events", events)
