"""A place in a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from zarrcore._typing import Buffer
from zarrcore.errors import printable
from zarrcore.storage.base import Store
from zarrcore.storage.validation import join_path, normalize_path

if TYPE_CHECKING:
    from zarrcore.storage.byte_range import ByteRange


class StorePath:
    """A place in a store: the path of a node, or a key.

    Parameters
    ----------
    store : Store
        The store.
    path : str
        The path; it is brought into canonical form.

    Examples
    --------
    >>> from zarrcore.storage import MemoryStore
    >>> place = StorePath(MemoryStore(), "foo") / "bar"
    >>> place.path, place.name, place.parent.path
    ('foo/bar', 'bar', 'foo')
    """

    __slots__ = ("path", "store")

    store: Store
    path: str

    def __init__(self, store: Store, path: str = "") -> None:
        self.store = store
        self.path = normalize_path(path)

    @property
    def read_only(self) -> bool:
        """Whether the store is read-only."""
        return self.store.read_only

    @property
    def name(self) -> str:
        """The last component of the path; empty at the root."""
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> StorePath:
        """One level up; the root is its own parent."""
        return self._at(self.path.rpartition("/")[0])

    def _child(self, name: str) -> StorePath:
        """Return the place of a name from a listing, which needs no normalisation."""
        return self._at(f"{self.path}/{name}" if self.path else name)

    def _at(self, path: str) -> StorePath:
        """Return the place of a path in canonical form."""
        return self._of(self.store, path)

    @staticmethod
    def _of(store: Store, path: str) -> StorePath:
        """Return a place in a store by its path in canonical form."""
        made = object.__new__(StorePath)
        made.store = store
        made.path = path
        return made

    def _above(self) -> list[StorePath]:
        """Return the places above, from the root down."""
        groups, path = [], self.path
        while path:
            path = path.rpartition("/")[0]
            groups.append(self._at(path))
        return groups[::-1]

    @property
    def _address(self) -> str:
        """Where the place really is, seen through any store, as text that ends with a slash."""
        return self.store._address(self.path)

    def _overlaps(self, other: StorePath) -> bool:
        """Return whether one of two places lies in the other, or both are the same."""
        ours, theirs = self._address, other._address
        return ours.startswith(theirs) or theirs.startswith(ours)

    @property
    def _located(self) -> str:
        """Where the place is, for messages: ``in file:///data at path 'a/b'``."""
        return f"in {self.store} at path {self.path!r}" if self.path else f"at the root of {self.store}"

    def __truediv__(self, other: str) -> StorePath:
        return self._at(join_path(self.path, normalize_path(other)))

    def __str__(self) -> str:
        return printable(join_path(str(self.store), self.path))

    def __repr__(self) -> str:
        return f"StorePath({type(self.store).__name__}, {str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorePath) and self.path == other.path and self.store == other.store

    __hash__ = None  # type: ignore[assignment]

    def get(self, byte_range: ByteRange | None = None) -> Buffer | None:
        """Return the value at this key, or its part `byte_range`; None if there is none."""
        return self.store.get(self.path, byte_range)

    def set(self, value: Buffer) -> None:
        """Store `value` at this key."""
        self.store.set(self.path, value)

    def set_if_not_exists(self, default: Buffer) -> bool:
        """Store the value `default` at this key unless it has one; True if it was stored."""
        return self.store.set_if_not_exists(self.path, default)

    def delete(self) -> None:
        """Remove this key."""
        self.store.delete(self.path)

    def delete_dir(self) -> None:
        """Remove all keys below this path."""
        self.store.erase_prefix(self.path)

    def exists(self) -> bool:
        """Return whether there is a value at this key."""
        return bool(self.path) and self.store.exists(self.path)

    def is_empty(self) -> bool:
        """Return whether there is no key below this path."""
        return self.store.is_empty(self.path)


def is_archive(path: str) -> bool:
    """Return whether a path, or a URL, is that of a ZIP archive."""
    return path.lower().endswith((".zip", ".ozx"))


def _as_it_is(place: StorePath) -> Any:
    return place


shown: Callable[[StorePath], Any] = _as_it_is
"""What arrays and groups show of their place; where zarrcore is in zarr-python's, stores of coroutines."""
