# SPDX-License-Identifier: MIT
"""Commands that answer at once load nothing that they do not use."""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import zarrcore

pytest.importorskip("click")

LISTED = """
import sys
from zarrcore.cli.app import cli
cli.main({arguments!r}, standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("info", {"zarrcore.api.nodes", "zarrcore.arrays.array", "zarrcore.arrays.options", "numpy.testing"}),
        ("cat", {"zarrcore.api.nodes", "zarrcore.arrays.options", "zarrcore.groups.group"}),
        ("tree", {"zarrcore.api.nodes", "zarrcore.arrays.opened", "zarrcore.groups.group"}),
        ("explain", {"zarrcore.arrays.array", "zarrcore.codecs.blosc", "zarrcore.inspection.indexes"}),
        ("stat", {"zarrcore.arrays.array", "zarrcore.kernels", "zarrcore.storage.byte_range"}),
        ("verify", {"concurrent.futures", "logging", "zarrcore.kernels", "zarrcore.storage.remote"}),
        ("verify", {"zarrcore.codecs.sharding", "zarrcore.nodes.n5", "zarrcore.storage.moving"}),
        ("repair", {"zarrcore.arrays.chunks", "zarrcore.nodes.create", "zarrcore.nodes.consolidate"}),
        ("repair", {"zarrcore.codecs.sharding", "zarrcore.nodes.consolidated", "zarrcore.nodes.n5"}),
        ("compact", {"zarrcore.api.nodes", "zarrcore.arrays.array", "zarrcore.groups.group"}),
        ("plot", {"shutil", "zarrcore.api.nodes", "zarrcore.inspection.census"}),
    ],
)
def test_what_a_command_does_not_use_is_not_imported(command: str, unused: set[str], tmp_path: Path) -> None:
    zarrcore.ones(4, store=tmp_path / "a.zarr")
    code = LISTED.format(arguments=[command, str(tmp_path / "a.zarr")])
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout
    assert unused & set(done.stderr.split()) == set()


def test_describing_a_group_imports_nothing_that_creates_nodes(tmp_path: Path) -> None:
    group = zarrcore.create_group(tmp_path / "a.zarr", attributes={"title": "waves"})
    group.create_array("inner", shape=(4,), dtype="i4")
    zarrcore.consolidate_metadata(tmp_path / "a.zarr")
    code = LISTED.format(arguments=["info", str(tmp_path / "a.zarr")])
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.rstrip() == str(zarrcore.open_group(tmp_path / "a.zarr", mode="r").info)
    unused = {"zarrcore.api.nodes", "zarrcore.arrays.array", "zarrcore.groups.group"}
    assert unused & set(done.stderr.split()) == set()


@pytest.mark.parametrize(("what", "target"), [("", "b.zarr"), ("/inner", "b.zarr"), ("/inner", "b.zip")])
def test_copying_imports_nothing_that_users_hold(what: str, target: str, tmp_path: Path) -> None:
    """Nor tempfile and hashlib, to find a directory for the lock and a name in it, nor what asks servers."""
    group = zarrcore.create_group(tmp_path / "a.zarr")
    group.create_array("inner", data=[1, 2, 3])
    code = LISTED.format(arguments=["copy", f"{tmp_path}/a.zarr{what}", str(tmp_path / target)])
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    copied = zarrcore.open_array(tmp_path / target, path="" if what else "inner", mode="r")
    assert copied[...].tolist() == [1, 2, 3]
    unused = {"hashlib", "tempfile", "zarrcore.api.nodes", "zarrcore.arrays.array", "zarrcore.groups.group"}
    unused |= {"concurrent.futures", "logging", "zarrcore.storage.remote"}
    unused |= {"zarrcore.codecs.sharding", "zarrcore.codecs.v2"}
    assert unused & set(done.stderr.split()) == set()


def test_versions_of_other_packages_are_found_without_importing_what_reads_their_metadata() -> None:
    code = LISTED.format(arguments=["version"])
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert {"email", "importlib.metadata"} & set(done.stderr.split()) == set()
    shown = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    for name in ("numpy", "numcodecs", "zarr", "fsspec", "obstore", "h5py", "xarray", "dask"):
        try:
            assert shown[name] == importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            assert shown[name] == "not installed"


def test_consolidating_imports_nothing_of_arrays_and_groups_that_users_hold(tmp_path: Path) -> None:
    group = zarrcore.create_group(tmp_path / "a.zarr")
    group.create_array("inner", shape=(4,), dtype="i4")
    unused = {"zarrcore.api.nodes", "zarrcore.arrays.opened", "zarrcore.groups.group"}
    for options in ([], ["--check"]):
        arguments = ["consolidate", str(tmp_path / "a.zarr"), *options]
        code = [sys.executable, "-c", LISTED.format(arguments=arguments)]
        done = subprocess.run(code, check=True, capture_output=True, text=True)
        assert unused & set(done.stderr.split()) == set()
    assert zarrcore.check_consolidated(tmp_path / "a.zarr") == ()


@pytest.mark.parametrize(
    ("command", "others", "unused"),
    [
        (["migrate"], ["--dry-run"], {"numpy.ma", "zarrcore.arrays.array"}),
        (["attrs", "set"], ["title", "waves"], {"zarrcore.arrays.creation", "zarrcore.codecs.sharding"}),
    ],
)
def test_what_changes_documents_of_format_2_imports_no_more(
    command: list[str], others: list[str], unused: set[str], tmp_path: Path
) -> None:
    group = zarrcore.create_group(tmp_path / "a.zarr", zarr_format=2)
    group.create_array("inner", shape=(4,), dtype="i4", filters=None, compressors=None)
    code = LISTED.format(arguments=[*command, str(tmp_path / "a.zarr"), *others])
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert unused & set(done.stderr.split()) == set()


COMPLETED = """
import sys
from zarrcore.cli import main
try:
    main()
