# SPDX-License-Identifier: MIT
"""Copies of zstd, lz4 and blosc side by side: each package uses its own and reads the others' data."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap

import pytest

PACKAGES = ("zarrcore._core.engine", "numcodecs", "blosc", "tensorstore")

# Run in a process of its own: argv holds the flags for dlopen, then the packages in the order of import.
PROGRAM = textwrap.dedent(
    """
    import importlib, sys, threading

    if int(sys.argv[1]):
        sys.setdlopenflags(int(sys.argv[1]))
    import numpy as np
    modules = {name: importlib.import_module(name) for name in sys.argv[2:]}

    data = np.arange(50_000, dtype="<u4") // 16
    raw = data.tobytes()
    engine = modules["zarrcore._core.engine"]
    ZSTD = ("zstd", {"level": 3, "checksum": True})
    BLOSC = ("blosc", {"cname": "zstd", "clevel": 5, "shuffle": 1, "typesize": 4, "blocksize": 0})

    def check_zarrcore():
        for name, options in (ZSTD, BLOSC, ("gzip", {"level": 5}), ("lz4", {"acceleration": 1})):
            encoded = engine.encode_bytes(name, options, raw)
            assert len(encoded) < len(raw), name
            assert engine.decode_bytes(name, options, encoded, len(raw)) == raw, name

    def check_numcodecs():
        numcodecs = modules["numcodecs"]
        for (name, options), codec in ((ZSTD, numcodecs.Zstd(3)), (BLOSC, numcodecs.Blosc("zstd", 5, 1))):
            assert bytes(codec.decode(engine.encode_bytes(name, options, raw))) == raw, name
            assert engine.decode_bytes(name, options, codec.encode(data), len(raw)) == raw, name

    def check_blosc():
        blosc = modules["blosc"]
        assert blosc.decompress(engine.encode_bytes(*BLOSC, raw)) == raw
        assert engine.decode_bytes(*BLOSC, blosc.compress(raw, 4, cname="zstd"), len(raw)) == raw

    def check_tensorstore():
        codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}]
        spec = {"driver": "zarr3", "kvstore": "memory://", "metadata": {"codecs": codecs}}
        store = modules["tensorstore"].open(spec, create=True, dtype="uint32", shape=data.shape).result()
        store.write(data).result()
        assert np.array_equal(store.read().result(), data)

    checks = [globals()["check_" + name.partition(".")[0]] for name in modules]
    failures = []

    def run_all():
        try:
            for check in checks * 2:
                check()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=run_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    print("checked", len(checks))
    """
)


def installed() -> list[str]:
    return [name for name in PACKAGES if importlib.util.find_spec(name) is not None]


@pytest.mark.parametrize("visibility", ["local", "global"])
@pytest.mark.parametrize("order", ["zarrcore first", "zarrcore last"])
def test_round_trips_beside_other_packages(order: str, visibility: str) -> None:
    if visibility == "global" and not hasattr(os, "RTLD_GLOBAL"):
        pytest.skip("this platform has no RTLD_GLOBAL")
    names = installed()
    assert names[0] == PACKAGES[0], "zarrcore is not built"
    if len(names) == 1:
        pytest.skip("none of numcodecs, blosc, tensorstore is installed")
    if order == "zarrcore last":
        names.reverse()
    flags = os.RTLD_NOW | os.RTLD_GLOBAL if visibility == "global" else 0
    command = [sys.executable, "-c", PROGRAM, str(flags), *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["checked", str(len(names))]
