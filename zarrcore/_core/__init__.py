# SPDX-License-Identifier: MIT
"""The compiled modules."""

# Before any of them: NumPy refuses to be loaded into a second interpreter.  They would take that one for the
# only one that may have them, and be lost for the first.
import numpy  # noqa: F401
