# SPDX-License-Identifier: MIT
"""Run the tests of what stands under zarr-python with older releases of it.

Called by ``make zarr-python-versions`` with a directory for an environment of each release, and arguments
for pytest.  The newest release is in the environment of all other tests.  The exit status is 0 if all pass.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from zarr_python_suite import ROOT, declare_entry_points

RELEASES = ("3.1.0", "3.1.6", "3.2.1", "3.3.0")  # the first, and the last of each line
NEEDED = ("fsspec", "hypothesis", "ml_dtypes", "numpy", "obstore", "pytest", "pytest-timeout", "pytest-xdist")
UNIT = "tests/unit/integrations"
TESTS = (
    f"{UNIT}/test_zarr_python_pipeline.py {UNIT}/test_accelerate.py {UNIT}/test_zarr_python_engines.py "
    f"{UNIT}/test_zarr_python_objects.py {UNIT}/test_zarr_python_data_types.py "
    f"{UNIT}/test_zarr_python_extensions.py {UNIT}/test_zarr_python_threads.py "
    "tests/unit/storage/test_store_zarr_python.py"
).split()


def environment(home: Path, release: str) -> Path:
    """Return the interpreter of the environment with a release, which is made if it is not there."""
    place = home / f"zarr-{release}"
    python, done = place / "bin" / "python", place / ".complete"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(place)], check=True)
        install = [str(python), "-m", "pip", "install", "-qq", "--only-binary", ":all:"]
        subprocess.run([*install, f"zarr=={release}", *NEEDED], check=True)
        done.touch()
    return python


def main() -> int:
    """Run the tests with each release, and say how it went."""
    home = Path(sys.argv[1]).resolve()
    arguments = sys.argv[2:] or ["-n", str(os.cpu_count() or 1), *TESTS]
    failed = []
    for release in os.environ.get("RELEASES", "").split() or RELEASES:
        python = environment(home, release)
        paths = [str(ROOT), str(declare_entry_points(home / f"zarr-{release}"))]
        command = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        print(f"zarr-python {release}:", flush=True)
        where = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        if subprocess.run(command, cwd=ROOT, env=where, check=False).returncode:
            failed.append(release)
    print("failed with", *failed) if failed else print("all pass with each release")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
