# SPDX-License-Identifier: MIT
"""Answer jobs with zarr-python 2: one JSON object per line in, one out.  This file imports no zarrcore.

A job names a function of this file and has its arguments.  Arrays travel as files: ``.npy``, or JSON where
they hold objects.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from typing import Any

import numpy as np

# ---- arrays as files; the other side uses these functions too ----


def save(place: str, values: np.ndarray) -> None:
    """Write an array without pickling anything."""
    for ending in (".npy", ".json"):
        if os.path.exists(place + ending):
            os.remove(place + ending)
    if values.dtype.kind not in "OT":
        np.save(place + ".npy", values, allow_pickle=False)
        return
    items = [_to_json(item) for item in values.reshape(-1).tolist()]
    with open(place + ".json", "w", encoding="utf-8") as file:
        json.dump({"shape": values.shape, "items": items}, file)


def load(place: str) -> np.ndarray:
    """Read what :func:`save` wrote."""
    if os.path.exists(place + ".npy"):
        return np.load(place + ".npy", allow_pickle=False)
    with open(place + ".json", encoding="utf-8") as file:
        document = json.load(file)
    values = np.empty(len(document["items"]), object)
    for index, item in enumerate(document["items"]):
        values[index] = _from_json(item)
    return values.reshape(document["shape"])


def _to_json(item: Any) -> Any:
    if isinstance(item, bytes):
        return {"bytes": item.hex()}
    if isinstance(item, np.ndarray):
        return {"array": item.tolist(), "dtype": item.dtype.str}
    return {"value": item}


def _from_json(item: dict) -> Any:
    if "bytes" in item:
        return bytes.fromhex(item["bytes"])
    return np.array(item["array"], item["dtype"]) if "array" in item else item["value"]


# ---- jobs ----


def create(path: str, document: dict, store: str | None = None) -> None:
    """Create an array as a ``.zarray`` document has it."""
    import numcodecs
    import zarr

    def made(config: dict | None) -> Any:
        return None if config is None else numcodecs.get_codec(config)

    dtype = _dtype(document["dtype"])
    filters = [made(config) for config in document["filters"] or ()]
    options = {"object_codec": filters.pop(0)} if dtype.hasobject else {}
    fill = document["fill_value"]
    zarr.create(
        shape=document["shape"],
        chunks=document["chunks"],
        dtype=dtype,
        compressor=made(document["compressor"]),
        filters=filters or None,
        fill_value=_scalar(fill, dtype),
        order=document["order"],
        dimension_separator=document["dimension_separator"],
        store=_store(store, path),
        **options,
    )


def read(path: str, place: str, store: str | None = None) -> None:
    """Write the whole array to a file."""
    import zarr

    opened = _store(store, path, mode="r")
    save(place, np.asarray(zarr.open_array(opened, mode="r")[...]))


def assign(path: str, place: str, bounds: list, store: str | None = None) -> None:
    """Write the part within bounds of the values in a file into an array."""
    import zarr

    region = (*(slice(*bound) for bound in bounds), ...)
    opened = _store(store, path, mode="a")
    zarr.open_array(opened, mode="r+")[region] = load(place)[region]
    if hasattr(opened, "close"):
        opened.close()


ATTRIBUTES = {"text": "é漢🎉", "list": [1, 2.5, None, [True]], "nested": {"a": {"b": []}}, "big": 2**53 + 1}


def build(path: str, store: str, compressor: dict | None = None) -> str:
    """Write a hierarchy; where to, which a temporary store chooses itself."""
    import numcodecs
    import zarr

    opened = _store(store, path, mode="w")
    root = zarr.group(opened, overwrite=True)
    root.attrs.update(ATTRIBUTES)
    root.create_group("first").attrs["n"] = 1
    root.create_group("first/empty")
    made = None if compressor is None else numcodecs.get_codec(compressor)
    array = root.create_dataset("first/array", shape=(4, 6), chunks=(2, 4), dtype="f8", compressor=made)
    array[...] = np.arange(24).reshape(4, 6)
    array.attrs["units"] = "m"
    root.create_dataset("top", shape=(3,), chunks=(2,), dtype="u1", fill_value=0, compressor=None)
    if hasattr(opened, "close"):
        opened.close()
    return getattr(opened, "path", path)


def consolidate(path: str) -> None:
    """Write ``.zmetadata``."""
    import zarr

    zarr.consolidate_metadata(path)


def describe(path: str, store: str, consolidated: bool = False) -> dict:
    """Attributes and values of all nodes by path."""
    import zarr

    if consolidated:
        root = zarr.open_consolidated(path, mode="r")
    else:
        root = zarr.open_group(_store(store, path, mode="r"), mode="r")
    nodes = {"": root}
    root.visititems(lambda name, node: nodes.update({name: node}))
    return {
        name: {
            "attributes": dict(node.attrs),
            "values": node[...].tolist() if hasattr(node, "shape") else None,
        }
        for name, node in nodes.items()
    }


def extend(path: str) -> None:
    """Change what there is, and add to it."""
    import zarr

    root = zarr.open_group(path, mode="r+")
    root.attrs["more"] = [1]
    root["first"].create_dataset("added", data=np.arange(5), chunks=(2,))
    root["first/array"].attrs["units"] = "km"
    root["first/array"].resize(6, 5)
    root["top"].append(np.array([7, 8], "u1"))


def versions() -> dict:
    """What runs here."""
    import numcodecs
    import zarr

    return {"zarr": zarr.__version__, "numcodecs": numcodecs.__version__, "numpy": np.__version__}


def _store(name: str | None, path: str, **options: Any) -> Any:
    import zarr.n5
    import zarr.storage

    if name is None:
        return zarr.storage.DirectoryStore(path)
    if name == "TempStore":
        return zarr.storage.TempStore(dir=path)
    module = zarr.n5 if name.startswith("N5") else zarr.storage
    return getattr(module, name)(path, **(options if name == "ZipStore" else {}))


def _dtype(data: Any) -> np.dtype:
    """The dtype of a document's member ``dtype``."""
    if isinstance(data, str):
        return np.dtype(data)
    return np.dtype([(name, _dtype(kind), *map(tuple, shape)) for name, kind, *shape in data])


def _scalar(fill: Any, dtype: np.dtype) -> Any:
    """The fill value of a document, by zarr's own rules."""
    from zarr.meta import Metadata2

    return None if fill is None else Metadata2.decode_fill_value(fill, dtype)


JOBS = (create, read, assign, build, consolidate, describe, extend, versions)


def main() -> None:
    jobs = {
        job.__name__: job for job in (create, read, assign, build, consolidate, describe, extend, versions)
    }
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        arguments = json.loads(line)
        try:
            answer = {"result": jobs[arguments.pop("job")](**arguments)}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
