"""Chunk key encodings: chunk grid coordinates -> the part of the store key behind the array's prefix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import at, choice, describe, fail, integer, known_keys, named_configuration
from zarrcore.errors import MetadataValidationError
from zarrcore.registry import key_encoding_registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

__all__ = [
    "ChunkKeyEncoding",
    "DefaultChunkKeyEncoding",
    "DefaultSuffixChunkKeyEncoding",
    "FanoutChunkKeyEncoding",
    "N5ChunkKeyEncoding",
    "SuffixChunkKeyEncoding",
    "V2ChunkKeyEncoding",
    "parse_chunk_key_encoding",
]


class ChunkKeyEncoding(ABC):
    """Base class of chunk key encodings (Zarr v3, extension point ``chunk_key_encoding``)."""

    name: ClassVar[str]

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        """An encoding from the ``configuration`` of a metadata document."""
        known_keys(configuration, _members(cls))
        return cls(**configuration)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """An encoding from its whole extension object."""
        return cls.from_json(named_configuration(data)[1])

    def to_json(self) -> dict[str, Any]:
        """The extension object, every member of the configuration written out."""
        return {"name": self.name, "configuration": {name: getattr(self, name) for name in _members(self)}}

    def to_dict(self) -> dict[str, Any]:
        """The same as :meth:`to_json`."""
        return self.to_json()

    @abstractmethod
    def encode(self, coords: tuple[int, ...]) -> str:
        """The key of the chunk at `coords`."""

    def decode(self, key: str) -> tuple[int, ...]:
        """The coordinates of the chunk stored under `key`.

        Raises
        ------
        ValueError
            If this encoding gives no chunk that key.
        """
        raise NotImplementedError(f"the chunk key encoding {self.name!r} cannot decode keys")

    def encode_chunk_key(self, chunk_coords: tuple[int, ...]) -> str:
        """The same as :meth:`encode`."""
        return self.encode(chunk_coords)

    def decode_chunk_key(self, chunk_key: str) -> tuple[int, ...]:
        """The same as :meth:`decode`."""
        return self.decode(chunk_key)

    def native(self) -> tuple[str, str] | None:
        """Kind and separator for the chunk engine, or None if only Python can encode keys."""
        return None


@dataclass(frozen=True)
class DefaultChunkKeyEncoding(ChunkKeyEncoding):
    """``c/1/23/45`` (Zarr v3, chunk key encoding ``default``).

    Parameters
    ----------
    separator : {"/", "."}
        What stands between the parts of a key.

    Examples
    --------
    >>> DefaultChunkKeyEncoding().encode((1, 23, 45))
    'c/1/23/45'
    """

    name: ClassVar[str] = "default"
    separator: str = "/"

    def __post_init__(self) -> None:
        object.__setattr__(self, "separator", choice(self.separator, "separator", "/."))

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.separator.join(("c", *map(str, coords)))

    def decode(self, key: str) -> tuple[int, ...]:
        prefix, *parts = key.split(self.separator)
        if prefix != "c":
            raise ValueError(f"expected a chunk key that begins with 'c', got {key!r}")
        return _coordinates(parts, key)

    def native(self) -> tuple[str, str] | None:
        return "default", self.separator


@dataclass(frozen=True)
class V2ChunkKeyEncoding(ChunkKeyEncoding):
    """``1.23.45``, the chunk keys of format 2 (Zarr v3, chunk key encoding ``v2``).

    Parameters
    ----------
    separator : {".", "/"}
        What stands between the coordinates.

    Examples
    --------
    >>> V2ChunkKeyEncoding().encode((1, 23, 45))
    '1.23.45'
    """

    name: ClassVar[str] = "v2"
    separator: str = "."

    def __post_init__(self) -> None:
        object.__setattr__(self, "separator", choice(self.separator, "separator", "./"))

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.separator.join(map(str, coords)) or "0"

    def decode(self, key: str) -> tuple[int, ...]:
        # The only chunk of an array without dimensions has the key "0" as well: the caller knows the rank.
        return _coordinates(key.split(self.separator), key)

    def native(self) -> tuple[str, str] | None:
        return "v2", self.separator


@dataclass(frozen=True, kw_only=True)
class SuffixChunkKeyEncoding(ChunkKeyEncoding):
    """The keys of another encoding, with something behind them (proposed chunk key encoding ``suffix``).

    Parameters
    ----------
    suffix : str
        What stands behind each key, such as ``".tiff"``.
    base_encoding : ChunkKeyEncoding, str or dict
        The other encoding.

    Examples
    --------
    >>> SuffixChunkKeyEncoding(suffix=".tiff", base_encoding="v2").encode((1, 2))
    '1.2.tiff'
    """

    name: ClassVar[str] = "suffix"
    suffix: str
    base_encoding: ChunkKeyEncoding

    def __post_init__(self) -> None:
        _check_suffix(self.suffix)
        with at("base_encoding"):
            object.__setattr__(self, "base_encoding", parse_chunk_key_encoding(self.base_encoding))

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        _require(configuration, "suffix", "base_encoding")
        return super().from_json(configuration)

    def to_json(self) -> dict[str, Any]:
        configuration = {"suffix": self.suffix, "base_encoding": self.base_encoding.to_json()}
        return {"name": self.name, "configuration": configuration}

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.base_encoding.encode(coords) + self.suffix

    def decode(self, key: str) -> tuple[int, ...]:
        return self.base_encoding.decode(_without_suffix(key, self.suffix))


@dataclass(frozen=True, kw_only=True)
class DefaultSuffixChunkKeyEncoding(ChunkKeyEncoding):
    """The keys of ``default`` with something behind them, as the library zarrs has them.

    Parameters
    ----------
    suffix : str
        What stands behind each key, such as ``".tiff"``.
    separator : {"/", "."}
        What stands between the parts of a key.
    """

    name: ClassVar[str] = "zarrs.default_suffix"
    suffix: str
    separator: str = "/"

    def __post_init__(self) -> None:
        _check_suffix(self.suffix)
        object.__setattr__(self, "separator", choice(self.separator, "separator", "/."))

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        _require(configuration, "suffix")
        return super().from_json(configuration)

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.separator.join(("c", *map(str, coords))) + self.suffix

    def decode(self, key: str) -> tuple[int, ...]:
        return DefaultChunkKeyEncoding(self.separator).decode(_without_suffix(key, self.suffix))


@dataclass(frozen=True)
class FanoutChunkKeyEncoding(ChunkKeyEncoding):
    """Keys of which no directory has more than so many entries (proposed chunk key encoding ``fanout``).

    Parameters
    ----------
    max_children : int
        Most entries of a directory, at least 100; the power of ten below it is what counts.

    Examples
    --------
    >>> FanoutChunkKeyEncoding().encode((1234, 5))
    'c/1/001/234/0/005'
    """

    name: ClassVar[str] = "fanout"
    max_children: int = 1000

    def __post_init__(self) -> None:
        most = integer(self.max_children, "max_children", 100)
        object.__setattr__(self, "max_children", 10 ** (len(str(most)) - 1))

    @property
    def _digits(self) -> int:
        return len(str(self.max_children)) - 1

    def encode(self, coords: tuple[int, ...]) -> str:
        parts = ["c"]
        for coordinate in coords:
            text = str(coordinate)
            text = text.zfill(-(-len(text) // self._digits) * self._digits)
            groups = [text[i : i + self._digits] for i in range(0, len(text), self._digits)]
            parts += [str(len(groups) - 1), *groups]
        return "/".join(parts)

    def decode(self, key: str) -> tuple[int, ...]:
        prefix, *parts = key.split("/")
        coords = []
        while parts:
            more, parts = parts[0], parts[1:]
            count = int(more) + 1 if more.isascii() and more.isdigit() else 0
            text, parts = "".join(parts[:count]), parts[count:]
            coords.append(int(text) if text.isascii() and text.isdigit() else -1)
        found = tuple(coords)
        if prefix != "c" or -1 in found or self.encode(found) != key:
            raise ValueError(
                f"expected a chunk key with at most {self.max_children} entries a level, got {key!r}"
            )
        return found


@dataclass(frozen=True)
class N5ChunkKeyEncoding(ChunkKeyEncoding):
    """``45/23/1``, the last coordinate first: the keys of N5, whose dimensions are in the other order.

    Examples
    --------
    >>> N5ChunkKeyEncoding().encode((1, 23, 45))
    '45/23/1'
    """

    name: ClassVar[str] = "zarrcore.n5"

    def encode(self, coords: tuple[int, ...]) -> str:
        return "/".join(map(str, reversed(coords))) or "0"

    def decode(self, key: str) -> tuple[int, ...]:
        return _coordinates(key.split("/"), key)[::-1]


def _require(configuration: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if name not in configuration:
            raise MetadataValidationError("is required and missing", where=name)


def _check_suffix(suffix: object) -> None:
    """Refuse what would lead out of the array's directory, or to no key at all."""
    if not isinstance(suffix, str):
        fail("suffix", "a string", suffix)
    if any(bad in suffix for bad in ("/", "\\", "\0")):
        fail("suffix", "no path", suffix)


