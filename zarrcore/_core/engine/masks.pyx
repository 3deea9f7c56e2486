# SPDX-License-Identifier: MIT
"""Masks: which elements of an array are wanted."""

cimport cython
cimport numpy as cnp
from libc.stdint cimport int64_t, uint8_t, uint64_t

from zarrcore._core.engine.chains cimport Chain
from zarrcore._core.engine.csrc cimport *
from zarrcore._core.engine.selections cimport set_axis

import numpy as np

from zarrcore._core.engine.threads import call_parallel

cnp.import_array()

_MASK_STRIPE = 1 << 21      # elements of a mask that are worth a turn of another thread


cdef size_t _mask_stripe(cnp.ndarray mask, tuple indices, int64_t first, int64_t n, size_t at, size_t room) except? 0:
    """The points of n rows, to the indices from `at` on; returns how many were found, at most `room`."""
    cdef int64_t shape[64]
    cdef int64_t *out[64]
    cdef int d, ndim = cnp.PyArray_NDIM(mask)
    cdef size_t found
    for d in range(ndim):
        shape[d] = cnp.PyArray_DIM(mask, d)
        out[d] = <int64_t *>cnp.PyArray_DATA(indices[d]) + at
    with nogil:
        found = zc_mask_points(<const uint8_t *>cnp.PyArray_DATA(mask), ndim, shape, first, n, out, room)
    return found


def mask_points(mask) -> tuple:
    """Where a Boolean array of one dimension or more is true: one array of int64 indices for each dimension, in
    C order, as `numpy.nonzero` returns them.  The GIL is free meanwhile, and large masks are divided among threads."""
    plain = np.ascontiguousarray(mask, dtype=np.bool_)
    if not 1 <= plain.ndim <= ZC_MAX_DIMS:
        raise ValueError(f"mask: expected 1 to {ZC_MAX_DIMS} dimensions, got {plain.ndim}")
    rows = plain.size // plain.shape[-1] if plain.size else 0
    n = min(plain.size // _MASK_STRIPE + 1, max(rows, 1))
    begin = [rows * i // n for i in range(n + 1)]
    counts = [np.count_nonzero(plain.reshape(rows, -1)[begin[i]:begin[i + 1]]) if rows else 0 for i in range(n)]
    at = [sum(counts[:i]) for i in range(n + 1)]
    indices = tuple(np.empty(at[n], dtype=np.int64) for _ in range(plain.ndim))

    def stripe(i):
        if _mask_stripe(plain, indices, begin[i], begin[i + 1] - begin[i], at[i], counts[i]) != counts[i]:
            raise RuntimeError("the mask was changed by another thread while it was read")

    if n == 1:
        stripe(0)
    else:
        call_parallel(stripe, n)
    return indices


@cython.final
cdef class MaskPoints:
    """The elements where a Boolean array of one dimension or more is true, in C order.

    A sequence of int64 index arrays, one for each dimension, which are made when they are asked for.  Reading seldom
    needs them: it has the mask, packed.
    """

    def __init__(self, mask):
        cdef Py_ssize_t words, n
        self.mask = np.ascontiguousarray(mask, dtype=np.bool_)
        words = (self.mask.size + 63) // 64
        n = self.mask.size // _MASK_STRIPE + 1
        self.bits = np.empty(words, dtype=np.uint64)
        self.before = np.empty(words, dtype=np.int64)
        begin = [words * i // n for i in range(n + 1)]
        found = [0] * n

        def stripe(i):
            found[i] = self._pack(begin[i], begin[i + 1])

        if n == 1:
            stripe(0)
        else:
            call_parallel(stripe, n)
        for i in range(1, n):
            found[i] += found[i - 1]
            self.before[begin[i]:begin[i + 1]] += found[i - 1]
        self.count = found[n - 1]

    cdef size_t _pack(self, Py_ssize_t begin, Py_ssize_t end) except? 0:
        cdef size_t n = min(64 * end, self.mask.size) - 64 * begin, found
        cdef const uint8_t *mask = <const uint8_t *>cnp.PyArray_DATA(self.mask) + 64 * begin
        cdef uint64_t *bits = <uint64_t *>cnp.PyArray_DATA(self.bits) + begin
        cdef int64_t *before = <int64_t *>cnp.PyArray_DATA(self.before) + begin
        with nogil:
            found = zc_mask_pack(mask, n, bits, before)
        return found

    def __len__(self):
        return self.mask.ndim

    def __getitem__(self, d):
        with cython.critical_section(self):        # no thread gets what another one is replacing
            if self.indices is None:
                self.indices = mask_points(self.mask)
            return self.indices[d]

    cdef bint suits(self, tuple shape, Py_ssize_t row, Chain chain) except -1:
        """Is walking all of the mask, row by row of chunks with rows of that length, less work than looking up where
        each point lies?  No, if it is not a mask of that shape."""
        cdef Py_ssize_t size = self.mask.size
        if shape != (<object>self.mask).shape:
            return False
        while chain.shard is not None:
            row = min(row, min(chain.shard.inner_shape) if chain.order is not None else chain.shard.inner_shape[-1])
            chain = chain.shard.inner
        return size // max(min(row, self.mask.shape[self.mask.ndim - 1]), 1) + size // 64 < 8 * self.count

    cdef void set_selection(self, zc_selection *selection, zc_window *window, zc_picked *picked,
                            cnp.ndarray out) noexcept:
        """Describe the elements and their place in `out`; the window has been set but for this."""
        cdef int d
        selection.ndim = cnp.PyArray_NDIM(self.mask)
        selection.kind = ZC_SELECT_PICKED
        selection.window = window
        selection.memory = <char *>cnp.PyArray_DATA(self.mask)
        for d in range(selection.ndim):
            set_axis(selection, d, 0, 1, cnp.PyArray_DIM(self.mask, d), cnp.PyArray_STRIDE(self.mask, d))
        picked.base = selection.memory
        picked.bits = <const uint64_t *>cnp.PyArray_DATA(self.bits)
        picked.before = <const int64_t *>cnp.PyArray_DATA(self.before)
        picked.count = self.count
        picked.memory = <char *>cnp.PyArray_DATA(out)
        window.picked = picked
