"""What arrays and groups have in common: a place in a store, and what it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zarrcore.storage import Store, StorePath

__all__ = ["Node"]


class Node:
    """A node of a hierarchy, by its place; what it holds is the business of those who inherit."""

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
        """True if the store refuses writes."""
        return self.store.read_only
