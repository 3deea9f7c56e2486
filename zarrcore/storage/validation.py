"""Which strings are store keys, key prefixes and node paths, and what is a value.

A key is a non-empty string of components separated by single slashes; no component is empty, ``.`` or ``..``,
and none contains a NUL.  Such a key, joined to the root of a file system store, cannot leave it.  A prefix is
a key with a slash at its end, or the empty string (Zarr v3 core, "Abstract store interface").
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from itertools import islice
from typing import Any

from zarrcore._patterns import pattern
from zarrcore._typing import Buffer
from zarrcore._validate import describe, view_of
from zarrcore.errors import InvalidKeyError, StoreError, given

# Most keys are plain words, which is found out sooner than that nothing bad is in a key.
# The group may give back: CPython before 3.11.5 takes "a/" for a whole match of one that may not.
_is_plain = re.compile(r"\.?[\w-][\w.-]*+(?:/\.?[\w-][\w.-]*+)*", re.ASCII).fullmatch
# Names of files that are not in UTF-8 contain U+DC80 to U+DCFF (PEP 383); no name contains other halves of
# pairs.  One search decides; only a bad key pays for finding out why.
_BAD_KEY = pattern(r"\A\Z|\A/|/\Z|//|(?:\A|/)\.\.?(?:/|\Z)|[\0\ud800-\udc7f\udd00-\udfff]")
_SURROGATES = pattern("[\ud800-\udfff]")
_WINDOWS_DEVICE = r"(?i:CON|PRN|AUX|NUL|COM[0-9]|LPT[0-9])(?:\.|\Z)"
_WINDOWS_FORBIDDEN = r'[\\:*?"<>|\x00-\x1f]|[. ]\Z'


DOCUMENTS = frozenset({"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "attributes.json"})
"""Names of metadata documents."""
DECISIVE = frozenset({"zarr.json", ".zarray", ".zgroup"})
"""Names of documents that make a node of what is below them."""
_DOCUMENT_ENDS = (*DOCUMENTS,)


def is_document(key: str) -> bool:
    """Return whether a key is that of a metadata document."""
    # Whoever looks for nodes asks for documents below names that are those of files: there are none.  A chunk
    # that cannot be there because a file is in the place of its directory is another matter: it is damage.
    return key.endswith(_DOCUMENT_ENDS) and key[key.rfind("/") + 1 :] in DOCUMENTS


def removal_step(name: str) -> int:
    """Return when a file of a node is removed: 0, what makes it a node; 1, other documents; 2, chunks.

    A node whose removal fails is whole or gone: neither without its attributes nor without its values.
    """
    return (name not in DOCUMENTS) + (name not in DECISIVE)


def storing_order(key: str) -> tuple[int, str]:
    """Return by what keys are sorted to be stored: the other way round, so that no node is there half."""
    return -removal_step(key[key.rfind("/") + 1 :]), key


def validate_key(key: str) -> str:
    """Return `key` unchanged if it is a valid store key.

    Raises
    ------
    InvalidKeyError
        If it is not; the message names the key and the reason.
    TypeError
        If it is not a string.

    Examples
    --------
    >>> validate_key("group/zarr.json")
    'group/zarr.json'
    >>> validate_key("group/../zarr.json")
    Traceback (most recent call last):
        ...
    zarrcore.errors.InvalidKeyError: invalid store key 'group/../zarr.json': it contains the component '..'
    """
    if not isinstance(key, str):
        raise TypeError(f"a store key is a string, got {type(key).__name__}: {key!r}")
    if _is_bad(key):
        raise InvalidKeyError(f"invalid store key {key!r}: {_problem(key)}")
    return key


def _is_bad(key: str) -> bool:
    return _is_plain(key) is None and _BAD_KEY.search(key) is not None


def node_names(names: Sequence[str]) -> Sequence[str]:
    """Return those of some names from a listing that a node can have: one component of a key each."""
    together = "/".join(names)
    if not _is_bad(together) and together.count("/") == len(names) - 1:
        return names
    return [name for name in names if "/" not in name and not _is_bad(name)]


def validate_prefix(prefix: str) -> str:
    """Return `prefix` in its canonical form: ``""`` for the whole store, or ``"a/b/"``.

    The slash at the end may be left out: ``"a/b"`` and ``"a/b/"`` both stand for the keys below ``a/b``.

    Raises
    ------
    InvalidKeyError
        If the string is no prefix of a valid key.

    Examples
    --------
    >>> validate_prefix("group/")
    'group/'
    >>> validate_prefix("group")
    'group/'
    """
    if not isinstance(prefix, str):
        raise TypeError(f"a key prefix is a string, got {type(prefix).__name__}: {prefix!r}")
    bare = prefix.removesuffix("/")
    if not bare:
        return ""
    if _is_bad(bare):
        raise InvalidKeyError(f"invalid key prefix {prefix!r}: {_problem(bare)}")
    return bare + "/"


def absolute_path(path: str | bytes | os.PathLike[Any]) -> str:
    """Return the absolute path of a file or directory.

    Raises
    ------
    ValueError
        If NUL is in it: CPython before 3.11.5 ends the path there, which is another file.
    FileNotFoundError
        If it is relative and the current directory was removed; the message names both.
    """
    text = path if type(path) is str else os.fsdecode(path)
    if "\0" in text:
        raise ValueError(f"a path holds no NUL character, got {text!r}")
    try:
        return os.path.normpath(text) if text[:1] == "/" == os.sep else os.path.abspath(text)
    except FileNotFoundError as error:
        reason = "the path is relative, and the current directory was removed"
        raise FileNotFoundError(error.errno, reason, text) from None


def as_view(value: Buffer, key: str) -> bytes | memoryview:
    """Return the bytes of a value, without a copy where that is possible.

    Raises
    ------
    TypeError
        If the value is not bytes-like; the message names the key.
    """
    if type(value) is bytes:
        return value
    # zarr-python's Buffer objects are not buffers themselves, but hand one out.
    export = getattr(value, "as_buffer_like", None)
    try:
        view = view_of(export() if export is not None else value)
    except Exception as error:  # whatever the export of a user's class raises
        raise TypeError(f"key {key!r}: expected a bytes-like value, got {type(value).__name__}") from error
    if view.nbytes == 0:
        return b""
    if not view.c_contiguous:
        return view.tobytes()
    return view.cast("B")


def lasting(value: Any) -> Any:
    """Return what a store has answered, as bytes if the store may put its next answer into the same memory.

    What is not bytes-like is returned as it is: whoever needs the bytes knows the key to be named.
    """
    if value is None or type(value) is bytes:
        return value
    try:
        view = view_of(value)
    except Exception:  # whatever the export of a user's class raises
        return value
    is_fixed = view.readonly and bytes in (type(view.obj), type(getattr(view.obj, "base", None)))
    return value if is_fixed else view.tobytes()


def answers(found: Any, n: int, method: str) -> Sequence[Any]:
    """Return what a store, which a user may have written, answers to n requests: one answer for each."""
    try:
        values: Sequence[Any] = (
            found if isinstance(found, (list, tuple)) else [*map(lasting, islice(found, n + 1))]
        )
    except TypeError:
        raise StoreError(f"{method} returned {describe(found)} for {n} keys") from None
    if len(values) != n:
        few = len(values) if len(values) < n else "more"
        raise StoreError(f"{method} returned {few} values for {n} keys")
    return values


def patched(key: str, old: Buffer | None, parts: list[tuple[int, bytes | memoryview]]) -> bytes:
    """Return a value with parts of it replaced."""
    value = bytearray(b"" if old is None else as_view(old, key))
    done = 0
    for start, part in sorted(parts, key=lambda item: item[0]):
        if start < 0:
            raise StoreError(f"key {key!r}: a part cannot start at byte {start}")
        if start < done:
            raise StoreError(
                f"key {key!r}: the part at byte {start} overlaps the one that ends at byte {done}"
            )
        if start > len(value):
            raise StoreError(
                f"key {key!r}: a part at byte {start} leaves a gap after the end at byte {len(value)}"
            )
        done = start + len(part)
        value[start:done] = part
    return bytes(value)


def is_zarr_python_store(value: object) -> bool:
    """Return whether a value is a store of coroutines, such as those of zarr-python; imports nothing."""
    modules = map(sys.modules.get, ("zarr.abc.store", "zarrcore.compat.coroutines"))
    return any(isinstance(value, getattr(module, "Store", ())) for module in modules)


def normalize_path(path: str | bytes | os.PathLike[str] | None) -> str:
    """Return the canonical form of `path`, that of a node: ``""`` for the root, or ``"a/b"``.

    Slashes at either end are dropped, repeated ones collapse and backslashes count as slashes.

    Raises
    ------
    InvalidKeyError
        If a component is ``.`` or ``..`` or contains a NUL.

    Examples
    --------
    >>> normalize_path("/group//array/")
    'group/array'
    """
    if not path and (path is None or isinstance(path, (str, bytes))):
        return ""
    if isinstance(path, str) and _is_plain(path) is not None:
        return path
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"a path is a string, got {type(path).__name__}: {given(path)}")
    text = path.decode("ascii") if isinstance(path, bytes) else os.fspath(path)
    parts = [part for part in text.replace("\\", "/").split("/") if part]
    normal = "/".join(parts)
    if normal and (_BAD_KEY.search(normal) is not None or not is_text(normal)):
        raise InvalidKeyError(f"invalid path {path!r}: {_problem(normal)}")
    return normal


def join_path(*parts: str) -> str:
    """Return the non-empty parts of a path, joined by slashes."""
    return "/".join(filter(None, parts))


def key_prefix(path: str) -> str:
    """Return the prefix of the keys of the node at a path, which is in canonical form."""
    return f"{path}/" if path else ""


def is_text(name: str) -> bool:
    """False if a name has no form in UTF-8, such as that of a file whose name is not in UTF-8."""
    return name.isascii() or _SURROGATES.search(name) is None


class Limit(int):
    """Most bytes of a value whose size no metadata bound: what the setting allows."""


def too_large(nbytes: int | str, most: int) -> str:
    """Return the message for a value that is not read because it is larger than it can be."""
    why = "allowed by the setting array.max_variable_chunk_bytes" if isinstance(most, Limit) else "possible"
    return f"the value has {nbytes} bytes, at most {most} are {why}"


def windows_problem(key: str) -> str | None:
    """Why a key cannot be a file name on Windows; None if it can."""
    for component in key.split("/"):
        if re.match(_WINDOWS_DEVICE, component):
            return f"{component!r} is the name of a device on Windows"
        if re.search(_WINDOWS_FORBIDDEN, component):
            return f"{component!r} contains a character that Windows does not allow there"
    return None


def _problem(key: str) -> str:
    """Why a key is not valid."""
    if not key:
        return "it is empty"
    if "\0" in key:
        return "it contains a NUL character"
    if key.startswith("/"):
        return "it begins with '/'"
    if key.endswith("/"):
        return "it ends with '/'"
    if "//" in key:
        return "it contains an empty component ('//')"
    for component in key.split("/"):
        if component in (".", ".."):
            return f"it contains the component {component!r}"
    return "it contains half of a surrogate pair, which is no character"
