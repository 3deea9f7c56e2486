"""What PyInstaller does not see: modules that are loaded by their names, and those that are compiled.

What imports other packages (xarray, dask, torch, zarr-python) comes as plain files, so that those are in a
bundle only if the program itself imports them.
"""

from __future__ import annotations

from PyInstaller.utils.hooks import collect_data_files, collect_submodules, copy_metadata

_OF_OTHERS = ("zarrcore.integrations", "zarrcore.testing")
_WITH_OTHERS = ("zarrcore.dask", "zarrcore.torch", "zarrcore.xarray", "zarrcore.__main__")

hiddenimports = [
    name
    for name in collect_submodules("zarrcore", filter=lambda name: not name.startswith(_OF_OTHERS))
    if name not in _WITH_OTHERS
]
datas = collect_data_files(
    "zarrcore",
    include_py_files=True,
    includes=["integrations/**/*.py", "dask.py", "torch.py", "xarray.py"],
)
datas += copy_metadata("zarrcore")  # has the entry points by which xarray and zarr-python find us
