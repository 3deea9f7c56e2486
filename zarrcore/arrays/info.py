"""A summary of an array that prints as a table."""

from __future__ import annotations

from typing import Any

from zarrcore.arrays.description import ArrayDescription
from zarrcore.info import NodeInfo, attribute_rows, format_bytes, store_type
from zarrcore.nodes.reading import stored_size


def array_info(array: ArrayDescription, *, complete: bool = False) -> NodeInfo:
    """Return a description of an array; `complete` asks the store how much of it is stored."""
    from zarrcore._core.engine import num_threads

    metadata = array.metadata
    rows: list[tuple[str, Any]] = [
        ("Type", "Array"),
        ("Zarr format", metadata.zarr_format),
        ("Data type", metadata.data_type),
        ("Fill value", array.fill_value),
        ("Shape", array.shape),
    ]
    if array.dimension_names is not None:
        rows.append(("Dimension names", array.dimension_names))
    rows += attribute_rows(metadata.attributes)
    sharded = _shape_or_variable(array, "shards")
    if sharded is not None:
        rows.append(("Shard shape", sharded))
    rows += [
        ("Chunk shape", _shape_or_variable(array, "chunks")),
        ("No. chunks", array.nchunks),
        ("Order", array.order),
        ("Read-only", array.read_only),
        ("Store type", store_type(array.store)),
        ("Filters", array.filters),
        *([("Serializer", array.serializer)] if array.serializer is not None else ()),
        ("Compressors", array.compressors),
        ("Threads", num_threads()),
        ("No. bytes", format_bytes(array.nbytes)),
    ]
    if complete:
        from zarrcore.arrays.chunks import count_stored

        stored = stored_size(array.store_path)
        rows.append(("No. bytes stored", format_bytes(stored)))
        if stored:
            rows.append(("Storage ratio", f"{array.nbytes / stored:.1f}"))
        unit = "Shards" if sharded is not None else "Chunks"
        rows.append((f"{unit} Initialized", count_stored(array, keys_only=True)))
    return NodeInfo(tuple(rows))


def _shape_or_variable(array: ArrayDescription, what: str) -> Any:
    try:
        return getattr(array, what)
    except NotImplementedError:  # a rectilinear grid has no single shape
        return "<variable>"
