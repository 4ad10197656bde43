/* The keywords of JSON Schema that we take: each is a row of one table that says what its value
 * must be and which member of the schema it sets. */
#include "contract/compiler.h"

#include "trainyard/base/str.h"

#include <ctype.h>
#include <stdlib.h>

static ty_status annotation(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    (void)context;
    (void)member;
    (void)err;
    return TY_OK;
}

static ty_status any_value(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    (void)err;
    *(const json_t **)member = context->value;
    return TY_OK;
}

static ty_status boolean(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    if (!json_is_boolean(context->value))
        return ty_compiler_fail(context->place, err, "must be true or false");
    *(bool *)member = json_is_true(context->value);
    return TY_OK;
}

static ty_status count(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    json_int_t value = json_integer_value(context->value);

    if (!json_is_integer(context->value) || value < 0)
        return ty_compiler_fail(context->place, err, "must be an integer of at least 0");
    *(struct ty_count *)member = (struct ty_count){.given = true, .value = (size_t)value};
    return TY_OK;
}

static ty_status bound(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    if (!json_is_number(context->value))
        return ty_compiler_fail(context->place, err, "must be a number");
    *(struct ty_bound *)member = (struct ty_bound){
        .given = true,
        .integral = json_is_integer(context->value),
        .integer = json_integer_value(context->value),
        .real = json_number_value(context->value),
    };
    return TY_OK;
}

static ty_status positive(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    if (!json_is_integer(context->value) || json_integer_value(context->value) < 1)
        return ty_compiler_fail(context->place, err, "must be an integer of at least 1");
    *(json_int_t *)member = json_integer_value(context->value);
    return TY_OK;
}

static ty_status values(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    if (!json_is_array(context->value) || json_array_size(context->value) == 0)
        return ty_compiler_fail(context->place, err, "must be an array that is not empty");
    *(const json_t **)member = context->value;
    return TY_OK;
}

static ty_status subschema(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    return ty_compiler_compile(context->compiler, context->value, context->place,
                               (const struct ty_schema **)member, err);
}

static ty_status subschemas(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    struct ty_schema_list *list = member;
    size_t size = json_array_size(context->value);

    if (size == 0)
        return ty_compiler_fail(context->place, err, "must be an array that is not empty");
    list->items = ty_compiler_alloc(context->compiler, size * sizeof *list->items);
    if (!list->items)
        return ty_compiler_no_memory(err);
    for (list->count = 0; list->count < size; list->count++) {
        struct ty_place place = {.parent = context->place, .index = list->count};
        ty_status status =
            ty_compiler_compile(context->compiler, json_array_get(context->value, list->count),
                                &place, &list->items[list->count], err);

        if (status)
            return status;
    }
    return TY_OK;
}

static const struct {
    const char *name;
    uint32_t bits;
} type_names[] = {
    {"null",    TYPE_NULL                 },
    {"boolean", TYPE_BOOLEAN              },
    {"integer", TYPE_INTEGER              },
    {"number",  TYPE_NUMBER | TYPE_INTEGER},
    {"string",  TYPE_STRING               },
    {"array",   TYPE_ARRAY                },
    {"object",  TYPE_OBJECT               },
};

static uint32_t type_bits(const json_t *name)
{
    for (size_t i = 0; json_is_string(name) && i < sizeof type_names / sizeof *type_names; i++) {
        if (ty_str_equal(type_names[i].name, json_string_value(name)))
            return type_names[i].bits;
    }
    return 0;
}

static ty_status types(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    uint32_t bits = type_bits(context->value);
    bool known = bits != 0;
    size_t index;
    const json_t *name;

    if (json_is_array(context->value)) {
        known = json_array_size(context->value) > 0;
        json_array_foreach(context->value, index, name)
        {
            known = known && type_bits(name) != 0;
            bits |= type_bits(name);
        }
    }
    if (!known)
        return ty_compiler_fail(context->place, err, "must be a type or a list of types");
    *(uint32_t *)member = bits;
    return TY_OK;
}

