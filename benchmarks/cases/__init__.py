"""All cases by name."""

from __future__ import annotations

from benchmarks.cases import codecs, dense, partial, small_chunks, tiny
from benchmarks.cases.base import Case

CASES: dict[str, Case] = {
    case.name: case for module in (dense, tiny, small_chunks, partial, codecs) for case in module.cases()
}
