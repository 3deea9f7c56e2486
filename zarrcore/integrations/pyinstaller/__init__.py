"""For programs that PyInstaller bundles: the folder of its hook (entry point ``pyinstaller40``)."""

from __future__ import annotations

from pathlib import Path


def hook_dirs() -> list[str]:
    """Return the folder of the hook, which PyInstaller runs when a program imports zarrcore."""
    return [str(Path(__file__).parent)]
