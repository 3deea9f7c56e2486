# Written by `make stubs`, from the table in the module itself.
# ruff: noqa: I001

from zarrcore.api import asynchronous as asynchronous, synchronous as synchronous

__all__: list[str]
