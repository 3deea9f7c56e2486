"""From metadata and a store to the engine that moves the chunks of one array."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from zarrcore._core import engine
from zarrcore._log import debug
from zarrcore._validate import of_array
from zarrcore.codecs.base import ArraySpec
from zarrcore.config import config
from zarrcore.errors import ChunkIOError, named
from zarrcore.metadata.documents import NAMES
from zarrcore.metadata.layout import grid_edges
from zarrcore.storage.validation import key_prefix

if TYPE_CHECKING:
    from collections.abc import Callable

    from zarrcore._core.engine import ChunkCache, NativeArray
    from zarrcore.engine.base import Engine
    from zarrcore.engine.python import PythonEngine
    from zarrcore.metadata.common import ArrayMetadata
    from zarrcore.storage import Store, StorePath

_share: int | None = None  # threads of the dask worker that runs this process


def _set_threads(configured: int | None) -> None:
    engine.set_num_threads(configured or _share)


config.watch("threading.max_workers", _set_threads)
config.watch("memory.kept_results", engine.keep_results)
engine.keep_results(config["memory.kept_results"])


def threads_in_force() -> int:
    """Return how many threads a call uses for which no number is given."""
    _take_share()
    return engine.num_threads()


def _take_share() -> None:
    """In a worker of dask, use by default as many threads as it has: other workers have the other CPUs.

    A worker in the process of its scheduler has no process of its own, and changes nothing.
    """
    global _share
    distributed: Any = sys.modules.get("distributed")
    if _share is not None or not hasattr(distributed, "Scheduler") or [*distributed.Scheduler._instances]:
        return
    try:
        _share = distributed.get_worker().state.nthreads
    except ValueError:
        return  # this is no task of a worker
    _set_threads(config.given("threading.max_workers"))


def chunk_spec(metadata: ArrayMetadata, shape: tuple[int, ...]) -> Any:
    """Return the codecs' specification of a chunk of the given shape."""
    return ArraySpec(shape=shape, dtype=metadata.data_type, fill=metadata.fill_scalar)


def chunk_store(metadata: ArrayMetadata, store_path: StorePath) -> Store:
    """Return the store of the chunks: the array's store under its storage transformers."""
    transformers = getattr(metadata, "storage_transformers", ())
    if not transformers:
        return store_path.store
    from zarrcore.transformers import transformed

    return transformed(store_path.store, transformers, key_prefix(store_path.path))


def document_key(metadata: ArrayMetadata, store_path: StorePath) -> str:
    """Return the key of an array's own document."""
    return key_prefix(store_path.path) + NAMES[metadata.zarr_format][0]


_resized = False  # whether this process has ever changed the shape of an array


def note_shape(metadata: ArrayMetadata, store_path: StorePath, *, created: bool = False) -> None:
    """Say that an array is getting the shape of `metadata`: by creation, or else by a change.

    From a change on, handles with the old shape patch the chunks at its end: others may write beyond it.
    """
    global _resized
    if created and not _resized:
        return  # nothing is noted of any array, so nothing of one that was at this place before
    _resized = True
    place = chunk_store(metadata, store_path)._place(store_path.path)
    engine.note_shape(place, metadata.shape, created)


def build_engine(
    metadata: ArrayMetadata,
    store_path: StorePath,
    *,
    missing_is_error: bool = False,
    cache: ChunkCache | None = None,
    documented: bool = False,
) -> Engine:
    """Return the native engine if every part of the array has a native form, else the Python one.

    With `documented`, the array's own document is there, or is about to be stored: in a directory, reads look
    whether it is still the same.
    """
    _take_share()
    with of_array(store_path.path):
        native = _native_engine(
            metadata, store_path, missing_is_error=missing_is_error, cache=cache, documented=documented
        )
    if native is not None:
        return native
    if cache is not None:
        raise ValueError(
            f"array {store_path.path or '/'!r}: a ChunkCache cannot keep chunks of strings or objects, "
            "nor others that the engine in Python reads"
        )
    debug("%s is read and written by the engine in Python", store_path)
    with of_array(store_path.path):
        return _python_engine(
            metadata, store_path, missing_is_error=missing_is_error, documented=documented
        )


