# SPDX-License-Identifier: MIT
"""A store that stands for one over a network, and shows whether values are stored at the same time."""

from __future__ import annotations

import re
import threading
from typing import Any

from zarrcore.storage import MemoryStore, WrapperStore


class MeetingStore(WrapperStore):
    """A slow store, in which the values of some keys are stored once `n` threads have come with one."""

    def __init__(self, store: Any = None) -> None:
        super().__init__(MemoryStore() if store is None else store)
        self._meets = re.compile("(?!)")
        self._all_here = threading.Barrier(1)
        self.asked: list[str] = []

    def meet(self, pattern: str, n: int) -> None:
        """Have those who store the keys of a pattern wait until there are n of them, or fail."""
        self._meets, self._all_here = re.compile(pattern), threading.Barrier(n, timeout=20)

    def _concurrent_requests(self) -> int:
        return 8

    def get(self, key: str, byte_range: Any = None) -> Any:
        self.asked.append(key)
        return super().get(key, byte_range)

    def set(self, key: str, value: Any) -> None:
        self._meet(key)
        super().set(key, value)

    def set_if_not_exists(self, key: str, value: Any) -> bool:
        self._meet(key)
        return super().set_if_not_exists(key, value)

    def _meet(self, key: str) -> None:
        if self._meets.search(key):
            self._all_here.wait()
