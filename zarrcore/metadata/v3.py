"""Array metadata of format 3 (Zarr v3, "Array metadata")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from zarrcore._extension import is_a_users, is_of_a_user
from zarrcore._records import dataclass
from zarrcore._validate import at, describe, fail, integer, named_configuration, sequence, shape
from zarrcore.codecs.base import ArraySpec, Codec
from zarrcore.codecs.chain import CodecChain, held_by, parse_codecs
from zarrcore.config import config
from zarrcore.dtypes import ZDType
from zarrcore.errors import DataTypeValidationError, MetadataValidationError, NodeTypeValidationError
from zarrcore.grids import ChunkGrid, RegularGrid, parse_chunk_grid
from zarrcore.grids.base import check_cover, check_kept
from zarrcore.keys import ChunkKeyEncoding, parse_chunk_key_encoding
from zarrcore.keys.base import check_keys, chunk_key, some_chunks
from zarrcore.metadata import known
from zarrcore.metadata.common import ArrayMetadata, dump
from zarrcore.metadata.documents import ZARR_JSON, parse_attributes, refuse_nan
from zarrcore.registry import (
    codec_registry,
    grid_registry,
    key_encoding_registry,
    registrations,
    storage_transformer_registry,
)

if TYPE_CHECKING:
    from zarrcore.transformers import StorageTransformer

_STORAGE = ("data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")
_OPTIONAL = {"attributes": dict, "dimension_names": list, "storage_transformers": list}

ARRAY_METADATA_KEYS = frozenset({"zarr_format", "node_type", "shape", *_STORAGE, *_OPTIONAL})
"""The members of an array document that the specification defines."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayV3Metadata(ArrayMetadata):
    """Metadata of a format 3 array.

    Parameters
    ----------
    shape : tuple of int
        Shape of the array.
    data_type : ZDType
        Data type.
    chunk_grid : ChunkGrid or dict
        How the array is cut into chunks.
    chunk_key_encoding : ChunkKeyEncoding or dict
        Chunk coordinates -> keys.
    fill_value : object
        Value of items that were never written; a scalar of the data type, or what can be cast to one.
    codecs : sequence of (Codec or dict or str)
        The codecs, in the order in which they encode.
    attributes : dict, optional
        User attributes.
    dimension_names : sequence of (str or None), optional
        A name for each dimension, None for one without.
    storage_transformers : sequence of (StorageTransformer or dict or str), optional
        What stands between the chunks and the store, the first next to the array.
    extra_fields : dict, optional
        Further members of the document, each an object with ``"must_understand": false``.

    Examples
    --------
    >>> metadata = zarrcore.zeros(4, store={}).metadata
    >>> isinstance(metadata, ArrayV3Metadata), metadata.to_dict()["data_type"]
    (True, 'float64')
    """

    zarr_format: ClassVar[int] = 3
    _shape_document: ClassVar[str] = ZARR_JSON
    _storage_members: ClassVar[tuple[str, ...]] = _STORAGE
    _optional_members: ClassVar[Mapping[str, type]] = _OPTIONAL
    _known_members: ClassVar[frozenset[str]] = ARRAY_METADATA_KEYS

    shape: tuple[int, ...]
    data_type: ZDType
    chunk_grid: ChunkGrid
    chunk_key_encoding: ChunkKeyEncoding
    fill_value: Any
    codecs: tuple[Codec, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    dimension_names: tuple[str | None, ...] | None = None
    storage_transformers: tuple[StorageTransformer, ...] = ()
    extra_fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        own = vars(self)
        with at("chunk_grid"):
            own["chunk_grid"] = parse_chunk_grid(self.chunk_grid)
        self._parse_own()
        with at("chunk_key_encoding"):
            own["chunk_key_encoding"] = parse_chunk_key_encoding(self.chunk_key_encoding)
        if self.chunk_key_encoding.native() is None:
            with at("chunk_grid"):
                counts = self.chunk_grid.grid_shape(self.shape)
            with at("chunk_key_encoding"):
                check_keys(self.chunk_key_encoding, counts)
        with at("fill_value"):
            if self.fill_value is None and self.data_type._serializer is None:
                self.data_type.to_json(zarr_format=3)  # fails first where format 3 has no such data type
                raise MetadataValidationError(
                    f"expected a value of the data type {self.data_type!r}, got null"
                )
            own["fill_value"] = self.data_type.cast_scalar(self.fill_value)
        with at("codecs"):
            own["_chain"] = chain = self._resolved(parse_codecs(self.codecs))
        own["codecs"] = chain.codecs

    def _parse_own(self) -> None:
        own = vars(self)
        if is_a_users(self.data_type):
            with at("data_type"):
                dtype: Any = self.data_type.to_native_dtype()
                if not isinstance(dtype, np.dtype) or dtype.subdtype:
                    fail(None, f"a dtype of NumPy from to_native_dtype of {self.data_type!r}", repr(dtype))
        own["shape"] = shape(self.shape, "shape")
        with at("chunk_grid"):
            own["chunk_grid"] = self.chunk_grid.bounded(self.shape)
            check_cover(self.chunk_grid, self.shape)
        own["attributes"] = parse_attributes(self.attributes)
        own["dimension_names"] = parse_dimension_names(self.dimension_names, self.ndim)
        own["storage_transformers"] = _parse_transformers(self.storage_transformers)
        own["extra_fields"] = parse_extra_fields(self.extra_fields or {}, ARRAY_METADATA_KEYS)

    def _resolved(self, codecs: tuple[Codec, ...]) -> CodecChain:
        """Return the chain of `codecs`, checked against every chunk shape of the grid."""
        fill = self.fill_value
        specs = [
            ArraySpec(lengths, self.data_type, fill) for lengths in self.chunk_grid.chunk_shapes_present()
        ]
        return [known.chain_of(codecs, spec) for spec in specs][0]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str | None = ZARR_JSON) -> Self:
        """Parse a ``zarr.json`` document of an array, see :meth:`ArrayMetadata.from_dict`."""
        from zarrcore.dtypes import get_data_type_from_json

        with at(key=where):
            check_node(data, "array")
            own = cls._own_members(data)
            spelt = data["data_type"]
            with at("data_type"):
                data_type = get_data_type_from_json(spelt, zarr_format=3)
            return cls(
                data_type=data_type,
                chunk_grid=data["chunk_grid"],
                chunk_key_encoding=data["chunk_key_encoding"],
                fill_value=_parse_fill_value(data["fill_value"], data_type),
                codecs=sequence(data["codecs"], "codecs"),
                **own,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the ``zarr.json`` document, with a list of storage transformers even if there are none."""
        return {"storage_transformers": []} | self._document()

    def _document(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "shape": list(self.shape),
            "data_type": self.data_type.to_json(zarr_format=3),
            "chunk_grid": self.chunk_grid.to_json(),
            "chunk_key_encoding": self.chunk_key_encoding.to_json(),
            "fill_value": self.data_type.to_json_scalar(self.fill_value, zarr_format=3),
            "codecs": [codec.to_json() for codec in self.codecs],
            "attributes": dict(self.attributes),
        }
        if self.dimension_names is not None:
            data["dimension_names"] = list(self.dimension_names)
        if self.storage_transformers:
            data["storage_transformers"] = [item.to_json() for item in self.storage_transformers]
        return data | {"zarr_format": 3, "node_type": "array"} | self.extra_fields

    def to_documents(self) -> dict[str, bytes]:
        written: dict[Any, bytes] | None = vars(self).get("_written")  # of an array that is stored alike
        if written is None or self.attributes or self.storage_transformers or self.extra_fields:
            return self._new_documents()
        key = registrations(), config.get("json_indent", 2), self.shape, self.dimension_names
        text = written.get(key)
        if text is None:
            text = self._new_documents()[ZARR_JSON]
            written.clear()  # the latest one is enough
            written[key] = text
        return {ZARR_JSON: text}

    def _new_documents(self) -> dict[str, bytes]:
        from zarrcore.dtypes import data_type_registry

        own = self.data_type
        if is_a_users(own) or data_type_registry.has_another(type(own), own._zarr_v3_name):
            self._check_readable()
        self._check_names()
        return dump(ZARR_JSON, self._document())

    def _check_names(self) -> None:
        """Refuse an extension that writes a name by which nothing, or something else, will be found."""
        kept = vars(self._chain)  # which arrays that are stored alike share
        found = kept.get("_of_users")
        if found is None:
            found = kept["_of_users"] = [
                (where, codec) for where, codec in _with_inner("codecs", self.codecs) if is_a_users(codec)
            ]
        places: list[tuple[str, Any, Any]] = [(where, codec, codec_registry) for where, codec in found]
        others: list[tuple[str, Any, Any]] = [
            ("chunk_grid", self.chunk_grid, grid_registry),
            ("chunk_key_encoding", self.chunk_key_encoding, key_encoding_registry),
        ]
        for i, transformer in enumerate(self.storage_transformers):
            others.append((f"storage_transformers[{i}]", transformer, storage_transformer_registry))
        for place in others:
            _, item, registry = place
            if is_a_users(item) or registry.has_another(type(item), item.name):
                places.append(place)
        for where, item, registry in places:
            with at(where):
                spelt = item.to_json()
                name, _, must_understand = named_configuration(spelt)
                is_known = name in registry
                if name != item.name and must_understand and not is_known:
                    fail(None, f"JSON of {item.name!r} from to_json", spelt)
                if is_known:
                    self._check_stands_for(item, registry.get(name), spelt)

    def _check_stands_for(self, item: Any, registered: Any, spelt: Any) -> None:
        """Refuse an extension whose name is that of another class, which would read it otherwise."""
        if type(item) is registered:
            return
        owner = "" if is_of_a_user(registered) else " of zarrcore"
        refusal = f"a class that is registered as {item.name!r}, or has another name: as what is stored it is"
        by_another = f"{refusal} read by {registered.__name__}{owner}"
        if owner and not isinstance(item, registered):
            fail(None, by_another, type(item).__name__)
        if isinstance(item, Codec):
            return  # see arrays.trial
        if isinstance(item, (ChunkGrid, ChunkKeyEncoding)):
            again = registered.from_json(named_configuration(spelt)[1])
            if not self._cuts_alike(item, again):
                fail(None, f"{refusal} read as {again!r}", type(item).__name__)
        elif _place(type(item)) != _place(registered):  # what a transformer does, only its own code knows
            fail(None, by_another, type(item).__name__)

    def _cuts_alike(self, item: Any, again: Any) -> bool:
        """Return whether two grids have the same chunks, or two encodings the same keys for some of them."""
        if isinstance(item, ChunkGrid):
            return bool(item.native() == again.bounded(self.shape).native())
        chunks = some_chunks(self.chunk_grid.grid_shape(self.shape))
        return all(chunk_key(item, coords) == chunk_key(again, coords) for coords in chunks)

    def _check_readable(self) -> None:
        """Refuse a data type of a user whose JSON is read as something else, or not at all."""
        from zarrcore.dtypes import get_data_type_from_json

        own = self.data_type
        with at("data_type"):
            spelt = own.to_json(zarr_format=3)
            try:
                found = get_data_type_from_json(spelt, zarr_format=3)
            except DataTypeValidationError as error:
                name = spelt["name"] if isinstance(spelt, dict) else spelt
                if isinstance(error, KeyError) and name == own._zarr_v3_name:
                    return  # it may be registered later, or elsewhere
                raise
            alike = found.to_native_dtype() == own.to_native_dtype()
            if not alike or found.to_json(zarr_format=3) != spelt:
                fail(None, f"JSON of {own!r} from to_json", spelt)
        with at("fill_value"):
            fill_value = own.to_json_scalar(self.fill_value, zarr_format=3)
        _parse_fill_value(fill_value, found)

    @property
    def dtype(self) -> ZDType:
        """The data type."""
        return self.data_type

    @cached_property
    def chunk_shape(self) -> tuple[int, ...]:
        """Shape of the chunks, shards included."""
        return self._regular_chunk_shape("chunk_shape")

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of the chunks; of the inner chunks where chunks are shards.

        Raises
        ------
        NotImplementedError
            If the chunks do not all have the same shape.
        """
        return self._regular_chunk_shape("chunks") if self.sharding_codec is None else self._shard_units()

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Shape of the shards, or None if chunks are not shards."""
        return None if self.sharding_codec is None else self._regular_chunk_shape("shards")

    def update_shape(self, shape: tuple[int, ...]) -> Self:
        """Return the metadata of the same array, resized to `shape`."""
        if len(shape) != self.ndim:
            return replace(self, shape=shape)  # raises the error
        if type(self.chunk_grid) is RegularGrid:
            return self._with_shape(shape)
        # A shard that is added is made of whole inner chunks.
        covered = tuple(-(-length // n) * n for length, n in zip(shape, self._shard_units(), strict=True))
        with at("chunk_grid"):
            grid = self.chunk_grid.update_shape(covered)
            if not isinstance(grid, ChunkGrid):
                fail(None, "a chunk grid from update_shape", grid)
            check_cover(grid, shape)
            check_kept(self.chunk_grid, grid, tuple(map(min, self.shape, shape)))
        return (
            self._with_shape(shape)
            if grid is self.chunk_grid
            else replace(self, shape=shape, chunk_grid=grid)
        )

    def _shard_units(self) -> tuple[int, ...]:
        """Return lengths that divide those of every chunk: those of inner chunks."""
        chain = self.chain()
        if not chain.is_sharded:
            return (1,) * self.ndim
        lengths: tuple[int, ...] = chain.array_bytes.chunk_shape  # type: ignore[attr-defined]
        specs = chain.array_specs(self.chunk_spec())
        for step, before, after in reversed(list(zip(chain.array_array, specs[:-1], specs[1:], strict=True))):
            order = getattr(step, "order", None)
            if order is not None:
                lengths = tuple(lengths[order.index(axis)] for axis in range(len(order)))
            elif before.shape != after.shape:  # of what reshapes chunks nothing is known
                return (1,) * self.ndim
        return lengths


def check_node(data: Mapping[str, Any], node_type: str) -> None:
    """Check ``zarr_format`` and ``node_type`` of a ``zarr.json`` document."""
    if "zarr_format" not in data:
        raise MetadataValidationError("is required and missing", where="zarr_format")
    integer(data["zarr_format"], "zarr_format", 3, 3)
    found = data.get("node_type")
    if found != node_type:
        message = f"expected {describe(node_type)}, got {describe(found)}"
        raise NodeTypeValidationError(message, where="node_type")


def parse_extra_fields(data: Mapping[str, Any], reserved: frozenset[str]) -> dict[str, Any]:
    """Return members that the specification does not define, if all of them say "must_understand": false."""
    for name, value in data.items():
        if name in reserved:
            raise MetadataValidationError("is not an extension: the specification defines it", where=name)
        if not isinstance(value, dict) or value.get("must_understand") is not False:
            raise MetadataValidationError(
                'is not known and does not say "must_understand": false, so the document must not be used',
                where=name,
            )
    return dict(data)


def _with_inner(where: str, codecs: Iterable[Codec]) -> Iterator[tuple[str, Codec]]:
    """Yield codecs, and those that they hold, with their places."""
    for i, codec in enumerate(codecs):
        yield f"{where}[{i}]", codec
        yield from _with_inner(f"{where}[{i}].configuration.codecs", held_by(codec))


def _place(cls: Any) -> tuple[str, str]:
    """Return where a class is found; a module that was imported again has others, which are alike."""
    return cls.__module__, cls.__qualname__


def _parse_fill_value(data: object, data_type: ZDType) -> Any:
    with at("fill_value"):
        refuse_nan(data, "fill_value")
        if data is None and data_type._serializer is None:
            raise MetadataValidationError(f"expected a value of the data type {data_type!r}, got null")
        return data_type.from_json_scalar(data, zarr_format=3)


def parse_dimension_names(names: object, ndim: int | None = None) -> tuple[str | None, ...] | None:
    """Return the names of dimensions, checked; `ndim` of them."""
    if names is None:
        return None
    # Of a dictionary the keys, as other packages pass the sizes of dimensions by their names.
    found = sequence([*names] if isinstance(names, Mapping) else names, "dimension_names")
    if ndim is not None and len(found) != ndim:
        fail("dimension_names", f"{ndim} names, as the shape has lengths", list(found))
    for i, name in enumerate(found):
        if name is not None and not isinstance(name, str):
            fail(f"dimension_names[{i}]", "a string or null", name)
    return found


def _parse_transformers(data: object) -> tuple[StorageTransformer, ...]:
    if data is None or data in ((), []):
        return ()
    from zarrcore.transformers import parse_storage_transformers

    return parse_storage_transformers(data)
