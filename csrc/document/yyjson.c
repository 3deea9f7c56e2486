/* SPDX-License-Identifier: MIT
 *
 * yyjson itself, where its source was brought and not the system's is linked; found in a directory of system headers, whose warnings
 * are not ours.
 */
#include <yyjson.h>

#ifdef ZC_YYJSON_SOURCE
#include <yyjson.c>
#endif
