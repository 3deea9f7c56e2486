"""Consolidated metadata as text: a group of thousands of nodes opens without parsing the entry of each.

Each of these documents is replaced by an empty string.  The remaining text has to be valid JSON, with these
strings in the places of the nodes, and each document has to be valid by itself before it is used: then the
whole is valid and means the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from zarrcore._core.json_text import objects_in, unshared
from zarrcore._typing import Buffer
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata.documents import decode_document, load_document, parse_document, stored_bytes

_MARK = b'"consolidated_metadata"'

Span = tuple[int, int]

_LONGEST_KEPT = 1 << 20  # bytes
#: The last text with sections, its store key, and its document: whoever opens a group often opens it again.
_latest: list[tuple[bytes, str, dict[str, Any]]] = [(b"", "", {})]


class Section(Mapping[str, Any]):
    """Name -> document of the nodes in a group's document, each parsed when it is asked for.

    `spans` are the places of the nodes' documents in `text`, the group's, whose store key is `where`.
    """

    __slots__ = ("_spans", "_text", "_where")

    def __init__(self, text: bytes, spans: dict[str, Span], where: str) -> None:
        self._text = text
        self._spans = spans
        self._where = where

    def text_of(self, name: str) -> bytes:
        """Return the document of one node as it is written."""
        start, stop = self._spans[name]
        return self._text[start:stop]

    def __getitem__(self, name: str) -> Any:
        try:
            return parse_document(self.text_of(name).decode(), where=self._where)
        except MetadataValidationError:
            parse_document(self._text.decode(), where=self._where)  # finds it as well, and says where
            raise

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

    Documents of another kind or without consolidated metadata are parsed as a whole.
    """
    raw = stored_bytes(data, where=where)
    if _MARK not in raw:
        return load_document(raw, where=where)
    latest, place, document = _latest[0]
    if latest == raw and place == where:  # comparing takes a fiftieth of the time
        return unshared(document)  # type: ignore[no-any-return]
    text = decode_document(raw, where=where)
    found = _in_sections(text.encode(), where)
    if found is None:
        return parse_document(text, where=where)
    if len(raw) <= _LONGEST_KEPT:
        with suppress(RecursionError):  # attributes that are nested very deeply: parsed each time
            _latest[0] = raw, where, unshared(found)
    return found


def _in_sections(text: bytes, where: str) -> dict[str, Any] | None:
    """Return the document with a section, or None if not all members are nodes, or something is wrong."""
    spans = objects_in(text, b"consolidated_metadata", b"metadata")
    if not spans:
        return None
    ends = zip((0, *(stop for _, stop in spans)), (*(start for start, _ in spans), len(text)), strict=True)
    skeleton = b'""'.join([text[start:stop] for start, stop in ends]).decode()
    try:
        document = parse_document(skeleton, where=where)
    except MetadataValidationError:
        return None
    consolidated = document.get("consolidated_metadata")
    if not isinstance(consolidated, dict) or consolidated.get("kind") != "inline":
        return None
    names = consolidated.get("metadata")
    if document.get("node_type") != "group" or not isinstance(names, dict):
        return None
    if len(names) != len(spans) or any(name != "" for name in names.values()):
        return None
    consolidated["metadata"] = Section(text, dict(zip(names, spans, strict=True)), where)
    return document
