# SPDX-License-Identifier: MIT
"""Where chunks come from: files, a dict, or a store written in Python."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.string cimport memset

from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.files cimport links_of

import os


@cython.final
cdef class LocalSource:
    """Files below a root directory, read and written by the engine itself; see also :func:`open_below`.

    With `fsync`, what is written is flushed to the disk.  Without `page_cache`, the system does not keep chunks in
    memory after they are read, or written and on the disk.  With `documents`, the directory of an array holds its
    metadata too: if it is gone when chunks are absent, that is an error.  So it is if the metadata
    are gone that were in it (`documented`, the name of their file).
    """

    def __init__(self, root, fsync=False, documents=False, follow_symlinks="inside", page_cache=True):
        # Absolute, so that a change of the working directory does no harm.
        is_absolute = type(root) is str and root[:1] == os.sep == "/"
        self.root = os.fsencode(root if is_absolute else os.path.abspath(root))
        self.sync = fsync
        self.drops = not page_cache
        self.documents = documents
        self.documented = None
        self.is_marked = False
        self.links = links_of(follow_symlinks)

    def note_document(self, str prefix not None, str document not None, bint marked) -> bool:
        """Note the file of the metadata of the array below a prefix, and, if it is `marked`, its version.

        A read of many chunks, or of absent ones, looks whether it still has that version.  False is returned if there
        is no such file.
        """
        cdef zc_local local
        cdef bytes below = os.fsencode(prefix)
        self.documented = document.encode() or None
        if not marked or not document:
            return False
        memset(&local, 0, sizeof(local))
        set_local(self, &local)
        self.is_marked = zc_local_mark(&local, PyBytes_AS_STRING(below), len(below), &self.mark)
        return self.is_marked

    cdef object version(self):
        """The version that was noted, as ``files.version_of`` has it; None without one."""
        cdef zc_mark *mark = &self.mark
        return (mark.inode, mark.size, mark.mtime_ns, mark.device, mark.ctime_ns) if self.is_marked else None

    cdef bint is_as_noted(self, bytes below) except -1:
        """Whether the metadata of the array below a prefix have the version that was noted, if one was."""
        cdef zc_local local
        cdef zc_mark mark
        memset(&local, 0, sizeof(local))
        set_local(self, &local)
        return not self.is_marked or (zc_local_mark(&local, PyBytes_AS_STRING(below), len(below), &mark)
                                      and zc_mark_is_same(&self.mark, &mark))


cdef class Source:
    """What the engine reaches through Python.

    If chunks are absent, ``is_gone(prefix)`` is asked whether there is nothing left of the array below a prefix.
    """

    def note_document(self, str key not None) -> None:
        """Note the metadata of the array: a read of several chunks, or of absent ones, looks if they are the same."""
        self.document = key
        self.known = self.version()

    cdef object version(self):
        """What the version of the metadata is now; None: they are not there, or finding out costs."""

    cdef bint is_as_noted(self) except -1:
        """Whether the metadata have the version that was noted, if one was."""
        return self.known is None or self.version() == self.known


@cython.final
cdef class MemorySource(Source):
    """A dict of keys and bytes-like values, or buffers of zarr-python.

    ``kept(data)`` returns what the dict is to keep in place of the bytes `data`.
    """

    def __init__(self, dict values not None, is_gone=None, kept=None):
        self.values = values
        self.is_gone = is_gone
        self.kept = kept

    cdef object version(self):
        return zc_dict_value(self.values, self.document)

    cdef bint is_as_noted(self) except -1:
        return self.known is None or self.version() is self.known


@cython.final
cdef class StoreSource(Source):
    """A store object written in Python.

    It has ``get(key, byte_range=None)``, ``get_many(keys)``, ``set(key, value)`` and ``delete(key)``; get takes a byte
    range ``(start, length)``, and ``suffix(n)`` for the last n bytes.  If it has ``get_partial_values(key_ranges)``,
    parts of many values are asked for by one call.  If it has ``_get_parts(key_ranges, versions)`` and
    ``_get_part(key, byte_range, versions)``, these take their places, so that all parts of a value are of one version;
    the dict belongs to a call, or to a value that is open.  ``waits()``
    returns how many threads may wait for the store at the same time while chunks are written; shards that have at
    most ``_small_shard`` bytes, decoded, are asked for as a whole.  If it has ``_bounds_chunks``, ``_get_chunks(keys,
    most)`` is asked for whole chunks, which have at most `most` bytes, or as many as metadata justify.  If it has
    ``_lend_chunks``, that takes its place; it may return a :class:`FileSpan` for each.  If it has ``_serve``, the last
    requests of a read are put into a :class:`Feed`, and ``_serve(feed, n, versions)`` has at most n threads answer
    them; ``_window()`` returns how many bytes may be on the way, or wait to be decoded.  If ``_compares`` is true,
    chunks are patched by ``_get_version`` and ``_replace_version``.  If it has ``_set_lent(key, value)``, that stores
    chunks which lie in the memory of the caller as they are to be stored.  If it has ``_recheck(keys)``, that is asked,
    before chunks come from a cache, whose values are other ones by now, and has announced their changes.  An
    exception that is no Exception ends the call and is raised as it is; ``ends_the_call``: it does not come from a
    signal handler.
    """

    def __init__(self, store, suffix, is_gone=None, waits=None, most=None):
        self.store = store
        self.waits = waits
        self.suffix = suffix
        self.is_gone = is_gone
        self.get_chunks = getattr(store, "_lend_chunks", None)
        if self.get_chunks is None and getattr(store, "_bounds_chunks", False):
            self.get_chunks = getattr(store, "_get_chunks", None)
        self.most = most
        self.small = getattr(store, "_small_shard", 0)
        self.serve = getattr(store, "_serve", None)
        self.set_lent = getattr(store, "_set_lent", None)
        self.recheck = getattr(store, "_recheck", None)
        self.has_versions = hasattr(store, "_get_parts")
        self.get_parts = store._get_parts if self.has_versions else getattr(store, "get_partial_values", None)

    cdef object version(self):
        return self.store._noticed(self.document) or None

    cdef size_t window(self) except? 0:
        own = getattr(self.store, "_window", None)
        return 1 << 26 if own is None else own()


cdef str own_scope(object source):
    """Return the scope of the keys of a source whose user gave none."""
    if type(source) is LocalSource:
        return os.path.join(os.path.realpath(os.fsdecode((<LocalSource>source).root)), "")
    owner = (<MemorySource>source).values if type(source) is MemorySource else (<StoreSource>source).store
    return f"object://{id(owner):#x}/"


cdef bint is_as_noted(object source, bytes below) except -1:
    """Whether the metadata of the array of a source, below a prefix, have the version that was noted, if one was."""
    if type(source) is LocalSource:
        return (<LocalSource>source).is_as_noted(below)
    return (<Source>source).is_as_noted()


cdef int set_local(LocalSource source, zc_local *out) except -1:
    """Describe local files as C does."""
    out.root = source.root
    out.root_len = len(source.root)
    out.sync = source.sync
    out.drops = source.drops
    out.links = source.links
    out.documents = source.documents
    out.documented = NULL if source.documented is None else PyBytes_AS_STRING(source.documented)
    out.known = NULL
    return 0
