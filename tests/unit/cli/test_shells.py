# SPDX-License-Identifier: MIT
"""Completion in the shells themselves, where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")

# Each completes the words of $1 and prints what it offers.
SCRIPTS = {
    "bash": """source script; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _zarrcore_completion "$PWD/zarrcore"; printf "%s\\n" "${COMPREPLY[@]}"
""",
    "fish": "source script; complete -C $argv[1]",
}


def with_command(home: Path) -> dict[str, str]:
    """Put a program `zarrcore` into a directory; return the environment of a user who lives there."""
    (home / "zarrcore").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zarrcore "$@"\n')
    (home / "zarrcore").chmod(0o755)
    path = f"{home}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(home), "ZDOTDIR": str(home), "TERM": "dumb"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    environ = with_command(tmp_path)

    def ran(*command: str) -> str:
        done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
        return done.stdout

    (tmp_path / "script").write_text(ran("./zarrcore", "completion", shell))
    call = [program, "-c", SCRIPTS[shell], *(["bash"] if shell == "bash" else [])]
    assert [line.split("\t")[0] for line in ran(*call, "zarrcore con").splitlines()] == ["consolidate"]
    assert [line.split("\t")[0] for line in ran(*call, "zarrcore info --com").splitlines()] == ["--complete"]


def test_zsh_completes_at_its_prompt(tmp_path: Path) -> None:
    """It does so at a terminal alone."""
    program, pty = shutil.which("zsh"), pytest.importorskip("pty")
    if program is None:
        pytest.skip("there is no zsh")
    environ = with_command(tmp_path)
    script = subprocess.run([tmp_path / "zarrcore", "completion", "zsh"], capture_output=True, check=True)
    (tmp_path / "script").write_bytes(script.stdout)
    (tmp_path / ".zshrc").write_text("autoload -Uz compinit; compinit -u; . ~/script; PROMPT='ready> '\n")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [program, "-i"], cwd=tmp_path, env=environ, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    ) as shell:  # fmt: skip
        os.close(theirs)

        def shown_until(text: bytes) -> None:
            shown = b""
            while text not in shown:
                shown += os.read(ours, 4096)

        shown_until(b"ready> ")
        os.write(ours, b"zarrcore cons\t")
        shown_until(b"zarrcore consolidate ")
        os.write(ours, b"\x15zarrcore info --comp\t")
        shown_until(b"zarrcore info --complete ")
        shell.kill()
    os.close(ours)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["--cflags", "--help", "--version", "ls --help", "version"])
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_full_disk_is_one_line(arguments: str, unbuffered: str) -> None:
    """It was a traceback, or one more when the process ended."""
    environ = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "zarrcore", *arguments.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=environ)
    assert (done.returncode, done.stderr) == (1, "zarrcore: [Errno 28] No space left on device\n")
