# SPDX-License-Identifier: MIT
"""The other implementations: each writes, reads and patches an array in a directory."""

from __future__ import annotations

import json
import warnings
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pytest

import zarrcore
from exchange.cases import Case
from exchange.limits import LACKS
from exchange.rows import NEEDED, rows_of
from exchange.zarr2 import ZarrPython2


class Peer(Protocol):
    """What all of them can do."""

    def write(self, path: Path, case: Case) -> None:
        """Create the array, and write the values of its region."""

    def read(self, path: Path, case: Case) -> np.ndarray:
        """The whole array."""

    def patch(self, path: Path, case: Case) -> None:
        """Write the values of its patch into the array that is there."""


class Ours:
    """zarrcore."""

    def write(self, path: Path, case: Case) -> None:
        path.mkdir()
        for name, document in case.metadata.to_documents().items():
            (path / name).write_bytes(document)
        self.open(path, case, "r+")[case.region] = case.values[case.region]

    def read(self, path: Path, case: Case) -> np.ndarray:
        return self.open(path, case, "r")[...]

    def patch(self, path: Path, case: Case) -> None:
        self.open(path, case, "r+")[case.patch] = case.patch_values

    def open(self, path: Path, case: Case, mode: str) -> Any:
        return zarrcore.open_array(path, mode=mode, zarr_format=case.zarr_format)


class ZarrPython:
    """zarr-python 3, with the codec pipeline of its own."""

    def __init__(self) -> None:
        self.zarr = pytest.importorskip("zarr", minversion="3.1")
        self.config = {"array.rectilinear_chunks": True}

    def write(self, path: Path, case: Case) -> None:
        with self.zarr.config.set(self.config):
            self._create(path, case)
            self._open(path, case, "r+")[case.region] = case.values[case.region]

    def read(self, path: Path, case: Case) -> np.ndarray:
        with self.zarr.config.set(self.config):
            return self._open(path, case, "r")[...]

    def patch(self, path: Path, case: Case) -> None:
        with self.zarr.config.set(self.config):
            self._open(path, case, "r+")[case.patch] = case.patch_values

    def _create(self, path: Path, case: Case) -> None:
        """Write the document as zarr-python does after it has understood it."""
        from zarr.core.buffer import default_buffer_prototype
        from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata

        cls = ArrayV3Metadata if case.zarr_format == 3 else ArrayV2Metadata
        documents = cls.from_dict(dict(case.document)).to_buffer_dict(default_buffer_prototype())
        path.mkdir()
        for name, document in documents.items():
            (path / name).write_bytes(document.to_bytes())

    def _open(self, path: Path, case: Case, mode: str) -> Any:
        return self.zarr.open_array(str(path), mode=mode, zarr_format=case.zarr_format)


class Zarrs(ZarrPython):
    """zarrs as the codec pipeline of zarr-python, which must not do anything itself."""

    def __init__(self) -> None:
        super().__init__()
        pytest.importorskip("zarrs")
        self.config |= {
            "codec_pipeline.path": "zarrs.ZarrsCodecPipeline",
            "codec_pipeline.strict": True,
        }