static ty_status format(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    const char *name = json_string_value(context->value);

    if (!name)
        return ty_compiler_fail(context->place, err, "must be a string");
    if (ty_str_equal(name, "date-time"))
        *(ty_schema_format *)member = FORMAT_DATE_TIME;
    else if (ty_str_equal(name, "byte"))
        *(ty_schema_format *)member = FORMAT_BASE64;
    /* Answers have the one, the other comes with its pattern: neither needs a check of its own. */
    else if (!ty_str_equal(name, "uri-reference") && !ty_str_equal(name, "entity-tags"))
        return ty_compiler_fail(context->place, err, "a format we do not know");
    return TY_OK;
}

/* One sentence on one line, whatever the YAML folded. */
static ty_status sentence(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    const char *text = json_string_value(context->value);
    char *out = text ? ty_compiler_alloc(context->compiler, strlen(text) + 1) : NULL;
    size_t len = 0;

    if (!text)
        return ty_compiler_fail(context->place, err, "must be a string");
    if (!out)
        return ty_compiler_no_memory(err);
    for (; *text != '\0'; text++) {
        if (!isspace((unsigned char)*text))
            out[len++] = *text;
        else if (len > 0 && out[len - 1] != ' ')
            out[len++] = ' ';
    }
    while (len > 0 && out[len - 1] == ' ')
        out[--len] = '\0';
    *(const char **)member = out;
    return TY_OK;
}

static ty_status pattern(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    const char *text = json_string_value(context->value);
    struct ty_compiled_pattern *entry = context->compiler->patterns;
    ty_status status;

    if (!text)
        return ty_compiler_fail(context->place, err, "must be a string");
    while (entry && !ty_str_equal(entry->text, text))
        entry = entry->next;
    if (!entry) {
        entry = ty_compiler_alloc(context->compiler, sizeof *entry);
        if (!entry)
            return ty_compiler_no_memory(err);
        status = ty_pattern_compile(text, &entry->pattern, err);
        if (status == TY_NO_MEMORY)
            return status;
        if (status)
            return ty_compiler_fail(context->place, err, "%s", err ? err->text : "bad pattern");
        entry->text = text;
        entry->next = context->compiler->patterns;
        context->compiler->patterns = entry;
    }
    *(const struct ty_pattern **)member = entry->pattern;
    return TY_OK;
}

static int compare_properties(const void *a, const void *b)
{
    return strcmp(((const struct ty_property *)a)->name, ((const struct ty_property *)b)->name);
}

static ty_status properties(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    struct ty_schema *schema = context->schema;
    const char *name;
    json_t *value;

    (void)member;
    if (!json_is_object(context->value))
        return ty_compiler_fail(context->place, err, "must be an object");
    schema->properties = ty_compiler_alloc(
        context->compiler, (json_object_size(context->value) + 1) * sizeof *schema->properties);
    if (!schema->properties)
        return ty_compiler_no_memory(err);
    json_object_foreach((json_t *)context->value, name, value)
    {
        struct ty_place place = {.parent = context->place, .key = name};
        struct ty_property *property = &schema->properties[schema->property_count++];
        ty_status status =
            ty_compiler_compile(context->compiler, value, &place, &property->schema, err);

        if (status)
            return status;
        property->name = name;
    }
    qsort(schema->properties, schema->property_count, sizeof *schema->properties,
          compare_properties);
    return TY_OK;
}

static ty_status names(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    struct ty_schema *schema = context->schema;
    size_t size = json_array_size(context->value);

    (void)member;
    if (!json_is_array(context->value))
        return ty_compiler_fail(context->place, err, "must be an array");
    schema->required = ty_compiler_alloc(context->compiler, (size + 1) * sizeof *schema->required);
    if (!schema->required)
        return ty_compiler_no_memory(err);
    for (size_t i = 0; i < size; i++) {
        const char *name = json_string_value(json_array_get(context->value, i));

        if (!name)
            return ty_compiler_fail(context->place, err, "must hold strings");
        schema->required[schema->required_count++] = name;
    }
    return TY_OK;
}

