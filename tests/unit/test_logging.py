# SPDX-License-Identifier: MIT
"""What is logged by the logger "zarrcore"."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import zarrcore


def test_nodes_at_debug_operations_at_info(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "zarrcore")
    group = zarrcore.create_group(tmp_path / "g", zarr_format=2)
    array = group.create_array("a", shape=10, chunks=5, dtype="i4")
    array[:] = 1
    array.resize(4)
    words = group.create_array("words", shape=3, dtype="str")
    words[:] = "x"
    zarrcore.open_array(tmp_path / "g/a")
    zarrcore.copy_all(group, zarrcore.create_group(tmp_path / "h"))
    zarrcore.migrate(tmp_path / "g")
    zarrcore.consolidate_metadata(tmp_path / "h")
    zarrcore.verify(tmp_path / "h")
    del group["words"]
    place = (tmp_path / "g").as_uri()
    said = {(record.levelname, record.getMessage()) for record in caplog.records}
    assert {record.name for record in caplog.records} == {"zarrcore"}
    assert {
        ("DEBUG", f"created {place}"),
        ("DEBUG", f"{place}/a now has the shape (4,)"),
        ("DEBUG", f"{place}/words is read and written by the engine in Python"),
        ("DEBUG", f"opened the array {place}/a"),
        ("DEBUG", f"removed {place}/words"),
        ("INFO", f"migrated {place} to format 3: 3 nodes"),
        ("INFO", f"consolidated {(tmp_path / 'h').as_uri()}: 2 nodes"),
    } <= said or pytest.fail("\n".join(map(str, sorted(said))))
    assert any(text.startswith("copy: all done: 2 copied") for _, text in said)
    assert any(level == "INFO" and text.startswith("verified") for level, text in said)


def test_no_passwords_and_no_control_characters(caplog: pytest.LogCaptureFixture) -> None:
    from zarrcore._log import info

    caplog.set_level(logging.INFO, "zarrcore")
    info("copied %s to %s", "s3://me:secret@host/x?token=abc", "red\x1b[31m")
    assert caplog.messages == ["copied s3://***@host/x?token=*** to red\\x1b[31m"]


def test_the_line_is_that_of_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "zarrcore")
    zarrcore.create_group({})
    assert caplog.records[-1].filename == "create.py"


def test_nothing_is_shown_or_imported_by_default() -> None:
    program = (
        "import sys, numpy\nbefore = 'logging' in sys.modules\nimport zarrcore\n"
        "zarrcore.create_array({}, shape=4, dtype='i4')[...] = 1\nprint(before, 'logging' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stderr == "" and found.stdout in ("False False\n", "True True\n")
    assert np.__name__


def test_the_lock_of_logging_is_not_waited_for() -> None:
    """An interrupt may leave it held, in CPython 3.12 and before: each engine that was made waited for it."""
    array = zarrcore.create_array({}, data=np.ones(4), chunks=2)
    zarrcore.open_array(array.store)  # from then on it is known who listens
    made = threading.Thread(target=lambda: zarrcore.open_array(array.store)[...], daemon=True)
    with logging._lock:  # type: ignore[attr-defined]
        made.start()
        made.join(60)
        assert not made.is_alive()
