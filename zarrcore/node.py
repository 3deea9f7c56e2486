"""What arrays and groups have in common: a place in a store, and its names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from zarrcore.attributes import Attributes
from zarrcore.nodes.reading import stored_size
from zarrcore.storage import place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from zarrcore.storage import Store, StorePath

P = ParamSpec("P")
T = TypeVar("T")


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that changes nothing in a thread, see `Threads.run`."""
    from zarrcore._awaited import NODES

    return await NODES.run(function, *args, **kwargs)


async def to_end(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that changes something in a thread, see `Threads.run_to_end`."""
    from zarrcore._awaited import NODES

    return await NODES.run_to_end(function, *args, **kwargs)


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
        return self._store_path.store.read_only


class NodeFace(Node):
    """A node that users hold, whose attributes can be changed."""

    __slots__ = ()

    if TYPE_CHECKING:
        _opened: Any

        @property
        def metadata(self) -> Any: ...

        def _change_attributes(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
            """Store the result of `change`, called with the attributes that are stored now."""

    @property
    def store_path(self) -> StorePath:
        """The store and the path of the node in it."""
        return place.shown(self._store_path)  # type: ignore[no-any-return]

    @property
    def store(self) -> Store:
        """The store."""
        return self.store_path.store


def state_of(value: Any) -> Any:
    """Return the state of a node that users hold, an OpenArray or OpenGroup; other values as they are."""
    return value._opened if isinstance(value, NodeFace) else value


class SynchronousNode(NodeFace):
    """What arrays and groups with synchronous methods have in common."""

    __slots__ = ()

    @property
    def attrs(self) -> Attributes:
        """User attributes; changes are stored at once."""
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

    def nbytes_stored(self) -> int:
        """Return the number of bytes in the store of the node and of all nodes below it.

        Metadata documents count too.  Keys are listed and sizes asked for; no value is read.

        Raises
        ------
        StoreError, OSError
            If the store cannot be listed.

        Examples
        --------
        >>> import zarrcore
        >>> root = zarrcore.create_group({})
        >>> root["lat"] = np.arange(3)
        >>> root.nbytes_stored() > root["lat"].nbytes_stored() > 0
        True
        """
        return stored_size(self._store_path)


def bridge(name: str) -> Any:
    """Return a function of the bridge to zarr-python, which lies above all nodes and is found by its name."""
    from importlib import import_module

    return getattr(import_module("zarrcore.integrations.bridge"), name)


class AsynchronousNode(NodeFace):
    """What arrays and groups whose methods are coroutines have in common."""

    __slots__ = ()

    @property
    def attrs(self) -> dict[str, Any]:
        """A copy of the user attributes; :meth:`update_attributes` changes them."""
        return Attributes(self).asdict()

    async def update_attributes(self, new_attributes: Mapping[str, Any]) -> Self:
        """Set attributes, keeping those that are not named; see :meth:`zarrcore.Array.update_attributes`."""
        await to_end(self._change_attributes, lambda attributes: {**attributes, **new_attributes})
        return self

    async def nbytes_stored(self) -> int:
        """Return the number of bytes in the store; see :meth:`zarrcore.Group.nbytes_stored`."""
        return await in_thread(stored_size, self._store_path)
