/* Schemas from JSON: memory, references, nodes. A keyword that the table does not know is refused,
 * so that nothing in the document is ever silently without effect. */
#include "contract/compiler.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNIQUE_ITEMS_MAX = 256 }; /* uniqueness is found by comparing all pairs */

/* --- memory --- */
void *ty_compiler_alloc(struct ty_compiler *compiler, size_t size)
{
    struct ty_memory_block *block = calloc(1, sizeof *block + size);

    if (!block)
        return NULL;
    block->next = compiler->blocks;
    compiler->blocks = block;
    return block->data;
}

ty_status ty_compiler_create(const json_t *document, struct ty_compiler **compiler_out,
                             struct ty_error *err)
{
    struct ty_compiler *compiler = calloc(1, sizeof *compiler);

    if (!compiler || ty_map_create(NULL, &compiler->references) != TY_OK) {
        free(compiler);
        return ty_fail(err, TY_NO_MEMORY, "no memory to compile schemas");
    }
    compiler->document = document;
    *compiler_out = compiler;
    return TY_OK;
}

void ty_compiler_destroy(struct ty_compiler *compiler)
{
    if (!compiler)
        return;
    for (struct ty_compiled_pattern *p = compiler->patterns; p; p = p->next)
        ty_pattern_destroy(p->pattern);
    while (compiler->blocks) {
        struct ty_memory_block *block = compiler->blocks;

        compiler->blocks = block->next;
        free(block);
    }
    ty_map_destroy(compiler->references);
    free(compiler);
}

ty_status ty_compiler_fail(const struct ty_place *place, struct ty_error *err, const char *format,
                           ...)
{
    char pointer[TY_POINTER_TEXT];
    char words[256];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    ty_place_pointer(place, pointer);
    return ty_fail(err, TY_INVALID, "%s: %s", pointer, words);
}

ty_status ty_compiler_no_memory(struct ty_error *err)
{
    return ty_fail(err, TY_NO_MEMORY, "no memory to compile schemas");
}

/* --- references --- */
/* One token of a JSON pointer with ~1 and ~0 read; false when it is too long or ill-formed. */
static bool read_token(const char **pointer, char *out, size_t size)
{
    size_t len = 0;
    const char *p = *pointer + 1;

    for (; *p != '\0' && *p != '/'; p++) {
        char c = *p;

        if (c == '~') {
            if (p[1] != '0' && p[1] != '1')
                return false;
            c = *++p == '0' ? '~' : '/';
        }
        if (len + 1 == size)
            return false;
        out[len++] = c;
    }
    out[len] = '\0';
    *pointer = p;
    return true;
}

ty_status ty_compiler_resolve(const struct ty_compiler *compiler, const char *reference,
                              const json_t **json_out, struct ty_error *err)
{
    const json_t *json = compiler->document;
    const char *p = reference + 1;
    char token[256];

    if (reference[0] != '#')
        return ty_fail(err, TY_INVALID, "%s: only references within the document", reference);
    while (json && *p == '/') {
        if (!read_token(&p, token, sizeof token))
            return ty_fail(err, TY_INVALID, "%s: ill-formed pointer", reference);
        json = json_object_get(json, token);
    }
    if (!json || *p != '\0')
        return ty_fail(err, TY_INVALID, "%s: leads nowhere", reference);
    *json_out = json;
    return TY_OK;
}

const struct ty_schema *ty_compiler_find(const struct ty_compiler *compiler, const char *reference)
{
    return ty_map_get(compiler->references, reference);
}

/* --- nodes --- */
static ty_status check_whole(const struct ty_schema *schema, const struct ty_place *place,
                             struct ty_error *err)
{
    if (schema->unique && (!schema->max_items.given || schema->max_items.value > UNIQUE_ITEMS_MAX))
        return ty_compiler_fail(place, err, "uniqueItems needs maxItems of at most %d",
                                UNIQUE_ITEMS_MAX);
    if (schema->multiple && schema->types & TYPE_NUMBER)
        return ty_compiler_fail(place, err, "multipleOf is for integers only");
    if ((schema->then || schema->otherwise) && !schema->condition)
        return ty_compiler_fail(place, err, "then and else need an if");
    return TY_OK;
}

ty_status ty_compiler_fill(struct ty_compiler *compiler, struct ty_schema *schema,
                           const json_t *json, const struct ty_place *place, struct ty_error *err)
{
    const char *name;
    json_t *value;

    if (json_is_boolean(json)) {
        schema->never = json_is_false(json);
        return TY_OK;
    }
    if (!json_is_object(json))
        return ty_compiler_fail(place, err, "must be a schema");
    json_object_foreach((json_t *)json, name, value)
    {
        const struct ty_keyword *keyword = ty_keyword_find(name);
        struct ty_place below = {.parent = place, .key = name};
        struct ty_keyword_context context = {
            .compiler = compiler, .schema = schema, .value = value, .place = &below};
        ty_status status;

        if (!keyword)
            return ty_compiler_fail(&below, err, "a keyword we do not know");
        status = keyword->compile(&context, (char *)schema + keyword->member, err);
        if (status)
            return status;
    }
    return check_whole(schema, place, err);
}

ty_status ty_compiler_compile(struct ty_compiler *compiler, const json_t *json,
                              const struct ty_place *place, const struct ty_schema **schema_out,
                              struct ty_error *err)
{
    struct ty_schema *schema = ty_compiler_alloc(compiler, sizeof *schema);
    ty_status status;

    if (!schema)
        return ty_compiler_no_memory(err);
    status = ty_compiler_fill(compiler, schema, json, place, err);
    if (status)
        return status;
    *schema_out = schema;
    return TY_OK;
}
