/* SPDX-License-Identifier: MIT */
#include "numpy/ufunc_vectorcall.h"

#include <stdbool.h>

#include <numpy/arrayobject.h>
#include <numpy/ufuncobject.h>

#include "numpy/small_arrays.h"

/* What NumPy calls for ufuncs; the same for all, and set before the first call. */
static vectorcallfunc general_call;

static PyObject *share_call;                                    /* NULL: nothing is shared */
static PyObject *(*quick_call)(PyObject *, PyObject *);         /* of the one ufunc that has a quick way */

int zc_calls_init(void)
{
    import_array1(-1);
    return 0;
}

static bool is_large(PyObject *x)
{
    return PyArray_CheckExact(x) && PyArray_NBYTES((PyArrayObject *)x) >= ZC_QUICK_NBYTES;
}

/* Is it one of those arrays that do calls of ufuncs themselves, as dask's? */
static bool is_foreign(PyObject *x)
{
    return !PyArray_Check(x) && !PyArray_CheckScalar(x) && !PyLong_Check(x) && !PyFloat_Check(x) &&
           PyObject_HasAttrString((PyObject *)Py_TYPE(x), "__array_ufunc__");
}

/* They take a list or tuple next to them for an option, and not for an array. */
static bool lists_meet_foreign(PyObject *const *args, Py_ssize_t n)
{
    bool lists = false, foreign = false;

    for (Py_ssize_t i = 0; i < n; i++) {
        lists = lists || PyList_Check(args[i]) || PyTuple_Check(args[i]);
    }
    for (Py_ssize_t i = 0; i < n && lists && !foreign; i++) {
        foreign = is_foreign(args[i]);
    }
    return foreign;
}

/* The place of the option `threads` among the names, or -1. */
static Py_ssize_t find_threads(PyObject *names)
{
    const Py_ssize_t n = names == NULL ? 0 : PyTuple_GET_SIZE(names);

    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "threads") == 0) {
            return i;
        }
    }
    return -1;
}

static bool is_one(PyObject *x)
{
    int overflow;

    return PyLong_CheckExact(x) && PyLong_AsLongAndOverflow(x, &overflow) == 1;
}

/* NumPy's call, without the option at that place. */
static PyObject *call_without(PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names, Py_ssize_t at)
{
    const Py_ssize_t n_names = PyTuple_GET_SIZE(names);
    PyObject **const rest = PyMem_Malloc((size_t)(n_args + n_names) * sizeof *rest);
    PyObject *const others = PyTuple_New(n_names - 1);
    PyObject *result = NULL;

    if (rest != NULL && others != NULL) {
        memcpy(rest, args, (size_t)(n_args + at) * sizeof *rest);
        memcpy(rest + n_args + at, args + n_args + at + 1, (size_t)(n_names - at - 1) * sizeof *rest);
        for (Py_ssize_t i = 0; i < n_names - 1; i++) {
            PyTuple_SET_ITEM(others, i, Py_NewRef(PyTuple_GET_ITEM(names, i < at ? i : i + 1)));
        }
        result = general_call(self, rest, (size_t)n_args, n_names > 1 ? others : NULL);
    } else if (rest == NULL) {
        PyErr_NoMemory();
    }
    Py_XDECREF(others);
    PyMem_Free(rest);
    return result;
}

static PyObject *call_shared(PyObject *self, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
    const Py_ssize_t n_names = names == NULL ? 0 : PyTuple_GET_SIZE(names);
    PyObject *const positional = PyTuple_New(n_args);
    PyObject *const options = PyDict_New();
    bool ok = positional != NULL && options != NULL;
    PyObject *result = NULL;

    for (Py_ssize_t i = 0; ok && i < n_args; i++) {
        PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; ok && i < n_names; i++) {
        ok = PyDict_SetItem(options, PyTuple_GET_ITEM(names, i), args[n_args + i]) == 0;
    }
    if (ok) {
        result = PyObject_CallFunctionObjArgs(share_call, self, positional, options, NULL);
    }
    Py_XDECREF(positional);
    Py_XDECREF(options);
    return result;
}

static PyObject *call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    const Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    const Py_ssize_t at = find_threads(names);
    PyObject *const threads = at < 0 ? Py_None : args[n + at];
    bool shared = threads != Py_None || lists_meet_foreign(args, n);

    for (Py_ssize_t i = 0; i < n && !shared; i++) {
        shared = is_large(args[i]);
    }
    if (shared && share_call != NULL && !is_one(threads)) {
        return call_shared(self, args, n, names);
    }
    return at < 0 ? general_call(self, args, nargsf, names) : call_without(self, args, n, names, at);
}

/* A ufunc of two outputs goes through an iterator, which takes longer than the work on a few numbers. */
static PyObject *call_quick(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 2 && names == NULL) {
        PyObject *const found = quick_call(args[0], args[1]);
        if (found != Py_None) {
            return found;
        }
        Py_DECREF(found);
    }
    return call(self, args, nargsf, names);
}

void zc_calls_first(PyObject *ufunc)
{
    PyUFuncObject *const self = (PyUFuncObject *)ufunc;

    general_call = (vectorcallfunc)self->vectorcall;
    self->vectorcall = call;
}

void zc_calls_quick_first(PyObject *ufunc, PyObject *(*quick)(PyObject *, PyObject *))
{
    zc_calls_first(ufunc);
    quick_call = quick;
    ((PyUFuncObject *)ufunc)->vectorcall = call_quick;
}

void zc_calls_share_by(PyObject *share)
{
    Py_XSETREF(share_call, Py_NewRef(share));
}
