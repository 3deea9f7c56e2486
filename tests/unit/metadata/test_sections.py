# SPDX-License-Identifier: MIT
"""Consolidated metadata read as text: the same as what the standard library makes of the whole document."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zarrcore
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata import load_document, parse_v3_node, sections
from zarrcore.metadata.sections import Section, load_group_document
from zarrcore.storage import MemoryStore

NAMES = st.text(st.sampled_from('ab"\\:{}[], \n\u00e4'), max_size=4) | st.sampled_from(
    ("metadata", "consolidated_metadata", "kind", "attributes", "zarr_format")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
MEMBERS = st.dictionaries(NAMES, VALUES, max_size=3)
INDENTS = st.sampled_from((2, 4, 1, "\t", 2, None))
HEAD = """{
  "zarr_format": 3,
  "node_type": "group",
  "consolidated_metadata": {
    "kind": "inline",
"""


def array(**members: Any) -> dict[str, Any]:
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4],
        "data_type": "int32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        **members,
    }


def group(nodes: Any, **members: Any) -> dict[str, Any]:
    consolidated = {"kind": "inline", "must_understand": False, "metadata": nodes}
    return {"zarr_format": 3, "node_type": "group", "consolidated_metadata": consolidated, **members}


def text(document: Any, indent: int | str | None = 2) -> bytes:
    return json.dumps(document, indent=indent).encode()


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """The document with its section as the dictionary that it stands for."""
    consolidated = document.get("consolidated_metadata")
    if isinstance(consolidated, dict) and isinstance(consolidated.get("metadata"), Section):
        return {
            **document,
            "consolidated_metadata": {**consolidated, "metadata": dict(consolidated["metadata"])},
        }
    return document


@given(nodes=st.dictionaries(NAMES, MEMBERS, max_size=4), members=MEMBERS, indent=INDENTS)
def test_same_as_the_whole_document(
    nodes: dict[str, Any], members: dict[str, Any], indent: int | str | None
) -> None:
    raw = text({**members, **group(nodes, attributes=members)}, indent)
    assert plain(load_group_document(raw, where="zarr.json")) == json.loads(raw)


@given(nodes=st.dictionaries(NAMES, MEMBERS, min_size=1, max_size=4), cut=st.integers(0, 1 << 16), junk=NAMES)
def test_damaged_documents_are_refused_or_as_the_standard_library_reads_them(
    nodes: dict[str, Any], cut: int, junk: str
) -> None:
    raw = text(group(nodes)).decode()
    damaged = raw[: cut % len(raw)] + junk + raw[cut % len(raw) + len(junk) :]
    try:
        expected = load_document(damaged.encode(), where="zarr.json")
    except MetadataValidationError:
        with pytest.raises(MetadataValidationError):
            plain(load_group_document(damaged.encode(), where="zarr.json"))
    else:
        assert plain(load_group_document(damaged.encode(), where="zarr.json")) == expected


def test_a_document_that_was_edited_hides_no_node() -> None:
    """The line that ends a node was indented less, and the nodes after it were taken for a part of it."""
    raw = text(group({"a": {"b": 1}, "c": {}, "d": {"e": 2}}))
    edited = raw.replace(b"\n      },", b"\n\n     },")
    assert edited != raw
    assert plain(load_group_document(edited, where="zarr.json")) == json.loads(raw)


def test_nodes_stay_text_until_they_are_used() -> None:
    document = load_group_document(text(group({"a": array(), "b": array()})), where="zarr.json")
    section = document["consolidated_metadata"]["metadata"]
    assert isinstance(section, Section)
    assert list(section) == ["a", "b"]
    assert json.loads(section.text_of("b")) == section["b"] == array()


@pytest.mark.parametrize(
    "document",
    [
        {**group({"a": array()}), "node_type": "array"},
        group({"a": array(), "b": 1}),
        group({"a": array(), "b": {}}),
        group({}),
        {**group({"a": array()}), "consolidated_metadata": {"kind": "other", "metadata": {"a": {"b": 1}}}},
    ],
)
def test_other_documents_are_parsed_at_once(document: dict[str, Any]) -> None:
    assert load_group_document(text(document), where="zarr.json") == document


def test_a_damaged_node_is_refused_when_it_is_used() -> None:
    raw = text(group({"a": array(), "b": array()})).decode()
    start = raw.rindex('"fill_value": 0')
    values = MemoryStore({"zarr.json": f"{raw[:start]}'fill_value': 0{raw[start + 15 :]}".encode()})
    root = zarrcore.open_group(values, mode="r")
    assert root["a"].shape == (4,)
    with pytest.raises(MetadataValidationError, match=r"zarr\.json: .*not valid JSON"):
        root["b"]


def test_names_that_stand_twice_are_refused() -> None:
    raw = text(group({"a": array(), "b": array()})).decode()
    with pytest.raises(MetadataValidationError, match='"a" occurs twice'):
        parse_v3_node(raw.replace('"b": {', '"a": {').encode())
    metadata: Any = parse_v3_node(raw.replace('"shape": [', '"fill_value": [', 1).encode())
    with pytest.raises(MetadataValidationError, match='"fill_value" occurs twice'):
        metadata.consolidated_metadata.metadata["a"]


def test_arrays_in_the_same_words_have_attributes_of_their_own() -> None:
    twice = array(attributes={"units": ["K"]}, more={"must_understand": False, "x": [1]})
    metadata: Any = parse_v3_node(text(group({"a": twice, "b": twice, "c": array()})))
    nodes = metadata.consolidated_metadata.metadata
    assert nodes["a"] == nodes["b"] != nodes["c"]
    assert nodes["a"].chain() is nodes["b"].chain()
    nodes["a"].attributes["units"].append("m")
    nodes["a"].extra_fields["more"]["x"].append(2)
    assert nodes["b"].attributes == {"units": ["K"]}
    assert nodes["b"].extra_fields == {"more": {"must_understand": False, "x": [1]}}


@pytest.mark.parametrize("literal", ["1", "true", "1.0", "90715382641", "9071538264e1"])
def test_what_is_no_node_is_not_taken_for_one(literal: str) -> None:
    """A document where the second object in the layout of a node comes after the nodes."""
    nodes = '      "a": {\n        "x": 1\n      },\n      "b": ' + literal
    other = '}, "other": {\n        "y": 2\n      }\n    }\n  , "attributes": {}\n}'
    document = f'{HEAD}    "metadata": {{\n{nodes}{other}'.encode()
    found = load_group_document(document, where="zarr.json")
    assert plain(found) == json.loads(document)


def test_digits_that_a_document_holds_are_not_used_for_it() -> None:
    nodes = {"a": array(attributes={"n": 9071538264, "m": "9071538264" * 2}), "b": array()}
    document = group(nodes)
    found = load_group_document(text(document), where="zarr.json")
    assert isinstance(found["consolidated_metadata"]["metadata"], Section)
    assert plain(found) == document
    nodes["b"]["attributes"] = {"n": "9071538264" * 4}
    assert load_group_document(text(document), where="zarr.json") == document


@pytest.mark.parametrize("indent", [6, 8])
def test_lines_that_look_like_the_ends_of_nodes(indent: int) -> None:
    deep = f'{{"z": {{\n{" " * indent}}}, "n2": {{\n        "r": 1}}}}}}'
    nodes = f'      "n1": {{\n        "q": {deep}, "n3": {{\n      }}\n'
    document = f'{HEAD}    "metadata": {{\n{nodes}    }}\n  }}\n}}'.encode()
    expected = json.loads(document)["consolidated_metadata"]["metadata"]
    assert [*expected] == ["n1", "n3"]
    found = load_group_document(document, where="zarr.json")["consolidated_metadata"]["metadata"]
    assert isinstance(found, Section)
    assert found == expected


@pytest.mark.parametrize("indent", [None, 1, "\t"])
def test_nodes_stay_text_in_any_layout(indent: int | str | None) -> None:
    nodes = {"a": array(attributes={"ä": '}"{'}), "b/c": array(), "d": {}}
    section = load_group_document(text(group(nodes), indent), where="zarr.json")["consolidated_metadata"][
        "metadata"
    ]
    assert isinstance(section, Section)
    assert section == nodes


@pytest.mark.parametrize("before", ["-", "1", "[", '"'])
@pytest.mark.parametrize("after", ["", "0", ".0", '"', "{}", "]"])
def test_what_stands_beside_a_node_is_not_lost(before: str, after: str) -> None:
    raw = text(group({"a": {"x": 1}, "b": {"y": 2}}), None).decode()
    damaged = raw.replace('{"x": 1}', f'{before}{{"x": 1}}{after}').encode()
    try:
        expected = json.loads(damaged)
    except ValueError:
        with pytest.raises(MetadataValidationError):
            plain(load_group_document(damaged, where="zarr.json"))
    else:
        assert plain(load_group_document(damaged, where="zarr.json")) == expected


def test_a_group_that_was_opened_again_was_taken_apart_again(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bytes] = []
    apart = sections.objects_in
    monkeypatch.setattr(sections, "objects_in", lambda raw, *names: taken.append(raw) or apart(raw, *names))
    raw = text(group({"a": array()}, attributes={"list": [1]}))
    first = load_group_document(raw, where="again/zarr.json")
    first["attributes"]["list"].append(2)  # belongs to who has opened the group
    again = load_group_document(bytes(bytearray(raw)), where="again/zarr.json")
    assert len(taken) == 1 and plain(again) == json.loads(raw)
    load_group_document(raw, where="other/zarr.json")  # messages name another place
    changed = text(group({"a": array(), "b": array()}))
    assert plain(load_group_document(changed, where="other/zarr.json")) == json.loads(changed)
    assert len(taken) == 3
