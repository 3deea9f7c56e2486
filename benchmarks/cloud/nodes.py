# SPDX-License-Identifier: MIT
"""Cases of nodes and of data sets of xarray, which libraries do that have groups as zarr-python has."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import count, repeat
from typing import Any

import numpy as np

from benchmarks.cloud import Server
from benchmarks.cloud.libraries import Library

_NODES = 50
_CREATED: dict[str, Any] = {"shape": (1000,), "chunks": (100,), "dtype": "i4"}


@dataclass(frozen=True)
class NodesCase:
    """What is done at a place of each library: once `before`, then `call`, whose answer is known."""

    name: str
    call: Callable[[Library, Any], Any]
    before: Callable[[Library, Any], Any] | None = None  # else each call has a place where nothing is
    package: str = "zarrcore"
    answer: int = _NODES

    def prepared(self, library: Library, server: Server, requests: int | None) -> Callable[[], Any] | None:
        """Return the call, made once and checked; None for a library without groups."""
        if not library.module or find_spec(self.package) is None:
            return None
        place = f"{self.name}/{library.name}"
        places = (f"{place}/{number}" for number in count()) if self.before is None else repeat(place)
        if self.before is not None:
            self.before(library, library.store(server, place, requests))

        def call() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # consolidated metadata are not in the specification
                found = self.call(library, library.store(server, next(places), requests))
            if found != self.answer:
                raise AssertionError(f"{self.name}: {library.name} answers {found!r}")

        call()
        return call


def _create(library: Library, store: Any) -> int:
    library.api.create_array(store, name="one", **_CREATED)
    return 1


def _create_many(library: Library, store: Any) -> int:
    metadata = library.api.create_array({}, **_CREATED).metadata
    nodes = {f"a{number}": metadata for number in range(_NODES)}
    made = library.api.create_hierarchy(store=store, nodes=nodes)
    return sum(path in nodes for path, _ in made)  # and the root


def _members(library: Library, store: Any) -> int:
    return sum(1 for _ in library.api.open_group(store, mode="r", use_consolidated=False).members())


def _attributes(library: Library, store: Any) -> int:
    library.api.open_array(store, path="a0", mode="r+").attrs["n"] = 1
    return 1


def _consolidate(library: Library, store: Any) -> int:
    library.api.consolidate_metadata(store)
    return sum(1 for _ in library.api.open_consolidated(store).members())


def _data_set() -> Any:
    import xarray

    names = [f"v{number}" for number in range(_NODES - 1)]
    variables = {name: ("x", np.arange(100.0) + at) for at, name in enumerate(names)}
    return xarray.Dataset(variables, {"x": range(100)})


def _to_zarr(library: Library, store: Any) -> int:
    library.write_data_set(_data_set(), store)
    return _NODES


def _read_data_set(library: Library, store: Any) -> int:
    return len(library.read_data_set(store).variables)


CASES = [
    NodesCase("create/one", _create, answer=1),
    NodesCase("create/many", _create_many),
    NodesCase("members/plain", _members, _create_many),
    NodesCase("members/consolidate", _consolidate, _create_many),
    NodesCase("attributes/one", _attributes, _create_many, answer=1),
    NodesCase("xarray/write", _to_zarr, package="xarray"),
    NodesCase("xarray/read", _read_data_set, _to_zarr, package="xarray"),
]
