"""What makes a codec one of format 2: the form of its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from zarrcore._validate import known_keys
from zarrcore.codecs.base import configuration_names, require_members

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

__all__ = ["V2Config"]


class V2Config:
    """Mixin: the format 2 form of a codec."""

    name: ClassVar[str]
    needed_to_decode: ClassVar[tuple[str, ...] | None] = None
    """The members that decoding needs; None: all of them.  Encoded bytes may describe the others."""

    @property
    def codec_id(self) -> str:
        """The ``id`` in metadata documents."""
        return self.name

    def get_config(self) -> dict[str, Any]:
        """The JSON object of a metadata document."""
        return {"id": self.name} | {name: getattr(self, name) for name in configuration_names(type(self))}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """A codec from the JSON object of a metadata document."""
        configuration = {key: value for key, value in config.items() if key != "id"}
        known_keys(configuration, configuration_names(cls))
        require_members(cls, configuration)
        return cls(**configuration)

    def to_json(self) -> dict[str, Any]:
        """The same as :meth:`get_config`."""
        return self.get_config()

    def sized(self, nbytes: int, item_size: int | None) -> Self:
        """The codec for `nbytes` bytes of each item, which had `item_size` before all other codecs."""
        return self
