# SPDX-License-Identifier: MIT
"""Sizes that do not fit into memory, or into a number: an error, never memory that is too small."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import zarrcore
from zarrcore.errors import ChunkMemoryError

limits_memory = pytest.mark.skipif(
    "san" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer needs memory itself"
)

BLOSC = {"clevel": 5, "shuffle": "shuffle", "typesize": 8}
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}


def document(shape: list[int], edges: list[Any] | None = None, **more: Any) -> bytes:
    """zarr.json of an array with chunks of these lengths, or with one chunk."""
    grid: dict[str, Any] = {"name": "regular", "configuration": {"chunk_shape": shape}}
    if edges is not None:
        grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": edges}}
    return json.dumps(
        {
            "zarr_format": 3,
            "node_type": "array",
            "shape": shape,
            "data_type": "int8",
            "chunk_grid": grid,
            "chunk_key_encoding": {"name": "default"},
            "fill_value": 0,
            "codecs": [BYTES],
            **more,
        }
    ).encode()


def limited(program: str, limit: int) -> subprocess.CompletedProcess[str]:
    """Run a program in a process that may have that much memory."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


HUGE = (1 << 62) + 32


def test_a_few_elements_of_2_to_the_62() -> None:
    """Any step that selects more than one element of a chunk makes a list of chunks."""
    store = {"zarr.json": document([HUGE], [[[1 << 46, (1 << 16) + 1]]])}
    array = zarrcore.open_array(store)
    got = array[:: 1 << 45]
    assert got.shape == ((1 << 17) + 1,) and not got.any()


WRITES = """
    import sys, zarrcore
    array = zarrcore.open_array({{"zarr.json": {document!r}}})
    try:
        {statement}
    except (MemoryError, zarrcore.errors.BaseZarrError) as error:
        print(type(error).__name__, error)
    print("alive")
"""


@limits_memory
@pytest.mark.parametrize(
    "statement", ["array[::2] = 1", "array.with_cache(1 << 20).prefetch(slice(None, None, 2)).wait()"]
)
def test_half_of_an_array_that_no_memory_holds_is_no_crash(statement: str) -> None:
    """The number of elements times 8 bytes is more than a size_t holds."""
    program = WRITES.format(document=document([HUGE], [[[1 << 46, (1 << 16) + 1]]]), statement=statement)
    done = limited(program, 8 << 30)
    assert (done.returncode, done.stdout.split()[-1:]) == (0, ["alive"]), done.stderr


@limits_memory
@pytest.mark.parametrize("edges", [None, [[[1 << 26, 4]]]], ids=["regular", "rectilinear"])
def test_a_list_of_chunks_takes_as_much_memory_as_there_are_chunks(edges: Any) -> None:
    """Not 8 bytes for each of the 2**27 elements that lie in four of them."""
    more = {} if edges else {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 26]}}}
    program = f"""
        import zarrcore
        array = zarrcore.open_array({{"zarr.json": {document([1 << 28], edges, **more)!r}}})
        print(array[::2].nbytes)
    """
    done = limited(program, 1200 << 20)
    assert done.stdout.split() == [str(1 << 27)], done.stderr


@pytest.mark.parametrize("ndim", [20, 33, 64])
@pytest.mark.parametrize("shards", [False, True])
def test_lists_in_many_dimensions(ndim: int, shards: bool) -> None:
    shape = (3, 2) + (1,) * (ndim - 2)
    array = zarrcore.create_array(
        {}, shape=shape, chunks=(1,) * ndim, shards=shape if shards else None, dtype="i4"
    )
    array[...] = np.arange(6).reshape(shape)
    lists = ([2, 0, 2], [1, 0], *([[0]] * (ndim - 2)))
    assert array.oindex[lists].ravel().tolist() == [5, 4, 1, 0, 5, 4]


SCARCE = """
    import resource, sys
    import numpy as np
    import zarrcore
    from zarrcore.errors import BaseZarrError

    array = zarrcore.create_array({{}}, **{options!r})
    values = np.arange(array.size, dtype=array.dtype).reshape(array.shape)
    array[...] = values
    refused = 0
    for extra in range(0, {most}, {step}):
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + extra, -1))
        try:
            array.write(..., values, threads={threads})
            array.read(threads={threads})
        except (MemoryError, BaseZarrError):
            refused += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    assert np.array_equal(array[...], values)
    print("refused", refused > 0)
"""


@limits_memory
@pytest.mark.skipif(sys.platform != "linux", reason="says how much memory is used in /proc")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {"compressors": {"name": "blosc", "configuration": BLOSC | {"cname": "lz4", "blocksize": 0}}},
        {"compressors": {"name": "blosc", "configuration": BLOSC | {"cname": "zstd", "blocksize": 65536}}},
        {"compressors": {"name": "zstd", "configuration": {"level": 3}}},
        {"compressors": None},
    ],
    ids=["blosc", "blosc blocks", "zstd", "raw"],
)
def test_memory_that_runs_out_is_an_error_and_no_crash(options: dict[str, Any], threads: int) -> None:
    """More of it is left each time; libraries, and Python on the threads of the pool, ask for some too."""
    options = {"shape": 1 << 19, "chunks": 1 << 18, "dtype": "f8", **options}
    program = SCARCE.format(options=options, threads=threads, most=9 << 20, step=1 << 16)
    done = limited(program, resource.RLIM_INFINITY)
    assert (done.returncode, done.stdout) == (0, "refused True\n"), done.stderr[-3000:]


@pytest.mark.parametrize("call", ["read", "write"])
def test_too_little_memory_for_a_chunk_of_a_codec_in_python_names_it(call: str) -> None:
    """It was a MemoryError without a word."""
    store = zarrcore.storage.MemoryStore()
    encoding = {"name": "fanout", "configuration": {"max_children": 1001}}  # whose keys only Python knows
    array = zarrcore.create_array(
        store, data=np.arange(1, 17, dtype="i4"), chunks=4, chunk_key_encoding=encoding
    )
    stored = json.loads(bytes(store.get("zarr.json") or b""))
    stored["chunk_grid"]["configuration"]["chunk_shape"] = [2**55]
    store.set("zarr.json", json.dumps(stored).encode())
    array = zarrcore.open_array(store)
    with pytest.raises(ChunkMemoryError, match=r"array '/', chunk \(0,\), key 'c/"):
        array[...] if call == "read" else array.__setitem__(0, 1)


NOTHING_LEFT = """
    import _testcapi, faulthandler
    import numpy as np
    import zarrcore
    from zarrcore.storage import MemoryStore, WrapperStore

    class Users(WrapperStore):
        "A store that is called from C."

    faulthandler.enable()
    array = zarrcore.create_array(Users(MemoryStore()), shape=8, chunks=4, dtype="i4", compressors=None)
    values, failures = np.arange(8, dtype="i4"), 0
    array.write(..., values, threads=1)
    for first in range(150):
        for n in range(1, 4):
            try:
                _testcapi.set_nomemory(first, first + n)
                array.write(..., values, threads=1)
            except BaseException:
                _testcapi.remove_mem_hooks()
                failures += 1
            _testcapi.remove_mem_hooks()
    array.write(..., values, threads=1)
    assert array[:].tolist() == values.tolist() and failures > 10
"""


@limits_memory
def test_an_exception_whose_traceback_found_no_memory_is_no_crash() -> None:
    """What Cython generates released the traceback of an exception that has none."""
    pytest.importorskip("_testcapi")
    done = limited(NOTHING_LEFT, resource.RLIM_INFINITY)
    assert done.returncode == 0, done.stderr
