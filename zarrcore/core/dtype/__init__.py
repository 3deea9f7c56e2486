"""Data types, under the names of ``zarr.core.dtype``."""

from __future__ import annotations

from zarrcore.core.dtype.wrapper import TBaseDType, TBaseScalar
from zarrcore.dtypes import *  # noqa: F403
from zarrcore.dtypes import __all__ as _own
from zarrcore.typing import DTypeLike as ZDTypeLike

__all__ = [*_own, "TBaseDType", "TBaseScalar", "ZDTypeLike"]  # noqa: PLE0604
