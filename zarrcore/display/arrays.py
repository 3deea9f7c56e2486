"""How a notebook shows an array."""

from __future__ import annotations

import math
from itertools import product

from zarrcore._typed import NamedTuple
from zarrcore.arrays.description import ArrayDescription
from zarrcore.display.drawing import Side, drawing, starts
from zarrcore.display.page import Budget, attributes, brief, guarded, head, table, text
from zarrcore.info import size_text, store_type
from zarrcore.metadata import layout
from zarrcore.storage.validation import key_prefix

#: Chunks of an array that are looked for; where there are more, none is.
_MOST_CHUNKS = 256


class _Stored(NamedTuple):
    """Which chunks of the grid (shards, if sharded) are stored, and the bytes of all of them."""

    chunks: list[tuple[int, ...]]
    nbytes: int


def array_html(array: ArrayDescription, kind: str) -> str:
    """Return an array as HTML: a drawing of its grid, and a table."""
    return guarded(lambda: _page(array, kind), kind)


def _page(array: ArrayDescription, kind: str) -> str:
    budget = Budget()
    grid = [array.shape, layout.grid_edges(array.metadata)]
    counts = [_count(edge, length) for length, edge in zip(*grid, strict=True)]
    stored = _stored(array, counts, budget)
    picture = drawing(_sides(array), _boxes(array, stored) if stored and array.ndim <= 2 else ())
    rows = table(_rows(array, stored, math.prod(counts)))
    shown = attributes(array.metadata.attributes, budget)
    more = f"<div class='zc-dim'>drawn: the last 3 of {array.ndim} dimensions</div>" if array.ndim > 3 else ""
    side = f"<div>{picture}{more}</div>" if picture else ""
    return f'{head(kind, array._store_path)}<div class="zc-side"><div>{rows}</div>{side}</div>{shown}'


def _rows(array: ArrayDescription, stored: _Stored | None, count: int) -> list[tuple[str, str]]:
    metadata = array.metadata
    names = array.dimension_names
    shape = " \u00d7 ".join(map(str, array.shape)) or "()"
    rows = [("Shape", text(shape)), ("Data type", text(metadata.dtype_text))]
    if names is not None:
        rows.insert(1, ("Dimensions", text(", ".join("\u2013" if name is None else name for name in names))))
    inner = layout.inner_chunks(metadata)
    if inner is not None:
        rows.append(("Shards", _lengths(layout.grid_edges(metadata))))
    rows.append(("Chunks", _lengths(layout.grid_edges(metadata) if inner is None else inner)))
    rows.append(("Fill value", text(array.fill_value, 60)))
    rows.append(("Size", text(size_text(array.nbytes))))
    unit = "chunks" if inner is None else "shards"
    rows.append(("Stored", _stored_text(array, stored, count, unit)))
    filters, serializer, compressors = layout.codecs_of(metadata)
    codecs = [codec for codec in (*filters, serializer, *compressors) if codec is not None]
    rows.append(("Codecs", "<br>".join(brief(codec, 120) for codec in codecs[:12]) or "none"))
    state = ", read-only" if array.read_only else ""
    rows.append(
        ("Store", text(f"{store_type(array._store_path.store)}, Zarr format {metadata.zarr_format}{state}"))
    )
    return rows


def _lengths(edges: tuple[int | tuple[int, ...], ...]) -> str:
    shown = ("variable" if isinstance(edge, tuple) else str(edge) for edge in edges)
    return text(" \u00d7 ".join(shown) or "()")


def _stored_text(array: ArrayDescription, stored: _Stored | None, count: int, unit: str) -> str:
    if stored is None:
        return f'<span class="zc-dim">of {count:,} {unit}, not counted: see chunk_info()</span>'
    ratio = f", ratio {array.nbytes / stored.nbytes:,.1f}" if stored.nbytes else ""
    return text(f"{len(stored.chunks)} of {count} {unit}, {size_text(stored.nbytes)}{ratio}")


def _count(edge: int | tuple[int, ...], length: int) -> int:
    return len(edge) if isinstance(edge, tuple) else -(-length // edge) if edge else 0


def _stored(array: ArrayDescription, counts: list[int], budget: Budget) -> _Stored | None:
    """Return what is stored, if asking for each chunk costs next to nothing."""
    store = array._store_path.store
    if not store._is_near or math.prod(counts) > _MOST_CHUNKS:
        return None
    found, nbytes = [], 0
    key_of, prefix = array.metadata.encode_chunk_key, key_prefix(array.path)
    for coords in product(*map(range, counts)):
        if not budget.has_time:
            return None
        size = store._size(prefix + key_of(coords))
        if size is not None:
            found.append(coords)
            nbytes += size
    return _Stored(found, nbytes)


def _edges(array: ArrayDescription) -> list[tuple[int, ...]]:
    """Return the lengths of the stored chunks along each dimension; one, where all are equal."""
    return [(e,) if isinstance(e, int) else e for e in layout.grid_edges(array.metadata)]


def _sides(array: ArrayDescription) -> list[Side]:
    names = array.dimension_names or (None,) * array.ndim
    outer, inner = _edges(array), layout.inner_chunks(array.metadata)
    sides = []
    for k in range(array.ndim)[-3:]:
        length = array.shape[k]
        edges = starts(outer[k], length)
        chunks = edges if inner is None else starts((inner[k],), length)
        sides.append(Side(length, names[k] or "", chunks, edges if inner is not None else ()))
    return sides


def _boxes(array: ArrayDescription, stored: _Stored) -> list[list[tuple[int, int]]]:
    """Return where the stored chunks lie."""
    boxes = []
    for coords in stored.chunks:
        box = []
        for k, edges, length in zip(coords, _edges(array), array.shape, strict=True):
            start = k * edges[0] if len(edges) == 1 else sum(edges[:k])
            box.append((start, min(length, start + edges[k if len(edges) > 1 else 0])))
        boxes.append(box)
    return boxes
