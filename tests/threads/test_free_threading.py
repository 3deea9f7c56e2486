# SPDX-License-Identifier: MIT
"""A Python without GIL stays so: every compiled module declares its support."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import pytest

import zarrcore
from zarrcore._weak import WeakSet
from zarrcore.nodes import users
from zarrcore.storage import under_way
from zarrcore.testing.process import in_child

PROGRAM = """
import sys
import numpy
before = sys._is_gil_enabled()
import zarrcore, zarrcore.kernels, zarrcore._core.{name}
assert sys._is_gil_enabled() == before, "{name} brought the GIL back"
print(before)
"""

CORE = Path(zarrcore.__file__).parent / "_core"
MODULES = sorted({path.relative_to(CORE).with_suffix("").parts[0] for path in CORE.rglob("*.pyi")})


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python was not built without GIL"
)
@pytest.mark.parametrize("name", MODULES)
def test_the_gil_stays_off(name: str) -> None:
    command = [sys.executable, "-W", "error", "-c", PROGRAM.format(name=name)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False\n"


def test_every_module_is_asked() -> None:
    assert MODULES == ["engine", "json_text", "kernels", "vlen"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_of_a_fork_waited_for_a_table_that_a_thread_of_its_parent_had_locked() -> None:
    """Without a GIL each dictionary and set has a lock, which may be left locked: the child has others."""
    emptied = {"writes": users, "MOVING": users, "_tasks": under_way}
    tables = {name: getattr(module, name) for name, module in emptied.items()}
    with zarrcore.create_array({}, shape=(4,), dtype="i4").writer() as writer:
        users.note_growth(writer, is_under_way=True)
        assert users.growing_at(writer.array.store_path) == [writer]
        assert in_child(lambda: users.growing_at(writer.array.store_path) == [])
        users.note_growth(writer, is_under_way=False)
    assert in_child(lambda: all(getattr(emptied[name], name) is not tables[name] for name in tables))


def test_a_set_that_a_thread_of_the_parent_had_locked_is_another_one_in_the_child() -> None:
    """What it has is looked up before: without a GIL, to walk a dictionary may take its lock."""
    kept, items = WeakSet[threading.Event](), [threading.Event() for _ in range(3)]
    for item in items:
        kept.add(item)
    before = kept._refs
    kept._at_fork.extend(kept)
    kept._renew()
    assert kept._refs is not before and {*kept} == {*items} and kept._at_fork == []
