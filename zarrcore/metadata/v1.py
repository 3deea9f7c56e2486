"""Array metadata of format 1 (Zarr v1, "Metadata"), which is read and never written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NoReturn, Self

from zarrcore._validate import at, choice, fail, integer
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata.v2 import ArrayV2Metadata

META, ATTRS = "meta", "attrs"

_COMPRESSIONS = ("blosc", "zlib", "gzip", "bz2", "lzma", "none")
_SAME_AS_V2 = ("shape", "chunks", "dtype", "fill_value", "order")


class ArrayV1Metadata(ArrayV2Metadata):
    """Metadata of a format 1 array: that of format 2 but for the way in which the compressor is recorded."""

    zarr_format: ClassVar[int] = 1

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str | None = META) -> Self:
        """Parse a ``meta`` document, see :meth:`ArrayMetadata.from_dict`."""
        with at(key=where):
            integer(data.get("zarr_format"), "zarr_format", 1, 1)
            as_v2 = {name: data[name] for name in _SAME_AS_V2} | {"attributes": data.get("attributes", {})}
            compressor = _compressor(data["compression"], data["compression_opts"])
            return super().from_dict({**as_v2, "compressor": compressor, "zarr_format": 2}, where=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata in the form of format 2, with ``zarr_format`` 1."""
        return super().to_dict() | {"zarr_format": 1}

    def to_documents(self) -> NoReturn:
        """Always fails.

        Raises
        ------
        MetadataValidationError
            Format 1 is read only.
        """
        raise MetadataValidationError("arrays of format 1 can be read only; copy the array to format 2 or 3")


def _compressor(compression: Any, options: Any) -> dict[str, Any] | None:
    """Return the compressor of format 2 that ``compression`` and ``compression_opts`` stand for."""
    if compression is None:
        return None
    name = choice(compression, "compression", _COMPRESSIONS)
    if name == "none":  # what zarr-python 1 wrote for null
        if options is not None:
            fail("compression_opts", "null", options)
        return None
    if name == "gzip":  # its other name of zlib: the bytes are those of zlib
        name = "zlib"
    if options is None:
        options = {}
    elif name in ("zlib", "bz2") and not isinstance(options, dict):
        options = {"level": options}
    elif not isinstance(options, dict):
        fail("compression_opts", "an object", options)
    with at("compression_opts"):
        if "id" in options:
            fail("id", "no such member", options["id"])
    return {**options, "id": name}
