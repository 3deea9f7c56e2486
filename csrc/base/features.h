/* SPDX-License-Identifier: MIT
 *
 * Before all other headers: all that the system declares, and offsets of 64 bits.
 */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64

typedef int zc_declared;                     /* a translation unit needs a declaration, also where it is for other systems */
