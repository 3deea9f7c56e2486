# SPDX-License-Identifier: MIT
"""Each command, on a store: what it prints, as JSON too, and how it fails."""

from __future__ import annotations

import http.client
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import zarrcore

pytest.importorskip("click")

import click

from zarrcore.cli.app import COMMANDS, cli, run
from zarrcore.testing.process import in_child

NOBODY = 65534


class Case(NamedTuple):
    """What a command is given, in a directory with data.zarr; what it prints, its JSON, and how it fails."""

    works: str
    shown: str  # a part of the output
    found: Any  # of the JSON: the value, or one that is equal to it
    fails: str
    reason: str
    code: int = 1


class Has:
    """Equal to a mapping that has these keys, or to a list whose first item has them."""

    def __init__(self, *keys: str) -> None:
        self.keys = set(keys)

    def __eq__(self, other: Any) -> bool:
        return self.keys <= set(other[0] if isinstance(other, list) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Has({sorted(self.keys)})"


NOTHING, MISSING = "data.zarr/nothing", "no array or group"
COPIED = {"copied": 2, "left_out": 0, "nbytes": 128}
CASES = {
    "attrs get": Case(
        "data.zarr", '"title": "waves"', {"title": "waves"}, "data.zarr units", "there are: title"
    ),
    "attrs set": Case("data.zarr n 3", "", {"title": "waves", "n": 3}, f"{NOTHING} n 3", MISSING),
    "attrs delete": Case("data.zarr title", "", {}, "data.zarr units", "nothing was deleted"),
    "bench": Case("data.zarr/a -j 1 -r 1 --no-peer", "1 thread ", Has("reader"), "data.zarr", "is a group"),
    "cat": Case('data.zarr/a "0, :2"', "[1 2]", [1, 2], 'data.zarr/a "7, 7, 7"', "indices"),
    "compact": Case("data.zarr", "0 of 1 shards rewritten", {"s": Has("shards")}, NOTHING, MISSING),
    "completion": Case("bash", "_ZARRCORE_COMPLETE", None, "csh", "csh", 2),
    "consolidate": Case("data.zarr", "", {"nodes": 2}, NOTHING, "no group"),
    "copy": Case("data.zarr b.zip --overwrite", "2 copied", COPIED, "data.zarr c.zarr --chunks 0", "chunks"),
    "explain": Case("data.zarr/a", "Requests : 4", Has("requests", "keys"), "data.zarr", "is a group"),
    "info": Case("data.zarr/a", "(4, 4)", Has("shape", "codecs", "nbytes"), NOTHING, MISSING),
    "ls": Case("data.zarr", "a\ns\n", Has("name", "kind"), "data.zarr/a", "is an array"),
    "migrate": Case("old.zarr -n", "format 2", Has("nodes", "removed"), "nowhere", MISSING),
    "plot": Case("data.zarr/a", "@", Has("least", "values"), "data.zarr/a --chunks 0", "leave out", 2),
    "repair": Case("data.zarr", "nothing to repair", [], NOTHING, "no Zarr array or group"),
    "serve": Case("data.zarr --port 0", "data.zarr at http://127.0.0.1:", Has("url"), NOTHING, MISSING),
    "stat": Case("data.zarr/a", "4 of 4 chunks stored", Has("histogram"), "data.zarr", "is a group"),
    "tree": Case("data.zarr", "s 4 x 4", Has("path", "kind"), NOTHING, MISSING),
    "verify": Case("data.zarr", "0 errors", Has("ok", "findings"), NOTHING, "no Zarr array or group"),
    "version": Case("", "numpy: ", Has("version"), "--nothing", "No such option", 2),
}


def every_command() -> Iterator[tuple[str, click.Command]]:
    for name in COMMANDS:
        found = cli.get_command(click.Context(cli), name)
        assert found is not None
        if isinstance(found, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in found.commands.items())
        else:
            yield name, found


def test_every_command_is_in_the_table() -> None:
    assert set(CASES) == {name for name, _ in every_command()}


@pytest.mark.parametrize(("name", "found"), [*every_command()])
def test_every_command_has_examples_and_json(name: str, found: click.Command) -> None:
    assert f"zarrcore {name}" in (found.help or "")
    assert name == "completion" or "--json" in {text for each in found.params for text in each.opts}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    group = zarrcore.create_group("data.zarr", attributes={"title": "waves"})
    values = np.arange(1, 17, dtype="i4").reshape(4, 4)
    group.create_array("a", data=values, chunks=(2, 2))
    group.create_array("s", data=values, chunks=(2, 2), shards=(4, 4))
    zarrcore.create_array("old.zarr", data=np.arange(4), zarr_format=2)
    return tmp_path


def done(words: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Run a command in this process; return exit code, output and errors."""
    with pytest.raises(SystemExit) as end:
        run(shlex.split(words))
    return int(end.value.code or 0), *capsys.readouterr()


def served(words: str) -> str:
    """What `serve` prints until it is asked once, and then stopped as by Ctrl-C."""
    program = [sys.executable, "-m", "zarrcore", *shlex.split(words)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        shown = ""
        while "http://" not in shown or ("{" in shown and "}" not in shown):
            line = server.stdout.readline()
            assert line, server.stderr.read()
            shown += line
        found = re.search(r"http://([^/:]+:\d+)/", shown)
        assert found is not None
        connection = http.client.HTTPConnection(found[1], timeout=30)
        connection.request("GET", "/a/zarr.json")
        assert json.loads(connection.getresponse().read())["shape"] == [4, 4]
        connection.close()
        server.send_signal(signal.SIGINT)
        assert (server.wait(30), server.stderr.read()) == (0, "ended\n")
    return shown


def shown_by(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> str:
    if name == "serve":
        return served(words)
    code, out, err = done(words, capsys)
    assert code == 0 and (not err or name == "plot"), err
    return out


@pytest.mark.parametrize("name", CASES)
def test_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert CASES[name].shown in shown_by(name, f"{name} {CASES[name].works}", capsys)


@pytest.mark.parametrize("name", sorted(set(CASES) - {"completion"}))
def test_json(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown_by(name, f"{name} {CASES[name].works} --json", capsys))
    assert CASES[name].found == found


@pytest.mark.parametrize("name", CASES)
def test_failure(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Also with --json an error is a line of text, and the output is empty or what was found."""
    for more in ("", " --json") if name != "completion" else ("",):
        code, out, err = done(f"{name} {CASES[name].fails}{more}", capsys)
        assert code == CASES[name].code and CASES[name].reason in out + err
        if name != "verify":  # which has found what it prints
            assert out == "" and err.startswith("zarrcore: ") and err.count("\n") == 1, err


@pytest.mark.parametrize("name", CASES)
def test_wrong_arguments(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = done(f"{name} {CASES[name].works} '--no\x1b[31mthing'", capsys)
    assert (code, out) == (2, "") and "\x1b" not in err
    assert (
        err.startswith("zarrcore: ")
        and err.endswith(f"(see zarrcore {name} --help)\n")
        and err.count("\n") == 1
    )


@pytest.mark.parametrize("name", sorted(set(CASES) - {"serve", "completion"}))
def test_a_terminal_of_another_encoding(name: str, here: Path) -> None:
    (here / "data.zarr").rename(here / "data.zärr")
    words = [*name.split(), *shlex.split(CASES[name].works.replace("data.zarr", "data.zärr"))]
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}
    ended = subprocess.run([sys.executable, "-m", "zarrcore", *words], env=environ, capture_output=True)
    assert ended.returncode == 0 and b"Traceback" not in ended.stderr, ended.stderr
    ended.stdout.decode("ascii")


@pytest.mark.parametrize("name", sorted(set(CASES) - {"serve"}))
def test_a_pipe_that_nobody_reads(name: str) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    program = [sys.executable, "-m", "zarrcore", *name.split(), *shlex.split(CASES[name].works)]
    ended = subprocess.run(program, stdout=theirs, stderr=subprocess.PIPE, text=True)
    os.close(theirs)
    assert ended.returncode in (0, 1) and "Traceback" not in ended.stderr and "ignored" not in ended.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="modes as POSIX has them")
@pytest.mark.parametrize("name", sorted(set(CASES) - {"completion", "version", "serve"}))
def test_what_may_not_be_read(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"{name} {CASES[name].works}"
    done(words, capsys)  # a user without rights may not be able to read the modules either

    def is_one_line() -> bool:
        os.chdir(closed)
        if os.geteuid() == 0:
            os.setuid(NOBODY)
        code, out, err = done(words, capsys)
        lines = out.splitlines()[:1] if name == "verify" else err.splitlines()
        return code == 1 and len(lines) == 1 and "Permission denied" in lines[0]

    with tempfile.TemporaryDirectory() as closed:
        os.chmod(closed, 0o711)
        for inner in ("data.zarr", "old.zarr"):
            os.mkdir(os.path.join(closed, inner), 0)
        assert in_child(is_one_line)