/* A target is known before it is filled, so that it may refer to itself. */
static ty_status reference(struct ty_keyword_context *context, void *member, struct ty_error *err)
{
    const char *text = json_string_value(context->value);
    struct ty_schema *target = text ? ty_map_get(context->compiler->references, text) : NULL;
    const json_t *json;
    ty_status status;

    if (!text)
        return ty_compiler_fail(context->place, err, "must be a string");
    if (!target) {
        status = ty_compiler_resolve(context->compiler, text, &json, err);
        if (status)
            return ty_compiler_fail(context->place, err, "%s leads nowhere", text);
        target = ty_compiler_alloc(context->compiler, sizeof *target);
        if (!target || ty_map_put(context->compiler->references, text, target) != TY_OK)
            return ty_compiler_no_memory(err);
        if (ty_compiler_fill(context->compiler, target, json, NULL, err) != TY_OK)
            return ty_wrap(err, "%s", text);
    }
    *(const struct ty_schema **)member = target;
    return TY_OK;
}

#define MEMBER(name) offsetof(struct ty_schema, name)

static const struct ty_keyword keywords[] = {
    {"$ref",                 reference,  MEMBER(reference)  },
    {"additionalProperties", subschema,  MEMBER(additional) },
    {"allOf",                subschemas, MEMBER(all_of)     },
    {"anyOf",                subschemas, MEMBER(any_of)     },
    {"const",                any_value,  MEMBER(constant)   },
    {"contentMediaType",     annotation, 0                  },
    {"default",              any_value,  MEMBER(initial)    },
    {"deprecated",           annotation, 0                  },
    {"description",          annotation, 0                  },
    {"else",                 subschema,  MEMBER(otherwise)  },
    {"enum",                 values,     MEMBER(enumeration)},
    {"examples",             annotation, 0                  },
    {"exclusiveMaximum",     bound,      MEMBER(below)      },
    {"exclusiveMinimum",     bound,      MEMBER(above)      },
    {"format",               format,     MEMBER(format)     },
    {"if",                   subschema,  MEMBER(condition)  },
    {"items",                subschema,  MEMBER(items)      },
    {"maxItems",             count,      MEMBER(max_items)  },
    {"maxLength",            count,      MEMBER(max_length) },
    {"maxProperties",        count,      MEMBER(max_members)},
    {"maximum",              bound,      MEMBER(maximum)    },
    {"minItems",             count,      MEMBER(min_items)  },
    {"minLength",            count,      MEMBER(min_length) },
    {"minProperties",        count,      MEMBER(min_members)},
    {"minimum",              bound,      MEMBER(minimum)    },
    {"multipleOf",           positive,   MEMBER(multiple)   },
    {"not",                  subschema,  MEMBER(negated)    },
    {"oneOf",                subschemas, MEMBER(one_of)     },
    {"pattern",              pattern,    MEMBER(pattern)    },
    {"prefixItems",          subschemas, MEMBER(first)      },
    {"properties",           properties, 0                  },
    {"propertyNames",        subschema,  MEMBER(names)      },
    {"required",             names,      0                  },
    {"then",                 subschema,  MEMBER(then)       },
    {"title",                annotation, 0                  },
    {"type",                 types,      MEMBER(types)      },
    {"uniqueItems",          boolean,    MEMBER(unique)     },
    {"x-explain",            sentence,   MEMBER(explain)    },
    {"x-extensible-enum",    annotation, 0                  },
};

static int compare_keyword(const void *name, const void *row)
{
    return strcmp(name, ((const struct ty_keyword *)row)->name);
}

const struct ty_keyword *ty_keyword_find(const char *name)
{
    return bsearch(name, keywords, sizeof keywords / sizeof *keywords, sizeof *keywords,
                   compare_keyword);
}
