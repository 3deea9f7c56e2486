# SPDX-License-Identifier: MIT
"""Values -> indented JSON, and copies of values: in Python both take longer than parsing or storing the document."""

from libc.math cimport isfinite

from json.encoder import encode_basestring_ascii as quoted

cdef enum:
    DEEPEST = 500                                           # no deeper than what Python's functions read again


def indented(value, str indent not None, other) -> str:
    """Return ``json.dumps(value, indent=indent)``; `other` returns the text of what is neither finite nor plain.

    A RecursionError is raised for values that are nested more than 500 levels deep.
    """
    cdef list parts = [], breaks = ["\n"], owners = [], members = []
    cdef bint is_dict, is_first
    while True:
        is_dict = type(value) is dict
        is_first = (is_dict or type(value) is list) and len(value) > 0
        if is_first:
            if len(owners) == DEEPEST:
                raise RecursionError(f"values are nested more than {DEEPEST} levels deep")
            parts.append("{" if is_dict else "[")
            owners.append(value)
            members.append(iter(value))
            if len(breaks) == len(owners):
                breaks.append(breaks[-1] + indent)
        else:
            parts.append(_text(value, other))
        while owners:
            is_dict = type(owners[-1]) is dict
            value = next(members[-1], members)
            if value is not members:
                break
            owners.pop()
            members.pop()
            parts.append(breaks[len(owners)])
            parts.append("}" if is_dict else "]")
            is_first = False
        else:
            return "".join(parts)
        if not is_first:
            parts.append(",")
        parts.append(breaks[len(owners)])
        if is_dict:
            parts.append(quoted(value))
            parts.append(": ")
            value = (<dict>owners[-1])[value]


cdef object _text(object value, object other):
    cdef object kind = type(value)
    if kind is str:
        return quoted(value)
    if kind is int:
        return repr(value)
    if value is None or kind is bool:
        return "null" if value is None else "true" if value else "false"
    if kind is float and isfinite(value):
        return repr(value)
    if kind is dict or kind is list:
        return "{}" if kind is dict else "[]"
    return other(value)


def copied(value, other):
    """Return a copy of what JSON holds that shares no list or dictionary with it; tuples become lists.

    `other` returns the copy of what is neither finite nor plain, of dictionaries whose names are not all ``str``, and
    of what lies more than 500 levels deep.
    """
    return _copied(value, other, DEEPEST)


cdef object _copied(object value, object other, int levels):
    cdef object kind = type(value)
    cdef dict members
    cdef list items
    if kind is str or kind is int or value is None or kind is bool or (kind is float and isfinite(value)):
        return value
    if levels == 0 or (kind is not dict and kind is not list and kind is not tuple):
        return other(value)
    if kind is not dict:
        items = []
        for item in value:
            items.append(_copied(item, other, levels - 1))
        return items
    members = {}
    for name, item in (<dict>value).items():
        if type(name) is not str:
            return other(value)
        members[name] = _copied(item, other, levels - 1)
    return members
