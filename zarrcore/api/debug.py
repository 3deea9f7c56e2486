"""Information for reports of faults."""

from __future__ import annotations


def print_debug_info() -> None:
    """Print versions of the interpreter, of this package and of what it works with.

    Examples
    --------
    >>> zarrcore.print_debug_info()
    platform: ...
    python: ...
    zarrcore: ...
    """
    import platform

    from zarrcore.show import show_config

    print(f"platform: {platform.platform()}")
    print(f"python: {platform.python_version()}")
    built = show_config(mode="dicts")
    print(f"zarrcore: {built['version']}")
    for name, linked in built["libraries"].items():
        print(f"{name} (linked): {linked or 'not built in'}")
    found = _installed()
    for name in ("numpy", "numcodecs", "zarr", "fsspec", "obstore", "h5py", "xarray", "dask"):
        print(f"{name}: {found[name] or _version_of(name) if name in found else 'not installed'}")


def _installed() -> dict[str, str]:
    """Return the versions of installed packages, as the names of the directories of their metadata have them.

    importlib.metadata looks there, too, and takes longer to import than all that zarrcore needs to answer.
    """
    import os
    import sys

    found: dict[str, str] = {}
    for directory in sys.path:
        try:
            entries = os.listdir(directory or ".")
        except OSError:  # such as an archive of the standard library
            continue
        for entry in entries:
            stem, _, kind = entry.rpartition(".")
            name, _, version = stem.partition("-")
            if kind in ("dist-info", "egg-info"):
                found.setdefault(name.lower(), version.partition("-py")[0])
    return found


def _version_of(name: str) -> str:
    """Return what the metadata say, where the name of their directory does not."""
    from importlib.metadata import version

    return version(name)
