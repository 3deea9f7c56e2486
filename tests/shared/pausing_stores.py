"""A store in whose middle a write can be held."""

from __future__ import annotations

import threading
from typing import Any

from zarrcore.storage import Store, WrapperStore


class Pausing(WrapperStore):
    """A store that waits inside of `set` of one key until it is told to go on."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.pauses_at = ""
        self.is_inside, self.may_go_on = threading.Event(), threading.Event()

    def set(self, key: str, value: Any) -> None:
        if key == self.pauses_at:
            self.is_inside.set()
            assert self.may_go_on.wait(60)
        super().set(key, value)
