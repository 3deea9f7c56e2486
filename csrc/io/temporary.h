/* SPDX-License-Identifier: MIT
 *
 * Names of temporary files, shared by the file layers of all platforms.
 */
#ifndef ZC_IO_TEMPORARY_H
#define ZC_IO_TEMPORARY_H

#include <stdint.h>

#define ZC_TEMPORARY_LENGTH 28               /* ".zc-0123456789abcdef.partial" */

/* Write a name that is most likely unused, and a final 0, to out[0 .. ZC_TEMPORARY_LENGTH].
 * unique is what the platform knows: process id, clock. */
void zc_temporary_name(uint64_t unique, char *out);

#endif
