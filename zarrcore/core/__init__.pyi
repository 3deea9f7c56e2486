# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.core import (
    array as array, buffer as buffer, dtype as dtype, group as group, indexing as indexing, sync as sync,
)

__all__: list[str]