def _native_engine(
    metadata: ArrayMetadata,
    store_path: StorePath,
    *,
    missing_is_error: bool,
    cache: ChunkCache | None,
    documented: bool,
) -> NativeArray | None:
    dtype = metadata.np_dtype
    key_encoding = metadata.chunk_key_encoding.native()
    if key_encoding is None or dtype.kind in "OT" or dtype.hasobject or dtype.itemsize == 0:
        return None
    edges = grid_edges(metadata)
    shape = largest_chunk(metadata)
    chain = metadata.chain().lower(chunk_spec(metadata, shape))
    if chain is None:
        return None
    if chain.calls_python and chain.shard is None and not all(isinstance(edge, int) for edge in edges):
        return None  # stages in Python are made for chunks of one shape
    store = chunk_store(metadata, store_path)
    if cache is not None:
        store._expect_recheck()
    prefix = key_prefix(store_path.path)
    source = store._native_source()
    if isinstance(source, engine.LocalSource):
        expected = NAMES[metadata.zarr_format][0] if documented else ""
        if not (expected and source.note_document(prefix, expected, marked=True)):
            source.note_document(prefix, store._document_in(prefix) or expected, marked=documented)
    else:
        if source is None:
            source = _store_source(store, prefix, metadata, shape, documented=documented)
        else:
            source.is_gone = _loss(store, prefix, documented=documented)
        if documented:
            source.note_document(document_key(metadata, store_path))
    return engine.NativeArray(
        source,
        prefix,
        shape=metadata.shape,
        chunks=edges,
        key_encoding=key_encoding,
        chain=chain,
        dtype=dtype,
        fill=metadata.fill_bytes,
        path=store_path.path,
        missing_is_error=missing_is_error,
        cache=cache,
        scope=partial(store._place, store_path.path),
    )


def largest_chunk(metadata: ArrayMetadata) -> tuple[int, ...]:
    """Return the shape of the largest chunk."""
    return tuple(edge if isinstance(edge, int) else max(edge, default=1) for edge in grid_edges(metadata))


def _loss(store: Store, prefix: str, *, documented: bool) -> Callable[[str], bool]:
    """Return a check whether the array below a prefix has been removed since, or is being removed.

    A removal begins with the document.  An array that is known from consolidated metadata alone has none.
    """

    def ask(question: Callable[[str], Any], prefix: str) -> Any:
        try:
            return question(prefix)
        except Exception as error:  # of a dictionary of a user's
            reason = f"{store} does not know whether the array is still there: {named(error)}"
            raise ChunkIOError(reason, array=prefix[:-1] or "/") from error

    had_document = (documented and store._knows_documents) or bool(ask(store._document_in, prefix))

    def is_lost(prefix: str) -> bool:
        return ask(store._has_lost, prefix) or (had_document and not ask(store._document_in, prefix))

    return is_lost


def _store_source(
    store: Store, prefix: str, metadata: ArrayMetadata, shape: tuple[int, ...], *, documented: bool
) -> Any:
    """Return the store as one that the engine asks through Python, for chunks of a shape at most."""
    from zarrcore.engine.chunk_place import most_stored
    from zarrcore.storage import SuffixByteRequest

    most = most_stored(metadata.chain(), chunk_spec(metadata, shape))
    lost, concurrent = _loss(store, prefix, documented=documented), store._concurrent_requests
    return engine.StoreSource(store, SuffixByteRequest, lost, concurrent, most)


def _python_engine(
    metadata: ArrayMetadata, store_path: StorePath, *, missing_is_error: bool, documented: bool = False
) -> PythonEngine:
    from zarrcore.engine.python import PythonEngine

    store = chunk_store(metadata, store_path)
    prefix = key_prefix(store_path.path)
    lost = _loss(store, prefix, documented=documented)
    document = document_key(metadata, store_path) if documented else ""
    return PythonEngine(
        metadata, store, store_path.path, lost, missing_is_error=missing_is_error, document=document
    )
