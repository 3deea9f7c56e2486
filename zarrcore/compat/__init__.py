"""Names that zarr-python has and zarrcore does not need; zarrcore.abc, buffer and others hand them on."""
