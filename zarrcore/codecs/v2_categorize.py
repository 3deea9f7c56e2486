"""The filter ``categorize`` of format 2: strings as the numbers of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from zarrcore._validate import fail, sequence
from zarrcore.codecs.v2_filters import Filter, dtype_name, items_of, require_kind
from zarrcore.errors import ChunkDecodeError, MetadataValidationError

if TYPE_CHECKING:
    from zarrcore.codecs.base import ArraySpec

__all__ = ["Categorize"]


@dataclass(frozen=True)
class Categorize(Filter):
    """Strings as the numbers of labels, from 1 on; 0 for strings that are no label, which become empty.

    Parameters
    ----------
    labels : sequence of str
        The labels.
    dtype : str
        Data type of the items: strings of a fixed length, or objects.
    astype : str
        Data type of the numbers, an integer.
    """

    name: ClassVar[str] = "categorize"
    labels: tuple[str, ...]
    dtype: str
    astype: str = "|u1"

    def __post_init__(self) -> None:
        labels = sequence(self.labels, "labels")
        for i, label in enumerate(labels):
            if not isinstance(label, str):
                fail(f"labels[{i}]", "a string", label)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "dtype", dtype_name(self.dtype, "dtype", "UO"))
        object.__setattr__(self, "astype", dtype_name(self.astype, "astype", "iu"))
        most = np.iinfo(self.astype).max
        if len(labels) > most:
            fail("labels", f"at most {most} labels, which {self.astype} can count", len(labels))

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"labels": list(self.labels)}

    def check_items(self, spec: ArraySpec) -> None:
        require_kind(spec, "TOU", self.name, "strings")
        fixed = spec.np_dtype.kind == "U"
        if fixed != (np.dtype(self.dtype).kind == "U") or (fixed and spec.np_dtype != np.dtype(self.dtype)):
            raise MetadataValidationError(
                f"the categorize filter is for items of {self.dtype}, the data type is {spec.dtype!r}"
            )

    def encode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        items = np.asarray(data).reshape(-1)
        numbers = np.zeros(items.size, self.astype)
        for number, label in enumerate(self.labels, 1):
            numbers[items == label] = number
        return numbers

    def decode(self, data: Any, spec: ArraySpec | None = None) -> np.ndarray:
        numbers = items_of(data, np.dtype(self.astype))
        wrong = np.flatnonzero((numbers < 0) | (numbers > len(self.labels)))
        if wrong.size:
            raise ChunkDecodeError(
                f"there are {len(self.labels)} labels, item {wrong[0]} has the label {numbers[wrong[0]]}",
                codec=self.name,
            )
        kind = np.dtype(self.dtype)
        return np.array(["", *self.labels], kind)[numbers.astype(np.intp)]
