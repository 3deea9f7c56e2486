"""xarray and dask on zarrcore and on zarr-python: 200 small variables, a tree, a long time axis."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import goals
from benchmarks.cases.base import Case, Place, Prepare
from benchmarks.libraries import SUBJECT
from benchmarks.libraries.base import Library
from benchmarks.measure import Operation

_LIBRARIES = (SUBJECT, "zarr")
_POINTS = range(0, 1000, 10)


def _engine(library: Library) -> str:
    if library.name == SUBJECT:
        from xarray.backends.common import BACKEND_ENTRYPOINTS

        import zarrcore.integrations.xarray as backend

        # As its entry point does, where the package is installed.
        BACKEND_ENTRYPOINTS["zarrcore"] = (None, backend.ZarrcoreBackendEntrypoint)
        return "zarrcore"
    return "zarr"


def _values(data: Any) -> list[np.ndarray]:
    """All values, for the comparison: of a data set, or of a tree."""
    nodes = list(data.subtree) if hasattr(data, "subtree") else [data]
    return [np.asarray(node[name]) for node in nodes for name in sorted(node.variables)]


def _open(dataset: str, opening: str, **options: Any) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        import xarray

        path = str(place.home.array(dataset))
        call = partial(getattr(xarray, opening), path, engine=_engine(library), **options)
        return Operation(call, outcome=lambda: _values(call()))

    return prepare


def _to_zarr(library: Library) -> Callable[..., Any]:
    if library.name == SUBJECT:
        import zarrcore.xarray

        return zarrcore.xarray.to_zarr
    return lambda data, *args, **options: data.to_zarr(*args, **options)


def _write(library: Library, place: Place) -> Operation:
    import xarray

    store, target = _to_zarr(library), place.scratch / "variables"
    with xarray.open_dataset(place.home.array("variables-consolidated"), engine=_engine(library)) as opened:
        data = opened.load().drop_encoding()
    return Operation(
        lambda: store(data, target) and None,
        before=lambda: shutil.rmtree(target, ignore_errors=True),
        outcome=lambda: _values(xarray.open_dataset(target, engine=_engine(library))),
    )


def _append(library: Library, place: Place) -> Operation:
    import xarray

    store, target = _to_zarr(library), place.scratch / "series"
    with xarray.open_dataset(place.home.array("series"), engine=_engine(library)) as opened:
        data = opened.load().drop_encoding()
    parts = [data.isel(time=slice(start, start + 100)) for start in range(0, 1000, 100)]

    def fresh() -> None:
        shutil.rmtree(target, ignore_errors=True)
        store(parts[0], target, encoding={"t": {"chunks": (100, 50)}})

    def append() -> None:
        for part in parts[1:]:
            store(part, target, append_dim="time")

    return Operation(
        append, before=fresh, outcome=lambda: _values(xarray.open_dataset(target, engine=_engine(library)))
    )


def _points(library: Library, place: Place) -> Operation:
    import xarray

    data = xarray.open_dataset(place.home.array("series"), engine=_engine(library), cache=False).t
    return Operation(lambda: [data.isel(time=time, x=3).values for time in _POINTS])


def _dask_array(library: Library, path: Path) -> Any:
    import dask.array

    if library.name != SUBJECT:
        return dask.array.from_zarr(str(path))
    import zarrcore.dask

    return zarrcore.dask.from_zarr(str(path))


def _sum(dataset: str) -> Prepare:
    def prepare(library: Library, place: Place) -> Operation:
        path = place.home.array(dataset)
        return Operation(lambda: _dask_array(library, path).sum(dtype="u8").compute())

    return prepare


def _tokenize(library: Library, place: Place) -> Operation:
    from dask.base import tokenize

    array = library.open(library.locate(place.home.array("volume-raw")))
    return Operation(lambda: tokenize(array), outcome=lambda: len(tokenize(array)))


def cases() -> Iterator[Case]:
    prepared: dict[str, tuple[goals.Family, Prepare]] = {
        "open-consolidated": (goals.XARRAY_OPEN, _open("variables-consolidated", "open_dataset")),
        "open-plain": (goals.XARRAY_OPEN_PLAIN, _open("variables-plain", "open_dataset", consolidated=False)),
        "open-chunked": (goals.XARRAY_CHUNKED, _open("variables-consolidated", "open_dataset", chunks={})),
        "open-tree": (goals.XARRAY_TREE, _open("tree", "open_datatree")),
        "to-zarr": (goals.XARRAY_WRITE, _write),
        "append": (goals.XARRAY_APPEND, _append),
        "points": (goals.XARRAY_POINTS, _points),
        "dask-sum-raw": (goals.DASK, _sum("volume-raw")),
        "dask-sum-shards": (goals.DASK, _sum("volume-shards")),
        "tokenize": (goals.TOKENIZE, _tokenize),
    }
    for name, (family, prepare) in prepared.items():
        yield Case(f"xarray/{name}", family, prepare, _LIBRARIES, floor=False)
