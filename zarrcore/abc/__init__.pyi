# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.abc import (
    buffer as buffer, codec as codec, metadata as metadata, numcodec as numcodec, store as store,
)

__all__: list[str]
