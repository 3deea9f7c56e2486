# The engine's view of a source, for one call.
from zarrcore._core.engine.csrc cimport zc_local, zc_store
from zarrcore._core.engine.sessions cimport Session


cdef int open_store(Session session, zc_local *local, zc_store *out) except -1
