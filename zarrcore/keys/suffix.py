"""Chunk key encodings that append a suffix to the keys of another one."""

from __future__ import annotations

from typing import ClassVar

from zarrcore._extension import REQUIRED, option
from zarrcore._records import dataclass
from zarrcore._validate import at, choice, describe, fail
from zarrcore.keys.base import ChunkKeyEncoding
from zarrcore.keys.standard import DefaultChunkKeyEncoding, parse_chunk_key_encoding


def _suffix(suffix: object, where: str) -> str:
    """Return `suffix`, unless it would lead out of the array's directory, or to no key at all."""
    if not isinstance(suffix, str):
        fail(where, "a string", suffix)
    if any(bad in suffix for bad in ("/", "\\", "\0")):
        fail(where, "no path", suffix)
    return suffix


def _encoding(data: object, where: str) -> ChunkKeyEncoding:
    with at(where):
        return parse_chunk_key_encoding(data)


class _WithSuffix(ChunkKeyEncoding):
    """What both encodings share."""

    suffix: str

    def _base(self) -> ChunkKeyEncoding:
        """Return the encoding that makes the keys without the suffix."""
        raise NotImplementedError

    def encode(self, coords: tuple[int, ...]) -> str:
        return self._base().encode(coords) + self.suffix

    def decode(self, key: str) -> tuple[int, ...]:
        if not key.endswith(self.suffix):
            raise ValueError(f"expected a chunk key that ends with {describe(self.suffix)}, got {key!r}")
        return self._base().decode(key[: len(key) - len(self.suffix)])


@dataclass(frozen=True, kw_only=True)
class SuffixChunkKeyEncoding(_WithSuffix):
    """The keys of another encoding with a suffix (proposed chunk key encoding ``suffix``).

    Parameters
    ----------
    suffix : str
        The suffix of each key, such as ``".tiff"``.
    base_encoding : ChunkKeyEncoding, str or dict
        The other encoding.

    Examples
    --------
    >>> SuffixChunkKeyEncoding(suffix=".tiff", base_encoding="v2").encode((1, 2))
    '1.2.tiff'
    """

    name: ClassVar[str] = "suffix"
    suffix: str = option(REQUIRED, _suffix)
    base_encoding: ChunkKeyEncoding = option(REQUIRED, _encoding)

    def _base(self) -> ChunkKeyEncoding:
        return self.base_encoding


@dataclass(frozen=True, kw_only=True)
class DefaultSuffixChunkKeyEncoding(_WithSuffix):
    """The keys of ``default`` with a suffix, as the library zarrs writes them.

    Parameters
    ----------
    suffix : str
        The suffix of each key, such as ``".tiff"``.
    separator : {"/", "."}
        What stands between the parts of a key.

    Examples
    --------
    >>> DefaultSuffixChunkKeyEncoding(suffix=".tif").encode((3, 1))
    'c/3/1.tif'
    """

    name: ClassVar[str] = "zarrs.default_suffix"
    suffix: str = option(REQUIRED, _suffix)
    separator: str = option("/", choice, "/.")

    def _base(self) -> ChunkKeyEncoding:
        return DefaultChunkKeyEncoding(self.separator)
