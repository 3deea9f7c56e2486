# SPDX-License-Identifier: MIT
from collections.abc import Callable
from typing import Any

def indented(value: object, indent: str, other: Callable[[Any], str]) -> str: ...
