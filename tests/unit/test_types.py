"""The names that annotations use."""

from __future__ import annotations

from importlib import import_module
from typing import Any, get_args, get_origin

import numpy as np
import pytest

import zarrcore
from zarrcore import types
from zarrcore.abc import buffer
from zarrcore.metadata import ArrayV3Metadata
from zarrcore.storage import LocalStore, MemoryStore, WrapperStore


def test_names_are_those_of_zarr_python() -> None:
    theirs = pytest.importorskip("zarr.types")
    assert set(types.__all__) == set(theirs.__all__)
    assert set(buffer.__all__) == set(pytest.importorskip("zarr.abc.buffer").__all__)
    assert all(hasattr(module, name) for module in (types, buffer) for name in module.__all__)


@pytest.mark.parametrize("cls", [zarrcore.Array, zarrcore.AsyncArray])
def test_arrays_may_be_annotated_with_their_metadata(cls: Any) -> None:
    annotation = cls[ArrayV3Metadata]
    assert (get_origin(annotation), get_args(annotation)) == (cls, (ArrayV3Metadata,))


def test_annotated_arrays_are_arrays() -> None:
    assert isinstance(zarrcore.create_array({}, shape=2, dtype="i1"), types.AnyArray)
    assert isinstance(np.zeros(2), buffer.NDArrayLike)


def test_wrappers_of_one_kind_of_store() -> None:
    class Local(WrapperStore[LocalStore]):  # type: ignore[type-arg]
        pass

    assert issubclass(Local, WrapperStore)
    array = zarrcore.create_array(Local(MemoryStore()), shape=2, dtype="i1", fill_value=3)
    assert array[...].tolist() == [3, 3]


@pytest.mark.parametrize("name", ["buffer", "group"])
def test_what_the_user_guide_of_zarr_python_imports_from_its_core(name: str) -> None:
    pytest.importorskip("zarr")
    ours, theirs = (import_module(f"{package}.core.{name}") for package in ("zarrcore", "zarr"))
    assert all(hasattr(theirs, member) for member in ours.__all__)
    assert all(hasattr(ours, member) for member in ours.__all__)
