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
    from importlib.metadata import PackageNotFoundError, version

    from zarrcore.show import show_config

    print(f"platform: {platform.platform()}")
    print(f"python: {platform.python_version()}")
    built = show_config(mode="dicts")
    print(f"zarrcore: {built['version']}")
    for name, linked in built["libraries"].items():
        print(f"{name} (linked): {linked or 'not built in'}")
    for name in ("numpy", "numcodecs", "zarr", "fsspec", "obstore", "h5py", "xarray", "dask"):
        try:
            print(f"{name}: {version(name)}")
        except PackageNotFoundError:
            print(f"{name}: not installed")
