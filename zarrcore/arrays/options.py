"""The options of the functions that create arrays: each stands here once, with its type and its default.

A function takes them as ``**options: Unpack[ArrayOptions]``, so that type checkers know them.  The decorator
:func:`takes` shows them in its signature, and :func:`complete` adds the defaults of those that are not given.
What they mean is said at :func:`zarrcore.create_array` and :func:`zarrcore.create`.
"""

# No `from __future__ import annotations`: the annotations of this module are values, which hold the defaults.

from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature
from typing import Annotated, Any, TypedDict, TypeVar

__all__ = [
    "ArrayOptions",
    "CreateOptions",
    "FromArrayOptions",
    "IgnoredOptions",
    "LegacyOptions",
    "SharedOptions",
    "StoringOptions",
    "complete",
    "takes",
]

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class SharedOptions(TypedDict, total=False):
    """What every new array may be told."""

    fill_value: Annotated[Any, ...]
    order: Annotated[str | None, None]
    attributes: Annotated[Mapping[str, Any] | None, None]
    chunk_key_encoding: Annotated[Any, None]
    dimension_names: Annotated[Any, None]
    config: Annotated[Any, None]


class StoringOptions(SharedOptions, total=False):
    """The same, and how it is stored."""

    overwrite: Annotated[bool, False]
    write_data: Annotated[bool, True]


class ArrayOptions(StoringOptions, total=False):
    """Options of :func:`zarrcore.create_array`."""

    shape: Annotated[Any, None]
    dtype: Annotated[Any, None]
    data: Annotated[Any, None]
    chunks: Annotated[Any, "auto"]
    shards: Annotated[Any, None]
    filters: Annotated[Any, "auto"]
    compressors: Annotated[Any, "auto"]
    serializer: Annotated[Any, "auto"]


class FromArrayOptions(StoringOptions, total=False):
    """Options of :func:`zarrcore.from_array`."""

    chunks: Annotated[Any, "keep"]
    shards: Annotated[Any, "keep"]
    filters: Annotated[Any, "keep"]
    compressors: Annotated[Any, "keep"]
    serializer: Annotated[Any, "keep"]
    threads: Annotated[int, 0]
    progress: Annotated[Callable[[int, int], object] | None, None]


class LegacyOptions(SharedOptions, total=False):
    """Options of :func:`zarrcore.create`, without those that have no effect."""

    chunks: Annotated[Any, None]
    chunk_shape: Annotated[Any, None]
    dtype: Annotated[Any, None]
    compressor: Annotated[Any, "auto"]
    filters: Annotated[Any, None]
    object_codec: Annotated[Any, None]
    dimension_separator: Annotated[str | None, None]
    codecs: Annotated[Any, None]
    write_empty_chunks: Annotated[bool | None, None]


class IgnoredOptions(TypedDict, total=False):
    """Options that are accepted for compatibility and have no effect."""

    synchronizer: Annotated[Any, None]
    chunk_store: Annotated[Any, None]
    cache_metadata: Annotated[bool | None, None]
    cache_attrs: Annotated[bool | None, None]
    read_only: Annotated[bool | None, None]
    meta_array: Annotated[Any, None]


class CreateOptions(LegacyOptions, IgnoredOptions, total=False):
    """Options of :func:`zarrcore.create`."""


def complete(kind: type[T], given: T) -> T:
    """Options with the defaults of those that are not given.

    Raises
    ------
    TypeError
        If one is given that is none of `kind`.
    """
    of_kind: Any = kind
    defaults = _defaults(of_kind)
    options: Any = {**defaults, **given}  # type: ignore[dict-item]
    if len(options) > len(defaults):
        unknown = next(name for name in options if name not in defaults)
        raise TypeError(f"got an unexpected keyword argument {unknown!r}")
    return options  # type: ignore[no-any-return]


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {name: hint.__metadata__[0] for name, hint in kind.__annotations__.items()}


def takes(kind: Any) -> Callable[[F], F]:
    """Decorator of a function with ``**options`` of a kind: its signature names them, with their defaults."""

    def show(function: F) -> F:
        own = signature(function)
        named = [item for item in own.parameters.values() if item.kind is not Parameter.VAR_KEYWORD]
        # Those of the kind alone come first, what all arrays share behind them.
        names = sorted(kind.__annotations__, key=lambda name: name in StoringOptions.__annotations__)
        options = [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=_defaults(kind)[name],
                annotation=kind.__annotations__[name].__origin__,
            )
            for name in names
        ]
        function.__signature__ = own.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
        return function

    return show
