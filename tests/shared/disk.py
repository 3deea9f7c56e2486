# SPDX-License-Identifier: MIT
"""What a disk may hold after a crash, at each moment of what tests/faults/shim.c has noted.

What was flushed is there; of a directory that was not, the first few changes; of a file that was not, all
bytes, half of them, zeros, those of the end alone, or those that were flushed.  A name that moves from one
directory to another is in one of them, as in all file systems with a journal, and on the disk as soon as one
of the two is.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from shim import run_under

from zarrcore.storage.files import is_own

SOAK = int(os.environ.get("ZC_SOAK", "1"))


class File:
    """What was written to a file, and what of it is on the disk."""

    def __init__(self, data: bytes = b"", flushed: bytes = b"") -> None:
        self.data, self.flushed = data, flushed


Entries = dict[str, "File | Directory"]


class Directory:
    """Entries, as they certainly are on the disk and after each change since."""

    def __init__(self) -> None:
        self.versions: list[Entries] = [{}]
        self.certain = 0  # how many changes the first of them has

    def change(self) -> Entries:
        self.versions.append(dict(self.versions[-1]))
        return self.versions[-1]

    @property
    def changes(self) -> int:
        return self.certain + len(self.versions) - 1

    def flush(self, changes: int | None = None) -> None:
        """Have so many changes on the disk: all, unless it is said."""
        n = (self.changes if changes is None else changes) - self.certain
        if n > 0:
            del self.versions[:n]
            self.certain += n


class Disk:
    """Replays a log of the shim."""

    def __init__(self, root: Path) -> None:
        self.root = Directory()
        self._path = str(root)
        # Of names that have moved: the two directories, and how many changes each had then.
        self._moves: list[tuple[tuple[Directory, int], tuple[Directory, int]]] = []
        self._load(root, self.root)

    def _load(self, path: Path, into: Directory) -> None:
        for child in sorted(path.iterdir()):
            if child.is_dir():
                directory = Directory()
                self._load(child, directory)
                into.versions[0][child.name] = directory
            else:
                into.versions[0][child.name] = File(child.read_bytes(), child.read_bytes())

    def _find(self, path: str) -> Any:
        node: Any = self.root
        for name in path[len(self._path) :].strip("/").split("/"):
            node = node.versions[-1][name] if name else node
        return node

    def _above(self, path: str) -> tuple[Directory, str]:
        above, _, name = path.rpartition("/")
        return self._find(above), name

    def do(self, what: str, path: str, second: str, offset: int) -> None:
        if what == "sync":
            node = self._find(path)
            if isinstance(node, File):
                node.flushed = node.data
            else:
                self._flush(node)
        elif what == "write":
            file = self._find(path)
            start = file.data[:offset].ljust(offset, b"\0")
            data = bytes.fromhex(second)
            file.data = start + data + file.data[offset + len(data) :]
        elif what == "truncate":
            file = self._find(path)
            file.data = file.data[:offset].ljust(offset, b"\0")
        elif what == "rename":
            self._rename(self._above(path), self._above(second))
        else:
            above, name = self._above(path)
            entries = above.change()
            if what == "unlink":
                del entries[name]
            elif what == "link":
                target, new = self._above(second)
                target.change()[new] = entries[name]
            else:
                assert what in ("mkdir", "create"), what
                entries[name] = Directory() if what == "mkdir" else File()

    def _rename(self, old: tuple[Directory, str], new: tuple[Directory, str]) -> None:
        source, target = old[0], new[0]
        entries = source.change()
        node = entries.pop(old[1])
        if source is target:
            entries[new[1]] = node
            return
        target.change()[new[1]] = node
        self._moves.append(((source, source.changes), (target, target.changes)))

    def _flush(self, directory: Directory) -> None:
        directory.flush()
        for _ in self._moves:
            for pair in self._moves:
                if any(one.certain >= changes for one, changes in pair):
                    for one, changes in pair:
                        one.flush(changes)

    def left(self, choose: Callable[[list[Any]], Any]) -> dict[str, bytes]:
        """Return the files on the disk; `choose` takes one of several states, the certain one first."""
        picked: dict[Directory, int] = {}

        def changes_of(directory: Directory) -> int:
            if directory not in picked:
                chosen = choose(directory.versions)
                at = next(n for n, version in enumerate(directory.versions) if version is chosen)
                picked[directory] = directory.certain + at
            return picked[directory]

        for _ in self._moves:
            for pair in self._moves:
                if any(changes_of(one) >= changes for one, changes in pair):
                    for one, changes in pair:
                        picked[one] = max(changes_of(one), changes)
        found, stack = {}, [(self.root, "")]
        while stack:
            directory, above = stack.pop()
            for name, node in directory.versions[changes_of(directory) - directory.certain].items():
                if isinstance(node, Directory):
                    stack.append((node, f"{above}{name}/"))
                elif not is_own(name):
                    found[above + name] = self._bytes(node, choose)
        return found

    def _bytes(self, file: File, choose: Callable[[list[Any]], Any]) -> bytes:
        data = file.data
        if data == file.flushed:
            return data
        end = len(os.path.commonprefix([data, file.flushed]))
        middle = (end + len(data)) // 2
        last_first = data[:end] + bytes(middle - end) + data[middle:]
        states: list[bytes] = [file.flushed, data[: len(data) // 2], bytes(len(data)), last_first, data]
        return bytes(choose(states))


def crashes(root: Path, log: list[str]) -> Iterator[tuple[dict[str, bytes], bool]]:
    """Yield what may be left after each step of an operation, and whether that had ended."""
    seen = set()
    for number, (disk, has_ended) in enumerate(moments(root, log)):
        for choose in choices(number):
            left = disk.left(choose)
            one = (tuple(sorted(left.items())), has_ended)
            if one not in seen:
                seen.add(one)
                yield left, has_ended


def moments(root: Path, log: list[str]) -> Iterator[tuple[Disk, bool]]:
    disk = Disk(root)
    yield disk, False
    for line in log:
        what, _, path, second, offset = line.split("\t")
        disk.do(what, path, second, int(offset))
        yield disk, False
    yield disk, True


def operations_of(log: str) -> Iterator[list[str]]:
    """Yield what each operation of a program did, between the marks of its beginning and its end."""
    lines: list[str] = []
    for line in log.splitlines():
        what, _, path, _, _ = line.split("\t")
        if what != "mark":
            lines.append(line)
        elif path == "begin":
            lines = []
        else:
            yield lines


def choices(seed: int) -> Iterator[Callable[[list[Any]], Any]]:
    yield lambda states: states[0]
    yield lambda states: states[-1]
    yield lambda states: states[-1] if isinstance(states[0], dict) else states[0]  # names, but no bytes
    chance = random.Random(seed)
    for _ in range(2 * SOAK):
        yield chance.choice


def replayed(
    program: str,
    arguments: dict[str, Any],
    shim: Path,
    tmp_path: Path,
    names: Sequence[str] | None = None,
) -> Iterator[tuple[str, dict[str, bytes], bool]]:
    """Run a program of marked operations; yield what each may leave in its directory, and if it had ended.

    The directories below ``tmp_path / "root"`` have the `names` of the operations, or of the arguments.
    """
    names = [*arguments] if names is None else names
    root, before, log = tmp_path / "root", tmp_path / "before", tmp_path / "log"
    shutil.copytree(root, before)
    run_under(shim, program, root, json.dumps(arguments), root=root, log=log)
    changes = [*operations_of(log.read_text().replace(str(root), str(before)))]
    for name, change in zip(names, changes, strict=True):
        for left, has_ended in crashes(before / name, change):
            yield name, left, has_ended
