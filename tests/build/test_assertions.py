# SPDX-License-Identifier: MIT
"""Assertions of the C core: in builds with sanitizers, and not in releases."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zarrcore._core import engine


@pytest.mark.skipif(
    any(os.environ.get(name, "0") not in ("", "0") for name in ("ZARRCORE_DEBUG", "ZARRCORE_COVERAGE")),
    reason="other flavours have assertions too",
)
def test_assertions_are_on_under_sanitizers_alone() -> None:
    code = Path(engine.__file__).read_bytes()
    sanitized = any(name in code for name in (b"__asan_report", b"__tsan_read", b"__ubsan_handle"))
    assert (b"zarrcore: %s:%d: assertion failed" in code) == sanitized
