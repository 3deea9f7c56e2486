from collections.abc import Sequence
from typing import Any, final

@final
class Shard:
    inner_shape: tuple[int, ...]
    inner: Chain
    index_location: str
    def __init__(self, *args: object, **kwargs: object) -> None: ...

@final
class Chain:
    links: tuple[Any, ...]
    shard: Shard | None
    order: tuple[int, ...] | None
    calls_python: bool
    def __init__(
        self,
        itemsize: int,
        links: Sequence[tuple[Any, ...]] = ...,
        *,
        shape: Sequence[int] | None = None,
        fill: bytes | None = None,
    ) -> None: ...
    def check_ndim(self, ndim: int) -> None: ...
    @property
    def itemsize(self) -> int: ...
