"""Base classes of the extension points, under the names that zarr-python uses."""
