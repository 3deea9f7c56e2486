"""How an opened array behaves at run time: nothing of this is stored with the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from typing import Any, Literal, TypeAlias

from zarrcore._records import dataclass
from zarrcore.config import config as _defaults
from zarrcore.errors import given

_CONFIGURED = ("order", "write_empty_chunks", "read_missing_chunks")
_SETTINGS = tuple(f"array.{name}" for name in _CONFIGURED)


@dataclass(frozen=True)
class ArrayConfig:
    """Run-time settings of one array.

    Parameters
    ----------
    order : {"C", "F"}
        Memory layout of the arrays that a read returns.
    write_empty_chunks : bool
        Store chunks that hold nothing but the fill value.
    read_missing_chunks : bool
        Read a chunk that is not stored as the fill value; if False it is a :class:`ChunkNotFoundError`.
    sharding_coalesce_max_gap_bytes, sharding_coalesce_max_bytes : int
        Accepted for compatibility; the engine plans its own reads.
    """

    order: Literal["C", "F"] = "C"
    write_empty_chunks: bool = False
    read_missing_chunks: bool = True
    sharding_coalesce_max_gap_bytes: int = 1 << 20
    sharding_coalesce_max_bytes: int = 16 << 20

    def __post_init__(self) -> None:
        if self.order not in ("C", "F"):
            raise ValueError(f"array config: order: expected 'C' or 'F', got {given(self.order)}")
        for name in ("write_empty_chunks", "read_missing_chunks"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"array config: {name}: expected a bool, got {getattr(self, name)!r}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ArrayConfig:
        """Settings from a mapping; what it leaves out comes from the global configuration."""
        if data:
            names = [field.name for field in fields(cls)]
            unknown = sorted(set(data) - set(names))
            if unknown:
                raise TypeError(f"array config: unknown keys {given(unknown)}; known are {names}")
        values = {name: _defaults.get(key) for name, key in zip(_CONFIGURED, _SETTINGS, strict=True)}
        return cls(**{**values, **data})

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary."""
        return asdict(self)


ArrayConfigLike: TypeAlias = ArrayConfig | Mapping[str, Any]


def parse_array_config(data: ArrayConfigLike | None) -> ArrayConfig:
    """Return an :class:`ArrayConfig` from what users may pass as ``config=``."""
    global _usual
    if isinstance(data, ArrayConfig):
        return data
    if data:
        return ArrayConfig.from_dict(data)
    (items, usual), now = _usual, _defaults._items  # another tuple whenever a setting has changed
    if items is not now:
        usual = _configured(*[_defaults._values[name] for name in _SETTINGS])
        _usual = now, usual
    return usual


_usual: tuple[Any, ArrayConfig] = None, ArrayConfig()


@cache
def _configured(order: Literal["C", "F"], write_empty_chunks: bool, read_missing_chunks: bool) -> ArrayConfig:
    return ArrayConfig(order, write_empty_chunks, read_missing_chunks)
