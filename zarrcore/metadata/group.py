"""Group metadata of formats 2 and 3."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import at, choice, fail, integer, mapping
from zarrcore.metadata.common import dump
from zarrcore.metadata.departures import report, without_nulls
from zarrcore.metadata.documents import (
    ZARR_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    parse_attributes,
)
from zarrcore.metadata.v3 import ArrayV3Metadata, check_node, parse_extra_fields

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from zarrcore.metadata.consolidated import ConsolidatedMetadata

GROUP_METADATA_KEYS = frozenset({"zarr_format", "node_type", "attributes", "consolidated_metadata"})
"""The known members of a group document; zarr-python added ``consolidated_metadata``."""


@dataclass(frozen=True)
class GroupMetadata:
    """Metadata of a group.

    Parameters
    ----------
    attributes : dict, optional
        User attributes.
    zarr_format : {3, 2}
        The format.
    consolidated_metadata : ConsolidatedMetadata, optional
        The metadata of all nodes below the group.
    extra_fields : dict, optional
        Further members of the document; in format 3 each is an object with ``"must_understand": false``.
        Consolidated metadata of a form that is not known are among them.
    """

    node_type: ClassVar[str] = "group"

    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: int = 3
    consolidated_metadata: ConsolidatedMetadata | None = None
    extra_fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", parse_attributes(self.attributes))
        object.__setattr__(self, "zarr_format", integer(self.zarr_format, "zarr_format", 2, 3))
        extra = dict(self.extra_fields or {})
        if self.zarr_format == 3:
            extra = parse_extra_fields(extra, GROUP_METADATA_KEYS - {"consolidated_metadata"})
        object.__setattr__(self, "extra_fields", extra)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str | None = None) -> Self:
        """Parse a ``zarr.json`` document of a group, or a ``.zgroup`` document with its ``attributes``.

        Parameters
        ----------
        data : dict
            The document.
        where : str, optional
            Its store key, for messages.

        Raises
        ------
        MetadataValidationError
            If the document is not valid.
        NodeTypeValidationError
            If the document is that of an array.
        """
        with at(key=where):
            zarr_format = integer(data.get("zarr_format"), "zarr_format", 2, 3)
            if zarr_format == 3:
                check_node(data, "group")
            attributes = dict(mapping(data.get("attributes", {}), "attributes"))
            extra = {name: value for name, value in data.items() if name not in GROUP_METADATA_KEYS}
            consolidated = _parse_consolidated(data, zarr_format, where)
            if consolidated is None and zarr_format == 3 and data.get("consolidated_metadata") is not None:
                extra["consolidated_metadata"] = data["consolidated_metadata"]  # kept, though in another form
            return cls(attributes, zarr_format, consolidated, extra)

    @classmethod
    def from_document(cls, data: Mapping[str, Any], *, where: str | None = None) -> Self:
        """Parse a stored document, leniently and with a warning; see :meth:`from_dict`."""
        data, departures = without_nulls(data, 2 if data.get("zarr_format") == 2 else 3)
        group = cls.from_dict(data, where=where)
        report(departures, where)
        return group

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata as one JSON object, in format 3 the ``zarr.json`` document."""
        data: dict[str, Any] = {"attributes": dict(self.attributes), "zarr_format": self.zarr_format}
        if self.zarr_format == 3:
            if self.consolidated_metadata is not None:
                data["consolidated_metadata"] = self.consolidated_metadata.to_dict()
            data["node_type"] = "group"
        return data | {name: value for name, value in self.extra_fields.items() if name not in data}

    def to_documents(self) -> dict[str, bytes]:
        """Return the metadata as they are stored: the name of each document, and its bytes."""
        if self.zarr_format == 3:
            return dump(ZARR_JSON, self.to_dict())
        documents = dump(ZGROUP_JSON, {"zarr_format": 2} | self.extra_fields) | dump(
            ZATTRS_JSON, self.attributes
        )
        if self.consolidated_metadata is not None:
            zmetadata = self.consolidated_metadata.to_zmetadata(self.attributes, self.extra_fields)
            documents |= dump(ZMETADATA_V2_JSON, zmetadata)
        return documents

    def without_consolidated(self) -> Self:
        """Return the metadata of the group alone, without those of the nodes below it."""
        if self.consolidated_metadata is None and "consolidated_metadata" not in self.extra_fields:
            return self
        extra = {name: item for name, item in self.extra_fields.items() if name != "consolidated_metadata"}
        return replace(self, consolidated_metadata=None, extra_fields=extra)

    def update_attributes(self, attributes: dict[str, Any]) -> Self:
        """Return the metadata of the same group with other `attributes`."""
        return replace(self, attributes=attributes)


def _parse_consolidated(
    data: Mapping[str, Any], zarr_format: int, where: str | None
) -> ConsolidatedMetadata | None:
    found = data.get("consolidated_metadata")
    if found is None or zarr_format == 2:
        return None
    with at("consolidated_metadata"):
        if not isinstance(found, dict):
            fail(None, "an object", found)
        kind = found.get("kind")
        if isinstance(kind, str) and kind != "inline" and found.get("must_understand") is False:
            return None  # another form, which need not be understood: the documents themselves are there
        from zarrcore.metadata.consolidated import ConsolidatedMetadata

        return ConsolidatedMetadata.from_dict(found, parse_node_below, where=where)


def parse_node_below(document: Mapping[str, Any]) -> Any:
    """Return the metadata of a node that a consolidated document describes.

    In format 2 the member ``node_type`` names the kind of document that it is from.
    """
    zarr_format = integer(document.get("zarr_format"), "zarr_format", 2, 3)
    default = "array" if zarr_format == 2 and "shape" in document else "group" if zarr_format == 2 else None
    node_type = choice(document.get("node_type", default), "node_type", ("array", "group"))
    if zarr_format == 3 and node_type == "array":
        return ArrayV3Metadata.from_document(document, where=None)
    # What is below a group is known from this document; a copy inside the group would be a second truth.
    own = {name: value for name, value in document.items() if name != "consolidated_metadata"}
    if zarr_format == 2:
        own.pop("node_type", None)
    if node_type == "group":
        return GroupMetadata.from_document(own, where=None)
    from zarrcore.metadata.v2 import ArrayV2Metadata

    return ArrayV2Metadata.from_document(own, where=None)
