# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.integrations.zarr_python.accelerated import (
    Acceleration as Acceleration, accelerate as accelerate,
)
from zarrcore.integrations.zarr_python.engines import (
    ArrayEngine as ArrayEngine, AsyncArrayEngine as AsyncArrayEngine,
    AsyncHierarchyEngine as AsyncHierarchyEngine, HierarchyEngine as HierarchyEngine,
)
from zarrcore.integrations.zarr_python.objects import (
    ZarrcoreStore as ZarrcoreStore, as_zarr as as_zarr, from_zarr as from_zarr,
)
from zarrcore.integrations.zarr_python.pipeline import CodecPipeline as CodecPipeline

__all__: list[str]
