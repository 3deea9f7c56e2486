"""Read and write selections: allocate, check, call the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from zarrcore import indexing
from zarrcore._core.engine import empty
from zarrcore._locks import RLock
from zarrcore.arrays.opened import OpenArray
from zarrcore.arrays.selections import Select
from zarrcore.arrays.values import as_values, broadcast_values, check_out
from zarrcore.engine.projection import axes_of, raw_dtype
from zarrcore.errors import ChunkError, ChunkIOError
from zarrcore.indexing import Dim, Fields, Selection, plain_selection
from zarrcore.metadata import ArrayMetadata, layout
from zarrcore.nodes import users
from zarrcore.nodes.users import refuse_while_moving

if TYPE_CHECKING:
    from zarrcore.engine.base import Engine
    from zarrcore.progress import Step

MOST_CHANGES = 3  # of the metadata, by somebody else, during a read: attributes may change all the time
_MOST_ATTEMPTS = 10  # of a read during which others replace the array each time
_MOST_POINTS = 1 << 22  # of one call of the engine, unless the array has more elements

# --- reading ---


def get(
    array: OpenArray,
    selection: Selection,
    out: Any,
    fields: Fields | None,
    threads: int,
    step: Step | None = None,
) -> Any:
    """Read a selection, or fields of it, into `out` or a new array.

    `step` is called with how many bytes are done, and of how many.
    """
    if fields:
        return _get_fields(array, selection, out, fields, threads, step)
    array.engine()
    if out is not None:
        fill(array, selection, check_out(out, selection.shape, array.dtype_in_memory), threads, step)
        return out
    order = "C" if selection.points else array.order
    result = empty(selection.shape, array.dtype_in_memory, order)
    fill(array, selection, result, threads, step)
    return result[()] if selection.shape == () else result


def get_by(
    array: OpenArray,
    select: Select,
    selection: Any,
    out: Any = None,
    fields: Fields | None = None,
    threads: int = 0,
    step: Step | None = None,
) -> Any:
    """Read a selection as one of the functions of :mod:`zarrcore.indexing` understands it."""
    array.follow()
    return get(array, select(selection, array.shape), out, fields, threads, step)


def _get_fields(
    array: OpenArray, selection: Selection, out: Any, fields: Fields, threads: int, step: Step | None
) -> Any:
    """Read fields of the selected records; no other bytes are taken out of decoded chunks."""
    dtype = indexing.field_dtype(fields, array.dtype)
    if isinstance(fields, str):
        result = _get_field(array, selection, fields, threads, step)
    else:
        result = np.empty(selection.shape, dtype=dtype)
        if dtype.itemsize > 0:
            fill(array, selection, result, threads, step, field=tuple(fields))
    if out is not None:
        check_out(out, result.shape, result.dtype)[...] = result
        return out
    return result[()] if result.shape == () else result


def _get_field(
    array: OpenArray, selection: Selection, field: str, threads: int, step: Step | None
) -> np.ndarray:
    dtype = array.dtype[field]
    raw = np.empty(selection.shape, raw_dtype(dtype))
    if dtype.itemsize > 0:
        fill(array, selection, raw, threads, step, field=field)
    if dtype.subdtype is None:
        return raw
    return raw.reshape(-1).view(dtype.base).reshape(raw.shape + dtype.shape)


def fill(
    array: OpenArray,
    selection: Selection,
    result: np.ndarray,
    threads: int,
    step: Step | None = None,
    **options: str | tuple[str, ...],
) -> None:
    """Read into `result`, which has the shape that the user sees; `options` go to the engine."""
    metadata, engine = array._metadata, array.engine()
    if result.size == 0:
        return
    try:
        fill_by(array, selection, result, threads, engine, step, options)
    except ChunkError:
        if not _is_other(engine):
            raise
    if _is_other(engine):
        again = partial(fill_by, array, selection, result, threads, step=step, options=options)
        engine = array.engine_after(engine, metadata)
        of_one_array(array, again, engine)


Known: TypeAlias = "dict[int, tuple[OpenArray, ArrayMetadata, Engine]]"
"""Arrays that are read together, by their ids, with the metadata and the engines by which they are."""


def of_one_version(read: Callable[[Known], object], known: Known) -> None:
    """Have arrays read; again, if another array may have come to the place of one of them meanwhile."""
    for attempt in range(_MOST_ATTEMPTS):
        try:
            read(known)
        except ChunkError:
            if not _others(known):
                raise
        if not (others := _others(known)):
            return
        for key in others:
            array, metadata, engine = known[key]
            engine = array.engine_after(engine, metadata, compares=attempt < MOST_CHANGES)
            known[key] = array, array._metadata, engine
    name = known[others[0]][0].path or "/"
    raise ChunkIOError("other arrays keep coming to the place of this one", array=name)


def of_one_array(array: OpenArray, read: Callable[[Engine], object], engine: Engine | None = None) -> None:
    """Do the same with one array."""
    key = id(array)
    known = {key: (array, array._metadata, engine or array.engine())}
    of_one_version(lambda known: read(known[key][2]), known)


def _is_other(engine: Engine) -> bool:
    return engine.is_left or engine.is_stale


def _others(known: Known) -> list[int]:
    return [key for key, (_, _, engine) in known.items() if _is_other(engine)]


def fill_by(
    array: OpenArray,
    selection: Selection,
    result: np.ndarray,
    threads: int,
    engine: Engine,
    step: Step | None = None,
    options: Any = MappingProxyType({}),
) -> None:
    """Read as :func:`fill` does, once and by this engine."""
    if not selection.points:
        block = result.reshape(selection.block)
        if step is None:
            engine.read(selection.dims, block, threads, **options)
            return
        for dims, piece in _in_steps(array, selection, block, step):
            engine.read(dims, piece, threads, **options)
        engine.confirm()
        return
    is_flat = result.flags.c_contiguous
    flat = result.reshape(-1) if is_flat else np.empty(selection.block, result.dtype)
    count, most = flat.size, max(_MOST_POINTS, array.size)
    if count <= 2 * most:
        engine.read_points(selection.dims, flat, threads, **options)
    else:  # chunks decoded once for each part cost less than lists of all points
        for start in range(0, count, most):
            part = slice(start, start + most)
            engine.read_points(tuple(dim[part] for dim in selection.dims), flat[part], threads, **options)
        engine.confirm()
    if not is_flat:
        result[...] = flat.reshape(selection.shape)
    if step is not None:
        step(result.nbytes, result.nbytes)


def _in_steps(
    array: OpenArray, selection: Selection, block: np.ndarray, step: Step
) -> Iterator[tuple[tuple[Dim, ...], np.ndarray]]:
    """Yield parts of a selection with their blocks; `step` is called after each."""
    from zarrcore.arrays.steps import steps

    axes = axes_of(array.shape, layout.grid_edges(array.metadata))
    done = 0
    for dims, index in steps(axes, selection.dims, array.dtype.itemsize):
        part = block[index]
        yield dims, part
        done += part.nbytes
        step(done, block.nbytes)


# --- writing ---


def put(
    array: OpenArray,
    selection: Selection,
    value: Any,
    fields: Fields | None,
    threads: int,
    step: Step | None = None,
) -> None:
    """Write values, or fields of them, into a selection; `step` is as of :func:`get`."""
    array.writable_engine()
    if fields:
        values = field_values(value, fields, array.dtype, selection.shape)
        if values.dtype.itemsize > 0:
            field = fields if isinstance(fields, str) else tuple(fields)
            store_values(array, selection, values, threads, step, field=field)
        return
    values = as_values(value, array.dtype_in_memory, ndim=len(selection.shape), any_text=True)
    values = broadcast_values(values, selection.shape)
    encoded = check_objects(array, selection, values)
    store_values(array, selection, values, threads, step, **({"encoded": encoded} if encoded else {}))


def put_by(
    array: OpenArray,
    select: Select,
    selection: Any,
    value: Any,
    fields: Fields | None = None,
    threads: int = 0,
    step: Step | None = None,
) -> None:
    """Write into a selection as one of the functions of :mod:`zarrcore.indexing` understands it."""
    under_way, writes = RLock(), users.writes
    writes[under_way] = array
    try:
        with under_way:
            if users.MOVING:
                refuse_while_moving(array)
            array.writable_engine()
            array.follow()
            is_plain = select is plain_selection and step is None and not fields
            if is_plain and array.engine().put(selection, value, writes_empty_chunks(array), threads):
                return
            put(array, select(selection, array.shape), value, fields, threads, step)
    finally:
        writes.pop(under_way, None)


def field_values(value: Any, fields: Fields, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Values for fields of records of `dtype` in a selection, in the form in which an engine writes them."""
    given = indexing.field_dtype(fields, dtype)
    values = broadcast_values(as_values(value, given.base), shape + given.shape)
    if given.subdtype is None:
        return values
    records = np.empty(shape, [("field", given)])
    records["field"] = values
    return records.view(raw_dtype(given)) if given.itemsize else records


