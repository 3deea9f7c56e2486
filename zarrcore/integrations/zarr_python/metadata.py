"""What this package knows of zarr-python: its releases, and metadata that both understand alike."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import zarr
from zarr.core.buffer import cpu

from zarrcore.metadata.common import ArrayMetadata
from zarrcore.metadata.parse import parse_v2_array, parse_v3_node

_FIRST, _LAST = (3, 1), (3, 4)  # releases whose contract is known


def release() -> tuple[int, ...]:
    """Return the first two numbers of the version of zarr-python."""
    return tuple(int(part) for part in zarr.__version__.split(".")[:2] if part.isdigit())


@cache
def is_known_release() -> bool:
    """Return whether zarr-python is of a release whose contract is known; warn once about others."""
    if _FIRST <= release() <= _LAST:
        return True
    warnings.warn(
        f"zarrcore knows zarr-python 3.1 to 3.4, not {zarr.__version__}, whose own code reads and writes",
        stacklevel=3,
    )
    return False


def translated_metadata(metadata: Any) -> ArrayMetadata:
    """Return the metadata of an array of zarr-python as those of this package, or raise an error."""
    documents = metadata.to_buffer_dict(cpu.buffer_prototype)
    if metadata.zarr_format == 2:
        return parse_v2_array(documents[".zarray"].to_bytes())
    found: Any = parse_v3_node(documents["zarr.json"].to_bytes())
    return found  # type: ignore[no-any-return]


def chunk_shape(metadata: Any) -> tuple[int, ...] | None:
    """Return the shape of all chunks; None if they differ."""
    if metadata.zarr_format == 2:
        return tuple(metadata.chunks)
    shape = getattr(metadata.chunk_grid, "chunk_shape", None)
    return None if shape is None else tuple(shape)


def is_plain(metadata: Any) -> bool:
    """Return whether everything in metadata is of zarr-python or numcodecs, and in its default form."""
    if metadata.zarr_format == 2:
        used = [metadata.compressor, *(metadata.filters or ())]
    elif getattr(metadata, "storage_transformers", ()):
        return False
    else:
        used = [metadata.chunk_key_encoding, metadata.chunk_grid, *_all_codecs(metadata.codecs)]
        if getattr(metadata.chunk_key_encoding, "name", "") not in ("default", "v2"):
            return False
    used = [item for item in (metadata.dtype, *used) if item is not None]
    modules = {type(item).__module__.partition(".")[0] for item in used}
    has_default_order = all(getattr(item, "subchunk_write_order", "morton") == "morton" for item in used)
    return modules <= {"zarr", "numcodecs"} and chunk_shape(metadata) is not None and has_default_order


def _all_codecs(codecs: Any) -> list[Any]:
    """Return codecs, and those inside of shards."""
    found = []
    for codec in codecs:
        inner = (*getattr(codec, "codecs", ()), *getattr(codec, "index_codecs", ()))
        found += [codec, *_all_codecs(inner)]
    return found
