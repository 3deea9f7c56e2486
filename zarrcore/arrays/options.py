"""The options of the functions that create arrays: each stands here once, with its type and its default.

A function takes them as ``**options: Unpack[ArrayOptions]``, so that type checkers know them.  The decorator
:func:`takes` shows them in its signature, and :func:`complete` adds the defaults of those that are not given.
Their meaning is documented at :func:`zarrcore.create_array` and :func:`zarrcore.create`.
"""

# No `from __future__ import annotations`: the annotations of this module are values, which hold the defaults.

from collections.abc import Callable, Collection, Iterable
from functools import cache, wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from zarrcore._typed import Annotated, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zarrcore._typing import (
        ArrayLike,
        ChunksLike,
        FillValueLike,
        MemoryOrder,
        Overwrite,
        ShapeLike,
        ShardsLike,
    )
    from zarrcore.arrays.config import ArrayConfigLike
    from zarrcore.codecs.base import CodecLike, CodecsLike
    from zarrcore.dtypes.parse import DTypeLike
    from zarrcore.grids.base import ChunkGridLike
    from zarrcore.keys.standard import ChunkKeyEncodingLike
    from zarrcore.progress import Progress
    from zarrcore.storage.path import AccessMode, StoreLike
    from zarrcore.transformers import StorageTransformersLike

_MODES = ("r", "r+", "a", "w", "w-")

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class FillOption(TypedDict, total=False):
    """The value of elements that were never written."""

    fill_value: Annotated["FillValueLike", ...]


class ConfigOption(TypedDict, total=False):
    """Run-time settings."""

    config: Annotated["ArrayConfigLike | None", None]


class DescriptionOptions(TypedDict, total=False):
    """What else the metadata document of every new array may contain."""

    order: Annotated["MemoryOrder | None", None]
    attributes: Annotated["Mapping[str, Any] | None", None]
    chunk_grid: Annotated["ChunkGridLike | None", None]
    chunk_key_encoding: Annotated["ChunkKeyEncodingLike | None", None]
    storage_transformers: Annotated["StorageTransformersLike | None", None]
    dimension_names: Annotated["Iterable[str | None] | None", None]


class StoringOptions(FillOption, DescriptionOptions, ConfigOption, total=False):
    """Options of the functions that create an array with the newer arguments."""

    overwrite: Annotated["Overwrite", False]
    write_data: Annotated[bool, True]


class LayoutOptions(TypedDict, total=False):
    """How elements become chunks, and chunks become bytes."""

    chunks: Annotated["ChunksLike", "auto"]
    shards: Annotated["ShardsLike", None]
    filters: Annotated["CodecsLike", "auto"]
    compressors: Annotated["CodecsLike", "auto"]
    serializer: Annotated["CodecLike", "auto"]


class ArrayOptions(LayoutOptions, StoringOptions, total=False):
    """Options of :func:`zarrcore.create_array`."""

    shape: Annotated["ShapeLike | None", None]
    dtype: Annotated["DTypeLike | None", None]
    data: Annotated["ArrayLike | None", None]


class KeepOptions(StoringOptions, total=False):
    """Options of a copy, which may keep the layout of its source."""

    chunks: Annotated["ChunksLike | Literal['keep']", "keep"]
    shards: Annotated["ShardsLike | Literal['keep']", "keep"]
    filters: Annotated["CodecsLike", "keep"]
    compressors: Annotated["CodecsLike", "keep"]
    serializer: Annotated["CodecLike", "keep"]


class FromArrayOptions(KeepOptions, total=False):
    """Options of :func:`zarrcore.from_array`."""

    threads: Annotated[int, 0]
    progress: Annotated["Progress | None", None]


class LegacyLayoutOptions(TypedDict, total=False):
    """The older names of shape and codecs of chunks."""

    chunks: Annotated["ChunksLike", None]
    chunk_shape: Annotated["ChunksLike", None]
    dtype: Annotated["DTypeLike | None", None]
    compressor: Annotated["CodecLike | None", "auto"]
    filters: Annotated["CodecsLike", None]
    object_codec: Annotated["CodecLike | None", None]
    dimension_separator: Annotated["Literal['.', '/'] | None", None]
    codecs: Annotated["Iterable[CodecLike] | None", None]
    write_empty_chunks: Annotated["bool | None", None]


