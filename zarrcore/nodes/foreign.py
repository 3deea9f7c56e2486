"""What lies where a node is going to be replaced and belongs to no Zarr node: other people's files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from zarrcore._patterns import pattern
from zarrcore.errors import BaseZarrError, ForeignDataError, NodeIOError
from zarrcore.metadata import ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON
from zarrcore.metadata.n5 import ATTRIBUTES_JSON
from zarrcore.nodes import documents
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.nodes.find import find_node
from zarrcore.nodes.reading import begun, get_many, has_value, listed_below, names_below, which_exist
from zarrcore.storage.files import is_own
from zarrcore.storage.path import StorePath
from zarrcore.storage.validation import join_path, key_prefix

_MOST_NAMED, _BATCH, _MOST_LEVELS = 3, 256, 4
_NODE_NAMES = (ZARR_JSON, ZARRAY_JSON, ZGROUP_JSON, ATTRIBUTES_JSON)
_NO_DOCUMENTS = [None] * len(_NODE_NAMES)
_OWN_NAMES = documents.ALL_NAMES | {*documents.NAMES[1], ATTRIBUTES_JSON}
ANY_CHUNK = r"c|(c[./])?\d+([./]\d+)*"
_OLD_CHUNK = pattern(r"(0|[1-9]\d*)([./](0|[1-9]\d*))*")  # of format 2
# Written by operating systems and by other Zarr libraries while they replace a file.
_LITTER = pattern(r"\.DS_Store|Thumbs\.db|desktop\.ini|\._.*|\.nfs[0-9a-f]+|.*[0-9a-f]{32}\.partial")


def refuse_foreign(place: StorePath) -> None:
    """Refuse to remove what lies at a place if some of it belongs to no Zarr node (a ForeignDataError)."""
    # One level is looked at: below a node, everything is taken to be its own.
    if not place.store.supports_listing:
        return
    found = list(islice(_foreign(place), _MOST_NAMED + 1))
    if found and not _is_of_a_removed_array(place):
        named = ", ".join(map(repr, found[:_MOST_NAMED])) + (", ..." if len(found) > _MOST_NAMED else "")
        raise ForeignDataError(
            f"{place} is not replaced: entries that belong to no Zarr node would be removed: {named}; "
            f'choose another path, move them away, or insist with overwrite="all"'
        )


def is_left_over(place: StorePath) -> bool:
    """Return whether there are chunks at a place without a node, and nothing else."""
    if not place.store.supports_listing or place.is_empty():
        return False
    return next(_foreign(place), None) is None or _is_of_a_removed_array(place)


def _is_of_a_removed_array(place: StorePath) -> bool:
    """Return whether all that lies at a place in a group is named like chunks of one array of format 2.

    Outside of groups, files whose names are numbers are other people's.
    """
    if not place.path or not any(which_exist(place.store, [*_group_keys(place.parent)])):
        return False
    begin, forms = len(key_prefix(place.path)), set[tuple[int, int]]()
    for key in listed_below(place):
        name = key[begin:].rstrip("/")  # of an empty directory
        if name in documents.ALL_NAMES:
            continue
        if _OLD_CHUNK.fullmatch(name) is None:
            return False
        if not key.endswith("/"):
            forms.add((name.count("."), name.count("/")))
    return len(forms) == 1 and 0 in forms.pop()


def _group_keys(place: StorePath) -> Iterator[str]:
    return (join_path(place.path, name) for name in (ZARR_JSON, ZGROUP_JSON))


def _foreign(place: StorePath) -> Iterator[str]:
    is_slow = place.store._concurrent_requests() > 0
    listed = begun(place.store, names_below, [place])
    is_chunk = _chunk_pattern(place) if is_slow else None  # which is found out while it lists
    names = [name for name in listed()[0] if not is_litter(name)]
    if documents.ALL_NAMES.issuperset(names):
        return
    if not is_slow:
        is_chunk = _chunk_pattern(place)
    if is_chunk is not None:
        names = [name for name in names if name not in _OWN_NAMES and not is_chunk.fullmatch(name)]
    else:
        names = [name for name in names if name not in documents.ALL_NAMES]
    yield from _without_node(place, names, 1)


def is_litter(name: str) -> bool:
    """Return whether a name is that of a file that a program left, which stands for nothing."""
    return "." in name and (is_own(name) or _LITTER.fullmatch(name) is not None)


def _chunk_pattern(place: StorePath) -> re.Pattern[str] | None:
    """Return the common beginning of the names of an array's chunks; None if no node is there."""
    try:
        _, metadata = find_node(place, implied=False)
    except NodeIOError:
        raise
    except BaseZarrError:  # a node whose documents are broken, which is what many want to replace
        return re.compile(ANY_CHUNK)
    if metadata is None:
        return None
    if not is_array_metadata(metadata):
        return re.compile(r"(?!)")
    key = metadata.encode_chunk_key((0,) * len(metadata.shape))
    own = re.sub(r"\d+", r"\\d+", re.escape(key.partition("/")[0]))
    return re.compile(f"{own}|{ANY_CHUNK}")


def _without_node(place: StorePath, names: Sequence[str], level: int) -> Iterator[str]:
    """Return those of some names that are neither nodes nor directories of nodes."""
    for start in range(0, len(names), _BATCH):
        batch = names[start : start + _BATCH]
        keys = [join_path(place.path, name, document) for name in batch for document in _NODE_NAMES]
        values = iter(get_many(place, keys))
        for name in batch:
            is_node = [next(values) for _ in _NODE_NAMES] != _NO_DOCUMENTS
            if not is_node and not _holds_nodes_only(place._child(name), level):
                yield name


def _holds_nodes_only(place: StorePath, level: int) -> bool:
    """Return whether a directory without documents is empty, or has only nodes or left-over chunks in it."""
    if has_value(place, place.path) or level == _MOST_LEVELS:
        return False
    names = [name for name in names_below(place) if name not in documents.ALL_NAMES and not is_litter(name)]
    if place.name == "c" and all(map(str.isdecimal, names)):
        return True
    return next(_without_node(place, names, level + 1), None) is None
