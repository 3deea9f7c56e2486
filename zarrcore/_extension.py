"""What all extension points of a metadata document share: a name and a configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, field, fields
from functools import cache, wraps
from inspect import isfunction
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

from zarrcore._validate import at, describe, fail, known_keys, named_configuration, reason_of
from zarrcore.errors import BaseZarrError, MetadataValidationError


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


# --- methods that users write: their errors name them, and so do those for what they must not return

Result: TypeAlias = tuple[str, Callable[[Any, Any], bool]]
"""What a method returns, in words, and a check of it, which is given the owner of the method as well."""

ANY: Result = ("anything", lambda found, owner: True)


def instance_of(text: str, *kinds: type) -> Result:
    """Return a :data:`Result` of some classes, which `text` describes; True is no number."""
    return (
        text,
        lambda found, owner: isinstance(found, kinds) and (bool in kinds or not isinstance(found, bool)),
    )


NOTHING = type(None)
DOCUMENT: Result = (
    "a name, or an object with one",
    lambda found, owner: isinstance(found.get("name") if isinstance(found, dict) else found, str),
)
JSON_VALUE: Result = ("JSON", lambda found, owner: found is not None)


@cache
def is_of_a_user(cls: type) -> bool:
    """Return whether a class does not belong to zarrcore."""
    return cls.__module__.partition(".")[0] != "zarrcore"


def is_a_users(item: object) -> bool:
    """Return whether the class of an object does not belong to zarrcore."""
    cls: Any = type(item)
    return is_of_a_user(cls)


@cache
def of_ours(cls: type) -> Any:
    """Return the class of zarrcore that a class is, or that it is made from."""
    return next(base for base in cls.__mro__ if not is_of_a_user(base))


def owner_of(cls: type, name: str) -> type | None:
    """Return the class that has defined a member of a class."""
    return next((base for base in cls.__mro__ if name in vars(base)), None)


def has_users(cls: type, name: str) -> bool:
    """Return whether a member of a class is one that a user has defined."""
    owner = owner_of(cls, name)
    return owner is not None and is_of_a_user(owner)


def hide_forms(cls: type, methods: Sequence[str], forms: Mapping[str, Any]) -> None:
    """Hide forms for the engine of a class of zarrcore in a user's, where that has methods of its own.

    The engine would not call what the user wrote.  `forms` are the members that name such a form, and what
    stands in their places; :func:`own_form` calls what is hidden, for methods of zarrcore.
    """
    if is_of_a_user(cls) and any(has_users(cls, name) for name in methods):
        hide(cls, forms)


def hide(cls: type, forms: Mapping[str, Any]) -> None:
    """Put `forms` in the places of the members of these names that a class has from zarrcore."""
    for name, form in forms.items():
        if hasattr(cls, name) and not has_users(cls, name):
            value: Any = form
            if isfunction(form):
                value = wraps(form)(lambda self, *args, _form=form, **named: _form(self, *args, **named))
                value.hides = getattr(cls, name)
            setattr(cls, name, value)


def own_form(owner: object, name: str, *args: Any) -> Any:
    """Call a method that returns the form for the engine, also where :func:`hide_forms` has hidden it."""
    method = getattr(type(owner), name)
    return getattr(method, "hides", method)(owner, *args)


def guard(
    cls: type, results: Mapping[str, Result], what: str, failed: Callable[[Exception | None, str], Exception]
) -> None:
    """Guard those of some methods that a class of a user defines itself.

    `what` is what the class is, for messages, and ``failed(error, message)`` returns the error to raise for
    one that a method has raised, or for a result (None) that it must not have.
    """
    if not is_of_a_user(cls):
        return
    for name, result in results.items():
        member: Any = vars(cls).get(name)
        if isinstance(member, classmethod):
            setattr(cls, name, classmethod(_guarded(member.__func__, result, what, failed)))
        elif isinstance(member, property) and member.fget is not None:
            setattr(cls, name, property(_guarded(member.fget, result, what, failed), doc=member.__doc__))
        elif isfunction(member):
            setattr(cls, name, _guarded(member, result, what, failed))


def _guarded(
    method: Any, result: Result, what: str, failed: Callable[[Exception | None, str], Exception]
) -> Any:
    expected = result[0]

    @wraps(method)
    def call(owner: Any, *args: Any, **options: Any) -> Any:
        try:
            found = method(owner, *args, **options)
            if result in (DOCUMENT, JSON_VALUE):  # what is checked from here on is what will be stored
                found = json.loads(json.dumps(found))
        except (BaseZarrError, MemoryError, Warning):
            raise
        except Exception as error:
            raise failed(error, f"{reason_of(error)} ({_named(method, owner, what)})") from error
        if not _fits(result, found, owner):
            raise failed(
                None, f"expected {expected} from {_named(method, owner, what)}, got {describe(found)}"
            )
        return found

    return call


def _fits(result: Result, found: Any, owner: Any) -> bool:
    try:
        return result[1](found, owner)
    except Exception:  # of an object that cannot be looked at
        return False


def _named(method: Any, owner: Any, what: str) -> str:
    cls = owner if isinstance(owner, type) else type(owner)
    return f"{method.__name__} of the {what} {str(getattr(cls, 'name', cls.__name__))!r}"


def _failed(error: Exception | None, message: str) -> Exception:
    return MetadataValidationError(message)


class Extension:
    """Base class of what metadata documents name: a frozen dataclass whose fields are its configuration."""

    name: ClassVar[str]
    _what: ClassVar[str] = "extension"
    _results: ClassVar[Mapping[str, Result]] = {"to_json": DOCUMENT}
    _methods: ClassVar[Sequence[str]] = ("encode", "decode")
    _forms: ClassVar[Mapping[str, Any]] = {}  # see `hide_forms`

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        hide_forms(cls, cls._methods, cls._forms)
        guard(cls, cls._results, cls._what, _failed)

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
        cls: Any = type(self)
        document = {"name": self.name, "configuration": written(members_of(cls), self)}
        if not is_of_a_user(cls):
            return document
        try:
            return dict(json.loads(json.dumps(document)))
        except (TypeError, ValueError, RecursionError) as error:
            message = f"{reason_of(error)} (configuration of the {self._what} {self.name!r})"
            raise MetadataValidationError(message) from error

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
        found = cls.from_json(configuration)
    if not isinstance(found, kind):
        fail(None, f"an instance from from_json of {cls.__name__}", found)
    return found


@cache
def members_of(cls: Any) -> dict[str, Field[Any]]:
    """Return the fields that metadata documents hold."""
    return {member.name: member for member in fields(cls) if "runtime" not in member.metadata}


def _json(value: Any) -> Any:
    if isinstance(value, Extension):
        return value.to_json()
    return [_json(item) for item in value] if isinstance(value, tuple) else value
