"""The user attributes of an array or a group as a mutable mapping that is stored on every change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, Protocol

from zarrcore._core.json_text import copied


class HasAttributes(Protocol):
    """A node: its metadata, and the way to change the attributes that are stored."""

    @property
    def metadata(self) -> Any: ...

    def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None: ...


class Attributes(MutableMapping[str, Any]):
    """Attributes of a node.  Values are what JSON can hold; each change writes the metadata document once.

    Lists and dictionaries are handed out as copies: change one, and assign it again to store it.  A change is
    made to what is stored at that time, so that it does not undo what others have changed since the node was
    opened.
    """

    __slots__ = ("_node",)

    def __init__(self, node: HasAttributes) -> None:
        self._node = node

    def __getitem__(self, key: str) -> Any:
        return copied(self._node.metadata.attributes[key], _other)

    def __setitem__(self, key: str, value: Any) -> None:
        self._node._change_attributes(lambda attributes: {**attributes, key: value})

    def __delitem__(self, key: str) -> None:
        def remove(attributes: dict[str, Any]) -> dict[str, Any]:
            del attributes[key]
            return attributes

        self._node._change_attributes(remove)

    def __iter__(self) -> Iterator[str]:
        return iter(self._node.metadata.attributes)

    def __len__(self) -> int:
        return len(self._node.metadata.attributes)

    def __contains__(self, key: object) -> bool:
        return key in self._node.metadata.attributes

    def __repr__(self) -> str:
        return f"<Attributes {self.asdict()!r}>"

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several attributes at once, with a single write."""
        self._node._change_attributes(lambda attributes: {**attributes, **dict(*args, **kwargs)})

    def clear(self) -> None:
        """Remove all attributes."""
        self._node._change_attributes(lambda attributes: {})

    def put(self, d: dict[str, Any]) -> None:
        """Replace all attributes by those of `d`, with a single write."""
        self._node._change_attributes(lambda attributes: dict(d))

    def asdict(self) -> dict[str, Any]:
        """Return all attributes as a new dictionary."""
        return copied_attributes(self._node.metadata.attributes)


def copied_attributes(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes that are not shared with the metadata; NaN and infinities as plain floats."""
    return copied(attributes, _other)  # type: ignore[no-any-return]


def _other(value: Any) -> Any:
    if type(value) is dict:  # nested very deeply
        return {name: _other(item) for name, item in value.items()}
    if type(value) is list:
        return [_other(item) for item in value]
    return float(value) if isinstance(value, float) else value
