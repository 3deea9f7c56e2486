# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.abc import buffer as buffer
from zarrcore.abc import codec as codec
from zarrcore.abc import store as store

__all__: list[str] = []
