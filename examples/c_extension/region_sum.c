/* SPDX-License-Identifier: MIT
 *
 * An extension module in C: the sum of a region of an array of any numbers, without the GIL.
 */
#include <Python.h>
#define ZARRCORE_PYTHON_API
#include <zarrcore.h>

#include <stdlib.h>

#define AT_ONCE 65536                /* elements in memory */

/* Rows start to stop of the first dimension, one after the other or several at once. */
static int sum_rows(const zarrcore_array *array, int64_t start, int64_t stop, double *out, zarrcore_error *error)
{
    int64_t first[ZARRCORE_MAX_DIMS] = {0}, count[ZARRCORE_MAX_DIMS], row = 1;
    const int ndim = zarrcore_ndim(array);
    int status = zarrcore_shape(array, count);

    for (int d = 1; d < ndim; d++) {
        if (row > INT64_MAX / AT_ONCE / 8 / (count[d] > 0 ? count[d] : 1)) {
            return ZARRCORE_ERR_MEMORY;
        }
        row *= count[d];
    }
    if (row == 0) {
        return status;
    }
    const int64_t rows = row < AT_ONCE ? AT_ONCE / row : 1;
    const size_t nbytes = (size_t)(rows * row) * sizeof(double);
    double *const values = malloc(nbytes);
    if (values == NULL) {
        return ZARRCORE_ERR_MEMORY;
    }
    for (; start < stop && status == ZARRCORE_OK; start += rows) {
        first[0] = start;
        count[0] = rows < stop - start ? rows : stop - start;
        status = zarrcore_read_as(array, "f8", ndim, first, NULL, count, values, nbytes, NULL, 0, error);
        for (int64_t i = 0; status == ZARRCORE_OK && i < count[0] * row; i++) {
            *out += values[i];
        }
    }
    free(values);
    return status;
}

static PyObject *region_sum(PyObject *module, PyObject *args)
{
    zarrcore_error error = ZARRCORE_ERROR_INIT;
    long long start, stop;
    PyObject *object;
    double sum = 0;
    int status;

    (void)module;
    if (!PyArg_ParseTuple(args, "OLL", &object, &start, &stop)) {
        return NULL;
    }
    zarrcore_array *const array = zarrcore_from_python(object);
    if (array == NULL) {
        return NULL;
    }
    if (zarrcore_ndim(array) == 0) {
        zarrcore_release(array);
        PyErr_SetString(PyExc_ValueError, "the array has no dimension");
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS
    status = sum_rows(array, start, stop, &sum, &error);
    zarrcore_release(array);
    Py_END_ALLOW_THREADS
    if (status == ZARRCORE_ERR_MEMORY && error.status == ZARRCORE_OK) {
        return PyErr_NoMemory();
    }
    if (status != ZARRCORE_OK) {
        zarrcore_raise(&error);
        return NULL;
    }
    return PyFloat_FromDouble(sum);
}

static PyMethodDef methods[] = {
    {"region_sum", region_sum, METH_VARARGS, "region_sum(array, start, stop): the sum of array[start:stop], as a float."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "region_sum", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_region_sum(void)
{
    return import_zarrcore() == 0 ? PyModule_Create(&definition) : NULL;
}
