"""Types for annotations, keys of documents and checks of arguments, those of ``zarr.core.common``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from zarrcore._typing import Buffer as BytesLike
from zarrcore._typing import ChunksLike, MemoryOrder, ShapeLike
from zarrcore._validate import named_configuration
from zarrcore.arrays.chunks import parse_shape as parse_shapelike
from zarrcore.dtypes import JSON, ZarrFormat
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON, ZATTRS_JSON, ZGROUP_JSON, ZMETADATA_V2_JSON
from zarrcore.metadata.v3 import parse_dimension_names
from zarrcore.storage.path import AccessMode as AccessModeLiteral

__all__ = [
    "JSON",
    "ZARRAY_JSON",
    "ZARR_JSON",
    "ZATTRS_JSON",
    "ZGROUP_JSON",
    "ZMETADATA_V2_JSON",
    "AccessModeLiteral",
    "BytesLike",
    "ChunksLike",
    "DimensionNames",
    "DimensionNamesLike",
    "MemoryOrder",
    "NodeType",
    "ShapeLike",
    "ZarrFormat",
    "parse_dimension_names",
    "parse_named_configuration",
    "parse_shapelike",
]

DimensionNames: TypeAlias = Iterable[str | None] | None
DimensionNamesLike: TypeAlias = DimensionNames
NodeType = Literal["array", "group"]


def parse_named_configuration(
    data: Any, expected_name: str | None = None, *, require_configuration: bool = True
) -> tuple[str, dict[str, Any] | None]:
    """Return the name and the configuration of an extension, from its JSON.

    Parameters
    ----------
    data : dict
        The JSON.
    expected_name : str, optional
        The only name that is right.
    require_configuration : bool
        Whether a missing configuration is an error; otherwise it is returned as None.

    Raises
    ------
    MetadataValidationError
        If the JSON is of another form.
    ValueError
        If the name is another one, or the configuration is missing.
    """
    name, configuration, _ = named_configuration(data)
    if expected_name not in (None, name):
        raise ValueError(f"expected the name {expected_name!r}, got {name!r}")
    if not isinstance(data, dict) or "configuration" not in data:
        if require_configuration:
            raise ValueError(f"expected a configuration of {name!r}, got none")
        return name, None
    return name, configuration
