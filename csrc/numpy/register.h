/* SPDX-License-Identifier: MIT
 *
 * The ufuncs of zarrcore, for the extension module that contains them.
 */
#pragma once

#include <Python.h>

/* Make all ufuncs and put them into `names` (a dict) under their names.  -1 with an exception on failure. */
int zc_register_ufuncs(PyObject *names);