class LegacyOptions(LegacyLayoutOptions, FillOption, DescriptionOptions, ConfigOption, total=False):
    """Options of :func:`zarrcore.create`, without those that have no effect."""


class IgnoredOptions(TypedDict, total=False):
    """Options that are accepted for compatibility and have no effect."""

    synchronizer: Annotated[object, None]
    chunk_store: Annotated[object, None]
    cache_metadata: Annotated["bool | None", None]
    cache_attrs: Annotated["bool | None", None]
    read_only: Annotated["bool | None", None]
    meta_array: Annotated[object, None]


class CreateOptions(LegacyOptions, IgnoredOptions, total=False):
    """Options of :func:`zarrcore.create`."""


# ---- further arguments of functions that hand them to others: without defaults here ----


class MissingOptions(LegacyLayoutOptions, FillOption, DescriptionOptions, IgnoredOptions, total=False):
    """Further arguments of functions that open an array or create it: for one that is missing."""

    shape: "ShapeLike"
    data: "ArrayLike | None"
    overwrite: "Overwrite"


class OpenOptions(MissingOptions, total=False):
    """Further arguments of :func:`zarrcore.open_array`."""

    mode: "AccessMode | None"


class OpenNodeOptions(MissingOptions, total=False):
    """Further arguments of :func:`zarrcore.open`."""

    use_consolidated: "bool | str | None"


class OpenGroupOptions(TypedDict, total=False):
    """Further arguments of :func:`zarrcore.open_consolidated`."""

    mode: "AccessMode"
    overwrite: "Overwrite"
    path: "str | None"
    storage_options: "dict[str, Any] | None"
    zarr_format: "int | None"
    attributes: "Mapping[str, Any] | None"
    cache_attrs: "bool | None"
    synchronizer: object
    chunk_store: object
    meta_array: object


class OpenLikeOptions(OpenOptions, ConfigOption, total=False):
    """Further arguments of :func:`zarrcore.open_like`."""

    store: "StoreLike"
    storage_options: "dict[str, Any] | None"
    cache_bytes: "int | None"


class FullOptions(LegacyLayoutOptions, DescriptionOptions, ConfigOption, IgnoredOptions, total=False):
    """Further arguments of :func:`zarrcore.full`: all of :func:`zarrcore.create` but the fill value."""

    store: "StoreLike"
    path: "str | None"
    mode: "AccessMode | None"
    storage_options: "dict[str, Any] | None"
    zarr_format: "int | None"
    overwrite: "Overwrite"


class EmptyOptions(FullOptions, FillOption, total=False):
    """Further arguments of :func:`zarrcore.empty` and those like it."""


class LikeOptions(EmptyOptions, total=False):
    """Further arguments of :func:`zarrcore.empty_like` and those like it."""

    shape: "ShapeLike"


class OfValuesOptions(EmptyOptions, total=False):
    """Further arguments of :func:`zarrcore.array`."""

    shards: "ShardsLike | Literal['keep']"
    compressors: "CodecsLike"
    serializer: "CodecLike"
    write_data: bool
    threads: int
    progress: "Progress | None"


class SaveOptions(LegacyOptions, total=False):
    """Further arguments of :func:`zarrcore.save_array`."""

    mode: "AccessMode | None"
    overwrite: "Overwrite"


class RequireOptions(LayoutOptions, FillOption, DescriptionOptions, total=False):
    """Further arguments of :meth:`zarrcore.Group.require_array`."""

    compressor: "CodecLike | None"
    overwrite: "Overwrite"


class CopyNodeOptions(KeepOptions, total=False):
    """Further arguments of :func:`zarrcore.copy` and :func:`zarrcore.copy_all`."""

    compressor: "CodecLike | None"
    zarr_format: "int | None"


