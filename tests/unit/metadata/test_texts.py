# SPDX-License-Identifier: MIT
"""Documents that were read before: equal metadata, of which nobody changes another's."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

import zarrcore
from zarrcore.errors import ZarrcoreWarning
from zarrcore.metadata.parse import parse_v3_node
from zarrcore.storage import MemoryStore


def stored(**options: Any) -> bytes:
    store = MemoryStore()
    zarrcore.create_array(store, shape=(4, 6), chunks=(2, 3), dtype="i4", **options)
    return bytes(store.get("zarr.json"))


@pytest.mark.parametrize("attributes", [{}, {"a": [1, {"b": 1.5}], "c": None}])
def test_the_same_text_makes_equal_metadata(attributes: dict[str, Any]) -> None:
    text = stored(attributes=attributes, dimension_names=["x", "y"])
    first, second, third = (parse_v3_node(text) for _ in range(3))
    assert first == second == third
    assert first.to_documents() == third.to_documents()
    assert vars(first).keys() == vars(third).keys()


def test_attributes_of_two_arrays_are_two_objects() -> None:
    text = stored(attributes={"a": [1]})
    for _ in range(3):
        metadata = parse_v3_node(text)
        assert metadata.attributes == {"a": [1]}
        metadata.attributes["a"].append(2)
        metadata.attributes["b"] = 3


def test_departures_are_reported_each_time() -> None:
    document = json.loads(stored())
    document["codecs"] = []
    text = json.dumps(document).encode()
    for _ in range(3):
        with pytest.warns(ZarrcoreWarning):
            parse_v3_node(text)


def test_extra_fields_are_not_shared() -> None:
    document = json.loads(stored())
    document["more"] = {"must_understand": False, "values": [1]}
    text = json.dumps(document).encode()
    for _ in range(3):
        metadata = parse_v3_node(text)
        assert metadata.extra_fields["more"]["values"] == [1]
        metadata.extra_fields["more"]["values"].append(2)


def test_nan_in_attributes_is_read_each_time() -> None:
    text = stored(attributes={"a": 1}).replace(b'"a": 1', b'"a": NaN')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [parse_v3_node(text) for _ in range(3)]
    assert all(str(metadata.attributes["a"]) == "nan" for metadata in found)