def store_values(
    array: OpenArray,
    selection: Selection,
    values: np.ndarray,
    threads: int,
    step: Step | None = None,
    **options: Any,
) -> None:
    """Write `values`, checked and of the shape that the user sees; `options` go to the engine."""
    if values.size == 0:
        return
    engine = array.engine_to_write()
    write_empty = writes_empty_chunks(array)
    if selection.points:
        flat = np.ascontiguousarray(values).reshape(-1)
        engine.write_points(selection.dims, flat, threads, write_empty, **options)
        if step is not None:
            step(flat.nbytes, flat.nbytes)
        return
    block = values.reshape(selection.block)
    if step is None:
        engine.write(selection.dims, block, threads, write_empty, **options)
        return
    for dims, part in _in_steps(array, selection, block, step):
        engine.write(dims, part, threads, write_empty, **options)


def check_objects(array: OpenArray, selection: Selection, values: np.ndarray) -> dict[tuple[int, ...], Any]:
    """Refuse Python objects that a codec cannot encode, before the first chunk is stored.

    Chunks that were encoded to find out are returned.
    """
    if values.dtype.kind == "O" and values.size and array.dtype.kind == "O":  # strings have been looked at
        block = values.reshape(selection.block)
        return array.engine().check_objects(selection.dims, block, points=selection.points) or {}
    return {}


def writes_empty_chunks(array: OpenArray) -> bool:
    """Return whether chunks of fill values must be stored like others.

    Without a fill value the contents of a missing chunk are undefined, and some stores cannot delete.
    """
    metadata = array._metadata
    if array._config.write_empty_chunks or (metadata.fill_value is None and metadata.zarr_format < 3):
        return True
    return not array._store_path.store.supports_deletes
