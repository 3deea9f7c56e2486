from typing import final

import numpy as np
from numpy.typing import NDArray

def mask_points(mask: NDArray[np.bool_]) -> tuple[NDArray[np.int64], ...]: ...

@final
class MaskPoints:
    mask: NDArray[np.bool_]
    count: int
    def __init__(self, mask: NDArray[np.bool_]) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, d: int, /) -> NDArray[np.int64]: ...
