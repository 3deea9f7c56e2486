"""Summaries of arrays and groups that print as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import Unreadable
from zarrcore.nodes.walk import walk

__all__ = ["NodeInfo", "array_info", "format_bytes", "group_info", "node_info"]


@dataclass(frozen=True)
class NodeInfo:
    """Pairs of labels and values; printing shows them as a table, `items` is the same as a dictionary."""

    rows: tuple[tuple[str, Any], ...]

    def items(self) -> dict[str, Any]:
        """Values by label."""
        return dict(self.rows)

    def __getitem__(self, label: str) -> Any:
        return self.items()[label]

    def __repr__(self) -> str:
        width = max(18, *(len(label) for label, _ in self.rows))
        return "\n".join(f"{label:<{width}} : {_text(value)}" for label, value in self.rows)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(label)}</th><td>{escape(_text(value))}</td></tr>"
            for label, value in self.rows
        )
        return f"<table>{rows}</table>"


def _text(value: Any) -> str:
    try:
        return str(value)
    except OverflowError:  # a time of NumPy that no calendar has
        return f"{value.view('i8')} in steps of {value.dtype}"


def format_bytes(size: int) -> str:
    """Return a number of bytes, with a rounded binary unit where it is large.

    Examples
    --------
    >>> format_bytes(500), format_bytes(3 << 20)
    ('500', '3145728 (3.0M)')
    """
    if size < 1024:
        return str(size)
    power = min((size.bit_length() - 1) // 10, 5)
    return f"{size} ({size / 1024**power:.1f}{' KMGTP'[power]})"


def node_info(node: Any, *, complete: bool = False) -> NodeInfo:
    """Return a description of an array or a group; `complete` asks the store as well."""
    describe: Any = array_info if node.metadata.node_type == "array" else group_info
    info: NodeInfo = describe(node, complete=complete)
    return info


def array_info(array: Any, *, complete: bool = False) -> NodeInfo:
    """Return a description of an array; `complete` asks the store how much of it is stored."""
    metadata = array.metadata
    rows: list[tuple[str, Any]] = [
        ("Type", "Array"),
        ("Zarr format", metadata.zarr_format),
        ("Data type", metadata.zdtype),
        ("Fill value", array.fill_value),
        ("Shape", array.shape),
    ]
    sharded = _shape_or_variable(array, "shards")
    if sharded is not None:
        rows.append(("Shard shape", sharded))
    rows += [
        ("Chunk shape", _shape_or_variable(array, "chunks")),
        ("Order", array.order),
        ("Read-only", array.read_only),
        ("Store type", type(array.store).__name__),
        ("Filters", array.filters),
    ]
    if array.serializer is not None:
        rows.append(("Serializer", array.serializer))
    rows.append(("Compressors", array.compressors))
    rows.append(("No. bytes", format_bytes(array.nbytes)))
    if complete:
        rows += _stored_rows(array, "Shards" if sharded is not None else "Chunks")
    return NodeInfo(tuple(rows))


def _shape_or_variable(array: Any, what: str) -> Any:
    try:
        return getattr(array, what)
    except NotImplementedError:  # a rectilinear grid has no single shape
        return "<variable>"


def _stored_rows(array: Any, unit: str) -> list[tuple[str, Any]]:
    from zarrcore.arrays.chunks import count_stored

    stored = array.nbytes_stored()
    rows: list[tuple[str, Any]] = [("No. bytes stored", format_bytes(stored))]
    if stored:
        rows.append(("Storage ratio", f"{array.nbytes / stored:.1f}"))
    rows.append((f"{unit} Initialized", count_stored(array, keys_only=True)))
    return rows


def group_info(group: Any, *, complete: bool = False) -> NodeInfo:
    """Return a description of a group; `complete` counts its members."""
    rows: list[tuple[str, Any]] = [
        ("Name", group.name),
        ("Type", "Group"),
        ("Zarr format", group.metadata.zarr_format),
        ("Read-only", group.read_only),
        ("Store type", type(group.store).__name__),
    ]
    consolidated = group.metadata.consolidated_metadata is not None
    if consolidated:
        rows.append(("Consolidated", True))
    if complete or consolidated:
        found = [metadata for _, metadata, _ in walk(group.store_path, group.metadata)]
        unreadable = sum(isinstance(metadata, Unreadable) for metadata in found)
        arrays = sum(not isinstance(item, Unreadable) and is_array_metadata(item) for item in found)
        rows += [
            ("No. members", len(found)),
            ("No. arrays", arrays),
            ("No. groups", len(found) - arrays - unreadable),
        ]
        if unreadable:
            rows.append(("No. unreadable", unreadable))
    return NodeInfo(tuple(rows))
