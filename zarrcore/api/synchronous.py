"""The functions at the top of the package, with the names, parameters and defaults of zarr-python 3."""

from __future__ import annotations

from zarrcore._lazy import attach
from zarrcore.api import HOMES

__all__, __getattr__, __dir__ = attach(__name__, HOMES, package="zarrcore.api")
