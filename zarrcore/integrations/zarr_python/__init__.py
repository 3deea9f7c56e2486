"""zarrcore under unchanged code for zarr-python: a codec pipeline for its arrays, and objects of both."""

from __future__ import annotations

from zarrcore._lazy import attach

HOMES = {
    "accelerated": "Acceleration accelerate",
    "engines": "ArrayEngine AsyncArrayEngine AsyncHierarchyEngine HierarchyEngine",
    "objects": "ZarrcoreStore as_zarr from_zarr",
    "pipeline": "CodecPipeline",
}

__all__, __getattr__, __dir__ = attach(__name__, HOMES)
