"""Storage transformers: what stands between the chunks of an array and its store (Zarr v3, same heading).

No transformer is registered with the specification.  A user's own is a frozen dataclass derived from
:class:`StorageTransformer`, registered by :func:`register_storage_transformer` or by an entry point of the
group ``zarrcore.storage_transformers``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from zarrcore._extension import ANY, DOCUMENT, Extension, Result, parse_extension
from zarrcore._records import dataclass
from zarrcore._validate import at, fail, named_configuration, sequence
from zarrcore.registry import storage_transformer_registry

if TYPE_CHECKING:
    from zarrcore.storage.base import Store

__all__ = [
    "IgnoredTransformer",
    "StorageTransformer",
    "parse_storage_transformers",
    "register_storage_transformer",
    "transformed",
]


class StorageTransformer(Extension, ABC):
    """Base class of storage transformers: a name, a configuration, and a store put over another one.

    A transformer is a frozen dataclass whose fields are its configuration.

    Attributes
    ----------
    name : str
        The name in metadata documents.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Logged(StorageTransformer):
    ...     name = "example.logged"
    ...
    ...     def wrap(self, store, prefix):
    ...         return zarrcore.storage.LoggingStore(store)
    >>> register_storage_transformer("example.logged", Logged)
    >>> array = zarrcore.create_array({}, shape=4, dtype="f4", storage_transformers=["example.logged"])
    >>> array.metadata.to_dict()["storage_transformers"]
    [{'name': 'example.logged', 'configuration': {}}]
    """

    _what = "storage transformer"
    _results: ClassVar[Mapping[str, Result]] = {"to_json": DOCUMENT, "wrap": ANY}

    @abstractmethod
    def wrap(self, store: Store, prefix: str) -> Store:
        """Return the store that the array sees.

        Parameters
        ----------
        store : Store
            The next transformer's store, or at the end of the stack the array's.
        prefix : str
            Start of the keys of the array, ``""`` or ``"foo/bar/"``.

        Returns
        -------
        Store
            A store that returns the keys and values of the chunks as if there were no transformer; most
            simply a :class:`~zarrcore.storage.WrapperStore`.  The metadata document does not pass through it.
        """


#: A storage transformer, its name or its JSON object, or several of them, the first one next to the array.
StorageTransformersLike: TypeAlias = (
    StorageTransformer | str | Mapping[str, Any] | Iterable[StorageTransformer | str | Mapping[str, Any]]
)


@dataclass(frozen=True)
class IgnoredTransformer(StorageTransformer):
    """An unknown transformer that may be ignored (``must_understand`` is false).

    Examples
    --------
    >>> parse_storage_transformers([{"name": "example.unknown", "must_understand": False}])
    (IgnoredTransformer(data={'name': 'example.unknown', 'must_understand': False}),)
    """

    name: ClassVar[str] = ""
    data: Any

    def to_json(self) -> dict[str, Any]:
        return dict(self.data)

    def wrap(self, store: Store, prefix: str) -> Store:
        return store

    def __hash__(self) -> int:
        return hash(self.data["name"])


def register_storage_transformer(key: str, cls: type[StorageTransformer]) -> None:
    """Register `cls`, a storage transformer, under `key`, its name in metadata documents.

    Examples
    --------
    >>> class Nothing(StorageTransformer):
    ...     name = "example.nothing"
    ...
    ...     def wrap(self, store, prefix):
    ...         return store
    >>> register_storage_transformer("example.nothing", Nothing)
    >>> "example.nothing" in zarrcore.registry.storage_transformer_registry
    True
    """
    storage_transformer_registry.register(cls, key)


def parse_storage_transformers(data: object) -> tuple[StorageTransformer, ...]:
    """Return the transformers of `data`: a ``storage_transformers`` member, or a sequence of instances.

    Raises
    ------
    MetadataValidationError
        If one is not known and has to be understood, or its configuration is not valid.

    Examples
    --------
    >>> parse_storage_transformers(["example.unknown"])
    Traceback (most recent call last):
        ...
    zarrcore.errors.MetadataValidationError: storage_transformers[0]: unknown storage transformer ...
    """
    return tuple(
        _parse_one(item, f"storage_transformers[{i}]")
        for i, item in enumerate(sequence(() if data is None else data, "storage_transformers"))
    )


def _parse_one(item: object, where: str) -> StorageTransformer:
    with at(where):
        if not isinstance(item, StorageTransformer):
            name, _, must_understand = named_configuration(item)
            if not must_understand and name not in storage_transformer_registry:
                return IgnoredTransformer(item)
        return parse_extension(item, StorageTransformer, storage_transformer_registry)  # type: ignore[type-abstract]


def transformed(store: Store, transformers: Iterable[StorageTransformer], prefix: str) -> Store:
    """Return `store` wrapped by all of `transformers`; the first one is next to the array.

    `prefix` is the start of the array's keys, as :meth:`StorageTransformer.wrap` takes it.

    Examples
    --------
    >>> class ReadOnly(StorageTransformer):
    ...     name = "example.read_only"
    ...
    ...     def wrap(self, store, prefix):
    ...         return zarrcore.storage.ReadOnlyStore(store)
    >>> transformed(zarrcore.storage.MemoryStore(), [ReadOnly()], "array/").read_only
    True
    """
    for transformer in reversed(tuple(transformers)):
        with at(f"storage transformer {transformer.name!r}"):
            store = transformer.wrap(store, prefix)
            if isinstance(store, type) or not hasattr(store, "get_partial_values"):
                fail(None, "a store from wrap()", store)
    return store
