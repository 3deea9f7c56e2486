"""The codecs of numcodecs: one class each, with two spellings in metadata documents.

Format 2 names such a codec by its ``id``, format 3 (as zarr-python writes it) by ``numcodecs.<id>``.  Which
class has which id is in the table of :mod:`zarrcore.registry`; the members of its configuration, their checks
and what distinguishes the spellings are declared by the class.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import MISSING, Field, FrozenInstanceError
from typing import Any, ClassVar, NoReturn, Self

from zarrcore._extension import checked, written
from zarrcore._validate import known_keys
from zarrcore.codecs.base import ArraySpec, Codec
from zarrcore.errors import MetadataValidationError


class NumcodecsCodec(Codec):
    """Base class of the codecs of numcodecs.

    A subclass ``class Zlib(NumcodecsCodec, ..., id="zlib")`` declares the members of its configuration with
    ``option``, in the order of positional arguments.  With ``in_v3=False`` only format 2 has it.

    Attributes
    ----------
    codec_id : str
        The ``id`` in format 2.
    codec_config : dict
        The ``id`` and the configuration: in format 3 as it was given, in format 2 with all members.
    from_items : tuple of str
        Members that format 3 takes from the data type of the items where they are missing.
    needed_to_decode : tuple of str or None
        The members that decoding needs; None: all of them.  Encoded bytes may describe the others.
    """

    codec_id: ClassVar[str]
    members: ClassVar[dict[str, Field[Any]]] = {}
    from_items: ClassVar[tuple[str, ...]] = ()
    needed_to_decode: ClassVar[tuple[str, ...] | None] = None
    _given: dict[str, Any]

    def __init_subclass__(cls, id: str | None = None, in_v3: bool = True, **options: Any) -> None:
        super().__init_subclass__(**options)
        if id is not None:
            cls.codec_id = id
            cls.name = f"numcodecs.{id}" if in_v3 else id
        own = {name: found for name, found in vars(cls).items() if isinstance(found, Field)}
        for name, member in own.items():
            member.name = name
        cls.members = cls.members | own

    def __init__(self, /, *values: Any, **codec_config: Any) -> None:
        codec_config.pop("id", None)
        given = dict(zip(self.members, values, strict=False)) | codec_config
        known_keys(given, self.members)
        own = vars(self)
        for name, member in self.members.items():
            if member.default is MISSING and name not in given:
                raise MetadataValidationError("is required and missing", where=name)
            own[name] = checked(member, given.get(name, member.default))
        own |= {"name": self.name, "_given": given}
        self._check()
        if self.is_v2:
            self._spell_in_v2()

    def _check(self) -> None:
        """Check what depends on several members, and complete the values."""

    def _spell_in_v2(self) -> None:
        own = vars(self)
        own |= {"name": self.codec_id, "_given": {name: own[name] for name in self.members}}

    @property
    def codec_config(self) -> dict[str, Any]:
        """The configuration with its ``id``, as numcodecs has it."""
        return {"id": self.codec_id, **self._given}

    @property
    def is_v2(self) -> bool:
        """Whether this is the codec of a format 2 array."""
        return self.name == self.codec_id

    # --- format 2 ---

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Return a codec from the JSON object of a format 2 document."""
        codec = cls(**config)
        for name in cls.from_items:
            if name not in config:
                raise MetadataValidationError("is required and missing", where=name)
            if config[name] is None:
                member = cls.members[name]
                member.metadata["check"](None, name, *member.metadata["limits"])
        codec._spell_in_v2()
        return codec

    def get_config(self) -> dict[str, Any]:
        """Return the JSON object of a format 2 document."""
        return {"id": self.codec_id} | written(self.members, self)

    def sized(self, nbytes: int, item_size: int | None) -> Self:
        """Return the codec for `nbytes` bytes of each item, which had `item_size` before all other codecs."""
        return self

    def check_items(self, spec: ArraySpec) -> None:
        """Check the items of a chunk of `spec`, of format 2, that no filter has changed yet.

        Raises
        ------
        MetadataValidationError
            If the data type is not one for this codec.
        """

    # --- format 3 ---

    @classmethod
    def from_json(cls, configuration: Mapping[str, Any]) -> Self:
        return cls(**configuration)

    def to_json(self) -> dict[str, Any]:
        if self.is_v2:
            return self.get_config()
        return {"name": self.name, "configuration": dict(self._given)}

    def resolve(self, spec: ArraySpec) -> Self:
        return self.completed(**dict.fromkeys(self.from_items, spec.np_dtype.str))

    def completed(self, **members: Any) -> Self:
        """Return the codec with those of `members` that a document of format 3 leaves out, or has as null."""
        missing = {name: value for name, value in members.items() if self._given.get(name) is None}
        return type(self)(**self._given | missing) if missing and not self.is_v2 else self

    # --- an immutable value ---

    def _replaced(self, **own: Any) -> Self:
        made = copy(self)
        vars(made).update(own)
        return made

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumcodecsCodec) or not self.is_v2:
            return type(self) is type(other) and vars(self) == vars(other)
        # One of numcodecs, which arrays of format 2 have in zarr-python.
        if getattr(other, "codec_id", None) != self.codec_id or not hasattr(other, "get_config"):
            return False
        try:
            return self.get_config() == self.from_config(other.get_config()).get_config()
        except MetadataValidationError:
            return False

    def __hash__(self) -> int:
        return hash((self.name, *sorted(self._given)))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        return f"{type(self).__name__}({arguments})"
