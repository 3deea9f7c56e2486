"""What all extension points of a metadata document share: a name and a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from zarrcore._validate import at, known_keys, named_configuration
from zarrcore.errors import MetadataValidationError

if TYPE_CHECKING:
    from typing import Protocol, Self

    class _Registry(Protocol):
        def get(self, name: str) -> Any: ...


class Extension:
    """Base class of what metadata documents name: a frozen dataclass whose fields are its configuration."""

    name: ClassVar[str]

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        """Return an instance from `configuration`, the member of that name in a metadata document.

        Raises
        ------
        MetadataValidationError
            If a member is unknown or missing, or its value is not valid.
        """
        members = _members(cls)  # type: ignore[arg-type]
        known_keys(configuration, members)
        for name, is_required in members.items():
            if is_required and name not in configuration:
                raise MetadataValidationError("is required and missing", where=name)
        return cls(**configuration)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return an instance from `data`, its whole extension object."""
        configuration = named_configuration(data)[1]
        with at("configuration"):
            return cls.from_json(configuration)

    def to_json(self) -> dict[str, Any]:
        """Return the extension object of a metadata document, with all members of the configuration."""
        configuration = {name: _json(getattr(self, name)) for name in _members(type(self))}  # type: ignore[arg-type]
        return {"name": self.name, "configuration": configuration}

    def to_dict(self) -> dict[str, Any]:
        """Return the same as :meth:`to_json`."""
        return self.to_json()


E = TypeVar("E", bound=Extension)


def parse_extension(data: object, kind: type[E], registry: _Registry) -> E:
    """Return an extension from a metadata document or an argument.

    Parameters
    ----------
    data : Extension, str or dict
        An instance of `kind`, a short-hand name, or an extension object.
    kind : type
        The base class of the extension point.
    registry : Registry
        The classes by their names.
    """
    if isinstance(data, kind):
        return data
    name, configuration, _ = named_configuration(data)
    cls = registry.get(name)
    with at("configuration"):
        return cls.from_json(configuration)  # type: ignore[no-any-return]


@cache
def _members(cls: Any) -> dict[str, bool]:
    """Return the fields that metadata documents hold, and whether they must."""
    return {
        field.name: field.default is MISSING and field.default_factory is MISSING
        for field in fields(cls)
        if "runtime" not in field.metadata
    }


def _json(value: Any) -> Any:
    if isinstance(value, Extension):
        return value.to_json()
    return [_json(item) for item in value] if isinstance(value, tuple) else value
