"""Chunk key encodings that append a suffix to the keys of another one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from zarrcore._extension import option
from zarrcore._validate import at, choice, describe, fail
from zarrcore.keys.base import ChunkKeyEncoding
from zarrcore.keys.standard import DefaultChunkKeyEncoding, parse_chunk_key_encoding


@dataclass(frozen=True, kw_only=True)
class SuffixChunkKeyEncoding(ChunkKeyEncoding):
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
    suffix: str
    base_encoding: ChunkKeyEncoding

    def __post_init__(self) -> None:
        _check_suffix(self.suffix)
        with at("base_encoding"):
            object.__setattr__(self, "base_encoding", parse_chunk_key_encoding(self.base_encoding))

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.base_encoding.encode(coords) + self.suffix

    def decode(self, key: str) -> tuple[int, ...]:
        return self.base_encoding.decode(_without_suffix(key, self.suffix))


@dataclass(frozen=True, kw_only=True)
class DefaultSuffixChunkKeyEncoding(ChunkKeyEncoding):
    """The keys of ``default`` with a suffix, as the library zarrs writes them.

    Parameters
    ----------
    suffix : str
        The suffix of each key, such as ``".tiff"``.
    separator : {"/", "."}
        What stands between the parts of a key.
    """

    name: ClassVar[str] = "zarrs.default_suffix"
    suffix: str
    separator: str = option("/", choice, "/.")

    def __post_init__(self) -> None:
        _check_suffix(self.suffix)
        super().__post_init__()

    def encode(self, coords: tuple[int, ...]) -> str:
        return self.separator.join(("c", *map(str, coords))) + self.suffix

    def decode(self, key: str) -> tuple[int, ...]:
        return DefaultChunkKeyEncoding(self.separator).decode(_without_suffix(key, self.suffix))


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
