"""Regular expressions that are compiled when they are first used: most programs need few of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any


class _Pattern:
    """What is asked of it, it asks of the compiled expression, once."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._arguments = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._arguments), name)
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    pattern = re.compile
else:
    pattern = _Pattern
