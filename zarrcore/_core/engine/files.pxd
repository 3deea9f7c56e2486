from zarrcore._core.engine.csrc cimport zc_symlinks

cdef zc_symlinks links_of(object follow_symlinks) except *
