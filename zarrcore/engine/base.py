"""What an array asks of the engine that reads and writes its chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from zarrcore.indexing import Dim

    FieldNames = str | tuple[str, ...]


class Engine(Protocol):
    """Reads and writes selections of one array.

    Two classes satisfy it: :class:`zarrcore._core.engine.NativeArray`, which runs the plan of a call in C,
    and :class:`zarrcore.engine.python.PythonEngine` for codecs, data types and key encodings that only
    Python has.

    Selections are normalised: for each dimension ``(start, step, count)`` or an array of indices (`dims`),
    or for each dimension an array with the coordinates of points (`coords`).  Memory has the data type of
    the array, or that of `field`.  `threads` is the number of threads to use, 0 for the default.
    """

    @property
    def is_native(self) -> bool:
        """Whether the engine is the one in C, which several arrays can be read with in one call."""
        ...

    is_left: bool
    """Whether this process has put another array in the place of this one: what was read may be of both."""

    is_stale: bool
    """Whether another process may have, as a read, or `confirm`, has found out: the metadata are others."""

    @property
    def noticed(self) -> Any:
        """What the store noticed of the array's document when the engine was made; None: nothing."""

    @property
    def block_shape(self) -> tuple[int, ...] | None:
        """Shape of the blocks that `write_gathered` takes; None if a block is a whole chunk."""

    def get(self, key: Any, threads: int = 0) -> Any:
        """Read what a key of ``array[key]`` selects, or return ``NotImplemented`` to go the long way."""

    def put(self, key: Any, value: Any, write_empty: bool = False, threads: int = 0) -> bool:
        """Write as ``array[key] = value`` does, or return False and write nothing, to go the long way."""
        ...

    def read(
        self, dims: Sequence[Dim], out: np.ndarray, threads: int = 0, field: FieldNames | None = None
    ) -> None:
        """Fill `out`, which keeps every dimension, with the selected elements."""

    def write(
        self,
        dims: Sequence[Dim],
        value: np.ndarray,
        threads: int = 0,
        write_empty: bool = False,
        field: FieldNames | None = None,
    ) -> None:
        """Store `value`, of the shape of the selection, in the selected elements."""

    def read_points(
        self, coords: Sequence[Any], out: np.ndarray, threads: int = 0, field: FieldNames | None = None
    ) -> None:
        """Fill the flat `out` with the elements at `coords`."""

    def note_look(self) -> None:
        """Note that the engine was made just now, for a write, so that this need not look again."""

    def confirm(self, now: bool = True) -> None:
        """Look whether several reads were of one array; where they may not have been, it `is_stale`.

        Not `now`: a look that was a moment ago will do.
        """

    def write_points(
        self,
        coords: Sequence[Any],
        value: np.ndarray,
        threads: int = 0,
        write_empty: bool = False,
        field: FieldNames | None = None,
    ) -> None:
        """Store the flat `value` in the elements at `coords`; of repeated points the last one stays."""

    def check_objects(
        self, selected: Sequence[Any], value: np.ndarray, *, points: bool
    ) -> dict[tuple[int, ...], Any] | None:
        """Refuse Python objects that no codec encodes, before `write` (`points`: `write_points`).

        What it returns, if anything, is for the parameter `encoded` of `write`.
        """

    def write_gathered(
        self,
        chunk: tuple[int, ...],
        blocks: Mapping[tuple[int, ...], tuple[np.ndarray, np.ndarray | None]],
        complete: bool,
        threads: int = 0,
        write_empty: bool = False,
    ) -> None:
        """Write elements of one chunk: of each block those where its mask is true, or all without a mask.

        `complete`: these are all elements of the array in the chunk.
        """
