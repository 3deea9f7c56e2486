# SPDX-License-Identifier: MIT
"""A Python without GIL stays so: every compiled module declares its support."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import zarrcore
from zarrcore import _locks
from zarrcore.nodes import copies, users
from zarrcore.storage import clients, inherited, under_way
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
    kept = [_locks._forkable, inherited._opened, clients._clients, copies._copies, users.COMPILED]
    tables = {name: getattr(module, name) for name, module in emptied.items()}
    with zarrcore.create_array({}, shape=(4,), dtype="i4").writer() as writer:
        users.note_growth(writer, is_under_way=True)
        assert users.growing_at(writer.array.store_path) == [writer]
        assert in_child(lambda: users.growing_at(writer.array.store_path) == [])
        users.note_growth(writer, is_under_way=False)
    sets = [(weak, weak._refs, [*weak]) for weak in kept]
    assert in_child(lambda: all(getattr(emptied[name], name) is not tables[name] for name in tables))
    assert in_child(lambda: all(weak._refs is not refs for weak, refs, _ in sets))
    assert in_child(lambda: all({*map(id, weak)} == {*map(id, items)} for weak, _, items in sets))
