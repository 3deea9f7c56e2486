# Arrays for what is read.
cimport numpy as cnp

cdef cnp.ndarray new_result(cnp.dtype dtype, int ndim, const cnp.npy_intp *shape)
