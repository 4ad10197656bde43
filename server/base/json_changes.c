/* How one JSON object differs from another, for people: place by place, long values by their
 * length. */
#include "trainyard/base/json.h"
#include "trainyard/base/str.h"

enum { CHANGES_MAX = 200, VALUE_SHOWN = 512, TEXT_MAX = 4 * 1024 * 1024, TOKEN_MAX = 24 };

struct diff {
    struct ty_json_writer writer;
    struct ty_buf *pointer;
    struct ty_error *err;
    int levels; /* how deep it is told apart; 1 = members of the whole only */
    size_t count;
};

/* `name` with the value, `name_bytes` with the length of a long one, nothing when there is none. */
static ty_status write_side(struct diff *diff, const char *name, const json_t *value)
{
    ty_auto_buf text = {0};
    struct ty_json_writer writer;
    char key[TOKEN_MAX];

    if (!value)
        return TY_OK;
    ty_buf_init(&text, TEXT_MAX);
    ty_json_writer_init(&writer, &text);
    ty_json_value(&writer, value);
    if (ty_buf_check(&text, "change", diff->err) != TY_OK)
        return diff->err->status;
    if (text.len <= VALUE_SHOWN) {
        ty_json_key(&diff->writer, name);
        ty_json_raw(&diff->writer, text.data, text.len);
        return TY_OK;
    }
    snprintf(key, sizeof key, "%s_bytes", name);
    ty_json_put_int(&diff->writer, key,
                    (int64_t)(json_is_string(value) ? json_string_length(value) : text.len));
    return TY_OK;
}

static ty_status write_change(struct diff *diff, const json_t *from, const json_t *to)
{
    if (++diff->count > CHANGES_MAX)
        return TY_OK; /* to be told again with fewer levels */
    ty_json_object(&diff->writer);
    ty_json_key(&diff->writer, "pointer");
    ty_json_string_len(&diff->writer, diff->pointer->data, diff->pointer->len);
    if (write_side(diff, "from", from) != TY_OK || write_side(diff, "to", to) != TY_OK)
        return diff->err->status;
    ty_json_end(&diff->writer);
    return TY_OK;
}

static ty_status compare(struct diff *diff, const json_t *from, const json_t *to, int level);

static ty_status compare_at(struct diff *diff, const char *token, const json_t *from,
                            const json_t *to, int level)
{
    size_t mark = diff->pointer->len;

    ty_json_pointer_add(diff->pointer, token);
    ty_status status = compare(diff, from, to, level + 1);
    ty_buf_cut(diff->pointer, mark);
    return status;
}

static ty_status compare_members(struct diff *diff, const json_t *from, const json_t *to, int level)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)from, key, value)
    {
        if (compare_at(diff, key, value, json_object_get(to, key), level) != TY_OK)
            return diff->err->status;
    }
    json_object_foreach((json_t *)(uintptr_t)to, key, value)
    {
        if (!json_object_get(from, key) && compare_at(diff, key, NULL, value, level) != TY_OK)
            return diff->err->status;
    }
    return TY_OK;
}

static ty_status compare_items(struct diff *diff, const json_t *from, const json_t *to, int level)
{
    char token[TOKEN_MAX];

    for (size_t i = 0; i < json_array_size(from); i++) {
        snprintf(token, sizeof token, "%zu", i);
        if (compare_at(diff, token, json_array_get(from, i), json_array_get(to, i), level) != TY_OK)
            return diff->err->status;
    }
    return TY_OK;
}

/* Objects are looked into, and arrays of one length; all else is told as a whole. */
static ty_status compare(struct diff *diff, const json_t *from, const json_t *to, int level)
{
    bool deeper = level < diff->levels;

    if (json_equal(from, to))
        return TY_OK;
    if (deeper && json_is_object(from) && json_is_object(to))
        return compare_members(diff, from, to, level);
    if (deeper && json_is_array(from) && json_is_array(to) &&
        json_array_size(from) == json_array_size(to))
        return compare_items(diff, from, to, level);
    return write_change(diff, from, to);
}

static ty_status tell(const json_t *from, const json_t *to, int levels, struct ty_buf *out,
                      size_t *count_out, struct ty_error *err)
{
    ty_auto_buf pointer = {0};
    struct diff diff = {.pointer = &pointer, .err = err, .levels = levels};

    ty_buf_init(&pointer, TEXT_MAX);
    ty_json_writer_init(&diff.writer, out);
    ty_json_array(&diff.writer);
    if (compare(&diff, from, to, 0) != TY_OK)
        return err->status;
    ty_json_end(&diff.writer);
    *count_out = diff.count;
    return ty_buf_check(&pointer, "change", err);
}

ty_status ty_json_changes(const json_t *from, const json_t *to, struct ty_buf *out,
                          struct ty_error *err)
{
    struct ty_error local = {0};
    size_t count = 0;

    err = err ? err : &local;
    ty_status status = tell(from, to, TY_JSON_DEPTH, out, &count, err);
    if (status == TY_OK && count > CHANGES_MAX) {
        ty_buf_clear(out);
        status = tell(from, to, 1, out, &count, err);
    }
    return status == TY_OK ? ty_buf_check(out, "changes", err) : status;
}
