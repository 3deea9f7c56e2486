# SPDX-License-Identifier: MIT
"""Nothing that zarrcore supports is left out of the exchange with other implementations."""

from __future__ import annotations

import pytest

pytest.importorskip("ml_dtypes")  # for the data types of the cases

from exchange.limits import BOTH, LACKS, NO_PEER
from exchange.rows import all_rows
from exchange.table import CASES, PEERS, exchanges

pytestmark = pytest.mark.interop


def test_every_row_is_covered() -> None:
    """A new data type, codec, grid or key encoding needs an array in ``exchange``, or a reason in NO_PEER."""
    found = exchanges()
    assert [row for row in all_rows() if row not in found and row not in NO_PEER] == []


def test_what_is_excused_is_excused_rightly() -> None:
    rows, found = set(all_rows()), exchanges()
    assert len(rows) == len(all_rows())
    assert [row for row in NO_PEER if row not in rows or row in found] == []
    assert [(peer, row) for peer in PEERS for row in LACKS[peer] if row not in rows] == []
    assert [(peer, row) for peer in PEERS for row in LACKS[peer] if peer in found.get(row, {})] == []


def test_most_rows_go_both_ways() -> None:
    """What only one side can write is known by name."""
    one_way = [row for row, by in exchanges().items() if BOTH not in by.values()]
    assert one_way == ONE_WAY


ONE_WAY = [
    ("codec of format 3", "endian"),  # written as bytes
    ("store", "N5Store"),
    ("codec of format 3", "n5_default"),
    ("chunk key encoding", "zarrcore.n5"),
]


def test_names_are_unique() -> None:
    names = [str(case) for case in CASES]
    assert len(names) == len(set(names))
