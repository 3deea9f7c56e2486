"""What is exchanged with other implementations of Zarr: rows, arrays, peers, and what these cannot do."""
