/* Problem documents (RFC 9457): the one place where a status becomes words for a client. */
#include "trainyard/http/problem.h"

#include "problem_kinds.h"
#include "trainyard/base/json.h"
#include "trainyard/base/str.h"

#include <assert.h>
#include <stdlib.h>

/* Each status's own row. */
static const char *const code_of_status[] = {
    [TY_OK] = "internal_error",
    [TY_INVALID] = "invalid_request",
    [TY_REFUSED] = "unprocessable",
    [TY_UNAUTHENTICATED] = "unauthenticated",
    [TY_FORBIDDEN] = "forbidden",
    [TY_NOT_FOUND] = "not_found",
    [TY_CONFLICT] = "conflict",
    [TY_GONE] = "gone",
    [TY_PRECONDITION] = "precondition_failed",
    [TY_TOO_LARGE] = "too_large",
    [TY_LIMITED] = "rate_limited",
    [TY_UNAVAILABLE] = "unavailable",
    [TY_STORAGE_FULL] = "storage_full",
    [TY_UNSUPPORTED] = "unsupported",
    [TY_CORRUPT] = "corrupt_data",
    [TY_NO_MEMORY] = "out_of_memory",
    [TY_INTERNAL] = "internal_error",
};

static const char *const place_names[] = {
    [TY_AT_POINTER] = "pointer",
    [TY_AT_PARAMETER] = "parameter",
    [TY_AT_HEADER] = "header",
};

static int compare_code(const void *key, const void *row)
{
    return strcmp(key, ((const struct ty_problem_kind *)row)->code);
}

const struct ty_problem_kind *ty_problem_kinds(size_t *count_out)
{
    *count_out = ty_problem_table_count;
    return ty_problem_table;
}

const struct ty_problem_kind *ty_problem_find(const char *code)
{
    return bsearch(code, ty_problem_table, ty_problem_table_count, sizeof *ty_problem_table,
                   compare_code);
}

const struct ty_problem_kind *ty_problem_of_status(ty_status status)
{
    size_t known = sizeof code_of_status / sizeof *code_of_status;
    const char *code = (size_t)status < known ? code_of_status[status] : "internal_error";
    const struct ty_problem_kind *kind = ty_problem_find(code);

    assert(kind);
    return kind;
}

const struct ty_problem_kind *ty_problem_of_error(const struct ty_error *err)
{
    const struct ty_problem_kind *kind = err->code[0] ? ty_problem_find(err->code) : NULL;

    return kind ? kind : ty_problem_of_status(err->status);
}

const char *ty_problem_detail(const struct ty_error *err)
{
    bool private = err->status == TY_INTERNAL || err->status == TY_CORRUPT ||
                   err->status == TY_NO_MEMORY || err->status == TY_OK;

    return private || !err->text[0] ? NULL : err->text;
}

/* In YAML a fault has a line too; a pointer alone is hard to find in a long text. */
static void write_place(struct ty_json_writer *writer, const struct ty_fault *fault)
{
    if (fault->line == 0)
        return;
    ty_json_put_int(writer, "document", (int64_t)fault->document);
    ty_json_put_int(writer, "line", (int64_t)fault->line);
    ty_json_put_int(writer, "column", (int64_t)fault->column);
}

static void write_faults(struct ty_json_writer *writer, const struct ty_faults *faults)
{
    ty_json_key(writer, "errors");
    ty_json_array(writer);
    for (size_t i = 0; i < faults->count; i++) {
        const struct ty_fault *fault = &faults->items[i];

        ty_json_object(writer);
        ty_json_put_string(writer, place_names[fault->place], fault->where);
        ty_json_put_string(writer, "code", fault->code);
        ty_json_put_string(writer, "detail", fault->detail);
        write_place(writer, fault);
        ty_json_end(writer);
    }
    ty_json_end(writer);
    if (faults->dropped)
        ty_json_put_int(writer, "errors_dropped", (int64_t)faults->dropped);
}

void ty_problem_write(struct ty_buf *buf, const struct ty_problem_kind *kind, const char *detail,
                      const char *instance, const char *request_id, const struct ty_faults *faults)
{
    struct ty_json_writer writer;
    char type[16 + 64];

    ty_json_writer_init(&writer, buf);
    ty_json_object(&writer);
    ty_str_copy(type, sizeof type, "/docs/errors#");
    ty_str_copy(type + 13, sizeof type - 13, kind->code);
    ty_json_put_string(&writer, "type", type);
    ty_json_put_string(&writer, "title", kind->title);
    ty_json_put_int(&writer, "status", kind->status);
    ty_json_put_string(&writer, "detail", detail ? detail : kind->meaning);
    ty_json_put_string(&writer, "instance", instance);
    ty_json_put_string(&writer, "code", kind->code);
    ty_json_put_string(&writer, "request_id", request_id);
    if (faults && ty_faults_any(faults))
        write_faults(&writer, faults);
    ty_json_end(&writer);
}
