"""Stores of zarrcore seen as stores of coroutines, which the methods of zarr-python's stores are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from zarrcore._awaited import STORES
from zarrcore.storage.base import Store
from zarrcore.storage.byte_range import as_request
from zarrcore.storage.validation import answers, as_view

P = ParamSpec("P")
T = TypeVar("T")


class Awaited:
    """The methods of a store of zarrcore as coroutines, whose calls run in worker threads.

    What these return are buffers of the `prototype` that they are called with, or else of `_prototype`.
    """

    _plain: Store
    _prototype: Any
    _requested = staticmethod(as_request)
    _waits_for_nobody = False  # whether the calls need no thread

    supports_writes = property(lambda self: self._plain.supports_writes)
    supports_deletes = property(lambda self: self._plain.supports_deletes)
    supports_listing = property(lambda self: self._plain.supports_listing)
    supports_consolidated_metadata = property(lambda self: self._plain.supports_consolidated_metadata)

    def _check_writable(self) -> None:
        self._plain._check_writable()

    async def _read(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        if self._waits_for_nobody:
            return call(*args, **options)
        return await STORES.run(call, *args, **options)

    async def _change(self, call: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        self._check_writable()
        if self._waits_for_nobody:
            return call(*args, **options)
        return await STORES.run_to_end(call, *args, **options)

    # --- reading ---

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        return (await self.get_partial_values(prototype, [(key, byte_range)]))[0]

    async def get_partial_values(self, prototype: Any, key_ranges: Iterable[tuple[str, Any]]) -> list[Any]:
        make = (self._prototype if prototype is None else prototype).buffer.from_bytes
        requests = [(key, self._requested(part)) for key, part in key_ranges]
        found = await self._read(self._plain.get_partial_values, requests)
        return [
            None if value is None else make(bytes(as_view(value, key)))
            for (key, _), value in zip(requests, answers(found, len(requests), "get_many"), strict=True)
        ]

    async def exists(self, key: str) -> bool:
        return await self._read(self._plain.exists, key)

    async def getsize(self, key: str) -> int:
        return await self._read(self._plain.getsize, key)

    # --- writing ---

    async def set(self, key: str, value: Any) -> None:
        await self._change(self._plain.set, key, value.to_bytes())

    async def set_if_not_exists(self, key: str, value: Any) -> None:
        await self._change(self._plain.set_if_not_exists, key, value.to_bytes())

    async def delete(self, key: str) -> None:
        await self._change(self._plain.delete, key)

    async def delete_dir(self, prefix: str) -> None:
        await self._change(self._plain.erase_prefix, prefix)

    async def clear(self) -> None:
        await self._change(self._plain.clear)

    # --- listing ---

    async def list(self) -> AsyncIterator[str]:
        for key in await self._read(lambda: [*self._plain.list()]):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        # A prefix of zarr-python may end within a name.
        above = prefix.rpartition("/")[0]
        for key in await self._read(lambda: [*self._plain.list_prefix(above)]):
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        for name in await self._read(lambda: [*self._plain.list_dir(prefix)]):
            yield name

    # --- life ---

    def close(self) -> None:
        super().close()  # type: ignore[misc]
        self._plain.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._plain == other._plain

    def __str__(self) -> str:
        return str(self._plain)
