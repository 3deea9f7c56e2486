"""The functions that users call: :mod:`zarrcore.api.synchronous`, and the same as coroutines in
:mod:`zarrcore.api.asynchronous`.
"""

from __future__ import annotations

import zarrcore
from zarrcore._lazy import attach

# All of them are offered at the top of the package too, where each has its place in the table.
HOMES = {
    home.removeprefix("api."): names for home, names in zarrcore.HOMES.items() if home.startswith("api.")
}
MODULES = "asynchronous synchronous"

__all__, __getattr__, __dir__ = attach(__name__, HOMES, modules=MODULES)