class ZarrsAlone:
    """zarrs without zarr-python, which does not know all data types and codecs that zarrs does.

    It gets the document of the case and the keys of the chunks.
    """

    def __init__(self) -> None:
        self.zarrs = pytest.importorskip("zarrs._internal")
        self.stores = pytest.importorskip("zarr.storage")

    def write(self, path: Path, case: Case) -> None:
        path.mkdir()
        (path / "zarr.json").write_text(json.dumps(case.document))
        self._store(path, case, case.values)

    def read(self, path: Path, case: Case) -> np.ndarray:
        items, whole = self._chunks(case)
        found = np.empty(whole, case.dtype)
        self._engine(path, case).retrieve_chunks_and_apply_index(items, found)
        return found[tuple(slice(0, n) for n in case.shape)]

    def patch(self, path: Path, case: Case) -> None:
        self._store(path, case, case.patched)

    def _store(self, path: Path, case: Case, values: np.ndarray) -> None:
        items, whole = self._chunks(case)
        padded = np.full(whole, case.metadata.fill_scalar, case.dtype)
        padded[tuple(slice(0, n) for n in case.shape)] = values
        self._engine(path, case).store_chunks_with_indices(items, padded, False)

    def _engine(self, path: Path, case: Case) -> Any:
        store = self.stores.LocalStore(str(path))
        return self.zarrs.CodecPipelineImpl(
            json.dumps(case.document), store_config=store, validate_checksums=True
        )

    def _chunks(self, case: Case) -> tuple[list[Any], tuple[int, ...]]:
        """All chunks, and the shape of an array of whole ones."""
        grid, keys = case.metadata.chunk_grid, case.metadata.chunk_key_encoding
        counts, lengths = grid.grid_shape(case.shape), grid.shape_of((0,) * len(case.shape))
        whole = tuple(count * length for count, length in zip(counts, lengths, strict=True))
        inside = tuple(slice(0, n) for n in lengths)
        items = []
        for coords in product(*map(range, counts)):
            place = tuple(slice(i * n, i * n + n) for i, n in zip(coords, lengths, strict=True))
            items.append(self.zarrs.ChunkItem(keys.encode(coords), inside, lengths, place, whole))
        return items, whole


class TensorStore:
    """tensorstore.  Of structured data it reads and writes one field at a time."""

    def __init__(self) -> None:
        self.tensorstore = pytest.importorskip("tensorstore")

    def write(self, path: Path, case: Case) -> None:
        metadata = {name: value for name, value in case.document.items() if name not in _TOLD_BY_THE_DRIVER}
        self._open(path, case, create=True, metadata=metadata)
        self._write(path, case, case.region, case.values[case.region])

    def read(self, path: Path, case: Case) -> np.ndarray:
        if case.dtype.fields is None:
            return self._open(path, case).read().result()
        found = np.zeros(case.shape, case.dtype)
        for name in case.dtype.names:
            found[name] = self._open(path, case, field=name).read().result()
        return found

    def patch(self, path: Path, case: Case) -> None:
        self._write(path, case, case.patch, case.patch_values)

    def _write(self, path: Path, case: Case, region: tuple, values: np.ndarray) -> None:
        if case.dtype.fields is None:
            self._open(path, case)[region].write(values).result()
            return
        for name in case.dtype.names:
            self._open(path, case, field=name)[region].write(values[name]).result()

    def _open(self, path: Path, case: Case, *, create: bool = False, **more: Any) -> Any:
        driver = "zarr3" if case.zarr_format == 3 else "zarr"
        if create and case.dtype.fields is not None:
            more["field"] = case.dtype.names[0]
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/"}, **more}
        return self.tensorstore.open(spec, create=create, open=not create).result()


_TOLD_BY_THE_DRIVER = ("zarr_format", "node_type")


def peer_named(name: str, case: Case) -> Peer:
    """The peer for this case; the test is skipped where it, or what the case needs, is not installed."""
    need_packages(case)
    if name == "zarrs" and case.zarr_format == 3 and _needs_items(case.metadata.data_type):
        name = "zarrs items"
    elif name == "zarrs" and _beyond_zarr_python(case):
        name = "zarrs alone"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _made(name)


def need_packages(case: Case) -> None:
    """Skip the test where a package is missing that both sides compress this case with."""
    for row in rows_of(case.document) & NEEDED.keys():
        pytest.importorskip(NEEDED[row])


def _beyond_zarr_python(case: Case) -> bool:
    """Whether zarrs as the pipeline of zarr-python does not get to see this array."""
    if case.zarr_format == 2:
        return False
    return case.dtype.kind in "mM" or any(row in LACKS["zarr-python"] for row in rows_of(case.document))


def _needs_items(zdtype: Any) -> bool:
    """Whether the Python package of zarrs takes no arrays of a data type, only single items."""
    return zdtype.item_size is None or zdtype._zarr_v3_name == "zarrs.optional"


@cache
def _made(name: str) -> Peer:
    from exchange.zarrs_items import ZarrsItems

    classes = {
        "zarr-python": ZarrPython,
        "zarrs": Zarrs,
        "zarrs alone": ZarrsAlone,
        "zarrs items": ZarrsItems,
        "tensorstore": TensorStore,
        "zarr-python 2": ZarrPython2,
    }
    return classes[name]()
