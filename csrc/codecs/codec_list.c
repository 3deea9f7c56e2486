/* SPDX-License-Identifier: MIT
 *
 * All codecs by name.
 */
#include <string.h>

#include "codecs/classes.h"

#define ENTRY(NAME) &zc_codec_##NAME,
const zc_codec_class *const zc_codec_classes[] = {ZC_CODECS(ENTRY) NULL};

const zc_codec_class *zc_codec_find(const char *name)
{
    for (const zc_codec_class *const *cls = zc_codec_classes; *cls != NULL; cls++) {
        if (strcmp((*cls)->name, name) == 0) {
            return *cls;
        }
    }
    return NULL;
}

bool zc_codec_init(zc_codec *codec, const char *name)
{
    const zc_codec_class *cls = zc_codec_find(name);

    if (cls == NULL) {
        return false;
    }
    *codec = cls->defaults;
    codec->cls = cls;
    return true;
}
