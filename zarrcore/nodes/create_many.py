"""Creating many nodes from their metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarrcore.nodes.create import create_node
from zarrcore.nodes.documents import is_array_metadata
from zarrcore.storage.path import StorePath

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from zarrcore._typing import Overwrite
    from zarrcore.nodes.documents import Metadata


def create_nodes(
    place: StorePath, nodes: Mapping[str, Metadata], *, overwrite: Overwrite = False
) -> Iterator[tuple[str, StorePath, Metadata]]:
    """Store many nodes, parents first; the groups between them that are not given are created as well."""
    checked = {StorePath(place.store, path).path: metadata for path, metadata in nodes.items()}
    formats = {metadata.zarr_format for metadata in checked.values()}
    if len(formats) > 1:
        raise ValueError(f"all nodes of a hierarchy must have one zarr_format, got {sorted(formats)}")
    for path in checked:
        above = path.rpartition("/")[0]
        while path and above != path:
            if above in checked and is_array_metadata(checked[above]):
                raise ValueError(f"{path!r} cannot be created below the array {above!r}")
            path, above = above, above.rpartition("/")[0]
    for path in sorted(checked, key=lambda name: (name.count("/"), name)):
        target = place / path if path else place
        create_node(target, checked[path], overwrite=overwrite)
        yield path, target, checked[path]
