"""The order in which the worker processes of a loader go on, by the order in which they take turns."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from zarrcore.integrations.torch_samples import turns_after


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
