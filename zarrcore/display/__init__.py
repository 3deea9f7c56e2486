"""How notebooks show arrays, groups and reports: HTML without scripts, bounded in time and size.

Loaded when the first object is shown.  Names, attributes and messages come from stores that anybody may have
written: all of them pass :func:`zarrcore.display.page.text`.
"""
