"""How a writer makes an array grow: the chunks are stored first, then the shape."""

from __future__ import annotations

from zarrcore.arrays.chunks import remove_added, resize_to, resized_documents
from zarrcore.arrays.documents import documents_of, reread, save
from zarrcore.arrays.opened import OpenArray
from zarrcore.engine.build import note_shape
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes.versions import Outdated, Versions


class Growth:
    """The shape that a writer has given an array, and the one that the array's document has.

    All changes are made under :func:`zarrcore.arrays.chunks.shape_lock`.  A writer that dies leaves chunks
    beyond the shape in the document, as a killed append does.

    Attributes
    ----------
    target : OpenArray
        The array as it will be, whose engine writes its chunks; the array itself as long as it does not grow.
    shape : tuple of int
        The shape in the document.
    axis : int
        The dimension that grows.
    """

    __slots__ = ("_array", "_base", "_steps", "axis", "shape", "target")

    def __init__(self, array: OpenArray) -> None:
        self._array = self.target = array
        self._base: ArrayMetadata = array.metadata
        self._steps: list[tuple[int, ...]] = []
        self.shape = array.shape
        self.axis = 0

    @property
    def is_under_way(self) -> bool:
        """There are rows that the document does not have."""
        return self.target is not self._array

    def reread(self, versions: Versions | None = None) -> None:
        """Take over what others have changed in the document."""
        array = self._array
        reread(array, documents_of(array), versions)
        if not self.is_under_way:
            self.shape = array.shape
        elif array.metadata is not self._base and array.shape == self.shape:
            metadata = array.metadata
            for shape in self._steps:
                metadata = metadata.update_shape(shape)
            self.target = array.with_shape_of(metadata)
        self._base = array.metadata

    def begin(self, shape: tuple[int, ...], axis: int) -> None:
        """Give the array another shape, for which chunks are to be written."""
        self.target = self._array.with_shape_of(self.target.metadata.update_shape(shape))
        self.axis = axis
        self._steps.append(shape)
        note_shape(self.target.metadata, self._array.store_path)

    def store(self, stop: int, versions: Versions) -> None:
        """Store the shape, as all that lies before `stop` along the axis that grows is stored."""
        array, target = self._array, self.target
        shape = tuple(stop if d == self.axis else n for d, n in enumerate(target.shape))
        if stop <= self.shape[self.axis]:
            return
        metadata = target.metadata if shape == target.shape else target.metadata.update_shape(shape)
        try:
            save(array, metadata, resized_documents(array, metadata), versions)
        except Outdated:
            raise
        except BaseException:
            reread(array)  # it may be stored all the same
            if array.shape == shape:
                self._stored(shape)
            raise
        self._stored(shape)

    def _stored(self, shape: tuple[int, ...]) -> None:
        array = self._array
        self.shape, self._base = shape, array.metadata
        if shape == self.target.shape:
            array.take(self.target)
            self.end()
        else:
            self._steps = [step for step in self._steps if step[self.axis] > shape[self.axis]]

    def end(self) -> None:
        """Give up what the document does not have."""
        self.target, self._steps = self._array, []

    def take_back(self, target: OpenArray, shape: tuple[int, ...]) -> None:
        """Return to a target and its shape before the last step, and remove what has been stored since."""
        grown = self.target if self.is_under_way else None
        if self.shape[self.axis] > shape[self.axis]:  # the document has the new shape, or a part of it
            resize_to(self._array, shape)
            self.shape = shape
        self.target, self._steps = target, self._steps[:-1]
        if self.shape == shape:
            self.end()
        if grown is not None:
            remove_added(grown, shape)
