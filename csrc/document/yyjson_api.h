/* SPDX-License-Identifier: MIT
 *
 * yyjson, for the two files that call it.  Where its source was brought it becomes part of each of them, so that libzarrcore.a shows
 * none of its names; found in a directory of system headers, whose warnings are not ours.
 */
#ifndef ZC_DOCUMENT_YYJSON_API_H
#define ZC_DOCUMENT_YYJSON_API_H

#ifdef ZC_YYJSON_SOURCE
#define yyjson_api static
#include <yyjson.c>
#else
#include <yyjson.h>
#endif

#endif
