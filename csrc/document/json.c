/* SPDX-License-Identifier: MIT */
#include "document/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EXACT_MAX 9007199254740992.0     /* cJSON keeps numbers as doubles: integers are exact up to 2**53 */

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* ---- documents ---------------------------------------------------------------------------------- */

zc_status zc_json_open(zc_json *json, const char *name, const char *text, size_t n, zc_error *err)
{
    const char *end = NULL;

    *json = (zc_json){.name = name, .text = text, .n = n, .err = err};
    if (n > ZC_DOCUMENT_MAX) {
        return zc_fail(err, ZC_ERR_METADATA, "%s: %zu bytes are too many for a metadata document", name, n);
    }
    for (size_t i = 0; i < n; i++) {         /* cJSON takes all of these for white space */
        if ((unsigned char)text[i] < ' ' && text[i] != '\t' && text[i] != '\r' && text[i] != '\n') {
            return zc_fail(err, ZC_ERR_METADATA, "%s: a control character at byte %zu", name, i);
        }
    }
    json->root = cJSON_ParseWithLengthOpts(text, n, &end, 0);
    if (json->root == NULL) {
        return zc_fail(err, ZC_ERR_METADATA, "%s: no valid JSON at byte %zu", name,
                       end != NULL ? (size_t)(end - text) : (size_t)0);
    }
    while (end < text + n && is_space(*end)) {
        end++;
    }
    if (end != text + n) {
        zc_json_close(json);
        return zc_fail(err, ZC_ERR_METADATA, "%s: something follows the document at byte %zu", name,
                       (size_t)(end - text));
    }
    return ZC_OK;
}

void zc_json_close(zc_json *json)
{
    cJSON_Delete(json->root);
    json->root = NULL;
}

/* ---- the text of a number ----------------------------------------------------------------------- */

/* Behind the string that begins at `at` (a quotation mark); the text is known to be valid JSON. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        if (*at == '\\') {
            at++;
        }
    }
    return at < end ? at + 1 : end;
}

const char *zc_json_number_text(const zc_json *json, const char *member)
{
    const char *at = json->text, *const end = json->text + json->n;
    const size_t length = strlen(member);
    int depth = 0;

    while (at < end) {
        if (*at == '"') {
            const char *const name = at + 1;
            at = skip_string(at, end);
            if (depth != 1 || (size_t)(at - 1 - name) != length || memcmp(name, member, length) != 0) {
                continue;
            }
            while (at < end && is_space(*at)) {
                at++;
            }
            if (at < end && *at == ':') {
                do {
                    at++;
                } while (at < end && is_space(*at));
                return at < end ? at : NULL;
            }
            continue;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
    }
    return NULL;
}

/* ---- values ------------------------------------------------------------------------------------- */

zc_node zc_json_root(const zc_json *json)
{
    return (zc_node){.value = json->root, .json = json};
}

zc_node zc_node_member(const zc_node *object, const char *name)
{
    return (zc_node){.value = cJSON_GetObjectItemCaseSensitive(object->value, name), .json = object->json,
                     .outer = object, .member = name};
}

zc_node zc_node_item(const zc_node *array, int index)
{
    return (zc_node){.value = cJSON_GetArrayItem(array->value, index), .json = array->json, .outer = array,
                     .index = index};
}

/* Write the path of a value to out; returns its length. */
static size_t put_path(const zc_node *node, char *out, size_t capacity)
{
    if (node->outer == NULL) {
        out[0] = '\0';
        return 0;
    }
    const size_t n = put_path(node->outer, out, capacity);
    const int added = node->member != NULL
                          ? snprintf(out + n, capacity - n, "%s%s", n > 0 ? "." : "", node->member)
                          : snprintf(out + n, capacity - n, "[%d]", node->index);
    const size_t total = n + (added > 0 ? (size_t)added : 0);
    return total < capacity ? total : capacity - 1;
}

