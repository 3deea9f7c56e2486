from collections.abc import Callable
from typing import Any

import numpy as np

def decode(data: Any, count: int, dtype: Any, codec: str, *, utf8: bool) -> np.ndarray: ...
def encode(items: np.ndarray, codec: str, to_item: Callable[[Any], bytes], *, utf8: bool) -> bytes: ...
