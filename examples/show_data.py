"""Draw the hierarchies below a directory: what each array is, who wrote it, and what is in it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

import zarrcore
from zarrcore.errors import UnknownCodecError
from zarrcore.storage import ZipStore

MARKS = frozenset(("zarr.json", ".zgroup", ".zarray"))
MARKS_V1 = frozenset(("meta", "attrs"))


def find_hierarchies(root: Path) -> Iterator[Path]:
    """Directories and zip files below `root` with a Zarr array or group, if the directory above has none."""
    nodes: set[str] = set()
    for directory, names, files in os.walk(root):
        names.sort()
        if MARKS.intersection(files) or MARKS_V1.issubset(files):
            nodes.add(directory)
            if os.path.dirname(directory) not in nodes:
                yield Path(directory)
        else:
            yield from (Path(directory, file) for file in sorted(files) if file.endswith(".zip"))


def read_writers(root: Path) -> dict[Path, str]:
    """Which program wrote a store, from the manifests that lie in `root`."""
    writers: dict[Path, str] = {}
    for manifest in sorted(root.glob("*.json")):
        document = json.loads(manifest.read_text(encoding="utf-8"))
        entries = document.get("entries", ()) if isinstance(document, dict) else document
        for entry in entries:
            if isinstance(entry, dict) and {"store", "writer"} <= entry.keys():
                writers[(root / entry["store"]).resolve()] = entry["writer"]
    return writers


def writer_of(place: Path, writers: dict[Path, str]) -> str:
    """The writer of the store in which `place` lies."""
    place = place.resolve()
    return next((writers[path] for path in (place, *place.parents) if path in writers), "writer not recorded")


def open_hierarchy(place: Path) -> Any:
    """The array or group at a directory or in a zip file."""
    if place.suffix == ".zip":
        return zarrcore.open(ZipStore(place, mode="r"), mode="r")
    return zarrcore.open(place, mode="r")


def codec_names(array: zarrcore.Array) -> str:
    """The codecs in the order of encoding; those of the inner chunks, if the array is sharded."""
    codecs = [*array.filters, array.serializer, *array.compressors]
    return " + ".join(codec.name for codec in codecs if codec is not None) or "no codec"


def chunk_shape(array: zarrcore.Array) -> str:
    """Chunks and shards for people."""
    if not array.metadata.chunk_grid.is_regular:
        return "chunks " + " x ".join(str(lengths) for lengths in array.write_chunk_sizes)
    shards = f" in shards {array.shards}" if array.shards else ""
    return f"chunks {array.chunks}{shards}"


def describe(array: zarrcore.Array) -> str:
    """Everything about the layout of an array in one line."""
    return f"{array.dtype} {array.shape}, {chunk_shape(array)}, {codec_names(array)}"


def summarise(values: Any) -> str:
    """A few values, and their range where that means something."""
    values = np.asarray(values)
    if values.size == 0:
        return "no elements"
    first = ", ".join(shorten(value) for value in values.reshape(-1)[:3])
    more = ", ..." if values.size > 3 else ""
    if values.dtype.kind == "b":
        return f"{first}{more}  ({np.count_nonzero(values)} of {values.size} true)"
    if values.dtype.kind not in "iuf" or not np.isfinite(values).any():
        return first + more
    finite = values[np.isfinite(values)]
    return f"{first}{more}  (from {finite.min():.6g} to {finite.max():.6g})"


def shorten(value: Any, most: int = 32) -> str:
    """One value as text, cut where it is long."""
    text = f"{value:.6g}" if isinstance(value, np.floating) else str(value)
    text = "".join(c if c.isprintable() else "\N{MIDDLE DOT}" for c in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def draw_array(branch: Tree, array: zarrcore.Array) -> int:
    """Read a whole array and add a summary of it; return its size in bytes."""
    values = array[...]
    branch.add(Text(summarise(values), style="green"))
    return int(np.asarray(values).nbytes)


def draw(node: Any, branch: Tree) -> tuple[int, int]:
    """Add a node and what is below it; returns the number of arrays and of bytes."""
    if isinstance(node, zarrcore.Array):
        return 1, draw_array(branch, node)
    arrays = nbytes = 0
    for name, child in sorted(node.members(), key=lambda member: member[0]):
        is_array = isinstance(child, zarrcore.Array)
        label = Text(name, style="bold").append(f"  {describe(child)}" if is_array else "/", style="not bold")
        count, size = draw(child, branch.add(label))
        arrays, nbytes = arrays + count, nbytes + size
    return arrays, nbytes


def draw_hierarchy(place: Path, title: str, writer: str) -> tuple[Tree, int, int]:
    """One hierarchy as a tree, with the number of its arrays and bytes."""
    node = open_hierarchy(place)
    try:
        label = Text(title, style="bold cyan")
        label.append(f"  format {node.metadata.zarr_format}, {writer}", style="not bold dim")
        tree = Tree(label)
        branch = tree
        if isinstance(node, zarrcore.Array):
            branch = tree.add(describe(node))
        return tree, *draw(node, branch)
    finally:
        node.store.close()


def show_all(console: Console, root: Path) -> bool:
    """Draw everything below `root`; False if something could not be read."""
    if not root.is_dir():
        console.print(f"There is no directory {root}: nothing to show.", style="yellow")
        return True
    writers = read_writers(root)
    start, failed, skipped, hierarchies, arrays, nbytes = time.perf_counter(), 0, 0, 0, 0, 0
    for place in find_hierarchies(root):
        title = place.relative_to(root).as_posix()
        hierarchies += 1
        try:
            tree, count, size = draw_hierarchy(place, title, writer_of(place, writers))
        except Exception as error:  # one broken data set must not hide the others
            optional = isinstance(error, UnknownCodecError) and find_spec("numcodecs") is None
            skipped, failed = skipped + optional, failed + (not optional)
            style = "yellow" if optional else "bold red"
            console.print(Text(f"{title}: {type(error).__name__}: {error}", style=style))
        else:
            arrays, nbytes = arrays + count, nbytes + size
            console.print(tree)
    seconds = time.perf_counter() - start
    console.print(
        f"{arrays} arrays ({nbytes / 1024:.0f} KiB) in {hierarchies} hierarchies read in {seconds:.2f} s, "
        f"{failed} failed, {skipped} skipped",
        style="bold red" if failed else "bold",
    )
    return failed == 0
