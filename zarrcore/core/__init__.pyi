# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.core import (
    array as array, array_spec as array_spec, buffer as buffer, chunk_grids as chunk_grids,
    chunk_key_encodings as chunk_key_encodings, codec_pipeline as codec_pipeline, common as common,
    config as config, dtype as dtype, group as group, indexing as indexing, metadata as metadata,
    sync as sync, sync_group as sync_group,
)

__all__: list[str]