class FullMemberOptions(LegacyLayoutOptions, DescriptionOptions, ConfigOption, total=False):
    """Further arguments of :meth:`zarrcore.Group.full`."""

    zarr_format: "int | None"
    overwrite: "Overwrite"


class MemberOptions(FullMemberOptions, FillOption, total=False):
    """Further arguments of :meth:`zarrcore.Group.empty` and those like it."""


def complete(kind: type[T], given: T) -> T:
    """Return options with the defaults of those that are not given; refuse any that is none of `kind`."""
    of_kind: Any = kind
    defaults = _defaults(of_kind)
    options: Any = {**defaults, **given}  # type: ignore[dict-item]
    if len(options) > len(defaults):
        refuse_unknown(None, options, defaults)
    return options  # type: ignore[no-any-return]


_OLD_NAMES = {"compressor"}


def refuse_unknown(function: str | None, given: Iterable[str], known: Collection[str]) -> None:
    """Refuse keyword arguments that a function does not have, suggesting known ones with similar names."""
    for name in given:
        if name not in known:
            from difflib import get_close_matches

            # Of two that are like it, not the name that is kept for older programs.
            close = sorted(get_close_matches(name, known, n=2), key=_OLD_NAMES.__contains__)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            hint = (
                "; overwrite=True replaces what is there" if name == "mode" and "overwrite" in known else hint
            )
            called = "" if function is None else f"{function}() "
            raise TypeError(f"{called}got an unexpected keyword argument {name!r}{hint}")


def _most_by_place(parameters: list[Parameter]) -> float:
    """Return how many arguments a function takes without their names."""
    kinds = [item.kind for item in parameters]
    if Parameter.VAR_POSITIONAL in kinds:
        return float("inf")
    return sum(kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds)


def _refuse_surplus(function: str, args: tuple[Any, ...], most: float, known: frozenset[str]) -> None:
    """Refuse an argument that has to be given with its name, as zarr-python does; zarr 2 did not for all."""
    surplus = args[int(most)]
    name = "mode" if isinstance(surplus, str) else "shape"
    is_it = surplus in _MODES if name == "mode" else isinstance(surplus, int | tuple)
    hint = f", such as {name}={surplus!r}" if is_it and name in known else ""
    plural = "s" * (most != 1)
    raise TypeError(
        f"{function}() takes at most {most} argument{plural} by position, {len(args)} were given: "
        f"say the names of the others{hint}"
    )


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {name: hint.__metadata__[0] for name, hint in kind.__annotations__.items()}


def takes(kind: Any) -> Callable[[F], F]:
    """Decorator of a function with ``**options`` of a kind: other keyword arguments are refused in its name.

    If the kind has defaults, the signature of the function shows its options with them.
    """

    def decorate(function: F) -> F:
        own = signature(function)
        named = [item for item in own.parameters.values() if item.kind is not Parameter.VAR_KEYWORD]
        known = frozenset(kind.__annotations__).union(item.name for item in named)
        by_place = _most_by_place(named)

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if not known.issuperset(options):
                owner = f"{type(args[0]).__name__}." if "self" in own.parameters else ""
                refuse_unknown(f"{owner}{function.__name__}", options, known)
            if len(args) > by_place:
                _refuse_surplus(function.__name__, args, by_place, known)
            return function(*args, **options)

        if all(hasattr(hint, "__metadata__") for hint in kind.__annotations__.values()):
            # Those of the kind alone come first, then what all arrays share.
            names = sorted(kind.__annotations__, key=lambda name: name in StoringOptions.__annotations__)
            parameters = [*named, *(_parameter(name, kind.__annotations__[name]) for name in names)]
            call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def _parameter(name: str, hint: Any) -> Parameter:
    """Return an option as a parameter, whose annotation is that of the source."""
    annotation = hint.__origin__ if isinstance(hint.__origin__, str) else hint.__origin__.__name__
    return Parameter(name, Parameter.KEYWORD_ONLY, default=hint.__metadata__[0], annotation=annotation)
