#include "contract/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

enum { MATCH_LIMIT = 200000, HEAP_LIMIT_KIB = 4096 };

/* Free text asks for nothing but this, on up to a megabyte; memchr does it at memory speed. */
static const char no_nul[] = "^[^\\x00]*$";

struct ty_pattern {
    pcre2_code *code; /* NULL: no_nul */
    pcre2_match_context *limits;
};

/* --- the portable subset --- */
struct reader {
    const char *text;
    size_t at;
    bool in_class;
};

static ty_status refuse(const struct reader *reader, const char *why, struct ty_error *err)
{
    return ty_fail(err, TY_INVALID, "pattern, byte %zu: %s", reader->at, why);
}

static ty_status read_escape(struct reader *reader, struct ty_error *err)
{
    const char *next = reader->text + reader->at + 1;

    if (next[0] == 'x' && isxdigit((unsigned char)next[1]) && isxdigit((unsigned char)next[2])) {
        reader->at += 4;
        return TY_OK;
    }
    if (!ispunct((unsigned char)next[0]))
        return refuse(reader, "only \\xHH and escaped punctuation are portable", err);
    reader->at += 2;
    return TY_OK;
}

/* {n}, {n,} or {n,m}; a bare brace means different things to different engines. */
static ty_status read_counts(struct reader *reader, struct ty_error *err)
{
    const char *p = reader->text + reader->at + 1;
    const char *digits = p;

    while (isdigit((unsigned char)*p))
        p++;
    if (p == digits)
        return refuse(reader, "a brace must begin a count", err);
    if (*p == ',')
        p++;
    while (isdigit((unsigned char)*p))
        p++;
    if (*p != '}')
        return refuse(reader, "a count must end in a brace", err);
    reader->at = (size_t)(p + 1 - reader->text);
    return TY_OK;
}

static ty_status read_in_class(struct reader *reader, struct ty_error *err)
{
    const char *p = reader->text + reader->at;

    if (*p == '[')
        return refuse(reader, "a bracket within a class must be escaped", err);
    if (p[0] == p[1] && strchr("&|~-", *p))
        return refuse(reader, "doubled signs within a class are not portable", err);
    if (*p == ']')
        reader->in_class = false;
    reader->at++;
    return TY_OK;
}

static ty_status read_outside(struct reader *reader, struct ty_error *err)
{
    char c = reader->text[reader->at];

    if (c == '{')
        return read_counts(reader, err);
    if (c == '.')
        return refuse(reader, "engines disagree on what a dot is: name the class", err);
    if (c == '(' && reader->text[reader->at + 1] == '?')
        return refuse(reader, "only plain groups are portable", err);
    if (c == '[') {
        reader->in_class = true;
        if (reader->text[reader->at + 1] == '^')
            reader->at++;
        if (reader->text[reader->at + 1] == ']')
            return refuse(reader, "engines disagree on a class that begins with ]", err);
    }
    reader->at++;
    return TY_OK;
}

static ty_status check_portable(const char *text, struct ty_error *err)
{
    struct reader reader = {.text = text};

    while (text[reader.at] != '\0') {
        ty_status status = text[reader.at] == '\\' ? read_escape(&reader, err)
                           : reader.in_class       ? read_in_class(&reader, err)
                                                   : read_outside(&reader, err);
        if (status)
            return status;
    }
    return TY_OK;
}

/* --- compiling --- */
static ty_status compile(struct ty_pattern *pattern, const char *text, struct ty_error *err)
{
    int code;
    PCRE2_SIZE at;
    PCRE2_UCHAR words[128];

    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE, &code, &at, NULL);
    if (!pattern->code) {
        pcre2_get_error_message(code, words, sizeof words);
        return ty_fail(err, TY_INVALID, "pattern, byte %zu: %s", at, (const char *)words);
    }
    pattern->limits = pcre2_match_context_create(NULL);
    if (!pattern->limits)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a pattern");
    pcre2_set_match_limit(pattern->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(pattern->limits, HEAP_LIMIT_KIB);
    /* Where the kernel forbids writable code, matching goes on without it. */
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    return TY_OK;
}

ty_status ty_pattern_compile(const char *text, struct ty_pattern **pattern_out,
                             struct ty_error *err)
{
    struct ty_pattern *pattern;
    ty_status status = check_portable(text, err);

    if (status)
        return status;
    pattern = calloc(1, sizeof *pattern);
    if (!pattern)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a pattern");
    if (strcmp(text, no_nul) != 0)
        status = compile(pattern, text, err);
    if (status) {
        ty_pattern_destroy(pattern);
        return status;
    }
    *pattern_out = pattern;
    return TY_OK;
}

void ty_pattern_destroy(struct ty_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    free(pattern);
}

/* --- matching --- */
void ty_matcher_done(struct ty_matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    matcher->data = NULL;
}

ty_status ty_pattern_match(const struct ty_pattern *pattern, struct ty_matcher *matcher,
                           const char *text, size_t len, bool *matches_out)
{
    int result;

    if (!pattern->code) {
        *matches_out = memchr(text, '\0', len) == NULL;
        return TY_OK;
    }
    if (!matcher->data)
        matcher->data = pcre2_match_data_create(1, NULL);
    if (!matcher->data)
        return TY_NO_MEMORY;
    result = pcre2_match(pattern->code, (PCRE2_SPTR)text, len, 0, PCRE2_NO_UTF_CHECK, matcher->data,
                         pattern->limits);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) /* the interpreter keeps its stack on the heap */
        result = pcre2_match(pattern->code, (PCRE2_SPTR)text, len, 0,
                             PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, matcher->data, pattern->limits);
    if (result == PCRE2_ERROR_NOMEMORY)
        return TY_NO_MEMORY;
    *matches_out = result >= 0;
    return TY_OK;
}
