"""How a notebook shows a group: a tree whose branches can be opened."""

from __future__ import annotations

from itertools import islice
from typing import Any

from zarrcore.display.page import Budget, attributes, guarded, head, table, text
from zarrcore.info import store_type
from zarrcore.metadata import GroupMetadata
from zarrcore.metadata.common import ArrayMetadata
from zarrcore.nodes import consolidated
from zarrcore.nodes.find import Unreadable, first_names, read_some
from zarrcore.storage.path import StorePath

_MOST_MEMBERS = 40  # of one group
_MOST_LEVELS = 6
_MOST_NAMES = 20_000  # that are looked at to find the members of a group


def group_html(place: StorePath, metadata: GroupMetadata, kind: str) -> str:
    """Return a group as HTML: attributes, and what is below it as far as that costs next to nothing."""
    return guarded(lambda: _page(place, metadata, kind), kind)


def _page(place: StorePath, metadata: GroupMetadata, kind: str) -> str:
    budget = Budget()
    copied = metadata.consolidated_metadata is not None
    state = ", read-only" if place.store.read_only else ""
    state += ", consolidated metadata" if copied else ""
    facts = table([("Store", text(f"{store_type(place.store)}, Zarr format {metadata.zarr_format}{state}"))])
    shown = attributes(metadata.attributes, budget)
    if copied or (place.store._is_near and place.store.supports_listing):
        below = _members(place, metadata, budget, 1) or '<div class="zc-dim">no members</div>'
    else:
        below = '<div class="zc-dim">members are not listed over a network: see tree()</div>'
    return f"{head(kind, place)}{facts}{shown}{below}"


def _members(place: StorePath, metadata: GroupMetadata, budget: Budget, level: int) -> str:
    """Return the members of a group as a list; what has no room or takes too long is counted or named."""
    found, more = _found(place, metadata, budget)
    items: list[str] = []
    for number, (name, node) in enumerate(found):
        item = _item(place._child(name), name, node, budget, level)
        if not budget.allows(item):
            more = f"and {len(found) - number} more" if not more or more[4].isdigit() else more
            break
        items.append(item)
    if more:
        items.append(f'<li class="zc-dim">{more}</li>')
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _found(place: StorePath, metadata: GroupMetadata, budget: Budget) -> tuple[list[tuple[str, Any]], str]:
    """Return the first members by name, and what to say of the others."""
    copy = metadata.consolidated_metadata
    if copy is not None:
        members = list(islice(consolidated.children(copy, metadata.zarr_format), _MOST_MEMBERS))
        left = sum(1 for _ in copy.children()) - len(members)
        return members, f"and {left} more" if left else ""
    names, is_all = first_names(place, _MOST_NAMES, lambda: not budget.has_time)
    members = read_some(place, names[:_MOST_MEMBERS], metadata.zarr_format)
    left = len(names) - _MOST_MEMBERS
    if not is_all:
        return members, "and others"
    return members, f"and {left} more" if left > 0 else ""


def _item(place: StorePath, name: str, node: Any, budget: Budget, level: int) -> str:
    label = text(name, 80)
    if isinstance(node, Unreadable):
        return f'<li>{label} <span class="zc-bad">unreadable: {text(node.error, 120)}</span></li>'
    if not isinstance(node, GroupMetadata):
        return f'<li>{label} <span class="zc-dim">{_array_text(node)}</span></li>'
    if level >= _MOST_LEVELS or not budget.has_time:
        return f'<li>{label}/ <span class="zc-dim">\u2026</span></li>'
    own, below = attributes(node.attributes, budget), _members(place, node, budget, level + 1)
    if not own + below:
        return f'<li>{label}/ <span class="zc-dim">empty</span></li>'
    inside = (f"<ul><li>{own}</li></ul>" if own else "") + below
    return f"<li><details><summary>{label}/</summary>{inside}</details></li>"


def _array_text(metadata: ArrayMetadata) -> str:
    shape = " \u00d7 ".join(map(str, metadata.shape)) or "()"
    return text(f"{shape} {metadata.dtype_text}")
