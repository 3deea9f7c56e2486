# The stores of the engine.
cimport cython

from zarrcore._core.engine.csrc cimport zc_local, zc_mark, zc_symlinks


@cython.final
cdef class LocalSource:
    cdef bytes root
    cdef bint sync, drops
    cdef bint documents
    cdef readonly bytes documented
    cdef bint is_marked
    cdef zc_mark mark
    cdef zc_symlinks links

    cdef object version(self)
    cdef bint is_as_noted(self, bytes below) except -1


cdef class Source:
    cdef public object is_gone
    cdef object document, known

    cdef object version(self)
    cdef bint is_as_noted(self) except -1


@cython.final
cdef class MemorySource(Source):
    cdef dict values
    cdef object kept


@cython.final
cdef class StoreSource(Source):
    cdef object store
    cdef object suffix
    cdef object waits
    cdef object get_chunks, get_parts, serve, recheck, set_lent
    cdef bint has_versions
    cdef size_t small
    cdef object most

    cdef size_t window(self) except? 0


cdef str own_scope(object source)
cdef bint is_as_noted(object source, bytes below) except -1
cdef int set_local(LocalSource source, zc_local *out) except -1

cdef extern from *:
    """
    /* The value of a key, or None.  Without a GIL another thread may replace it meanwhile: no borrowed reference. */
    static inline PyObject *zc_dict_value(PyObject *dict, PyObject *key)
    {
        PyObject *value;
    #if PY_VERSION_HEX >= 0x030D0000
        if (PyDict_GetItemRef(dict, key, &value) < 0) {
            return NULL;
        }
        return value != NULL ? value : Py_NewRef(Py_None);
    #else
        value = PyDict_GetItemWithError(dict, key);
        return value == NULL && PyErr_Occurred() ? NULL : Py_NewRef(value != NULL ? value : Py_None);
    #endif
    }
    """
    object zc_dict_value(dict values, object key)
