"""The base class of data types, and what it is generic in: ``zarr.core.dtype.wrapper``."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from zarrcore.dtypes import ZDType

__all__ = ["TBaseDType", "TBaseScalar", "ZDType"]

TBaseDType: TypeAlias = np.dtype[np.generic]
TBaseScalar: TypeAlias = np.generic | str | bytes
