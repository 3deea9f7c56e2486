"""Write and read one large array with more and more threads, and check every byte that comes back."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

import zarrcore
from zarrcore.codecs import BloscCodec, ZstdCodec

MIB = 1 << 20
WANTED = 512 * MIB
ROUNDS = 3  # the best counts: other programs only ever make a round slower
DEPTH, SIDE = 16, 2048  # of a slab: a stack of images
INNER_CHUNK, SHARD = (4, 256, 256), (16, 1024, 1024)
COMPRESSORS: dict[str, Any] = {
    "blosc": BloscCodec(cname="lz4", clevel=5, shuffle="bitshuffle"),
    "zstd": ZstdCodec(level=1),
    "none": None,
}


@dataclass(frozen=True)
class Row:
    """What was measured with one number of threads; bytes per second in memory, not in the store."""

    threads: int
    written: float
    read: float


def available_cpus() -> int:
    """Processors that this process may use."""
    from zarrcore._core.engine import available_cpus as cpus

    return cpus()


def thread_counts(most: int) -> list[int]:
    """1, 2, 3, 4 and so on; only powers of two where there are many."""
    if most <= 4:
        return list(range(1, most + 1))
    return sorted({1 << k for k in range(most.bit_length()) if 1 << k <= most} | {most})


def default_size(directory: str) -> int:
    """512 MiB, or less where memory (for two copies) or disk is short."""
    return max(DEPTH * MIB, min(WANTED, free_memory() // 6, shutil.disk_usage(directory).free // 4))


def free_memory() -> int:
    """Return the bytes of memory available; a guess where the system does not report it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return 4 * WANTED


def image_stack(size: int) -> np.ndarray:
    """About `size` bytes of 16-bit images: smooth structures with the noise of a camera."""
    # A small stack keeps the side: the rows are what shrinks, by whole chunks.
    rows = min(SIDE, max(256, size // (DEPTH * SIDE * 2) // 256 * 256))
    slabs = max(1, round(size / (DEPTH * rows * SIDE * 2)))
    y, x = np.ogrid[:rows, :SIDE]
    smooth = 2000 + 900 * np.sin(x / 97) * np.cos(y / 61) + x / 4
    noise = np.random.default_rng(7).normal(0, 6, (rows, SIDE))
    image = (smooth + noise).astype(np.uint16)
    stack = np.empty((slabs * DEPTH, rows, SIDE), np.uint16)
    for z in range(len(stack)):
        np.add(np.roll(image, 3 * z, axis=0), np.uint16(z), out=stack[z])
    return stack


def timed(stack: np.ndarray, work: Callable[[slice], None], advance: Callable[[int], None]) -> float:
    """Bytes per second of `work` on slab after slab."""
    seconds = 0.0
    for first in range(0, len(stack), DEPTH):
        region = slice(first, first + DEPTH)
        start = time.perf_counter()
        work(region)
        seconds += time.perf_counter() - start
        advance(stack[region].nbytes)
    return stack.nbytes / seconds


def measure_one(
    directory: str,
    stack: np.ndarray,
    out: np.ndarray,
    *,
    threads: int,
    codec: str,
    advance: Callable[[int], None],
) -> tuple[Row, int]:
    """Write and read with one number of threads; returns the rates and the bytes stored.

    Raises
    ------
    ValueError
        If what was read is not what was written.
    """
    whole_chunks = (
        -(-length // chunk) * chunk for length, chunk in zip(stack.shape, INNER_CHUNK, strict=True)
    )
    array = zarrcore.create_array(
        f"{directory}/stack-{threads}.zarr",
        shape=stack.shape,
        dtype=stack.dtype,
        chunks=INNER_CHUNK,
        shards=tuple(map(min, SHARD, whole_chunks)),
        compressors=COMPRESSORS[codec],
    )

    def write(region: slice) -> None:
        array.write(region, stack[region], threads=threads)

    def read(region: slice) -> None:
        array.read(region, out=out[region], threads=threads)

    written = max(timed(stack, write, advance) for _ in range(ROUNDS))
    out.fill(0)
    best = max(timed(stack, read, advance) for _ in range(ROUNDS))
    if not np.array_equal(out, stack):
        raise ValueError(f"with {threads} threads, {np.count_nonzero(out != stack)} elements came back wrong")
    stored = array.nbytes_stored()
    shutil.rmtree(f"{directory}/stack-{threads}.zarr")
    return Row(threads, written, best), stored


def progress_bar(console: Console) -> Progress:
    """A bar that shows what is being done; nothing but its result where the output is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(
        *columns, console=console, transient=True, refresh_per_second=4, disable=not console.is_terminal
    )


def table_of(rows: Sequence[Row], title: str) -> Table:
    """Rates and speed-ups against one thread."""
    table = Table(title=title, title_justify="left")
    for heading in ("threads", "write MiB/s", "speed-up", "read MiB/s", "speed-up"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            str(row.threads),
            f"{row.written / MIB:,.0f}",
            f"{row.written / rows[0].written:.2f}x",
            f"{row.read / MIB:,.0f}",
            f"{row.read / rows[0].read:.2f}x",
        )
    return table


def measure(console: Console, directory: str, *, size: int, codec: str, threads: Sequence[int]) -> bool:
    """Measure, compare and show; False if what was read is not what was written."""
    stack = image_stack(size)
    out = np.zeros_like(stack)
    rows: list[Row] = []
    stored = 0
    console.print(
        f"{stack.dtype} {stack.shape}, {stack.nbytes / MIB:.0f} MiB, codec {codec}, "
        f"chunks {INNER_CHUNK} in shards of at most {SHARD};\nthe best of {ROUNDS} rounds"
    )
    with progress_bar(console) as progress:
        task = progress.add_task("", total=2 * ROUNDS * len(threads) * stack.nbytes)
        for count in threads:
            progress.update(task, description=f"{count} thread{'s' * (count > 1)}")
            try:
                row, stored = measure_one(
                    directory,
                    stack,
                    out,
                    threads=count,
                    codec=codec,
                    advance=lambda n: progress.advance(task, n),
                )
            except ValueError as error:
                console.print(str(error), style="bold red")
                return False
            rows.append(row)
    console.print(table_of(rows, "Every element came back as it was written"))
    console.print(
        f"Stored: {stored / MIB:.0f} MiB, {stack.nbytes / stored:.2f} times smaller.  Files just written\n"
        "are still in memory, so reading shows the speed of decoding, not of the disk.",
        style="dim",
    )
    cpus = available_cpus()
    if max(threads) > cpus:
        console.print(f"There are {cpus} processor(s) here: more threads cannot help.", style="yellow")
    return True
