from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zarrcore._core.engine.arrays import NativeArray

_Slice = tuple[int, int, int]

def prefetch(
    array: NativeArray,
    dims: Sequence[_Slice | NDArray[np.integer[Any]]],
    shape: Sequence[int],
    points: bool,
    threads: int = 0,
    token: object = None,
) -> None: ...
def entangled(arrays: list[NDArray[Any]], most: int) -> list[tuple[int, int]]: ...
def read_many(
    requests: list[tuple[NativeArray, Any, bool, NDArray[Any]]],
    threads: int = 0,
    numbers: Sequence[int] | None = None,
) -> None: ...
