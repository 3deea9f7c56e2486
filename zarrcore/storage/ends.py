"""The ends of values that have been read, kept for later reads: the indexes of shards are there."""

from __future__ import annotations

from collections import OrderedDict

from zarrcore._locks import RLock, forkable
from zarrcore.storage.versions import strong

_MOST_BYTES = 64 << 20
_NO_CHUNK = b"\xff" * 16  # in an index, in place of an inner chunk that is absent

_lock = forkable(RLock())


class Ends:
    """Ends of values of a bucket, each with the entity tag of its value.

    Nobody is asked whether an end is still that of its value.  Instead, whoever goes on to read ranges of the
    value has the server compare the tag (If-Match); so an end is only kept if it leads to ranges in any case,
    which an index with absent inner chunks does not.

    Parameters
    ----------
    trusted : bool
        Nobody but this process changes values: every end is kept, and nobody compares tags.  In their place,
        `events` is how often this process has changed the value: see `key_events` of the engine.
    """

    def __init__(self, *, trusted: bool = False) -> None:
        self._trusted = trusted
        self._kept: OrderedDict[str, tuple[str | None, bytes, int]] = OrderedDict()
        self._nbytes = 0

    def find(self, key: str, nbytes: int, events: int = 0) -> tuple[str | None, bytes] | None:
        """Return the last bytes of a value and the tag of its version, if they are kept."""
        with _lock:
            found = self._kept.get(key)
            if found is None or len(found[1]) != nbytes or found[2] != events or events < 0:
                return None
            self._kept.move_to_end(key)
        return found[:2]

    def note(self, key: str, nbytes: int, tag: str | None, data: bytes, events: int = 0) -> None:
        """Keep the last bytes of a value, perhaps; `events` are those before they were asked for."""
        version = None if self._trusted else strong(tag)
        if version is None and not self._trusted:  # a weak one cannot be compared
            return
        is_sparse = version is not None and _NO_CHUNK in data
        if len(data) != nbytes or nbytes > _MOST_BYTES // 16 or is_sparse:
            return
        with _lock:
            self._remove(key)
            self._kept[key] = version, data, events
            self._nbytes += nbytes
            while self._nbytes > _MOST_BYTES:
                self._remove(next(iter(self._kept)))

    def drop(self, key: str) -> None:
        """Forget the end of a value, which is being replaced or was found to be another one."""
        if key in self._kept:
            with _lock:
                self._remove(key)

    def _remove(self, key: str) -> None:
        old = self._kept.pop(key, None)
        if old is not None:
            self._nbytes -= len(old[1])
