"""What samples there are, and the order in which the worker processes of a loader go on."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

import zarrcore
from zarrcore.integrations.torch_samples import Samples, turns_after


def _in_turns(parts: list[list[tuple[int, int]]]) -> list[tuple[int, int]]:
    """What comes out of workers that take turns as long as they have any."""
    longest = max(map(len, parts))
    return [part[i] for i in range(longest) for part in parts if i < len(part)]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(0, 35))
def test_workers_go_on_in_the_order_of_a_loop_that_was_not_stopped(counts: list[int], done: int) -> None:
    parts = [[(part, number) for number in range(count)] for part, count in enumerate(counts)]
    turns = turns_after(done, counts)
    assert sorted(part for part, _ in turns) == [*range(len(counts))]
    assert _in_turns([parts[part][had:] for part, had in turns]) == _in_turns(parts)[done:]


def test_the_number_of_every_row_was_kept_in_memory() -> None:
    array = zarrcore.create_array({}, shape=1 << 22, chunks=1 << 18, dtype="u1")
    tracemalloc.start()
    try:
        blocks = Samples((array,), None, None, None).blocks()
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert [len(block) for block in blocks] == [1 << 18] * 16 and list(blocks[15][-2:]) == [
        (1 << 22) - 2,
        (1 << 22) - 1,
    ]
