"""Group metadata of formats 2 and 3, and consolidated metadata: the documents of all nodes below a group.

Format 2 keeps these in ``.zmetadata``, format 3 in the member ``consolidated_metadata`` of the group's
document, as zarr-python writes them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any, ClassVar, Self

from zarrcore._patterns import pattern
from zarrcore._records import dataclass
from zarrcore._validate import MAX_LEVELS, at, choice, describe, integer, mapping
from zarrcore.errors import MetadataValidationError, NestingError
from zarrcore.metadata import known
from zarrcore.metadata.common import dump
from zarrcore.metadata.departures import Departure, collected, report, without_nulls
from zarrcore.metadata.documents import (
    ZARR_JSON,
    ZATTRS_JSON,
    ZGROUP_JSON,
    ZMETADATA_V2_JSON,
    parse_attributes,
)
from zarrcore.metadata.sections import Section
from zarrcore.metadata.v3 import ArrayV3Metadata, check_node, parse_extra_fields

_Branch = dict[str, "_Branch"]

GROUP_METADATA_KEYS = frozenset({"zarr_format", "node_type", "attributes", "consolidated_metadata"})
"""The known members of a group document; zarr-python added ``consolidated_metadata``."""


_MOST_IMPLIED = 32  # groups that nothing but the paths of nodes name, for each node
_NO_PATH = pattern(r"(?:^|/)\.*(?:/|$)|[\0\\\ud800-\udfff]")  # a part or character that no name has


@dataclass(frozen=True)
class GroupMetadata:
    """Metadata of a group.

    Parameters
    ----------
    attributes : dict, optional
        User attributes.
    zarr_format : {3, 2}
        The format.
    consolidated_metadata : ConsolidatedMetadata, optional
        The metadata of all nodes below the group.
    extra_fields : dict, optional
        Further members of the document; in format 3 each is an object with ``"must_understand": false``.
        Consolidated metadata of a form that is not known are among them.

    Examples
    --------
    >>> GroupMetadata(attributes={"title": "waves"}).to_dict()
    {'attributes': {'title': 'waves'}, 'zarr_format': 3, 'node_type': 'group'}
    """

    node_type: ClassVar[str] = "group"

    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: int = 3
    consolidated_metadata: ConsolidatedMetadata | None = None
    extra_fields: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", parse_attributes(self.attributes))
        object.__setattr__(self, "zarr_format", integer(self.zarr_format, "zarr_format", 2, 3))
        extra = dict(self.extra_fields or {})
        if self.zarr_format == 3:
            extra = parse_extra_fields(extra, GROUP_METADATA_KEYS - {"consolidated_metadata"})
        object.__setattr__(self, "extra_fields", extra)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str | None = None) -> Self:
        """Parse a ``zarr.json`` document of a group, or a ``.zgroup`` document with its ``attributes``.

        Parameters
        ----------
        data : dict
            The document.
        where : str, optional
            Its store key, for messages.

        Raises
        ------
        MetadataValidationError
            If the document is not valid.
        NodeTypeValidationError
            If the document is that of an array.
        """
        group = cls._parsed(data, where)
        group.require_sound_copy()
        return group

    @classmethod
    def _parsed(cls, data: Mapping[str, Any], where: str | None) -> Self:
        """Parse a document, also one with damaged consolidated metadata; see :meth:`require_sound_copy`."""
        damage = None
        with at(key=where):
            zarr_format = integer(data.get("zarr_format"), "zarr_format", 2, 3)
            if zarr_format == 3:
                check_node(data, "group")
            attributes = dict(mapping(data.get("attributes", {}), "attributes"))
            extra = {name: value for name, value in data.items() if name not in GROUP_METADATA_KEYS}
            consolidated = None
            member = data.get("consolidated_metadata") if zarr_format == 3 else None
            if _is_another_form(member):
                extra["consolidated_metadata"] = member
            elif member is not None:
                try:
                    with at("consolidated_metadata", key=where):
                        consolidated = ConsolidatedMetadata.from_dict(mapping(member, None), where=where)
                except MetadataValidationError as error:
                    damage = error
            group = cls(attributes, zarr_format, consolidated, extra)
        if damage is not None:
            vars(group)["_damage"] = damage
        return group

    def require_sound_copy(self) -> None:
        """Raise what is wrong with the consolidated metadata of the document that this was parsed from.

        Who does not use them opens such a group nevertheless, and can consolidate them again.
        """
        damage = vars(self).get("_damage")
        if damage is not None:
            raise damage

    @classmethod
    def from_document(
        cls, data: Mapping[str, Any], *, where: str | None = None, text: bytes | None = None
    ) -> Self:
        """Parse a stored document, leniently and with a warning; see :meth:`ArrayMetadata.from_document`."""
        data, departures = without_nulls(data, 2 if data.get("zarr_format") == 2 else 3)
        group = cls._parsed(data, where)
        is_alone = group.consolidated_metadata is None and "_damage" not in vars(group)
        if text is not None and is_alone and not departures:
            known.keep_text(text, group)
        report(departures, where)
        return group

    def to_dict(self) -> dict[str, Any]:
        """Return the metadata as one JSON object, in format 3 the ``zarr.json`` document."""
        data: dict[str, Any] = {"attributes": dict(self.attributes), "zarr_format": self.zarr_format}
        if self.zarr_format == 3:
            if self.consolidated_metadata is not None:
                data["consolidated_metadata"] = self.consolidated_metadata.to_dict()
            data["node_type"] = "group"
        return data | {name: value for name, value in self.extra_fields.items() if name not in data}

    _document = to_dict  # as that of an array

    def to_documents(self) -> dict[str, bytes]:
        """Return the metadata as they are stored: the name of each document, and its bytes."""
        if self.zarr_format == 3:
            return dump(ZARR_JSON, self.to_dict())
        documents = dump(ZGROUP_JSON, {"zarr_format": 2} | self.extra_fields) | dump(
            ZATTRS_JSON, self.attributes
        )
        if self.consolidated_metadata is not None:
            zmetadata = self.consolidated_metadata.to_zmetadata(self.attributes, self.extra_fields)
            documents |= dump(ZMETADATA_V2_JSON, zmetadata)
        return documents

    def to_buffer_dict(self, prototype: Any) -> dict[str, Any]:
        """Return the metadata as they are stored: the name of each document, and its bytes in a buffer.

        Parameters
        ----------
        prototype : BufferPrototype
            The class of the buffers.
        """
        return {name: prototype.buffer.from_bytes(data) for name, data in self.to_documents().items()}

    def without_consolidated(self) -> Self:
        """Return the metadata of the group alone, without those of the nodes below it."""
        if self.consolidated_metadata is None and "consolidated_metadata" not in self.extra_fields:
            return self
        extra = {name: item for name, item in self.extra_fields.items() if name != "consolidated_metadata"}
        return replace(self, consolidated_metadata=None, extra_fields=extra)

    def update_attributes(self, attributes: dict[str, Any]) -> Self:
        """Return the metadata of the same group with other `attributes`."""
        return replace(self, attributes=attributes)


def _is_another_form(data: Any) -> bool:
    """Return whether consolidated metadata need not be understood: the documents themselves are there."""
    kind = data.get("kind") if isinstance(data, dict) else None
    return isinstance(kind, str) and kind != "inline" and data.get("must_understand") is False


def parse_node_below(document: Mapping[str, Any], text: bytes | None = None) -> Any:
    """Return the metadata of a node that a consolidated document describes, there written as `text`.

    In format 2 the member ``node_type`` names the kind of document that it is from.
    """
    zarr_format = integer(document.get("zarr_format"), "zarr_format", 2, 3)
    default = "array" if zarr_format == 2 and "shape" in document else "group" if zarr_format == 2 else None
    node_type = choice(document.get("node_type", default), "node_type", ("array", "group"))
    if zarr_format == 3 and node_type == "array":
        return ArrayV3Metadata.from_document(document, where=None, text=text)
    # What is below a group is known from this document; a copy inside the group would be a second truth.
    own = {name: value for name, value in document.items() if name != "consolidated_metadata"}
    if zarr_format == 2:
        own.pop("node_type", None)
    if node_type == "group":
        return GroupMetadata.from_document(own, where=None)
    from zarrcore.metadata.v2 import ArrayV2Metadata

    return ArrayV2Metadata.from_document(own, where=None)


# --- consolidated metadata ---


class _Nodes(Mapping[str, Any]):
    """Path -> metadata of a node, each parsed when it is first asked for.

    A store of thousands of arrays opens in the time that the few take which are used, and arrays that are
    described in the same words are parsed once.  The nodes below one are a view of the same documents,
    so that walking through a hierarchy takes time in proportion to its nodes, however deeply they are nested.
    `documents` are the document or the metadata of each node, by its path; `where` is the store key that they
    are from, and `above` what their paths have before those here, both for messages.
    """

    __slots__ = ("_above", "_branch", "_documents", "_parsed", "_prefix", "_where")

    def __init__(self, documents: Mapping[str, Any], where: str | None = None, above: str = "") -> None:
        self._documents = documents
        self._where = where
        self._above = above
        self._prefix = ""  # what the paths in the documents have before those here
        self._branch: _Branch | None = None
        self._parsed: dict[str, Any] = {}

    def __getitem__(self, path: str) -> Any:
        found = self.get(path)
        if found is None:
            raise KeyError(path)
        return found

    def get(self, path: str, default: Any = None) -> Any:
        full = self._prefix + path
        found = self._parsed.get(full)
        if found is None:
            if path == "" or full not in self._documents:
                return default
            text = self._documents.text_of(full) if isinstance(self._documents, Section) else None
            found = None if text is None else known.of_text(text)
            if found is None:
                found = self._parse(full, text)
            self._parsed[full] = found
        return found

    def _parse(self, path: str, text: bytes | None) -> Any:
        """Return the metadata of one node; where its document departs from the specification is reported."""
        place, departures = f"consolidated_metadata.metadata.{self._above}{path}", list[Departure]()
        with at(place, key=self._where):
            found = self._documents[path]
            if isinstance(found, Mapping):
                with collected() as departures:
                    found = parse_node_below(found, text)
        report((departure.below(place, self._where) for departure in departures), self._where)
        return found

    def _tree(self) -> _Branch:
        """Return the names below, each with those below it."""
        if self._branch is None:
            tree: _Branch = {}
            room = MAX_LEVELS + _MOST_IMPLIED * len(self._documents)
            for path in self._documents:
                branch = tree
                for name in path.split("/"):
                    if name not in branch:
                        branch[name] = {}
                        room -= 1
                    branch = branch[name]
                if room < 0:  # a group takes a hundred times the memory of its name
                    reason = f"more than {_MOST_IMPLIED} groups without a document for each with one"
                    raise NestingError(reason, where="consolidated_metadata.metadata", key=self._where)
            self._branch = tree
        return self._branch

    def names(self) -> Iterator[str]:
        """Names directly below, those included that only deeper paths imply."""
        return iter(self._tree())

    def below(self, path: str) -> _Nodes:
        """Return the nodes below a path, by their paths from there."""
        branch = self._tree()
        for name in path.split("/"):
            branch = branch.get(name, {})
        view = _Nodes(self._documents, self._where, self._above)
        view._prefix, view._branch = f"{self._prefix}{path}/", branch
        view._parsed = self._parsed
        return view

    def _own_paths(self) -> Iterator[str]:
        levels = [("", self._tree())]
        while levels:
            above, branch = levels.pop()
            for name, inside in branch.items():
                path = above + name
                if self._prefix + path in self._documents:
                    yield path
                if inside:
                    levels.append((f"{path}/", inside))

    def __iter__(self) -> Iterator[str]:
        if not self._prefix:
            return iter(self._documents)
        return iter(sorted(self._own_paths(), key=_path_order))

    def __len__(self) -> int:
        return sum(1 for _ in self._own_paths()) if self._prefix else len(self._documents)

    def __bool__(self) -> bool:
        return bool(self._tree())

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and path != "" and self._prefix + path in self._documents

    def __repr__(self) -> str:
        return f"<metadata of {len(self)} nodes>"

    def __reduce__(self) -> tuple[Any, ...]:
        pairs = [(path, self._prefix + path) for path in self]
        if isinstance(self._documents, Section):
            documents: Mapping[str, Any] = self._documents.renamed(pairs)
        else:
            documents = {new: self._documents[old] for new, old in pairs}
        return _Nodes, (documents, self._where, self._above + self._prefix)


@dataclass(frozen=True)
class ConsolidatedMetadata:
    """The metadata of all nodes below a group.

    Parameters
    ----------
    metadata : mapping of str to metadata
        Path of each node relative to the group, of nodes at any depth -> its metadata.
    extra_fields : dict, optional
        Further members of the document, which are written back.

    Examples
    --------
    >>> store = {}
    >>> group = zarrcore.create_group(store)
    >>> array = group.create_array("a", shape=4, dtype="f4")
    >>> found = zarrcore.consolidate_metadata(store).metadata.consolidated_metadata
    >>> isinstance(found, ConsolidatedMetadata), list(found.metadata)
    (True, ['a'])
    """

    kind: ClassVar[str] = "inline"
    must_understand: ClassVar[bool] = False

    metadata: Mapping[str, Any]
    extra_fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.metadata, _Nodes) and self.metadata._prefix:
            return  # a part of what has been checked
        paths = list(self.metadata)
        if _NO_PATH.search("/".join(paths)) or max(map(len, paths)) >= MAX_LEVELS:  # perhaps one of them
            for path in paths:
                _check_path(path)
        if not isinstance(self.metadata, _Nodes):
            object.__setattr__(self, "metadata", _Nodes(dict(_in_order(self.metadata))))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, where: str | None = None) -> Self:
        """Parse the ``consolidated_metadata`` member of a format 3 group.

        Nodes are parsed when they are asked for, so that is when a node that is not valid is found.

        Parameters
        ----------
        data : dict
            The member.
        where : str, optional
            The store key of the group's document, for messages.

        Raises
        ------
        MetadataValidationError
            If the form is not known, or a path leads out of the group.
        """
        choice(data.get("kind"), "kind", ("inline",))
        members = data.get("metadata")
        nodes: Mapping[str, Any]
        if isinstance(members, Section):
            nodes = members.renamed((path, path) for path in sorted(members, key=_path_order))
        else:
            members = mapping(members, "metadata")
            nodes = {path: mapping(item, f"metadata.{path}") for path, item in _in_order(members)}
        return cls(_Nodes(nodes, where), _others(data, "kind", "must_understand", "metadata"))

    @classmethod
    def from_zmetadata(cls, data: Mapping[str, Any], *, where: str | None = ZMETADATA_V2_JSON) -> Self:
        """Parse `data`, a ``.zmetadata`` document of format 2 that is stored at `where`."""
        with at(key=where):
            integer(data.get("zarr_consolidated_format"), "zarr_consolidated_format", 1, 1)
            members = mapping(data.get("metadata"), "metadata")
            nodes: dict[str, dict[str, Any]] = {}
            attributes: dict[str, Any] = {}
            for key, item in members.items():
                path, _, name = key.rpartition("/")
                if name == ".zattrs":
                    attributes[path] = None if item is None else mapping(item, f"metadata.{key}")
                elif name in (".zarray", ".zgroup") and path:
                    if path in nodes:
                        raise MetadataValidationError(
                            "is both an array and a group", where=f"metadata.{path}"
                        )
                    node_type = "array" if name == ".zarray" else "group"
                    nodes[path] = {**mapping(item, f"metadata.{key}"), "node_type": node_type}
            for path in nodes.keys() & attributes.keys():
                nodes[path]["attributes"] = attributes[path]
            return cls(
                _Nodes(dict(_in_order(nodes)), where), _others(data, "zarr_consolidated_format", "metadata")
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the ``consolidated_metadata`` member of a format 3 group."""
        nodes = {path: self.metadata[path]._document() for path in self.metadata}
        for node in nodes.values():
            node.pop("consolidated_metadata", None)
        return {"kind": self.kind, "must_understand": False, "metadata": nodes, **self.extra_fields}

    def to_zmetadata(self, attributes: Mapping[str, Any], extra_fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``.zmetadata`` document of a group with these `attributes` and `extra_fields`."""
        zgroup = {"zarr_format": 2, **extra_fields}
        documents: dict[str, Any] = {".zgroup": zgroup, ".zattrs": dict(attributes)}
        for path in self.metadata:
            node = self.metadata[path].to_dict()
            documents[f"{path}/.zattrs"] = node.pop("attributes", {})
            node.pop("consolidated_metadata", None)
            documents[f"{path}/{'.zarray' if 'shape' in node else '.zgroup'}"] = node
        return {"metadata": documents, "zarr_consolidated_format": 1, **self.extra_fields}

    @property
    def flattened_metadata(self) -> dict[str, Any]:
        """Path of each node below the group -> its metadata."""
        return {path: self.metadata[path] for path in self.metadata}

    def children(self) -> Iterator[str]:
        """Iterate over the names directly in the group, including groups that only deeper paths imply."""
        return self._nodes.names()

    def below(self, path: str) -> ConsolidatedMetadata:
        """Return the consolidated metadata of the group at `path` below this group."""
        return ConsolidatedMetadata(self._nodes.below(path))

    @property
    def _nodes(self) -> _Nodes:
        assert isinstance(self.metadata, _Nodes)
        return self.metadata

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConsolidatedMetadata):
            return NotImplemented
        return self.flattened_metadata == other.flattened_metadata

    def __hash__(self) -> int:
        return hash(tuple(self.metadata))


def _check_path(path: str) -> None:
    if _NO_PATH.search(path):
        reason = f"expected a path of node names, got {describe(path)}"
        raise MetadataValidationError(reason, where="metadata")
    if path.count("/") >= MAX_LEVELS:
        reason = f"expected a path of at most {MAX_LEVELS:,} names, got {describe(path)}"
        raise NestingError(reason, where="metadata")


def _others(data: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in known}


def _in_order(nodes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(nodes.items(), key=lambda item: _path_order(item[0]))


def _path_order(path: str) -> tuple[int, str, str]:
    """Groups before what is in them, then by name: the same nodes always make the same document."""
    plain = path.lower() if path.isascii() else unicodedata.normalize("NFKC", path).casefold()
    return path.count("/"), plain, path