zc_status zc_node_fail(const zc_node *node, const char *format, ...)
{
    char path[128], text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const size_t n = put_path(node, path, sizeof path);
    return zc_fail(node->json->err, ZC_ERR_METADATA, "%s: %s%s%s", node->json->name, path, n > 0 ? ": " : "",
                   text);
}

static zc_status expected(const zc_node *node, const char *what)
{
    return node->value == NULL ? zc_node_fail(node, "is required and missing")
                               : zc_node_fail(node, "expected %s", what);
}

zc_status zc_node_int(const zc_node *node, int64_t low, int64_t high, int64_t *out)
{
    if (!cJSON_IsNumber(node->value)) {
        return expected(node, "an integer");
    }
    const double value = node->value->valuedouble;
    if (value != floor(value)) {
        return zc_node_fail(node, "expected an integer, got %g", value);
    }
    if (fabs(value) > EXACT_MAX) {
        return zc_node_fail(node, "%g is beyond 2**53", value);
    }
    if (value < (double)low || value > (double)high) {
        return zc_node_fail(node, "expected %lld to %lld, got %.0f", (long long)low, (long long)high, value);
    }
    *out = (int64_t)value;
    return ZC_OK;
}

zc_status zc_node_bool(const zc_node *node, bool *out)
{
    if (!cJSON_IsBool(node->value)) {
        return expected(node, "true or false");
    }
    *out = cJSON_IsTrue(node->value);
    return ZC_OK;
}

zc_status zc_node_string(const zc_node *node, const char **out)
{
    if (!zc_node_is_string(node)) {
        return expected(node, "a string");
    }
    *out = node->value->valuestring;
    return ZC_OK;
}

zc_status zc_node_object(const zc_node *node)
{
    return cJSON_IsObject(node->value) ? ZC_OK : expected(node, "an object");
}

zc_status zc_node_array(const zc_node *node, int *n)
{
    if (!cJSON_IsArray(node->value)) {
        return expected(node, "an array");
    }
    *n = cJSON_GetArraySize(node->value);
    return ZC_OK;
}

zc_status zc_node_ints(const zc_node *node, int n, int64_t low, int64_t high, int64_t *out)
{
    int found = 0;
    zc_status status = zc_node_array(node, &found);

    if (status == ZC_OK && found != n) {
        status = zc_node_fail(node, "expected %d entries, got %d", n, found);
    }
    for (int i = 0; i < n && status == ZC_OK; i++) {
        const zc_node item = zc_node_item(node, i);
        status = zc_node_int(&item, low, high, &out[i]);
    }
    return status;
}

zc_status zc_node_choice(const zc_node *node, const char *const *choices, int *out)
{
    const char *text = "";
    const zc_status status = zc_node_string(node, &text);

    if (status != ZC_OK) {
        return status;
    }
    for (int i = 0; choices[i] != NULL; i++) {
        if (strcmp(choices[i], text) == 0) {
            *out = i;
            return ZC_OK;
        }
    }
    return zc_node_fail(node, "\"%.60s\" is not supported", text);
}

static bool need_not_be_understood(const cJSON *member)
{
    return cJSON_IsObject(member) &&
           cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(member, "must_understand"));
}

zc_status zc_node_members(const zc_node *object, const char *const *names, bool tolerant)
{
    uint32_t seen = 0;

    for (const cJSON *member = object->value->child; member != NULL; member = member->next) {
        const char *const name = member->string;
        const zc_node node = {.value = member, .json = object->json, .outer = object, .member = name};
        int i = 0;
        while (names[i] != NULL && strcmp(names[i], name) != 0) {
            i++;
        }
        if (names[i] == NULL) {
            if (!tolerant || !need_not_be_understood(member)) {
                return zc_node_fail(&node, "is not supported");
            }
        } else if (seen & (uint32_t)1 << i) {
            return zc_node_fail(&node, "is there twice");
        } else {
            seen |= (uint32_t)1 << i;
        }
    }
    return ZC_OK;
}
