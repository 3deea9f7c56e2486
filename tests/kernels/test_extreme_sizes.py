"""Arrays that broadcasting makes as large as the address space: no size on the way to an error is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from zarrcore import kernels


def repeated(items: int, dtype: str, rows: int) -> Any:
    """Return `rows` rows that are the same memory."""
    row = np.zeros(items, dtype)
    return as_strided(row, (rows, items), (0, row.itemsize))


BYTES = repeated(8, "u1", 2**59)
WORDS = repeated(8, "u4", 2**57)
NUMBERS = repeated(2, "i8", 2**57)
CALLS = {
    "delta_encode": lambda: kernels.delta_encode(BYTES),
    "delta_encode in place": lambda: kernels.delta_encode(BYTES, out=BYTES),
    "delta_decode": lambda: kernels.delta_decode(WORDS),
    "shuffle": lambda: kernels.shuffle(BYTES, 2),
    "unshuffle": lambda: kernels.unshuffle(BYTES, 2),
    "pack_bits": lambda: kernels.pack_bits(BYTES.view(bool)),
    "byteswap": lambda: kernels.byteswap(WORDS),
    "transpose": lambda: kernels.transpose(BYTES, (1, 0)),
    "chunk_index": lambda: kernels.chunk_index(NUMBERS, 3),
    "chunk_count": lambda: kernels.chunk_count(NUMBERS, 3),
    "morton_encode": lambda: kernels.morton_encode(NUMBERS, (4, 4)),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_that_no_memory_holds(name: str) -> None:
    with pytest.raises(MemoryError):
        CALLS[name]()


@pytest.mark.parametrize("count", [2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64])
@pytest.mark.parametrize("dtype", ["?", "u8"])
def test_more_items_than_there_are_bits(dtype: str, count: int) -> None:
    with pytest.raises((ValueError, OverflowError), match=r"expected|too large|int"):
        kernels.unpack_bits(np.zeros(1, "u1"), dtype, count)
