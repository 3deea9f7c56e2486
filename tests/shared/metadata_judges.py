# SPDX-License-Identifier: MIT
"""What zarrcore, zarr-python and tensorstore say to a metadata document: refused, or what they read."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import zarrcore
from zarrcore.errors import BaseZarrError, ZarrcoreWarning


class Answer(NamedTuple):
    """What a library makes of a document: nothing, with an error; or an array.

    `strays` is whether zarrcore read it with a warning that the letter of the specification is broken.
    """

    values: Any = None
    error: str = ""
    strays: bool = False

    @property
    def accepts(self) -> bool:
        return not self.error


def name_of(zarr_format: int) -> str:
    return "zarr.json" if zarr_format == 3 else ".zarray"


def ours(zarr_format: int, document: dict[str, Any]) -> Answer:
    text = json.dumps(document).encode()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            array = zarrcore.open_array({name_of(zarr_format): text}, mode="r", zarr_format=zarr_format)
            values = _values(array)
        except (BaseZarrError, NotImplementedError) as error:
            return Answer(error=f"{type(error).__name__}: {error}")
    return Answer(values, strays=any(isinstance(found.message, ZarrcoreWarning) for found in caught))


def zarr_python(zarr_format: int, document: dict[str, Any]) -> Answer:
    import zarr

    text = json.dumps(document).encode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        store = zarr.storage.MemoryStore({name_of(zarr_format): zarr.core.buffer.cpu.Buffer.from_bytes(text)})
        try:
            array = zarr.open_array(store, mode="r", zarr_format=zarr_format)  # type: ignore[arg-type]
            return Answer(_values(array))
        except Exception as error:
            return Answer(error=f"{type(error).__name__}: {error}")


def tensorstore(zarr_format: int, document: dict[str, Any]) -> Answer:
    import tensorstore as ts

    context = ts.Context()
    memory = ts.KvStore.open("memory://", context=context).result()
    memory[name_of(zarr_format)] = json.dumps(document).encode()
    driver = "zarr3" if zarr_format == 3 else "zarr"
    try:
        array = ts.open({"driver": driver, "kvstore": "memory://"}, context=context, open=True).result()
        return Answer(_values(array))
    except Exception as error:
        return Answer(error=f"{type(error).__name__}: {error}")


def _values(array: Any) -> Any:
    """Return one value of an array without chunks, its fill value, with its shape.

    Nothing large is read: shapes may be.
    """
    if 0 in array.shape:
        return tuple(array.shape), None
    value = array[(0,) * len(array.shape)]
    value = value.read().result() if hasattr(value, "read") and not hasattr(value, "tobytes") else value
    return tuple(array.shape), np.asarray(value)[()]


PEERS: dict[str, Callable[[int, dict[str, Any]], Answer]] = {
    "zarr-python": zarr_python,
    "tensorstore": tensorstore,
}


def same_values(one: Any, other: Any) -> bool:
    """Return whether two answers are one shape and one value, to the bit."""
    (shape, a), (other_shape, b) = one, other
    if shape != other_shape or (a is None) != (b is None):
        return False
    if a is None:
        return True
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind in "OTU" or b.dtype.kind in "OTU":
        return str(a[()]) == str(b[()])
    return a.astype(a.dtype.newbyteorder("<")).tobytes() == b.astype(b.dtype.newbyteorder("<")).tobytes()
