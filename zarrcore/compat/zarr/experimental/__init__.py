"""What ``zarr.experimental`` is while zarrcore is in zarr-python's place."""
