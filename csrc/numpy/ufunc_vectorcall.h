/* SPDX-License-Identifier: MIT
 *
 * Calls of ufuncs before NumPy sees them: they know one more option, `threads`, and share large arrays among threads.
 */
#pragma once

#include <Python.h>

/* To be called once, before the others. */
int zc_calls_init(void);

/* Have calls of the ufunc come here first. */
void zc_calls_first(PyObject *ufunc);

/* The same; a call with two arguments and nothing else asks `quick`, which may return None, before all. */
void zc_calls_quick_first(PyObject *ufunc, PyObject *(*quick)(PyObject *, PyObject *));

/*
 * share(ufunc, args, options) is what does calls with large arrays, with another `threads` than 1 and None, or with
 * lists together with arrays that are not NumPy's.  It may call the ufunc with threads=1, which NumPy then does.
 */
void zc_calls_share_by(PyObject *share);
