"""The functions that users call: :mod:`zarrcore.api.synchronous`, and the same to be awaited in
:mod:`zarrcore.api.asynchronous`.
"""

from __future__ import annotations

from zarrcore.api.synchronous import *  # noqa: F403
from zarrcore.api.synchronous import __all__ as __all__
