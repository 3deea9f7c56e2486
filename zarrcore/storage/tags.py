"""The entity tags of values whose chunks may be in a cache, to find out later whether they have changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import local

from zarrcore.storage.versions import oldest

_MOST = 100_000


class Tags:
    """Tags of the values of a bucket that were read last, by their keys.

    Whoever finds another tag than the one before announces a change of the key (engine.while_changing): what
    a cache has of the value then counts no more.  So what it still has belongs to the tag that is noted here.
    """

    def __init__(self) -> None:
        self._noted: dict[str, tuple[str | None, str]] = {}
        self._read = local()
        self.wanted = False  # whether there is a cache

    def begin(self) -> None:
        """Begin a read of this thread, which has seen no values yet."""
        self._read.seen = set()

    def note(self, key: str, tag: str | None, scope: str, *, is_seen: bool = True) -> None:
        """Note the tag of a value; `key` is that below `scope`, the place of the bucket.

        If the value was seen just now, this read need not ask for it again.
        """
        own, is_noted, is_other = (tag, scope), False, False
        while not is_noted:  # each tag that was noted is compared with the next one, also of another thread
            old = self._noted.pop(key, None)
            is_other |= old is not None and (tag is None or old[0] != tag)  # without a tag it may be another
            is_noted = self._noted.setdefault(key, own) is own
        if is_other:
            announce(scope, key)
        for gone, (_, its_scope) in oldest(self._noted, _MOST):
            announce(its_scope, gone)  # nobody can find out any more whether it has changed
        if is_seen and (seen := getattr(self._read, "seen", None)) is not None:
            seen.add(key)

    def noted(self, key: str) -> str | None:
        """Return the tag of a value that is noted, if there is one."""
        return self._noted.get(key, (None, ""))[0]

    def drop(self, key: str) -> None:
        """Forget the tag of a value that this process replaces, which announces that itself."""
        self._noted.pop(key, None)

    def changed(
        self, keys: Sequence[str], scope: str, ask: Callable[[list[tuple[str, str]]], Sequence[bool]]
    ) -> list[bool]:
        """Return which values have changed, and announce that.

        ``ask`` is given those that this read has not seen, with their tags, and returns which are others now.
        """
        seen: set[str] = getattr(self._read, "seen", set())
        tags = {key: self.noted(key) for key in keys if key not in seen}
        unknown = {key for key, tag in tags.items() if tag is None}  # nobody can ask about them
        asked = [(key, tag) for key, tag in tags.items() if tag is not None]
        found = unknown | {key for (key, _), is_other in zip(asked, ask(asked), strict=True) if is_other}
        for key in found:
            announce(scope, key)
        return [key in found for key in keys]


def announce(scope: str, key: str) -> None:
    """Have the engine know that a value has changed."""
    from zarrcore._core.engine import while_changing

    while_changing(scope, (key,), _nothing, (), {})


def _nothing() -> None:
    pass
