/* Any text as a request target: within the memory asked for, no dot segment ever comes out, and
 * what was taken is taken the same when it is encoded again byte by byte. */
#include "../../server/http/target.h"
#include "trainyard/base/buf.h"
#include "trainyard/base/str.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct parsed {
    struct ty_target target;
    char *work;
    struct ty_parameter *parameters;
};

static ty_status parse(const char *text, struct parsed *out)
{
    struct ty_error err;

    out->work = malloc(ty_target_work(strlen(text)));
    out->parameters = malloc(ty_target_parameter_bound(text) * sizeof *out->parameters + 1);
    if (!out->work || !out->parameters)
        abort();
    return ty_target_parse(text, out->work, out->parameters, &out->target, &err);
}

static void release(struct parsed *parsed)
{
    free(parsed->work);
    free(parsed->parameters);
}

static void encode(struct ty_buf *buf, const char *text)
{
    for (; *text; text++)
        ty_buf_addf(buf, "%%%02x", (unsigned char)*text);
}

static void write_again(struct ty_buf *buf, const struct ty_target *target)
{
    for (size_t i = 0; i < target->segment_count; i++) {
        ty_buf_addc(buf, '/');
        encode(buf, target->segments[i]);
    }
    for (size_t i = 0; i < target->parameter_count; i++) {
        ty_buf_addc(buf, i ? '&' : '?');
        encode(buf, target->parameters[i].name);
        ty_buf_addc(buf, '=');
        encode(buf, target->parameters[i].value);
    }
}

static void compare(const struct ty_target *a, const struct ty_target *b)
{
    if (a->segment_count != b->segment_count || a->parameter_count != b->parameter_count)
        abort();
    for (size_t i = 0; i < a->segment_count; i++) {
        if (!ty_str_equal(a->segments[i], b->segments[i]))
            abort();
        if (ty_str_equal(a->segments[i], ".") || ty_str_equal(a->segments[i], ".."))
            abort();
    }
    for (size_t i = 0; i < a->parameter_count; i++)
        if (!ty_str_equal(a->parameters[i].name, b->parameters[i].name) ||
            !ty_str_equal(a->parameters[i].value, b->parameters[i].value))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct parsed first;
    ty_auto_buf again = {0};

    if (!text)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    ty_buf_init(&again, 16 * size + 64);
    if (parse(text, &first) == TY_OK && !first.target.asterisk) {
        struct parsed second;

        write_again(&again, &first.target);
        if (again.failed || parse(again.data, &second) != TY_OK)
            abort();
        compare(&first.target, &second.target);
        release(&second);
    }
    release(&first);
    free(text);
    return 0;
}
