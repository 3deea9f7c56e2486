"""What arrays and groups have in common: a place in a store, and its names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from zarrcore.attributes import Attributes
    from zarrcore.storage import Store, StorePath

__all__ = ["Node", "SynchronousNode"]


class Node:
    """A node of a hierarchy, known by its place; subclasses define its contents."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def _store_path(self) -> StorePath: ...

    @property
    def store_path(self) -> StorePath:
        """The store and the path of the node in it."""
        return self._store_path

    @property
    def store(self) -> Store:
        """The store."""
        return self._store_path.store

    @property
    def path(self) -> str:
        """Path in the store, without a slash at either end."""
        return self._store_path.path

    @property
    def name(self) -> str:
        """Path with a leading slash, following h5py."""
        return f"/{self.path}"

    @property
    def basename(self) -> str:
        """Last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def read_only(self) -> bool:
        """Whether the store refuses writes."""
        return self.store.read_only


class SynchronousNode(Node):
    """What arrays and groups with synchronous methods have in common."""

    __slots__ = ()

    @property
    def metadata(self) -> Any:
        """The metadata document."""
        raise NotImplementedError

    def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Store the result of `change`, called with the attributes that are stored now."""
        raise NotImplementedError

    @property
    def attrs(self) -> Attributes:
        """User attributes; changes are stored at once."""
        from zarrcore.attributes import Attributes

        return Attributes(self)

    def update_attributes(self, new_attributes: Mapping[str, Any]) -> Self:
        """Set attributes, keeping those that are not named; returns the node itself.

        Parameters
        ----------
        new_attributes : mapping of str to JSON values
            NumPy scalars become numbers, tuples become lists.

        Raises
        ------
        TypeError
            If JSON has no such value.
        MetadataValidationError
            If a value is NaN or infinite, unless the setting ``attributes.nan`` is ``"allow"``.
        ReadOnlyError
            If the store is read-only.
        """
        self._change_attributes(lambda attributes: {**attributes, **new_attributes})
        return self
