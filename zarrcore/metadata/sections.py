"""Consolidated metadata as text: a group of thousands of nodes opens without parsing the entry of each.

Writers indent their documents, so the lines show where the document of a node begins and ends: no string in
JSON contains a line break.  Each of these documents is replaced by a number that occurs nowhere else.  The
remaining text has to be valid JSON, with these numbers in the places of the nodes, and each document has to
be valid by itself before it is used: then the whole is valid and means the same.  A text with another layout
is parsed at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zarrcore._typing import Buffer
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata.documents import decode_document, load_document, parse_document, stored_bytes

_MARK = b'"consolidated_metadata": {'
_INDENT = r'\{\n([ \t]+)"'
_DIGITS = "9071538264"

Span = tuple[int, int]


class Section(Mapping[str, Any]):
    """Name -> document of the nodes in a group's document, each parsed when it is asked for.

    `spans` are the places of the nodes' documents in `text`, the group's, whose store key is `where`.
    """

    __slots__ = ("_spans", "_text", "_where")

    def __init__(self, text: str, spans: dict[str, Span], where: str) -> None:
        self._text = text
        self._spans = spans
        self._where = where

    def text_of(self, name: str) -> str:
        """Return the document of one node as it is written."""
        start, stop = self._spans[name]
        return self._text[start:stop]

    def __getitem__(self, name: str) -> Any:
        text = self.text_of(name)
        try:
            return parse_document(text, where=self._where)
        except MetadataValidationError:
            # Parsing the whole finds what is wrong and where, if it was not cut in the wrong places.
            parse_document(self._text, where=self._where)
            raise MetadataValidationError(
                f"the lines do not show where the node {name!r} begins and ends, and others may be hidden: "
                "consolidate the metadata again",
                key=self._where,
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)

    def __contains__(self, name: object) -> bool:
        return name in self._spans

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Section) and (self._spans, self._text) == (other._spans, other._text):
            return True
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def renamed(self, pairs: Iterable[tuple[str, str]]) -> Section:
        """Return the documents that have the second name of each pair, under the first, in that order."""
        return Section(self._text, {new: self._spans[old] for new, old in pairs}, self._where)


def load_group_document(data: Buffer, *, where: str) -> dict[str, Any]:
    """Load a document like :func:`load_document`, with a :class:`Section` for the consolidated metadata.

    Documents in another layout, of another kind or without consolidated metadata are parsed as a whole.
    """
    raw = stored_bytes(data, where=where)
    if _MARK not in raw:
        return load_document(raw, where=where)
    text = decode_document(raw, where=where)
    return _in_sections(text, where) or parse_document(text, where=where)


def _in_sections(text: str, where: str) -> dict[str, Any] | None:
    """Return the document with a section, or None if the lines do not show where the nodes are."""
    cut = _cut(text)
    if cut is None:
        return None
    skeleton, marks, spans = cut
    try:
        document = parse_document(skeleton, where=where)
    except MetadataValidationError:
        return None
    consolidated = document.get("consolidated_metadata")
    if not isinstance(consolidated, dict) or consolidated.get("kind") != "inline":
        return None
    numbers = consolidated.get("metadata")
    if document.get("node_type") != "group" or not isinstance(numbers, dict):
        return None
    if [repr(number) for number in numbers.values()] != marks:
        return None
    consolidated["metadata"] = Section(text, dict(zip(numbers, spans, strict=True)), where)
    return document


def _cut(text: str) -> tuple[str, list[str], list[Span]] | None:
    """Return the text with a number for each node's document, the numbers, and the spans of the documents."""
    indent = re.match(_INDENT, text)
    digits = next((_DIGITS * n for n in (1, 2, 4) if _DIGITS * n not in text), None)
    if indent is None or digits is None:
        return None
    two, three, four = ("\n" + depth * indent[1] for depth in (2, 3, 4))
    opening, closing = f'{two}"metadata": {{', three + "}"
    start = text.find(f'{opening}{three}"')
    position = start + len(opening)
    end = text.find(two + "}", position)
    if start < 0 or end < 0:
        return None
    parts = [text[:position]]
    marks: list[str] = []
    spans: list[Span] = []
    while position < end:
        begin = text.find(": {\n", position, end)
        stop = text.find(closing, begin, end)
        if begin < 0 or stop < 0:
            return None
        stop += len(closing)
        marks.append(f"{digits}{len(spans)}")
        parts.append(f"{text[position:begin]}: {marks[-1]}")
        spans.append((begin + 2, stop))
        position = stop
    # Of each node only the first and the last line are not deeper: else the document of one may hide others.
    if text.count("\n", spans[0][0], end) != text.count(four, spans[0][0], end) + 2 * len(spans) - 1:
        return None
    return "".join(parts) + text[end:], marks, spans
