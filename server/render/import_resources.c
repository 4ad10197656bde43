/* Requests and limits. A GPU is one number, request and limit alike; of the rest the spec says what
 * is asked for, and the most where that is more. */
#include "import.h"

#include "trainyard/base/str.h"

static const char gpu[] = "nvidia.com/gpu";

static const char *const names[][2] = {
    {"cpu",               "cpu"              },
    {"memory",            "memory"           },
    {"ephemeral-storage", "ephemeral_storage"}
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

static const char *member_of(const char *resource)
{
    for (size_t i = 0; i < NAMES; i++)
        if (ty_str_equal(names[i][0], resource))
            return names[i][1];
    return NULL;
}

static void read_gpus(struct import *im, const json_t *value)
{
    json_t *text = import_quantity(im, value);
    int64_t number = 0;
    const json_t *known = json_object_get(im->role->values, "gpus");

    if (!text)
        return;
    if (ty_str_to_int(json_string_value(text), 0, 1000000, &number) != TY_OK) {
        import_fault(im, "quantity_invalid", "must be a whole number of GPUs");
    } else if (known && json_integer_value(known) != number) {
        import_fault(im, "gpus_differ", "request and limit of GPUs must be equal");
    } else if (!known) {
        struct import_target before = {im->target, im->to_len};

        import_aim(im, im->role);
        import_put(im, "gpus", json_integer(number));
        import_back(im, before);
    }
    json_decref(text);
}

/* Into the current target; both lists know the same resources. */
static void read_list(struct import *im, const json_t *value)
{
    const char *key;
    json_t *item;

    if (!import_is_object(im, value))
        return;
    json_object_foreach((json_t *)(uintptr_t)value, key, item)
    {
        size_t mark = import_enter(im, key);
        const char *member = member_of(key);

        if (json_is_null(item)) {
            import_leave(im, mark);
            continue;
        }
        if (ty_str_equal(key, gpu)) {
            read_gpus(im, item);
        } else if (member) {
            json_t *text = import_quantity(im, item);

            if (text)
                import_put(im, member, text);
        } else {
            import_fault(im, "not_supported", "resources are cpu, memory, ephemeral-storage and %s",
                         gpu);
        }
        import_leave(im, mark);
    }
}

static void read_limits(struct import *im, const json_t *value)
{
    struct import_target before = import_into(im, "limits", false);

    read_list(im, value);
    import_back(im, before);
}

/* Kubernetes leaves a replica without a limit unbounded; the gateway's limit is the request. */
static void warn_limits(struct import *im, const json_t *resources)
{
    const json_t *limits = json_object_get(resources, "limits");

    for (size_t i = 0; i < NAMES; i++)
        if (json_object_get(resources, names[i][1]) && !json_object_get(limits, names[i][1]))
            import_warn(im, "limit_added", "without a limit for %s the limit is what is asked for",
                        names[i][0]);
}

static void check_gpus(struct import *im, const json_t *value)
{
    const json_t *requests = import_get(value, "requests");
    const json_t *limits = import_get(value, "limits");

    if (import_get(requests, gpu) && !import_get(limits, gpu))
        import_fault_in(im, "requests", "gpus_differ", "GPUs must be a limit too: use limits");
}

/* clang-format off */
static const struct import_rule rules[] = {
    FIELD_READ("requests", read_list, NULL),
    FIELD_READ("limits", read_limits, NULL),
    FIELD_REFUSED("claims", "[]", "the gateway has no such setting"),
};
/* clang-format on */

void import_resources(struct import *im, const json_t *value)
{
    struct import_target before = import_into(im, "resources", false);
    json_t *resources = im->target;

    IMPORT_BY(im, value, rules);
    check_gpus(im, value);
    import_back(im, before);
    if (json_object_size(json_object_get(resources, "limits")) == 0)
        json_object_del(resources, "limits");
    warn_limits(im, resources);
    if (json_object_size(resources) == 0)
        json_object_del(im->target, "resources");
}
