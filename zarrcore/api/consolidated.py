"""Consolidated metadata: copy the documents of all nodes into a group, and compare the copy with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarrcore.api.nodes import refuse_options
from zarrcore.groups.group import Group
from zarrcore.nodes.consolidate import check, consolidate
from zarrcore.nodes.open import open_group_node
from zarrcore.progress import reporting
from zarrcore.storage import make_store_path
from zarrcore.storage.path import StoreLike

if TYPE_CHECKING:
    from zarrcore.nodes.consolidate import ConsolidatedDifference
    from zarrcore.progress import Progress


def consolidate_metadata(
    store: StoreLike,
    path: str | None = None,
    zarr_format: int | None = None,
    *,
    storage_options: dict[str, Any] | None = None,
    progress: Progress | None = None,
) -> Group:
    """Copy the metadata of all nodes below a group into the group, so that it opens with one read.

    Parameters
    ----------
    store : store-like
        The store.
    path : str, optional
        Path of the group.  Default: the root.
    zarr_format : {2, 3}, optional
        Format of the group.  Default: the one that is found.
    storage_options : dict, optional
        Options of a remote store.
    progress : callable or True, optional
        Called as ``progress(done, total)`` with numbers of nodes, those known so far in `total`.  True shows
        a bar, which takes rich or tqdm.

    Returns
    -------
    Group
        The group, with its consolidated metadata.

    Examples
    --------
    >>> import zarrcore
    >>> store = {}
    >>> zarrcore.open_group(store)["lat"] = np.arange(3)
    >>> group = zarrcore.consolidate_metadata(store)
    >>> sorted(group.metadata.consolidated_metadata.metadata)
    ['lat']
    """
    place = make_store_path(store, path=path, storage_options=storage_options)
    place, metadata = open_group_node(place, zarr_format, use_consolidated=False)
    with reporting(progress, "consolidating", of_bytes=False) as step:
        return Group(consolidate(place, metadata, step), place)


def check_consolidated(
    store: Group | StoreLike,
    path: str | None = None,
    zarr_format: int | None = None,
    *,
    storage_options: dict[str, Any] | None = None,
) -> tuple[ConsolidatedDifference, ...]:
    """Compare consolidated metadata with the documents of the nodes themselves.

    Other programs may have changed, added or removed nodes since the copy was made; what zarrcore changes it
    keeps up to date in the copy as well.

    Parameters
    ----------
    store : Group or store-like
        A group with consolidated metadata, or where it is.
    path : str, optional
        Path of the group in the store.
    zarr_format : {2, 3}, optional
        Look for this format only.
    storage_options : dict, optional
        Options of a remote store.

    Returns
    -------
    tuple of ConsolidatedDifference
        Each has a `path`, a `kind` ("added", "missing", "changed") and the `members` that differ; none if all
        agree.

    Raises
    ------
    ValueError
        If there are no consolidated metadata.
    NodeIOError
        If the store cannot read a document of a node.

    Examples
    --------
    >>> import zarrcore
    >>> values = {}
    >>> root = zarrcore.create_group(values)
    >>> array = root.create_array("a", shape=4, dtype="i4")
    >>> _ = zarrcore.consolidate_metadata(values)
    >>> array.resize(6)
    >>> zarrcore.check_consolidated(values)
    ()
    >>> values["a/zarr.json"] = values["a/zarr.json"].replace(b"6", b"8")
    >>> [str(difference) for difference in zarrcore.check_consolidated(values)]
    ['a: changed (shape)']
    """
    if isinstance(store, Group):
        refuse_options("check_consolidated", storage_options)
        group = store if path is None else store.get_group(path)
        return check(group._store_path, group.metadata)
    place = make_store_path(store, path=path, storage_options=storage_options)
    return check(*open_group_node(place, zarr_format, use_consolidated=True))
