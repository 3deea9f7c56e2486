from collections.abc import Callable
from os import PathLike
from typing import Any, final

@final
class LocalSource:
    def __init__(
        self,
        root: str | PathLike[str],
        fsync: bool = False,
        documents: bool = False,
        follow_symlinks: bool | str = "inside",
    ) -> None: ...

@final
class MemorySource:
    def __init__(self, values: dict[str, Any], is_gone: Callable[[str], bool] | None = None) -> None: ...

@final
class StoreSource:
    def __init__(
        self,
        store: Any,
        suffix: Callable[[int], Any],
        is_gone: Callable[[str], bool] | None = None,
        waits: Callable[[], int] | None = None,
    ) -> None: ...
