/* SPDX-License-Identifier: MIT */
#include "document/edit.h"

#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#if YYJSON_VERSION_HEX >= 0x000700
#define INDENTED YYJSON_WRITE_PRETTY_TWO_SPACES
#else
#define INDENTED YYJSON_WRITE_PRETTY
#endif

void zc_text_free(zc_text *text)
{
    free(text->data);
    *text = (zc_text){NULL, 0};
}

static zc_status no_memory(const zc_edit *edit)
{
    return zc_fail(edit->err, ZC_ERR_MEMORY, "out of memory");
}

static zc_status done(const zc_edit *edit, bool good)
{
    return good ? ZC_OK : no_memory(edit);
}

/* ---- what a caller may write -------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    yyjson_val *const x = *(yyjson_val *const *)a, *const y = *(yyjson_val *const *)b;
    const size_t n = yyjson_get_len(x), m = yyjson_get_len(y);
    const int order = memcmp(yyjson_get_str(x), yyjson_get_str(y), n < m ? n : m);

    return order != 0 ? order : (n > m) - (n < m);
}

static zc_status check_names(const zc_edit *edit, yyjson_val *object)
{
    const size_t n = yyjson_obj_size(object);
    yyjson_val **const names = malloc((n + 1) * sizeof *names);
    yyjson_val *twice = NULL, *key, *value;
    size_t i, most;

    if (names == NULL) {
        return no_memory(edit);
    }
    yyjson_obj_foreach(object, i, most, key, value) {
        names[i] = key;
    }
    qsort(names, n, sizeof *names, compare_names);
    for (i = 1; i < n; i++) {
        twice = compare_names(&names[i - 1], &names[i]) == 0 ? names[i] : twice;
    }
    const zc_status status = twice == NULL ? ZC_OK : zc_fail(edit->err, ZC_ERR_METADATA, "%s: the name \"%.60s\" occurs twice",
                                                             edit->name, yyjson_get_str(twice));
    free(names);
    return status;
}

static zc_status check_value(const zc_edit *edit, yyjson_val *value, int depth)
{
    zc_status status = ZC_OK;
    yyjson_val *key, *inner;
    size_t i, n;

    if (!yyjson_is_ctn(value)) {
        return ZC_OK;
    }
    if (depth > ZC_NESTED_MAX) {
        return zc_fail(edit->err, ZC_ERR_METADATA, "%s: nested more than %d deep", edit->name, ZC_NESTED_MAX);
    }
    if (yyjson_is_obj(value)) {
        status = check_names(edit, value);
        yyjson_obj_foreach(value, i, n, key, inner) {
            status = status == ZC_OK ? check_value(edit, inner, depth + 1) : status;
        }
    } else {
        yyjson_arr_foreach(value, i, n, inner) {
            status = status == ZC_OK ? check_value(edit, inner, depth + 1) : status;
        }
    }
    return status;
}

/* ---- texts and documents ------------------------------------------------------------------------ */

static zc_status parse(const zc_edit *edit, const char *text, size_t n, zc_text_from from, yyjson_doc **out)
{
    const yyjson_read_flag flags =
        YYJSON_READ_NUMBER_AS_RAW | (from == ZC_FROM_STORE ? YYJSON_READ_ALLOW_INF_AND_NAN : 0);
    const zc_status status = zc_json_read(edit->name, text, n, flags, out, edit->err);

    if (status != ZC_OK) {
        return status;
    }
    return from == ZC_FROM_CALLER ? check_value(edit, yyjson_doc_get_root(*out), 1) : ZC_OK;
}

zc_status zc_edit_open(zc_edit *edit, const char *name, const char *text, size_t n, zc_text_from from, zc_error *err)
{
    yyjson_doc *found;

    *edit = (zc_edit){.name = name, .err = err};
    zc_status status = parse(edit, text, n, from, &found);
    if (status == ZC_OK && !yyjson_is_obj(yyjson_doc_get_root(found))) {
        status = zc_fail(err, ZC_ERR_METADATA, "%s: expected an object", name);
    }
    if (status == ZC_OK) {
        edit->doc = yyjson_doc_mut_copy(found, NULL);
        status = done(edit, edit->doc != NULL);
    }
    yyjson_doc_free(found);
    return status;
}

void zc_edit_close(zc_edit *edit)
{
    yyjson_mut_doc_free(edit->doc);
    edit->doc = NULL;
}

zc_part *zc_edit_root(const zc_edit *edit)
{
    return yyjson_mut_doc_get_root(edit->doc);
}

