# SPDX-License-Identifier: MIT
"""Run xarray's own tests of its Zarr backend on zarrcore, beside those with zarr-python.

Called by ``make xarray-suite``, in an environment of its own, with a directory for the reports.  The tests
are those of the installed xarray.  They run after ``zarrcore.xarray.install()``, with zarr-python beside
it, and once more with zarrcore in the place of zarr-python.  The exit status is 0 if in each of the two ways
all pass that pass without zarrcore, but for those that MAY_FAIL there.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
WAYS = {
    "install": "import zarrcore.xarray\nzarrcore.xarray.install()\n",
    "place": "import zarrcore.compat\nzarrcore.compat.stand_in()\n",
}
MAY_FAIL = {
    "install": {
        "classes of zarr-python are patched, which zarrcore does not call": (
            "TestZarrDictStore.test_indexing[",
            "TestZarrDictStore.test_concurrent_load_multiple",
            "TestZarrDictStore.test_async_load_multiple",
            "TestZarrWriteEmpty.test_avoid_excess_metadata_calls",
        ),
        "zeros in format 2 without a fill value are stored: what an absent chunk holds is not defined": (
            "TestZarrDatatreeIO.test_to_zarr_compute_false[zarr_format=2]",
        ),
    },
    "place": {
        "a method is patched that zarr-python's synchronous group calls, and zarrcore's does not": (
            "TestZarrWriteEmpty.test_avoid_excess_metadata_calls",
        ),
        "zeros in format 2 without a fill value are stored: what an absent chunk holds is not defined": (
            "TestZarrDatatreeIO.test_to_zarr_compute_false[zarr_format=2]",
        ),
        "calls of a store are counted; opening an array from a group reads its document once more": (
            "TestInstrumentedZarrStore.test_append",
            "TestInstrumentedZarrStore.test_region_write",
        ),
    },
}


def run(home: Path, name: str, *options: str) -> set[str]:
    """Run the tests; return the names of those that pass."""
    tests = ["xarray.tests.test_backends", "xarray.tests.test_backends_datatree"]
    return passing(
        home, name, "--tb=no", "-n", str(os.cpu_count() or 1), *options, "-k", "Zarr or zarr", tests=tests
    )


def passing(home: Path, name: str, *options: str, tests: Iterable[str]) -> set[str]:
    """Run tests of installed packages, with settings of their own; return the names of those that pass."""
    (home / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore"]
    command += [f"--junit-xml={home / name}.xml", *options, "--pyargs", *tests]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(home)])}
    subprocess.run(command, cwd=home, env=environment, check=False)
    return set(_passed(home, name))


def _passed(home: Path, name: str) -> Iterator[str]:
    for case in ElementTree.parse(home / f"{name}.xml").iter("testcase"):
        if len(case) == 0:
            yield f"{case.get('classname')}.{case.get('name')}".lstrip(".")


def cause(way: str, name: str) -> str | None:
    """Return why a test may fail."""
    for reason, starts in MAY_FAIL[way].items():
        if any(re.search(rf"(^|\.){re.escape(start)}", name) for start in starts):
            return reason
    return None


def main() -> int:
    """Run the tests in all ways; say which pass without zarrcore alone."""
    home = Path(sys.argv[1]).resolve()
    without, ours, failed = run(home, "without"), set(), 0
    for way, plugin in WAYS.items():
        (home / f"zarrcore_by_{way}.py").write_text(plugin)
        found = run(home, way, "-p", f"zarrcore_by_{way}")
        lost, ours = without - found, ours | found
        print(f"{way}: {len(without & found)} of {len(without)} that pass without zarrcore")
        for name in sorted(lost):
            reason = cause(way, name)
            failed += reason is None
            print(
                "   ",
                "FAILED" if reason is None else "differs",
                name,
                *([reason] if reason else []),
                sep="  ",
            )
    print(f"{len(without & ours)} of {len(without)} pass in one of the two ways at least")
    return int(failed > 0 or not without)


if __name__ == "__main__":
    sys.exit(main())
