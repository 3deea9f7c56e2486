"""Training data for torch: see :mod:`zarrcore.integrations.torch`."""

from zarrcore.integrations.torch import MapDataset, ShuffledDataset

__all__ = ["MapDataset", "ShuffledDataset"]
