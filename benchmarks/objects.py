# SPDX-License-Identifier: MIT
"""How near decoding strings and bytes comes to the cost of their Python objects.

    python -m benchmarks.objects [ROUNDS]

Times are CPU nanoseconds for an item, freeing it included: of a bare loop in C over CPython's own functions
(floor/objects.c), of zarrcore's codecs and of those of numcodecs, each the median over rounds in turns.  What
repeats need not be made again, so that zarrcore can be faster than the loop.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from statistics import median

import numcodecs
import numpy as np

from benchmarks.datasets import titles, words
from benchmarks.floor import HERE, LIBRARY
from zarrcore.codecs import vlen

_ITEMS = 400_000


def bare_loop() -> ctypes.PyDLL:
    """The loop, compiled for the running interpreter."""
    library = LIBRARY.with_name("objects.so")
    library.parent.mkdir(parents=True, exist_ok=True)
    include = f"-I{sysconfig.get_paths()['include']}"
    source = str(HERE / "objects.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", include, source, "-o", str(library)], check=True)
    loaded = ctypes.PyDLL(str(library))
    loaded.make_objects.argtypes = [ctypes.c_char_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    return loaded


def _seconds(call: Callable[[], object]) -> float:
    start = time.thread_time()
    call()  # the result is dropped here
    return time.thread_time() - start


def compare(name: str, texts: np.ndarray, library: ctypes.PyDLL, rounds: int) -> str:
    """A line of the table."""
    as_bytes = name.endswith("bytes")
    peer = numcodecs.VLenBytes() if as_bytes else numcodecs.VLenUTF8()
    items = np.empty(texts.size, object)
    items[:] = [text.encode() for text in texts.tolist()] if as_bytes else texts.tolist()
    encoded = bytes(peer.encode(items))

    def loop() -> np.ndarray:
        made = np.empty(items.size, object)
        if library.make_objects(encoded, made.size, not as_bytes, made.ctypes.data):
            raise MemoryError
        return made

    def ours() -> np.ndarray:
        decode = vlen.decode_binary if as_bytes else _decode_strings
        return decode(encoded, items.size, "")

    ways = (loop, ours, lambda: peer.decode(encoded))
    if any(way().tolist() != items.tolist() for way in ways):
        raise SystemExit(f"{name}: results differ")
    taken = [[_seconds(way) / items.size * 1e9 for way in ways] for _ in range(rounds)]
    bare, own, theirs = (median(times) for times in zip(*taken, strict=True))
    return f"{name:28} {bare:7.1f} {own:7.1f} {theirs:7.1f}   {theirs / own:5.2f}x  {theirs / bare:5.2f}x"


def _decode_strings(encoded: bytes, count: int, codec: str) -> np.ndarray:
    return vlen.decode_strings(encoded, count, np.dtype(object), codec)


def main(rounds: int = 9) -> None:
    """Print the table."""
    library = bare_loop()
    different = np.array([text.replace("ü", "u").replace("ä", "a") for text in titles(_ITEMS).tolist()])
    print(f"{'':28} {'loop':>7} {'zarrcore':>7} {'numcodecs':>7}  faster, and the loop would be")
    for name, texts in (("words", words(_ITEMS)), ("all different", different)):
        for kind in ("str", "bytes"):
            print(compare(f"{name}, {kind}", texts, library, rounds), flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
