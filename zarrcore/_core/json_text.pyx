# SPDX-License-Identifier: MIT
"""Values -> indented JSON, copies, where members lie: in Python each takes as long as to parse the document."""

from libc.math cimport isfinite
from libc.string cimport memcmp, memset

from json.encoder import encode_basestring_ascii as quoted

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char *where) except -1
    void Py_LeaveRecursiveCall()

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


def unshared(value):
    """Return a copy of dictionaries, lists and tuples, and of those in them; all other objects are shared."""
    return _unshared(value)


cdef object _unshared(object value):
    cdef object kind = type(value)
    if kind is not dict and kind is not list and kind is not tuple:
        return value
    Py_EnterRecursiveCall(" while values are copied")
    try:
        if kind is dict:
            return {name: _unshared(item) for name, item in (<dict>value).items()}
        items = [_unshared(item) for item in value]
        return items if kind is list else tuple(items)
    finally:
        Py_LeaveRecursiveCall()


cdef unsigned char _is_structure[256]
memset(_is_structure, 0, sizeof(_is_structure))
for _byte in bytearray(b'":{}[]\0'):                         # and the end, which lies after each bytes object
    _is_structure[_byte] = True


def objects_in(bytes text not None, bytes outer not None, bytes inner not None) -> list:
    """Return where each object that is a member of ``document[outer][inner]`` begins and ends.

    What lies between them, and in them, is not checked: with a string in the place of each, the text is valid JSON if
    the whole is, and the whole is if they are, too.  None if the text ends within a string.
    """
    cdef const unsigned char *at = text
    cdef Py_ssize_t n = len(text), i = 0, name = 0, end = 0, start = -1, depth = 0
    cdef bint is_in_outer = False, is_in_inner = False
    cdef list spans = []
    while True:
        while not _is_structure[at[i]]:
            i += 1
        if i >= n:
            return spans
        if at[i] == c'"':
            i += 1
            name = i
            while i < n and at[i] != c'"':
                i += 2 if at[i] == c'\\' else 1
            if i >= n:
                return None
            end = i
        elif at[i] == c':':
            if depth == 1:
                is_in_outer = _is(outer, at + name, end - name)
            elif depth == 2:
                is_in_inner = is_in_outer and _is(inner, at + name, end - name)
        elif at[i] == c'{' or at[i] == c'[':
            depth += 1
            if depth == 4 and is_in_inner and at[i] == c'{':
                start = i
        elif at[i]:
            if depth == 4 and start >= 0:
                spans.append((start, i + 1))
                start = -1
            depth -= 1
        i += 1


cdef inline bint _is(bytes name, const unsigned char *found, Py_ssize_t n):
    return n == len(name) and memcmp(<const char *>name, found, n) == 0
