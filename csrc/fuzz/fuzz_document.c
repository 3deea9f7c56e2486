/* SPDX-License-Identifier: MIT
 *
 * Fuzz target for metadata documents: zarr.json, or .zarray where it begins with "zarray".  The chunk of an array that
 * can be opened is written and read, with what follows a zero byte in the input as its values.
 */
#include "document/document.h"
#include "fuzz/one_chunk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char v2[] = "zarray";
    const bool is_v2 = n >= sizeof v2 - 1 && memcmp(data, v2, sizeof v2 - 1) == 0;
    const size_t begin = is_v2 ? sizeof v2 - 1 : 0;
    const uint8_t *const end = memchr(data + begin, 0, n - begin);
    const size_t length = end != NULL ? (size_t)(end - data) - begin : n - begin;
    fuzz_input rest = {end != NULL ? end + 1 : NULL, end != NULL ? n - begin - length - 1 : 0};
    zc_document doc = {.array = {.prefix = ""}};
    zc_json json;
    zc_error err;
    char *const text = (char *)case_exact(data + begin, length);

    zc_error_clear(&err);
    zc_status status = zc_json_open(&json, is_v2 ? ".zarray" : "zarr.json", text, length, is_v2, &err);
    if (status == ZC_OK) {
        const zc_node root = zc_json_root(&json);
        status = is_v2 ? zc_document_v2(&doc, &root) : zc_document_v3(&doc, &root);
        zc_json_close(&json);
    }
    FUZZ_REQUIRE(status == err.status, "the status and that of the error record differ");
    FUZZ_REQUIRE(status == ZC_OK || err.message[0] != '\0', "no reason is given");
    if (status == ZC_OK) {
        one_chunk_try(&doc.array, &rest);
    }
    zc_document_free(&doc);
    free(text);
    return 0;
}
