"""What zarr-python calls experimental, under its names."""
