"""Consolidated metadata: the documents of all nodes below a group, in one document.

Format 2 keeps them in ``.zmetadata``, format 3 in the member ``consolidated_metadata`` of the group's
document, as zarr-python writes them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from zarrcore._validate import at, choice, describe, integer, mapping
from zarrcore.errors import MetadataValidationError
from zarrcore.metadata.departures import Departure, collected, report
from zarrcore.metadata.sections import Section

if TYPE_CHECKING:
    from typing import Self

    from zarrcore.metadata.v3 import ArrayV3Metadata

    _Branch = dict[str, "_Branch"]
    ParseNode: TypeAlias = Callable[[Mapping[str, Any]], Any]

_NO_PATH = re.compile(r"(?:^|/)\.*(?:/|$)|[\0\\]")  # a part without a name, or a character that no name has


class _Nodes(Mapping[str, Any]):
    """Path -> metadata of a node, each parsed when it is first asked for.

    A store of thousands of arrays opens in the time that the few take which are used, and arrays that are
    described in the same words are parsed once.  The nodes below one are a view of the same documents,
    so that walking through a hierarchy takes time in proportion to its nodes, however deeply they are nested.

    Parameters
    ----------
    documents : mapping
        Path -> document of each node, or its metadata.
    where : str or None
        Store key of the document that they are from, for messages; None for metadata.
    parse : callable
        Makes metadata of the document of one node.
    above : str
        What the paths in the document have before those here, for messages.
    """

    __slots__ = ("_above", "_branch", "_documents", "_parse_node", "_parsed", "_prefix", "_twins", "_where")

    def __init__(
        self, documents: Mapping[str, Any], where: str | None, parse: ParseNode, above: str = ""
    ) -> None:
        self._documents = documents
        self._where = where
        self._parse_node = parse
        self._above = above
        self._prefix = ""  # what the paths in the documents have before those here
        self._branch: _Branch | None = None
        self._parsed: dict[str, Any] = {}
        self._twins: dict[str, tuple[ArrayV3Metadata, list[Departure]]] = {}

    def __getitem__(self, path: str) -> Any:
        full = self._prefix + path
        found = self._parsed.get(full)
        if found is None:
            if path == "" or full not in self._documents:
                raise KeyError(path)
            place = f"consolidated_metadata.metadata.{self._above}{full}"
            with at(place, key=self._where):
                found, departures = self._parse(full)
            report((departure.below(place, self._where) for departure in departures), self._where)
            self._parsed[full] = found
        return found

    def _parse(self, path: str) -> tuple[Any, list[Departure]]:
        if not isinstance(self._documents, Section):
            document = self._documents[path]
            return self._collecting(document) if isinstance(document, Mapping) else (document, [])
        text = self._documents.text_of(path)
        if text in self._twins:
            node, departures = self._twins[text]
            return node.twin(), departures
        node, departures = self._collecting(self._documents[path])
        if node.node_type == "array" and node.zarr_format == 3:
            self._twins[text] = node, departures
        return node, departures

    def _collecting(self, document: Mapping[str, Any]) -> tuple[Any, list[Departure]]:
        """Return the metadata of one node, and where its document departs from the specification."""
        with collected() as departures:
            return self._parse_node(document), departures

    def _tree(self) -> _Branch:
        """Return the names below, each with those below it."""
        if self._branch is None:
            self._branch = {}
            for path in self._documents:
                branch = self._branch
                for name in path.split("/"):
                    branch = branch.setdefault(name, {})
        return self._branch

    def names(self) -> Iterator[str]:
        """Names directly below, those included that only deeper paths imply."""
        return iter(self._tree())

    def below(self, path: str) -> _Nodes:
        """Return the nodes below a path, by their paths from there."""
        branch = self._tree()
        for name in path.split("/"):
            branch = branch.get(name, {})
        view = _Nodes(self._documents, self._where, self._parse_node, self._above)
        view._prefix, view._branch = f"{self._prefix}{path}/", branch
        view._parsed, view._twins = self._parsed, self._twins
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
        return _Nodes, (documents, self._where, self._parse_node, self._above + self._prefix)


@dataclass(frozen=True)
class ConsolidatedMetadata:
    """The metadata of all nodes below a group.

    Parameters
    ----------
    metadata : mapping of str to metadata
        Path of each node relative to the group, of nodes at any depth -> its metadata.
    extra_fields : dict, optional
        Further members of the document, which are written back.
    """

    kind: ClassVar[str] = "inline"
    must_understand: ClassVar[bool] = False

    metadata: Mapping[str, Any]
    extra_fields: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.metadata, _Nodes) and self.metadata._prefix:
            return  # a part of what has been checked
        for path in filter(_NO_PATH.search, self.metadata):
            reason = f"expected a path of node names, got {describe(path)}"
            raise MetadataValidationError(reason, where="metadata")
        if not isinstance(self.metadata, _Nodes):
            object.__setattr__(self, "metadata", _Nodes(dict(_in_order(self.metadata)), None, _not_parsed))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], parse: ParseNode, *, where: str | None = None) -> Self:
        """Parse the ``consolidated_metadata`` member of a format 3 group.

        Nodes are parsed when they are asked for, so that is when a node that is not valid is found.

        Parameters
        ----------
        data : dict
            The member.
        parse : callable
            Makes metadata of the document of one node.
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
        return cls(_Nodes(nodes, where, parse), _others(data, "kind", "must_understand", "metadata"))

    @classmethod
    def from_zmetadata(
        cls, data: Mapping[str, Any], parse: ParseNode, *, where: str | None = ".zmetadata"
    ) -> Self:
        """Parse a ``.zmetadata`` document of format 2.

        Parameters
        ----------
        data : dict
            The document.
        parse : callable
            Makes metadata of the document of one node.
        where : str, optional
            Its store key, for messages.
        """
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
                _Nodes(dict(_in_order(nodes)), where, parse),
                _others(data, "zarr_consolidated_format", "metadata"),
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the ``consolidated_metadata`` member of a format 3 group."""
        nodes = {path: _without_consolidated(self.metadata[path]).to_dict() for path in self.metadata}
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


def _others(data: Mapping[str, Any], *known: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in known}


def _not_parsed(document: Mapping[str, Any]) -> Any:
    """Takes the place of a parser where all nodes are metadata already."""
    raise TypeError(f"expected the metadata of a node, got {document!r}")


def _without_consolidated(node: Any) -> Any:
    from dataclasses import replace

    return replace(node, consolidated_metadata=None) if getattr(node, "consolidated_metadata", None) else node


def _in_order(nodes: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted(nodes.items(), key=lambda item: _path_order(item[0]))


def _path_order(path: str) -> tuple[int, str, str]:
    """Groups before what is in them, then by name: the same nodes always make the same document."""
    plain = path.lower() if path.isascii() else unicodedata.normalize("NFKC", path).casefold()
    return path.count("/"), plain, path
