"""dask on zarrcore: see :mod:`zarrcore.integrations.dask`."""

from zarrcore.integrations.dask import from_zarr, to_zarr

__all__ = ["from_zarr", "to_zarr"]
