# SPDX-License-Identifier: MIT
"""Run dask's own tests of Zarr with zarrcore in the place of zarr-python.

Called by ``make dask-suite``, in an environment of its own, with a directory for the report.  The tests are
those of the installed dask.  The exit status is 0 if all pass that pass with zarr-python.
"""

from __future__ import annotations

import sys
from pathlib import Path

from xarray_suite import WAYS, passing


def run(home: Path, name: str, *options: str) -> set[str]:
    """Run the tests; return the names of those that pass."""
    tests = ["dask.array.tests.test_array_core"]
    warnings = ["-W", "error::dask.array.core.PerformanceWarning"]  # as dask's own settings have it
    return passing(home, name, "--tb=short", *warnings, *options, "-k", "zarr", tests=tests)


def main() -> int:
    """Run the tests with both; say which pass only with zarr-python."""
    home = Path(sys.argv[1]).resolve()
    (home / "zarrcore_by_place.py").write_text(WAYS["place"])
    theirs, ours = run(home, "dask-zarr"), run(home, "dask-zarrcore", "-p", "zarrcore_by_place")
    for name in sorted(theirs - ours):
        print("FAILED", name)
    print(f"{len(theirs)} pass with zarr-python, {len(theirs & ours)} of them with zarrcore")
    return int(not theirs or not theirs <= ours)


if __name__ == "__main__":
    sys.exit(main())
