"""The examples in docstrings."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

import zarrcore

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
    package = import_module(name.rpartition(".")[0])
    names = {public: getattr(package, public) for public in package.__all__} | {"zarrcore": zarrcore}
    result = doctest.testmod(import_module(name), extraglobs=names)
    assert result.attempted > 0
    assert result.failed == 0
