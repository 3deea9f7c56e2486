"""Names that zarr-python's user guide imports from ``zarr.core``; in zarrcore they have better places."""
