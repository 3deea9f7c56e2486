"""xarray on zarrcore: see :mod:`zarrcore.integrations.xarray`."""

from zarrcore.integrations.xarray import ZarrcoreBackendEntrypoint, ZarrcoreStore, install, load, to_zarr

__all__ = ["ZarrcoreBackendEntrypoint", "ZarrcoreStore", "install", "load", "to_zarr"]
