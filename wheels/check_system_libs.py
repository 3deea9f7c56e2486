# SPDX-License-Identifier: MIT
"""Build zarrcore on the blosc, zstd, lz4 and zlib of a distribution, as its packages do, and test that build.

The packages of Debian are unpacked into a directory, not installed, so that no other build here finds them.
Without apt-get, or where no package can be downloaded, it prints that nothing was tried.

    check_system_libs.py DIRECTORY
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("libblosc", "libzstd", "liblz4-", "zlib1g", "libsnappy")
WANTED = ("libblosc-dev", "libzstd-dev", "liblz4-dev", "zlib1g-dev")
TESTS = (
    "tests/kernels/test_compression.py",
    "tests/engine/test_native_array.py",
    "tests/unit/codecs/test_v2_codecs.py",
)
ORIGIN = "import zarrcore; print('built on', zarrcore.show_config(mode='dicts')['libraries'])"


def wanted() -> list[str]:
    """Return the packages of the four libraries, and those that they need, in this release of Debian."""
    command = ["apt-cache", "depends", "--recurse", "--important", *WANTED]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted({line for line in found.splitlines() if line.startswith(PACKAGES)})


def unpack(packages: list[str], directory: Path) -> Path:
    """Download packages and unpack them below a directory; return the root of their file tree."""
    root, archives = directory / "root", directory / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    download = ["apt-get", "-qq", "download", *packages]
    subprocess.run(download, cwd=archives, check=True, stderr=subprocess.PIPE)
    for archive in archives.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", str(archive), str(root)], check=True)
    return root


def environment(root: Path) -> dict[str, str]:
    """Return variables with which builds find the unpacked libraries and no others."""
    folders = sorted({str(path.parent) for path in root.rglob("lib*.so*")})
    found = sorted({str(path.parent) for path in root.rglob("*.pc")})
    return os.environ | {
        "PKG_CONFIG_LIBDIR": ":".join(found),
        "PKG_CONFIG_SYSROOT_DIR": str(root),
        "LD_LIBRARY_PATH": ":".join(folders),
        "ZARRCORE_LIBS": "system",
        "ZARRCORE_DEFLATE": "off",
        "ZARRCORE_ZSTD": "off",
        "MAKEFLAGS": "",  # what runs this has handed no jobs on
    }


def flags(option: str, env: dict[str, str]) -> str:
    command = [sys.executable, str(ROOT / "wheels" / "native_libs.py"), option]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()


def run(command: list[str], env: dict[str, str]) -> None:
    print(shlex.join(command), flush=True)
    subprocess.run(command, cwd=ROOT, env=env, check=True)


def check(directory: Path, env: dict[str, str]) -> None:
    """Build and test the library for C, with its assertions, then the package, as it is released."""
    native = [f"NATIVE_CFLAGS={flags('--cflags', env)}", f"NATIVE_LIBS={flags('--libs', env)}"]
    places = [f"BUILD={directory / 'csrc'}", f"PREFIX={directory / 'lib'}", "DEBUG=1"]
    jobs = f"-j{len(os.sched_getaffinity(0))}"
    run(["make", "-s", "-k", jobs, "-C", "csrc", "check", "lib", *places, *native], env)
    package = directory / "package"
    run([sys.executable, "setup.py", "--quiet", "build", "--build-lib", str(package)], env)
    env = env | {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(package)}
    run([sys.executable, "-c", ORIGIN], env)
    run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS], env)


def main(directory: Path) -> None:
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        print("system's libraries: not tried, this is no Debian")
        return
    shutil.rmtree(directory / "root", ignore_errors=True)
    try:
        root = unpack(wanted(), directory)
    except subprocess.CalledProcessError as error:
        print(f"system's libraries: not tried, Debian's packages cannot be downloaded: {error}")
        return
    check(directory, environment(root))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
