/* SPDX-License-Identifier: MIT
 *
 * The least that reading items of any length into Python objects can cost: one object after the other, made by
 * CPython's own functions, and nothing checked.  Called through ctypes.PyDLL, which holds the GIL.
 */
#include <Python.h>

#include <stdint.h>
#include <string.h>

/* The items of the value at src as bytes, or as str if all are ASCII, in place of the n objects at slots; 0, or -1. */
int make_objects(const char *src, Py_ssize_t n, int text, PyObject **slots)
{
    src += 4;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *const old = slots[i];
        PyObject *made;
        uint32_t length;

        memcpy(&length, src, sizeof length);
        src += 4;
        if (text) {
            made = PyUnicode_New(length, 0x7f);
            if (made != NULL) {
                memcpy(PyUnicode_DATA(made), src, length);
            }
        } else {
            made = PyBytes_FromStringAndSize(src, length);
        }
        if (made == NULL) {
            return -1;
        }
        src += length;
        slots[i] = made;
        Py_XDECREF(old);
    }
    return 0;
}
