/* SPDX-License-Identifier: MIT
 *
 * Docstrings of the ufuncs that are public as they are (NumPy puts the call before the text).
 */
#pragma once

#define DOC_THREADS                                                                              \
    "threads : int, optional\n"                                                                  \
    "    The most threads to use; default: those of the engine from 32 MiB on, below that one.\n\n"

#define DOC_CHUNK_INDEX                                                                          \
    "The chunk that an index lies in, and the place in it.\n\n"                                  \
    "Parameters\n----------\n"                                                                   \
    "x1 : array_like of int\n    Indexes along a dimension; negative ones are taken as they are.\n" \
    "x2 : array_like of int\n    Chunk lengths, 1 or more; usually one for all.\n"               \
    DOC_THREADS                                                                                  \
    "Returns\n-------\n"                                                                         \
    "chunk, offset : ndarray of int64 or uint64\n"                                               \
    "    floor(x1 / x2), of the type of x1, and what is left: 0 to x2 - 1, of the type of x2.\n\n" \
    "Notes\n-----\n"                                                                             \
    "As numpy.divmod; a chunk length below 1 returns 0, 0 and the floating-point error \"divide\" " \
    "(numpy.errstate).  The GIL is released.\n\n"                                                \
    "Examples\n--------\n"                                                                       \
    ">>> chunk_index([0, 99, 100], 100)\n(array([0, 0, 1]), array([ 0, 99,  0]))\n"

#define DOC_CHUNK_COUNT                                                                          \
    "How many chunks an extent takes.\n\n"                                                       \
    "Parameters\n----------\n"                                                                   \
    "x1 : array_like of int\n    Lengths of dimensions.\n"                                       \
    "x2 : array_like of int\n    Chunk lengths, 1 or more.\n"                                    \
    DOC_THREADS                                                                                  \
    "Returns\n-------\n"                                                                         \
    "ndarray of int64 or uint64\n    x1 / x2, rounded up, of the type of x1.\n\n"                                   \
    "Notes\n-----\n"                                                                             \
    "A chunk length below 1 returns 0 and the floating-point error \"divide\" (numpy.errstate).  " \
    "The GIL is released.\n\n"                                                                   \
    "Examples\n--------\n"                                                                       \
    ">>> chunk_count((100, 101), 10)\narray([10, 11])\n"

#define DOC_MORTON_ENCODE                                                                        \
    "Morton codes of positions in a grid.\n\n"                                                   \
    "Parameters\n----------\n"                                                                   \
    "x1 : array_like of int, (..., d)\n    Positions.\n"                                         \
    "x2 : array_like of int, (..., d)\n    Shape of the grid; usually one for all.\n"            \
    DOC_THREADS                                                                                  \
    "Returns\n-------\n"                                                                         \
    "ndarray of int64 or uint64\n    A code for each position.\n\n"                              \
    "Raises\n------\n"                                                                           \
    "ValueError\n"                                                                               \
    "    If a position lies outside of the grid, a length is below 1, or codes need more than 63 bits.\n\n" \
    "Notes\n-----\n"                                                                             \
    "Bits of the dimensions in turn, the first dimension lowest.  A dimension takes part with as many\n"    \
    "bits as its last position has: the \"compressed\" Morton code.  The GIL is released.\n"          \
    "A grid of zeros is taken for one of a single position: tools like dask try functions on zeros.\n\n" \
    "Examples\n--------\n"                                                                       \
    ">>> morton_encode([[1, 0], [0, 1]], (2, 4))\narray([1, 2])\n"

#define DOC_MORTON_DECODE                                                                        \
    "Positions in a grid of Morton codes: the inverse of morton_encode.\n\n"                     \
    "Parameters\n----------\n"                                                                   \
    "x1 : array_like of int\n    Codes.\n"                                                       \
    "x2 : array_like of int, (..., d)\n    Shape of the grid; usually one for all.\n"            \
    DOC_THREADS                                                                                  \
    "Returns\n-------\n"                                                                         \
    "ndarray of int64 or uint64, (..., d)\n"                                                     \
    "    Positions; where a length is no power of two some codes belong to positions outside.\n\n" \
    "Raises\n------\n"                                                                           \
    "ValueError\n"                                                                               \
    "    If a code has more bits than those of the grid, a length is below 1, or codes need more than 63\n" \
    "    bits.\n\n"                                                                              \
    "Examples\n--------\n"                                                                       \
    ">>> morton_decode([1, 2], (2, 4))\narray([[1, 0],\n       [0, 1]])\n"
