# SPDX-License-Identifier: MIT
"""The examples in docstrings and on the page about kernels."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

from zarrcore import kernels

PAGE = Path(__file__).resolve().parents[2] / "docs" / "kernels.md"
MODULES = [f"zarrcore.kernels.{module.name}" for module in pkgutil.iter_modules(kernels.__path__)]


@pytest.mark.parametrize("name", ["zarrcore.kernels", *MODULES])
def test_docstrings(name):
    module = importlib.import_module(name)
    names = {public: getattr(kernels, public) for public in kernels.__all__} | {"np": np}
    assert doctest.testmod(module, extraglobs=names, raise_on_error=False).failed == 0


@pytest.mark.skipif(not PAGE.exists(), reason="only the package is here, not its source tree")
def test_page():
    text = PAGE.read_text(encoding="utf-8").replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test)
    assert runner.tries > 20 and runner.failures == 0


def test_everything_has_a_docstring():
    for name in kernels.__all__:
        assert name == "SHARD_EMPTY" or getattr(kernels, name).__doc__
