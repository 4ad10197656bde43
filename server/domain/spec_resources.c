/* Quantities: what each replica asks for, what it may use at most, and /dev/shm. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <stdlib.h>

static const int64_t mebibyte = 1024 * 1024;
static const int64_t shared_memory_most = (int64_t)8 * 1024 * 1024 * 1024;
static const int64_t shared_memory_without_limit = (int64_t)2 * 1024 * 1024 * 1024;

typedef ty_status quantity_parser(const char *text, int64_t *number_out);

/* A quantity as text and as a number; JSON integers are taken too. */
static char *read_quantity(struct ty_spec_reader *reader, const json_t *value,
                           quantity_parser *parse, int64_t *number_out)
{
    char *text = NULL;

    if (json_is_integer(value)) {
        text = ty_spec_format(reader, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_string(value)) {
        text = ty_spec_dup(reader, ty_spec_text(reader, value));
    } else {
        ty_spec_fault(reader, "wrong_type", "must be a quantity: a string or an integer");
    }
    if (text && parse(text, number_out) != TY_OK) {
        ty_spec_fault(
            reader, "quantity_invalid",
            "is no quantity: a number and one of m k M G T P E Ki Mi Gi Ti Pi Ei, such as "
            "512Mi or 1.5");
        free(text);
        text = NULL;
    }
    return text;
}

char *ty_spec_read_size(struct ty_spec_reader *reader, const json_t *value, int64_t *bytes_out)
{
    int64_t bytes = 0;
    char *text = read_quantity(reader, value, ty_quantity_parse_whole, &bytes);

    if (text && bytes < mebibyte) {
        if (ty_str_ends(text, "m"))
            ty_spec_fault(reader, "quantity_too_small",
                          "is in thousandths of a byte (m); Mi means mebibytes");
        else
            ty_spec_fault(reader, "quantity_too_small", "is less than 1 MiB");
        free(text);
        return NULL;
    }
    *bytes_out = bytes;
    return text;
}

static char *read_cpu(struct ty_spec_reader *reader, const json_t *value, int64_t *millis_out)
{
    char *text = read_quantity(reader, value, ty_quantity_parse, millis_out);

    if (text && *millis_out <= 0) {
        ty_spec_fault(reader, "quantity_too_small", "must be more than nothing");
        free(text);
        return NULL;
    }
    return text;
}

typedef char *quantity_reader(struct ty_spec_reader *reader, const json_t *value,
                              int64_t *number_out);

/* One resource: request, limit, and the number of the limit. */
struct resource {
    const char *name;
    quantity_reader *read;
    const json_t *request_json;
    const json_t *limit_json;
    char *request;
    char *limit;
    int64_t number;
};

static char *read_at(struct ty_spec_reader *reader, const struct resource *resource,
                     const json_t *value, int64_t *number_out)
{
    size_t mark = ty_spec_enter(reader, resource->name);
    char *text = resource->read(reader, value, number_out);

    ty_spec_leave(reader, mark);
    return text;
}

/* The limit is the request where it is not given, and the other way round. */
static void read_resource(struct ty_spec_reader *reader, struct resource *resource)
{
    int64_t request = 0;
    int64_t limit = 0;

    if (resource->request_json)
        resource->request = read_at(reader, resource, resource->request_json, &request);
    if (resource->limit_json) {
        size_t mark = ty_spec_enter(reader, "limits");

        resource->limit = read_at(reader, resource, resource->limit_json, &limit);
        if (resource->limit && resource->request && limit < request)
            ty_spec_fault_in(reader, resource->name, "limit_below_request",
                             "is less than the %s asked for", resource->request);
        ty_spec_leave(reader, mark);
    }
    if (!resource->limit && resource->request) {
        resource->limit = ty_spec_dup(reader, resource->request);
        limit = request;
    } else if (!resource->request && resource->limit) {
        resource->request = ty_spec_dup(reader, resource->limit);
    }
    resource->number = limit;
}

struct raw_quantities {
    const json_t *cpu;
    const json_t *memory;
    const json_t *storage;
    const json_t *limits;
};

static const struct ty_field resource_fields[] = {
    {"cpu",               TY_FIELD_JSON, offsetof(struct raw_quantities, cpu),     0, 0, NULL},
    {"memory",            TY_FIELD_JSON, offsetof(struct raw_quantities, memory),  0, 0, NULL},
    {"ephemeral_storage", TY_FIELD_JSON, offsetof(struct raw_quantities, storage), 0, 0, NULL},
    {"limits",            TY_FIELD_JSON, offsetof(struct raw_quantities, limits),  0, 0, NULL},
};

enum { RESOURCE_FIELDS = 4, LIMIT_FIELDS = 3 /* all but limits */ };

void ty_spec_read_resources(struct ty_spec_reader *reader, const json_t *object,
                            struct ty_resources *resources_out)
{
    struct raw_quantities request = {0};
    struct raw_quantities limit = {0};

    ty_spec_read_fields(reader, object, resource_fields, RESOURCE_FIELDS, &request);
    if (request.limits) {
        size_t mark = ty_spec_enter(reader, "limits");

        ty_spec_read_fields(reader, request.limits, resource_fields, LIMIT_FIELDS, &limit);
        ty_spec_leave(reader, mark);
    }
    struct resource cpu = {"cpu", read_cpu, request.cpu, limit.cpu, NULL, NULL, 0};
    struct resource memory = {"memory", ty_spec_read_size, request.memory, limit.memory, NULL, NULL,
                              0};
    struct resource storage = {
        "ephemeral_storage", ty_spec_read_size, request.storage, limit.storage, NULL, NULL, 0};

    read_resource(reader, &cpu);
    read_resource(reader, &memory);
    read_resource(reader, &storage);
    resources_out->cpu = cpu.request;
    resources_out->cpu_limit = cpu.limit;
    resources_out->cpu_millis = cpu.number;
    resources_out->memory = memory.request;
    resources_out->memory_limit = memory.limit;
    resources_out->memory_bytes = memory.number;
    resources_out->storage = storage.request;
    resources_out->storage_limit = storage.limit;
}

static char *write_bytes(struct ty_spec_reader *reader, int64_t bytes)
{
    const int64_t gibibyte = 1024 * mebibyte;

    if (bytes % gibibyte == 0)
        return ty_spec_format(reader, "%lldGi", (long long)(bytes / gibibyte));
    return ty_spec_format(reader, "%lldMi", (long long)(bytes / mebibyte));
}

void ty_spec_read_shared_memory(struct ty_spec_reader *reader, const json_t *value,
                                struct ty_resources *resources)
{
    int64_t bytes = shared_memory_without_limit;

    if (value) {
        resources->shared_memory =
            ty_spec_read_size(reader, value, &resources->shared_memory_bytes);
        return;
    }
    if (resources->memory_bytes > 0)
        bytes = resources->memory_bytes / 2;
    bytes = bytes > shared_memory_most ? shared_memory_most : bytes;
    bytes = bytes < mebibyte ? mebibyte : bytes - bytes % mebibyte;
    resources->shared_memory = write_bytes(reader, bytes);
    resources->shared_memory_bytes = bytes;
}
