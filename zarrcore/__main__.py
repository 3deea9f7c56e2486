# SPDX-License-Identifier: MIT
"""``python -m zarrcore``."""

from zarrcore.cli import main

main()
