"""The examples in docstrings."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = [
    "zarrcore._validate",
    "zarrcore.keys.fanout",
    "zarrcore.keys.standard",
    "zarrcore.keys.suffix",
    "zarrcore.codecs.blosc",
    "zarrcore.codecs.bytes",
    "zarrcore.codecs.sharding",
    "zarrcore.codecs.transpose",
    "zarrcore.grids.rectilinear",
    "zarrcore.grids.regular",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted > 0
    assert result.failed == 0
