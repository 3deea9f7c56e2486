# SPDX-License-Identifier: MIT
"""Values -> indented JSON: ``json.dumps`` does that in Python, and takes longer than storing the document."""

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
