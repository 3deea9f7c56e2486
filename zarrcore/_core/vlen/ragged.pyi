from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

def decode(data: Any, count: int, dtype: Any, codec: str) -> np.ndarray: ...
def encode(items: Sequence[Any], dtype: Any, codec: str, to_array: Callable[[Any], np.ndarray]) -> bytes: ...