def _without_suffix(key: str, suffix: str) -> str:
    if not key.endswith(suffix):
        raise ValueError(f"expected a chunk key that ends with {describe(suffix)}, got {key!r}")
    return key[: len(key) - len(suffix)]


def _members(encoding: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(encoding))


def _coordinates(parts: list[str], key: str) -> tuple[int, ...]:
    for part in parts:
        plain = part.isascii() and part.isdigit()
        if not plain or (len(part) > 1 and part[0] == "0"):
            raise ValueError(f"expected a chunk key of plain decimal coordinates, got {key!r}")
    return tuple(map(int, parts))


def parse_chunk_key_encoding(data: object) -> ChunkKeyEncoding:
    """A chunk key encoding from a metadata document or an argument.

    Parameters
    ----------
    data : ChunkKeyEncoding, str or dict
        An instance, a short-hand name, an extension object, or ``{"name": ..., "separator": ...}``.
    """
    if isinstance(data, ChunkKeyEncoding):
        return data
    if isinstance(data, dict) and "separator" in data and "configuration" not in data:
        data = {"name": data.get("name"), "configuration": {"separator": data["separator"]}}
    name, configuration, _ = named_configuration(data)
    cls = key_encoding_registry.get(name)
    with at("configuration"):
        return cls.from_json(configuration)
