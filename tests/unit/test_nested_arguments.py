# SPDX-License-Identifier: MIT
"""Arguments that are nested too deeply to be printed are refused like others."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import zarrcore

DEPTH = 100_000
LEFT_OUT = {"store", "kwargs", "storage_options", "data"}
OPTIONS = sorted(inspect.signature(zarrcore.create_array).parameters.keys() - LEFT_OUT)


def nested(make: Callable[[Any], Any]) -> Any:
    value = make(0)
    for _ in range(DEPTH):
        value = make(value)
    return value


KINDS: dict[str, Callable[[Any], Any]] = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (inner,),
    "dictionary": lambda inner: {"a": inner},
}
CALLS: dict[str, Callable[[zarrcore.Array, Any], object]] = {
    "basic": lambda array, value: array[value],
    "orthogonal": lambda array, value: array.oindex[value],
    "vectorised": lambda array, value: array.vindex[value],
    "blocks": lambda array, value: array.blocks[value],
    "assignment": lambda array, value: array.__setitem__(value, 1),
    "value": lambda array, value: array.__setitem__(0, value),
    "append": lambda array, value: array.append(value),
    "resize": lambda array, value: array.resize(value),
    "attribute": lambda array, value: array.attrs.update(a=value),
    "path": lambda array, value: zarrcore.open_array(array.store, path=value),
    "member": lambda array, value: zarrcore.create_group({})[value],
    "fields": lambda array, value: array.get_basic_selection(..., fields=value),
    "setting": lambda array, value: zarrcore.config.set({"array.order": value}),
    "settings": lambda array, value: zarrcore.config.set(value),
    "text": lambda array, value: zarrcore.create_array({}, shape=1, dtype="str").__setitem__(0, value),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_a_nested_argument_is_an_error(call: str, kind: str) -> None:
    array, value = zarrcore.ones((4,), store={}), nested(KINDS[kind])
    with pytest.raises((TypeError, ValueError, LookupError, AttributeError, OverflowError)):
        CALLS[call](array, value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("option", OPTIONS)
def test_a_nested_option_is_an_error(option: str, kind: str) -> None:
    options = {"shape": (4,), "dtype": "i4", option: nested(KINDS[kind])}
    if option in ("write_data", "overwrite"):  # their truth counts
        return
    if (option, kind) == ("dimension_names", "dictionary"):  # the keys are names
        return
    with pytest.raises((TypeError, ValueError)):
        zarrcore.create_array({}, **options)


@pytest.mark.parametrize("dtype", ["i4", "f8", "c16", "str", "M8[s]", "S3"])
def test_values_of_more_dimensions_than_numpy_walks_through(dtype: str) -> None:
    value: Any = {"str": "a", "M8[s]": "2000-01-01", "S3": b"a"}.get(dtype, 1)
    shape = (1,) * 40
    for _ in shape:
        value = [value]
    array = zarrcore.create_array({}, shape=shape, chunks=shape, dtype=dtype)
    array[...] = value
    assert array[...].reshape(-1).tolist() == [np.asarray(value).reshape(-1).astype(array.dtype)[0]]
