"""What all extension points of a metadata document share: a name and a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields
from functools import cache
from typing import Any, ClassVar, Protocol, Self, TypeVar

from zarrcore._validate import at, known_keys, named_configuration
from zarrcore.errors import MetadataValidationError


class _Registry(Protocol):
    def get(self, name: str) -> Any: ...


REQUIRED: Any = MISSING
"""The default of a member that has none."""


def option(default: Any, check: Callable[..., Any], *limits: Any, omitted: bool = False) -> Any:
    """Declare a member of a configuration, as :func:`dataclasses.field` does.

    Parameters
    ----------
    default : object
        Its value if it is not given, or ``REQUIRED``.  Where that is None, null is accepted too.
    check : callable
        ``check(value, name, *limits)`` returns the value to keep, or raises.
    omitted : bool
        Whether documents leave out the default.
    """
    return field(default=default, metadata={"check": check, "limits": limits, "omitted": omitted})


def checked(member: Field[Any], value: Any) -> Any:
    """Return the value to keep for a member that :func:`option` or a plain dataclass declares."""
    check = member.metadata.get("check")
    if check is None or (value is None and member.default is None):
        return value
    return check(value, member.name, *member.metadata["limits"])


def written(members: Mapping[str, Field[Any]], owner: object) -> dict[str, Any]:
    """Return the values of `members` of `owner` in the form of JSON, but for defaults that are left out."""
    values = ((member, getattr(owner, name)) for name, member in members.items())
    return {
        member.name: _json(value)
        for member, value in values
        if not (member.metadata.get("omitted") and value == member.default)
    }


class Extension:
    """Base class of what metadata documents name: a frozen dataclass whose fields are its configuration."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        for name, member in members_of(type(self)).items():  # type: ignore[arg-type]
            if "check" in member.metadata:
                object.__setattr__(self, name, checked(member, getattr(self, name)))

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        """Return an instance from `configuration`, the member of that name in a metadata document.

        Raises
        ------
        MetadataValidationError
            If a member is unknown or missing, or its value is not valid.
        """
        members = members_of(cls)  # type: ignore[arg-type]
        known_keys(configuration, members)
        for name, member in members.items():
            is_required = member.default is MISSING and member.default_factory is MISSING
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
        members = members_of(type(self))  # type: ignore[arg-type]
        return {"name": self.name, "configuration": written(members, self)}

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
    with at("configuration", given=configuration):
        return cls.from_json(configuration)  # type: ignore[no-any-return]


@cache
def members_of(cls: Any) -> dict[str, Field[Any]]:
    """Return the fields that metadata documents hold."""
    return {member.name: member for member in fields(cls) if "runtime" not in member.metadata}


def _json(value: Any) -> Any:
    if isinstance(value, Extension):
        return value.to_json()
    return [_json(item) for item in value] if isinstance(value, tuple) else value
