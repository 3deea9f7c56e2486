"""Variables of xarray that are stored at the same time, where each of them waits for a server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xarray import Variable
from xarray.namedarray.pycompat import is_chunked_array

from zarrcore._locks import RLock
from zarrcore.nodes.reading import several_at_once
from zarrcore.storage import Store

_LARGEST = 4 << 20  # bytes; a larger one keeps a server busy, and may have to be loaded first

_Variables = dict[str, Variable]


class OneByOne:
    """A writer of xarray to which several threads may add chunked arrays, which it only takes note of."""

    def __init__(self, writer: Any) -> None:
        self._writer, self._lock = writer, RLock()

    def add(self, source: Any, target: Any, region: Any = None) -> None:
        """Store an array, or take note of one; see xarray's ``ArrayWriter.add``."""
        if is_chunked_array(source):
            with self._lock:
                self._writer.add(source, target, region)
        else:
            self._writer.add(source, target, region)


def store_together(place: Store, store: Callable[[_Variables], None], variables: _Variables) -> None:
    """Call `store` for each variable that is small, several at a time, and then for all the others.

    Where the place is near, for all of them.  Where one fails, others may have been stored.
    """
    is_slow = place._concurrent_requests() > 0
    small = [name for name, variable in variables.items() if is_slow and _is_small(variable)]
    several_at_once(place, lambda name: store({name: variables[name]}), small)
    store({name: variable for name, variable in variables.items() if name not in small})


def _is_small(variable: Variable) -> bool:
    return bool(is_chunked_array(variable._data)) or variable.nbytes <= _LARGEST
