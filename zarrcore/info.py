"""Summaries of arrays and groups that print as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zarrcore._records import dataclass
from zarrcore.errors import printable


@dataclass(frozen=True)
class NodeInfo:
    """Pairs of labels and values; printing shows them as a table, `items` is the same as a dictionary."""

    rows: tuple[tuple[str, Any], ...]

    def items(self) -> dict[str, Any]:
        """Values by label."""
        return dict(self.rows)

    def __getattr__(self, name: str) -> Any:
        # Programs ask zarr-python for `_zarr_format` and `_compressors`.
        for label, value in self.rows if name[:1] == "_" else ():
            if name == "_" + label.lower().replace(" ", "_"):
                return value
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

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
        return (printable(value) or "''") if isinstance(value, str) else str(value)
    except (OverflowError, ValueError):  # a time of NumPy that no calendar has, or without a unit
        return f"{value.view('i8')} in steps of {value.dtype}"  # pyright: ignore[reportAttributeAccessIssue]


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


def size_text(nbytes: int) -> str:
    """Return a number of bytes with a binary unit.

    Examples
    --------
    >>> size_text(500), size_text(3 << 20)
    ('500 B', '3.0 MiB')
    """
    if nbytes < 1024:
        return f"{nbytes} B"
    power = min((nbytes.bit_length() - 1) // 10, 6)
    return f"{nbytes / 1024**power:.1f} {'KMGTPE'[power - 1]}iB"


def store_type(store: object) -> str:
    """Return the name of a store's class; what we keep to ourselves is shown as what it is derived from."""
    return next(kind.__name__ for kind in type(store).__mro__ if not kind.__name__.startswith("_"))


def attribute_rows(attributes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return a row with the names of attributes, if there are any."""
    names = printable(", ".join(attributes))
    return [("Attributes", names if len(names) <= 200 else f"{names[:200]}...")] if names else []


def group_info(group: Any, *, complete: bool = False) -> NodeInfo:
    """Return a description of a group; `complete` counts its members, and their bytes in the store."""
    from zarrcore.nodes.documents import is_array_metadata  # what is used for arrays too is loaded with less
    from zarrcore.nodes.find import Unreadable
    from zarrcore.nodes.reading import stored_size
    from zarrcore.nodes.walk import walk

    rows: list[tuple[str, Any]] = [
        ("Name", group.name),
        ("Type", "Group"),
        ("Zarr format", group.metadata.zarr_format),
        *attribute_rows(group.metadata.attributes),
        ("Read-only", group.read_only),
        ("Store type", store_type(group._store_path.store)),
    ]
    consolidated = group.metadata.consolidated_metadata is not None
    if consolidated:
        rows.append(("Consolidated", True))
    if complete or consolidated:
        found = [below.metadata for below in walk(group._store_path, group.metadata)]
        unreadable = sum(isinstance(metadata, Unreadable) for metadata in found)
        arrays = sum(not isinstance(item, Unreadable) and is_array_metadata(item) for item in found)
        rows += [
            ("No. members", len(found)),
            ("No. arrays", arrays),
            ("No. groups", len(found) - arrays - unreadable),
        ]
        if unreadable:
            rows.append(("No. unreadable", unreadable))
    if complete and group._store_path.store.supports_listing:
        rows.append(("No. bytes stored", format_bytes(stored_size(group._store_path))))
    return NodeInfo(tuple(rows))
