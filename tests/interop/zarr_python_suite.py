# SPDX-License-Identifier: MIT
"""Run zarr-python's own tests of arrays, codecs and selections with the codec pipeline of zarrcore.

Called by ``make zarr-python-suite``, in an environment of its own, with a directory and arguments for pytest.
The tests come from the sdist of the release that is installed, and stay in that directory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import version
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = (
    "test_codec_pipeline.py test_indexing.py test_array.py test_resize.py test_codecs test_config.py "
    "test_pipeline_parity.py test_codec_pipeline_suite.py test_fastpath_equivalence.py test_group.py"
).split()
SHARDING = "tests/test_codecs/test_sharding.py"
# The order of the inner chunks in a shard, which no specification has and no reader depends on.
LEFT_OUT = [f"{SHARDING}::test_encoded_subchunk_write_order[morton]"]
# They replace a method inside of zarr-python's own sharding codec, and look whether it is called.
LEFT_OUT += [
    f"{SHARDING}::test_sharding_partial_shard_read__index_chunk_slice_fails[{where}]"
    for where in map("-".join, product(("local", "memory", "zip"), ("start", "end")))
]


def tests_of(release: str, home: Path) -> Path:
    """Return the directory of the unpacked sdist, which is brought if it is not there."""
    source = home / f"zarr-{release}"
    if not source.exists():
        command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--no-binary", "zarr"]
        subprocess.run([*command, f"zarr=={release}", "-d", str(home)], check=True)
        with tarfile.open(home / f"zarr-{release}.tar.gz") as archive:
            archive.extractall(home, filter="data")
    return source


def declare_entry_points(home: Path) -> Path:
    """Return a directory in which zarr-python finds the entry points that this package declares."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    place = home / "declared" / "zarrcore_declared-0.dist-info"
    place.mkdir(parents=True, exist_ok=True)
    (place / "METADATA").write_text("Metadata-Version: 2.1\nName: zarrcore-declared\nVersion: 0\n")
    groups = {group: "\n".join(f"{k} = {v}" for k, v in found.items()) for group, found in declared.items()}
    (place / "entry_points.txt").write_text("".join(f"[{name}]\n{text}\n" for name, text in groups.items()))
    return place.parent


def main() -> int:
    """Run the tests; the exit status is that of pytest."""
    home = Path(sys.argv[1]).resolve()
    source = tests_of(version("zarr"), home)
    paths = [str(ROOT), str(declare_entry_points(home))]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "ZARR_CODEC_PIPELINE__PATH": "zarrcore.integrations.zarr_python.CodecPipeline",
    }
    arguments = sys.argv[2:] or ["-n", str(os.cpu_count() or 1), *(f"tests/{name}" for name in TESTS)]
    arguments += [f"--deselect={name}" for name in LEFT_OUT]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not gpu"]
    return subprocess.run([*command, *arguments], cwd=source, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
