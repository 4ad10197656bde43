/* What can be asked of a compiled schema without an instance. */
#include "contract/schema.h"

#include <stdlib.h>
#include <string.h>

uint32_t ty_schema_types(const struct ty_schema *schema)
{
    uint32_t types = schema->types ? schema->types : TYPE_ANY;

    for (int hops = 0; schema->reference && hops < 16; hops++) {
        schema = schema->reference;
        if (schema->types)
            types &= schema->types;
    }
    return types;
}

const char *ty_schema_explain(const struct ty_schema *schema)
{
    for (int hops = 0; !schema->explain && schema->reference && hops < 16; hops++)
        schema = schema->reference;
    return schema->explain;
}

const json_t *ty_schema_default(const struct ty_schema *schema)
{
    for (int hops = 0; !schema->initial && schema->reference && hops < 16; hops++)
        schema = schema->reference;
    return schema->initial;
}

static int compare_name(const void *name, const void *property)
{
    return strcmp(name, ((const struct ty_property *)property)->name);
}

const struct ty_property *ty_schema_property(const struct ty_schema *schema, const char *name)
{
    if (schema->property_count == 0)
        return NULL;
    return bsearch(name, schema->properties, schema->property_count, sizeof *schema->properties,
                   compare_name);
}
