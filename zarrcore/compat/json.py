"""The base class of what is written as JSON."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self

from zarrcore._records import dataclass

__all__ = ["Metadata"]


@dataclass(frozen=True)
class Metadata(ABC):  # noqa: B024  all of its methods are there
    """A dataclass that is written as a JSON object of its fields, and made of one.

    What has the methods ``to_dict`` and ``from_dict`` is one, also if it is not derived from it: codecs, data
    types and metadata of arrays are.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Scale(Metadata):
    ...     factor: float
    >>> Scale(2.0).to_dict(), Scale.from_dict({"factor": 3.0})
    ({'factor': 2.0}, Scale(factor=3.0))
    >>> isinstance(zarrcore.codecs.ZstdCodec(), Metadata)
    True
    """

    @classmethod
    def __subclasshook__(cls, other: type, /) -> Any:
        if cls is not Metadata:
            return NotImplemented
        return all(callable(getattr(other, name, None)) for name in ("to_dict", "from_dict"))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the object that a JSON object describes."""
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by their names, as JSON has them."""
        return {field.name: _written(getattr(self, field.name)) for field in fields(self)}


def _written(value: Any) -> Any:
    if isinstance(value, Metadata):
        return value.to_dict()
    return tuple(map(_written, value)) if isinstance(value, (list, tuple)) else value