zc_status zc_edit_text(const zc_edit *edit, const zc_part *part, zc_text *out)
{
    yyjson_write_err fault;

    out->data = yyjson_mut_val_write_opts(part, INDENTED | YYJSON_WRITE_ALLOW_INF_AND_NAN, NULL, &out->n, &fault);
    return done(edit, out->data != NULL);
}

/* ---- values ------------------------------------------------------------------------------------- */

zc_part *zc_edit_member(zc_part *object, const char *name)
{
    return yyjson_mut_obj_get(object, name);
}

bool zc_edit_is_object(const zc_part *part)
{
    return yyjson_mut_is_obj((zc_part *)part);
}

bool zc_edit_is_string(const zc_part *part, const char *text)
{
    return yyjson_mut_equals_str((zc_part *)part, text);
}

/* In the place of the member of that name, or after the others. */
static zc_status put_value(zc_edit *edit, zc_part *object, const char *name, zc_part *value)
{
    zc_part *const key = value != NULL ? yyjson_mut_strcpy(edit->doc, name) : NULL;

    if (key == NULL) {
        return no_memory(edit);
    }
    if (yyjson_mut_obj_get(object, name) != NULL) {
        return done(edit, yyjson_mut_obj_replace(object, key, value));
    }
    return done(edit, yyjson_mut_obj_add(object, key, value));
}

zc_status zc_edit_object(zc_edit *edit, zc_part *object, const char *name, zc_part **out)
{
    *out = yyjson_mut_obj_get(object, name);
    if (*out == NULL || yyjson_mut_is_null(*out)) {
        *out = yyjson_mut_obj(edit->doc);
        return put_value(edit, object, name, *out);
    }
    return yyjson_mut_is_obj(*out) ? ZC_OK
                                   : zc_fail(edit->err, ZC_ERR_METADATA, "%s: %.60s: expected an object", edit->name, name);
}

static zc_status copy_value(zc_edit *edit, const char *text, size_t n, zc_text_from from, zc_part **out)
{
    yyjson_doc *found;
    zc_status status = parse(edit, text, n, from, &found);

    *out = status == ZC_OK ? yyjson_val_mut_copy(edit->doc, yyjson_doc_get_root(found)) : NULL;
    status = status == ZC_OK ? done(edit, *out != NULL) : status;
    yyjson_doc_free(found);
    return status;
}

zc_status zc_edit_put(zc_edit *edit, zc_part *object, const char *name, const char *text, size_t n, zc_text_from from)
{
    zc_part *value;
    const zc_status status = copy_value(edit, text, n, from, &value);

    return status == ZC_OK ? put_value(edit, object, name, value) : status;
}

zc_status zc_edit_replace(zc_edit *edit, const char *text, size_t n, zc_text_from from)
{
    zc_part *value;
    const zc_status status = copy_value(edit, text, n, from, &value);

    if (status == ZC_OK) {
        yyjson_mut_doc_set_root(edit->doc, value);
    }
    return status;
}

bool zc_edit_remove(zc_part *object, const char *name)
{
    return yyjson_mut_obj_remove_key(object, name) != NULL;
}

size_t zc_edit_remove_below(zc_part *object, const char *path)
{
    const size_t n = strlen(path);
    yyjson_mut_obj_iter iter;
    size_t removed = 0;
    zc_part *key;

    yyjson_mut_obj_iter_init(object, &iter);
    while ((key = yyjson_mut_obj_iter_next(&iter)) != NULL) {
        const char *const name = yyjson_mut_get_str(key);
        if (strncmp(name, path, n) == 0 && (name[n] == '\0' || name[n] == '/')) {
            yyjson_mut_obj_iter_remove(&iter);
            removed++;
        }
    }
    return removed;
}

/* ---- shapes ------------------------------------------------------------------------------------- */

zc_status zc_edit_shape(zc_edit *edit, int ndim, const int64_t *shape, const int64_t *more)
{
    zc_part *const root = zc_edit_root(edit);
    zc_part *const grid = yyjson_mut_obj_get(yyjson_mut_obj_get(root, "chunk_grid"), "configuration");
    zc_part *const chunk_shapes = yyjson_mut_obj_get(grid, "chunk_shapes");
    zc_part *const lengths = yyjson_mut_arr(edit->doc);
    bool good = lengths != NULL;

    for (int d = 0; d < ndim && good; d++) {
        good = yyjson_mut_arr_add_sint(edit->doc, lengths, shape[d]);
        if (good && more[d] > 0) {
            good = yyjson_mut_arr_add_sint(edit->doc, yyjson_mut_arr_get(chunk_shapes, (size_t)d), more[d]);
        }
    }
    return good ? put_value(edit, root, "shape", lengths) : no_memory(edit);
}
