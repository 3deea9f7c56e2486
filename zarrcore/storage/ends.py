"""The ends of values that have been read, kept for later reads: the indexes of shards are there."""

from __future__ import annotations

from zarrcore.storage.versions import oldest, strong

_MOST_BYTES = 64 << 20
_NO_CHUNK = b"\xff" * 16  # in an index, in place of an inner chunk that is absent


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
        self._kept: dict[str, tuple[str | None, bytes, int]] = {}
        self._nbytes = 0  # at most: of what was noted since they were counted

    def find(self, key: str, nbytes: int, events: int = 0) -> tuple[str | None, bytes] | None:
        """Return the last bytes of a value and the tag of its version, if they are kept."""
        found = self._kept.get(key)
        if found is None or len(found[1]) != nbytes or found[2] != events or events < 0:
            return None
        return found[:2]

    def note(self, key: str, nbytes: int, tag: str | None, data: bytes, events: int = 0) -> None:
        """Keep the last bytes of a value, perhaps; `events` are those before they were asked for."""
        version = None if self._trusted else strong(tag)
        if version is None and not self._trusted:  # a weak one cannot be compared
            return
        is_sparse = version is not None and _NO_CHUNK in data
        if len(data) != nbytes or nbytes > _MOST_BYTES // 16 or is_sparse:
            return
        self._kept.pop(key, None)
        self._kept[key] = version, data, events
        self._nbytes += nbytes
        while self._nbytes > _MOST_BYTES:
            self._nbytes = sum(len(end) for _, end, _ in [*self._kept.values()])
            if self._nbytes > _MOST_BYTES:
                oldest(self._kept, len(self._kept) - 1)

    def drop(self, key: str) -> None:
        """Forget the end of a value, which is being replaced or was found to be another one."""
        self._kept.pop(key, None)
