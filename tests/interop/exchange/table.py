# SPDX-License-Identifier: MIT
"""Rows and peers: who reads what whom wrote, as far as the tests try it."""

from __future__ import annotations

from collections.abc import Iterator

from exchange import v2_cases, v3_cases, zarrs_cases
from exchange.limits import BOTH, LACKS, READ_HERE, READ_THERE, READS, STORES, WRITES, peers_for, why_not
from exchange.rows import Row, all_rows, rows_of

CASES = [*v3_cases.CASES, *zarrs_cases.CASES, *v2_cases.CASES]
PEERS = tuple(LACKS)


def exchanges() -> dict[Row, dict[str, str]]:
    """Row -> peer -> what is possible with at least one array; rows and peers without that are left out."""
    directions: dict[Row, dict[str, set[str]]] = {}
    for case in CASES:
        for peer in peers_for(case):
            possible = {way for way in (READS, WRITES) if why_not(case, peer, way) is None}
            for row in rows_of(case.document) if possible else ():
                directions.setdefault(row, {}).setdefault(peer, set()).update(possible)
    found = {row: {peer: _said(ways) for peer, ways in by.items()} for row, by in directions.items()}
    return found | STORES


def _said(ways: set[str]) -> str:
    if len(ways) == 2:
        return BOTH
    return READ_THERE if READS in ways else READ_HERE


def table() -> Iterator[tuple[Row, dict[str, str]]]:
    """All rows of zarrcore with what the peers do."""
    found = exchanges()
    return ((row, found.get(row, {})) for row in all_rows())
