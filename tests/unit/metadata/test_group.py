"""Group metadata and consolidated metadata of formats 2 and 3."""

from __future__ import annotations

import json
from typing import Any

import pytest

from zarrcore.errors import MetadataValidationError, NodeTypeValidationError
from zarrcore.metadata import (
    ArrayV2Metadata,
    ArrayV3Metadata,
    ConsolidatedMetadata,
    GroupMetadata,
    parse_v2_group,
    parse_v3_node,
)

ARRAY: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [{"name": "bytes"}],
    "fill_value": 0,
    "attributes": {},
}
GROUP: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": {"spam": "ham"}}
ZARRAY: dict[str, Any] = {
    "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "|u1", "compressor": None, "fill_value": 0,
    "order": "C", "filters": None, "dimension_separator": ".",
}  # fmt: skip


def inline(nodes: Any, **changes: Any) -> dict[str, Any]:
    return GROUP | {
        "consolidated_metadata": {"kind": "inline", "must_understand": False, "metadata": nodes} | changes
    }


class TestGroup:
    def test_format_3(self) -> None:
        group = GroupMetadata.from_dict(GROUP)
        assert (group.zarr_format, group.attributes, group.node_type) == (3, {"spam": "ham"}, "group")
        assert group.to_dict() == GROUP
        assert parse_v3_node(group.to_documents()["zarr.json"]) == group
        assert group.update_attributes({"x": (1,)}).attributes == {"x": [1]}

    def test_format_2(self) -> None:
        group = parse_v2_group(b'{"zarr_format": 2, "_nczarr_group": {}}', b'{"a": 1}')
        assert group == GroupMetadata({"a": 1}, 2, extra_fields={"_nczarr_group": {}})
        documents = group.to_documents()
        assert list(documents) == [".zgroup", ".zattrs"]
        assert json.loads(documents[".zgroup"]) == {"zarr_format": 2, "_nczarr_group": {}}
        assert parse_v2_group(documents[".zgroup"], documents[".zattrs"]) == group

    def test_defaults(self) -> None:
        assert GroupMetadata() == GroupMetadata({}, 3, None, {})

    @pytest.mark.parametrize(
        ("document", "reason"),
        [
            (GROUP | {"zarr_format": 4}, "zarr_format: expected an integer 2..3, got 4"),
            (GROUP | {"attributes": [1]}, "attributes: expected an object"),
            (GROUP | {"shape": [1]}, "shape: is not known"),
            (GROUP | {"consolidated_metadata": [1]}, "consolidated_metadata: expected an object"),
            ({"zarr_format": 2, "attributes": 5}, "attributes: expected an object"),
        ],
    )
    def test_bad_documents_are_refused(self, document: dict, reason: str) -> None:
        with pytest.raises(MetadataValidationError, match=f"^foo: {reason}"):
            GroupMetadata.from_dict(document, where="foo")

    def test_node_type(self) -> None:
        with pytest.raises(NodeTypeValidationError, match='expected "group", got "array"'):
            GroupMetadata.from_dict(ARRAY)

    @pytest.mark.parametrize("zarr_format", [3, 1, "2", None])
    def test_format_of_a_zgroup(self, zarr_format: Any) -> None:
        with pytest.raises(MetadataValidationError, match=r"^a/\.zgroup: zarr_format"):
            parse_v2_group(json.dumps({"zarr_format": zarr_format}).encode(), prefix="a/")


