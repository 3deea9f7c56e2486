"""What array metadata of all formats have in common."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from zarrcore._validate import at, fail, sequence
from zarrcore._validate import shape as parse_shape
from zarrcore.codecs.base import ArraySpec
from zarrcore.codecs.chain import CodecChain
from zarrcore.dtypes import ZDType
from zarrcore.errors import MetadataValidationError
from zarrcore.grids import ChunkGrid
from zarrcore.keys import ChunkKeyEncoding
from zarrcore.keys.base import key_maker
from zarrcore.metadata import known
from zarrcore.metadata.departures import members_of, report, without_nulls
from zarrcore.metadata.documents import dump_document, parse_attributes, with_shape

if TYPE_CHECKING:
    from zarrcore.codecs.sharding import ShardingCodec


class ArrayMetadata:
    """Base class of array metadata: the view of one model that the rest of the library works with.

    Examples
    --------
    >>> metadata = zarrcore.zeros((4, 6), store={}, chunks=(2, 3)).metadata
    >>> isinstance(metadata, ArrayMetadata), metadata.shape, metadata.ndim
    (True, (4, 6), 2)
    """

    zarr_format: ClassVar[int]
    node_type: ClassVar[str] = "array"
    _shape_document: ClassVar[str]  # the name of the document that has the shape
    _storage_members: ClassVar[tuple[str, ...]]  # those that describe how chunks are stored
    _optional_members: ClassVar[Mapping[str, type]]  # of the others those that may be left out
    _known_members: ClassVar[frozenset[str]]  # all that have a meaning
    shape: tuple[int, ...]
    fill_value: Any
    attributes: dict[str, Any]
    _can_be_kept: bool = True  # whether the objects made of these may serve other arrays as well
    separator_is_open: ClassVar[bool] = False
    """Whether the stored document of an array of format 2 does not say how chunk keys are made."""
    _chain: CodecChain

    if TYPE_CHECKING:  # fields of one format, properties of another

        @property
        def chunks(self) -> tuple[int, ...]: ...

        @property
        def shards(self) -> tuple[int, ...] | None: ...

        @property
        def chunk_grid(self) -> ChunkGrid: ...

        @property
        def chunk_key_encoding(self) -> ChunkKeyEncoding: ...

        @property
        def data_type(self) -> ZDType: ...

        def update_shape(self, shape: tuple[int, ...]) -> Self: ...

        # What one format alone has: who asks has looked at zarr_format.
        def __getattr__(self, name: str, /) -> Any: ...

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str | None = None) -> Self:
        """Parse a document, strictly.

        Parameters
        ----------
        data : dict
            The document; in formats 1 and 2 its member ``attributes`` is the document of the attributes.
        where : str, optional
            Its store key, for messages.

        Raises
        ------
        MetadataValidationError
            If the document is not valid; the message names key, member, what was expected and what was found.
        NodeTypeValidationError
            If the document is that of a group.
        UnknownCodecError
            If there is no codec of a name.
        PickleCodecDisabledError
            If the data are pickled.
        """
        raise NotImplementedError

    @classmethod
    def from_document(
        cls, data: Mapping[str, Any], *, where: str | None = None, text: bytes | None = None
    ) -> Self:
        """Parse what a JSON parser made of a stored document.

        Like ``from_dict``, but whatever has one meaning is read, with a :class:`ZarrcoreWarning` where the
        letter of the specification is broken; and faster if an array was stored like this before.

        Parameters
        ----------
        data : dict
            The document.
        where : str, optional
            Its store key, for messages.
        text : bytes, optional
            The stored document: if the same is read again, :func:`known.of_text` returns the same metadata.
        """
        data, nulls = without_nulls(data, cls.zarr_format)
        key = known.key_of(data, ("zarr_format", "node_type", *cls._storage_members))
        storage, departures = known.find(key)
        if storage is None:
            made, departures = members_of(data, cls.zarr_format)
            metadata = cls.from_dict(made, where=where)
            if metadata._can_be_kept:
                known.keep(key, metadata, cls._storage_members, departures)
        else:
            with at(key=where):
                metadata = cls.of_kept(storage, cls._own_members(data))
            if text is not None and not nulls and not departures:
                known.keep_text(text, metadata)
        report((*nulls, *departures), where)
        return metadata

    @classmethod
    def of_kept(cls, storage: dict[str, Any], own: dict[str, Any]) -> Self:
        """Return metadata of what :func:`known.keep` kept, and of other members, which are checked."""
        metadata = object.__new__(cls)
        vars(metadata).update(storage, **own)
        metadata._parse_own()
        return metadata

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata as one JSON object."""
        raise NotImplementedError

    def _document(self) -> dict[str, Any]:
        """Return the same without what need not be stored."""
        return self.to_dict()

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @cached_property
    def np_dtype(self) -> np.dtype[Any]:
        """The data type of arrays in memory."""
        dtype: np.dtype[Any] = self.data_type.to_native_dtype()
        return dtype

    @property
    def dtype_text(self) -> str:
        """The data type for people: as NumPy names it; one that is not zarrcore's own by its own name."""
        is_own = type(self.data_type).__module__.startswith("zarrcore.")
        return str(self.np_dtype if is_own else self.data_type)

    @cached_property
    def fill_bytes(self) -> bytes | None:
        """What missing chunks are filled with, as it is in memory; None for items of variable length."""
        from zarrcore.dtypes import scalar_to_bytes

        return None if self.data_type.item_size is None else scalar_to_bytes(self.data_type, self.fill_scalar)

    @property
    def fill_scalar(self) -> Any:
        """What missing chunks are filled with: the fill value, or without one the data type's default."""
        return self.data_type.default_scalar() if self.fill_value is None else self.fill_value

    def chain(self) -> CodecChain:
        """Return the codec chain, resolved for the chunks of this array."""
        return self._chain

    def chunk_spec(self, coords: tuple[int, ...] | None = None) -> ArraySpec:
        """Return the chunk at `coords`, or any chunk of a regular grid.

        Parameters
        ----------
        coords : tuple of int, optional
            Chunk coordinates.  Default: those of the first chunk.
        """
        shape = self.chunk_grid.shape_of(coords or (0,) * self.ndim)
        return ArraySpec(shape, self.data_type, self.fill_scalar)

    @property
    def sharding_codec(self) -> ShardingCodec | None:
        """The sharding codec, or None if chunks are not shards."""
        chain = self.chain()
        codec = chain.array_bytes
        if not chain.is_sharded:
            return None
        from zarrcore.codecs.sharding import ShardingCodec

        return codec if isinstance(codec, ShardingCodec) and _are_transpositions(chain.array_array) else None

    @property
    def inner_codecs(self) -> tuple[Any, ...]:
        """The codecs of the smallest unit that is read on its own: of inner chunks where there are shards."""
        codec = self.sharding_codec
        return self.chain().codecs if codec is None else codec.codecs

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """Return the key of the chunk at `chunk_coords`, relative to the array."""
        return key_maker(self.chunk_key_encoding)(chunk_coords)

    def _regular_chunk_shape(self, what: str) -> tuple[int, ...]:
        if not self.chunk_grid.is_regular:
            raise NotImplementedError(
                f"`{what}` has no meaning for a {self.chunk_grid.name} chunk grid: "
                "its chunks have different shapes"
            )
        return self.chunk_grid.shape_of((0,) * self.ndim)

    def __eq__(self, other: object) -> bool:
        # By what is stored: a NaN fill value is equal to itself.
        if not isinstance(other, ArrayMetadata) or type(self) is not type(other):
            return NotImplemented
        return _is_alike(self, other) or _canonical(self) == _canonical(other)

    def __hash__(self) -> int:
        return hash(_canonical(self))

    def update_attributes(self, attributes: dict[str, Any]) -> Self:
        """Return the metadata of the same array with other `attributes`."""
        made = self._with(attributes=attributes)
        vars(made).pop("separator_is_open", None)  # what is going to be stored names one
        return made

    def _parse_own(self) -> None:
        """Parse the members that do not describe how chunks are stored, and check the shape of the chunks."""
        raise NotImplementedError

    @classmethod
    def _own_members(cls, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the members of a document, as arguments, that do not describe how chunks are stored."""
        own: dict[str, Any] = {"attributes": {}, "shape": sequence(data["shape"], "shape")}
        for name, kind in cls._optional_members.items():
            if name in data:
                own[name] = data[name]
                others = tuple | None if kind is list else kind
                if not isinstance(own[name], kind | others):
                    fail(name, "an object" if kind is dict else "an array", own[name])
        unknown = data.keys() - cls._known_members
        own["extra_fields"] = {name: data[name] for name in data if name in unknown} if unknown else {}
        return own

    def to_documents(self) -> dict[str, bytes]:
        """Return the metadata as it is stored: name of each document -> its bytes."""
        raise NotImplementedError

    def to_buffer_dict(self, prototype: Any) -> dict[str, Any]:
        """Return the metadata as they are stored: the name of each document, and its bytes in a buffer.

        Parameters
        ----------
        prototype : BufferPrototype
            The class of the buffers.
        """
        return {name: prototype.buffer.from_bytes(data) for name, data in self.to_documents().items()}

    def resized_documents(self, resized: Self, documents: dict[str, bytes]) -> dict[str, bytes]:
        """Return the documents of `resized` (of :meth:`update_shape`) from those of :meth:`to_documents`."""
        name, text = self._shape_document, None
        before, after = self.chunk_grid, resized.chunk_grid
        if after is before or after.to_json() == before.to_json():  # grids of users may compare wrong
            text = with_shape(documents[name], self.shape, resized.shape)
        return resized.to_documents() if text is None else {**documents, name: text}

    def _with_shape(self, shape: tuple[int, ...]) -> Self:
        """Return a copy with another shape, for a grid that fits all: nothing else needs to be checked."""
        return self._with(shape=parse_shape(shape, "shape"))

    def _with(self, **members: Any) -> Self:
        """Return a copy with other members, which do not describe how chunks are stored."""
        made = object.__new__(type(self))
        own = vars(made)
        own.update(vars(self), **members)
        own["attributes"] = parse_attributes(own["attributes"])
        try:
            own["extra_fields"] = deepcopy(own["extra_fields"]) if own["extra_fields"] else {}
        except RecursionError as error:
            raise MetadataValidationError("nested too deeply", where="extra_fields") from error
        own.pop("_pickled", None)
        return made


def _are_transpositions(codecs: Sequence[Any]) -> bool:
    if not codecs:
        return True
    from zarrcore.codecs.transpose import TransposeCodec

    return all(isinstance(codec, TransposeCodec) for codec in codecs)


_OTHERS = ("storage_transformers", "extra_fields")  # that hardly any array has


def _is_alike(one: ArrayMetadata, other: ArrayMetadata) -> bool:
    """Return whether the very same objects say how chunks are stored, and the rest is the same."""
    ours, theirs = vars(one), vars(other)
    return (
        one.zarr_format > 1
        and all(ours.get(name) is theirs.get(name) for name in one._storage_members)
        and ours["shape"] == theirs["shape"]
        and ours.get("dimension_names") == theirs.get("dimension_names")
        and not any(own.get(name) for own in (ours, theirs) for name in _OTHERS)
        and _text_of(ours["attributes"]) == _text_of(theirs["attributes"])
    )


def _text_of(attributes: dict[str, Any]) -> str:
    return json.dumps(attributes, sort_keys=True) if attributes else ""  # which knows 1 from True


def _canonical(metadata: ArrayMetadata) -> str:
    return json.dumps(metadata.to_dict(), sort_keys=True)


def dump(name: str, document: dict[str, Any]) -> dict[str, bytes]:
    """Return one document, serialised, under its name."""
    return {name: dump_document(document, where=name)}