finally:
    print("numpy" in sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_of_commands_options_and_files_are_completed(shell: str) -> None:
    """Names of commands without importing what the commands use; paths of files by the shell itself."""

    def complete(*words: str) -> tuple[list[str], bool]:
        asked = {
            "_ZARRCORE_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": " ".join(["zarrcore", *words]),
            "COMP_CWORD": words[-1] if shell == "fish" else str(len(words)),
        }
        command = [sys.executable, "-c", COMPLETED]
        done = subprocess.run(command, env=os.environ | asked, check=True, capture_output=True, text=True)
        return re.split(r"[,\t\n]", done.stdout), "True" in done.stderr

    found, numpy = complete("co")
    assert {"plain", "compact", "completion", "consolidate", "copy"} <= set(found) and not numpy
    assert "info" not in found
    assert complete("info", "a.z")[0][:2] == ["file", "a.z"]
    assert complete("copy", "a.zarr", "b")[0][:2] == ["file", "b"]
    assert "--complete" in complete("info", "--c")[0] and "--json" not in complete("info", "--c")[0]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_no_numpy(arguments: list[str]) -> None:
    code = f"import sys; sys.argv = ['zarrcore', *{arguments!r}]\n{COMPLETED}"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "zarrcore" in done.stdout and done.stderr == "False\n"


THREADS = """
import os, sys
from zarrcore.cli import main
try:
    main()
finally:
    print(len(os.listdir("/proc/self/task")), os.environ["OPENBLAS_NUM_THREADS"], file=sys.stderr)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted as Linux lists them")
@pytest.mark.parametrize("said", ["", "2"], ids=["default", "as the user says"])
def test_a_small_command_makes_no_thread(said: str, tmp_path: Path) -> None:
    """OpenBLAS made one for each core when numpy was imported, and they took CPU time in waiting for work."""
    zarrcore.ones(4, store=tmp_path / "a.zarr")
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    environ |= {"OPENBLAS_NUM_THREADS": said} if said else {}
    command = [sys.executable, "-c", THREADS, "cat", str(tmp_path / "a.zarr")]
    done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    threads, chosen = done.stderr.split()
    assert chosen == (said or "1") and (said or threads == "1")


DECLARED = """
import sys
import click
from zarrcore.cli.app import COMMANDS, cli
for name in COMMANDS:
    cli.get_command(click.Context(cli), name)
print("numpy" in sys.modules)
"""


def test_declaring_a_command_imports_no_numpy() -> None:
    """So its help, and what is wrong with its arguments, is shown at once."""
    code = [sys.executable, "-c", DECLARED]
    assert subprocess.run(code, check=True, capture_output=True, text=True).stdout == "False\n"


def test_info_is_the_same_for_the_command_and_in_python(tmp_path: Path) -> None:
    array = zarrcore.ones((4, 6), store=tmp_path / "a.zarr", chunks=(2, 3), attributes={"title": "waves"})
    command = [sys.executable, "-m", "zarrcore", "info", str(tmp_path / "a.zarr")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    shown = zarrcore.open_array(tmp_path / "a.zarr", mode="r").info
    assert done.stdout.rstrip() == str(shown)
    assert array.nchunks == shown["No. chunks"]
