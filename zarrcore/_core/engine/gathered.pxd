# Gathered writes: many values of one chunk as a single read, patch and replacement.
cimport numpy as cnp

from zarrcore._core.engine.chains cimport Chain
from zarrcore._core.engine.csrc cimport zc_array, zc_given, zc_selection, zc_window

cdef list set_chunk(zc_selection *selection, zc_window *window, const zc_array *array, cnp.dtype dtype, chunk,
                    dict blocks)
cdef list set_blocks(zc_selection *selection, zc_given *given, const zc_array *array, Chain chain, cnp.dtype dtype,
                     chunk, dict blocks)