class TestConsolidated3:
    def test_round_trip(self) -> None:
        group = GroupMetadata.from_dict(inline({"b/arr": ARRAY, "b": GROUP, "A": ARRAY}))
        consolidated = group.consolidated_metadata
        assert consolidated is not None
        assert list(consolidated.flattened_metadata) == ["A", "b", "b/arr"]
        assert isinstance(consolidated.metadata["b/arr"], ArrayV3Metadata)
        assert consolidated.metadata["b"] == GroupMetadata({"spam": "ham"})
        again = parse_v3_node(group.to_documents()["zarr.json"])
        assert again == group
        assert again.to_documents() == group.to_documents()
        assert list(again.to_dict()["consolidated_metadata"]["metadata"]) == ["A", "b", "b/arr"]

    def test_children_and_what_is_below(self) -> None:
        nodes = {"a": GROUP, "a/b": GROUP, "a/b/c": ARRAY, "x": ARRAY, "implied/y": ARRAY}
        consolidated = GroupMetadata.from_dict(inline(nodes)).consolidated_metadata
        assert consolidated is not None
        assert list(consolidated.children()) == ["a", "x", "implied"]
        assert list(consolidated.below("a").metadata) == ["b", "b/c"]
        assert consolidated.below("a/b").metadata["c"] == ArrayV3Metadata.from_dict(ARRAY)
        parsed = ConsolidatedMetadata(consolidated.flattened_metadata)
        assert parsed == consolidated
        assert parsed.below("a") == consolidated.below("a")

    def test_nodes_are_parsed_when_asked_for(self) -> None:
        group = GroupMetadata.from_dict(inline({"bad": ARRAY | {"shape": "x"}, "good": ARRAY}))
        assert group.consolidated_metadata is not None
        assert isinstance(group.consolidated_metadata.metadata["good"], ArrayV3Metadata)
        with pytest.raises(
            MetadataValidationError, match="consolidated_metadata.metadata.bad.shape: expected an array"
        ):
            _ = group.consolidated_metadata.metadata["bad"]

    def test_errors_name_the_whole_path(self) -> None:
        group = GroupMetadata.from_dict(inline({"a": GROUP, "a/b": GROUP, "a/b/bad": ARRAY | {"shape": "x"}}))
        below = group.consolidated_metadata.below("a").below("b")
        with pytest.raises(MetadataValidationError, match=r"consolidated_metadata.metadata.a/b/bad.shape: "):
            _ = below.metadata["bad"]

    def test_copies_within_child_groups_are_left_out(self) -> None:
        child = inline({"arr": ARRAY})
        group = GroupMetadata.from_dict(inline({"sub": child, "sub/arr": ARRAY}))
        assert group.consolidated_metadata is not None
        assert group.consolidated_metadata.metadata["sub"].consolidated_metadata is None
        assert parse_v3_node(group.to_documents()["zarr.json"]) == group

    @pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "..", "a/../b", ".", "a\\b", "a\0", "..."])
    def test_paths_that_lead_elsewhere_are_refused(self, path: str) -> None:
        with pytest.raises(MetadataValidationError, match="consolidated_metadata.metadata: expected a path"):
            GroupMetadata.from_dict(inline({path: ARRAY}))

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"kind": "remote", "must_understand": True}, "kind"),
            ({"metadata": [1]}, "metadata: expected an object"),
            ({"metadata": {"a": 5}}, "metadata.a: expected an object"),
        ],
    )
    def test_bad_forms_are_refused(self, changes: dict, reason: str) -> None:
        with pytest.raises(MetadataValidationError, match=reason):
            GroupMetadata.from_dict(inline({}, **changes))

    def test_other_kinds_that_need_not_be_understood(self) -> None:
        assert GroupMetadata.from_dict(inline({}, kind="remote")).consolidated_metadata is None
        assert GroupMetadata.from_dict(GROUP | {"consolidated_metadata": None}).consolidated_metadata is None


class TestConsolidated2:
    DOCUMENTS: dict[str, Any] = {
        ".zgroup": {"zarr_format": 2},
        ".zattrs": {"root": 1},
        "g/.zgroup": {"zarr_format": 2},
        "g/arr/.zarray": ZARRAY,
        "g/arr/.zattrs": {"units": "m"},
        "other": {"what": "ever"},
    }

    def parse(self, documents: Any, **changes: Any) -> GroupMetadata:
        data = {"zarr_consolidated_format": 1, "metadata": documents} | changes
        return parse_v2_group(b'{"zarr_format": 2}', b'{"root": 1}', json.dumps(data).encode())

    def test_round_trip(self) -> None:
        group = self.parse(self.DOCUMENTS)
        assert group.consolidated_metadata is not None
        assert list(group.consolidated_metadata.metadata) == ["g", "g/arr"]
        array = group.consolidated_metadata.metadata["g/arr"]
        assert isinstance(array, ArrayV2Metadata)
        assert array.attributes == {"units": "m"}
        documents = group.to_documents()
        assert list(documents) == [".zgroup", ".zattrs", ".zmetadata"]
        written = json.loads(documents[".zmetadata"])
        assert written["zarr_consolidated_format"] == 1
        assert written["metadata"]["g/arr/.zarray"] == ZARRAY
        assert written["metadata"]["g/.zgroup"] == {"zarr_format": 2}
        again = parse_v2_group(documents[".zgroup"], documents[".zattrs"], documents[".zmetadata"])
        assert again == group
        assert again.to_documents() == documents

    def test_a_bad_node_is_found_when_asked_for(self) -> None:
        group = self.parse({"arr/.zarray": {"zarr_format": 2}})
        assert group.consolidated_metadata is not None
        with pytest.raises(MetadataValidationError, match="arr.shape: is required"):
            _ = group.consolidated_metadata.flattened_metadata

    @pytest.mark.parametrize(
        ("documents", "changes", "reason"),
        [
            ({}, {"zarr_consolidated_format": 2}, r"^\.zmetadata: zarr_consolidated_format"),
            ([], {}, r"^\.zmetadata: metadata: expected an object"),
            ({"../x/.zarray": ZARRAY}, {}, "expected a path"),
            ({"/x/.zgroup": {"zarr_format": 2}}, {}, "expected a path"),
            ({"x/.zarray": 5}, {}, "metadata.x/.zarray: expected an object"),
            ({"x/.zarray": ZARRAY, "x/.zgroup": {"zarr_format": 2}}, {}, "both an array and a group"),
        ],
    )
    def test_bad_documents_are_refused(self, documents: Any, changes: dict, reason: str) -> None:
        with pytest.raises(MetadataValidationError, match=reason):
            self.parse(documents, **changes)
