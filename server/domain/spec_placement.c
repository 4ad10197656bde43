/* Where replicas may run: tolerations here, affinity in spec_affinity.c, and the members that a
 * role takes over as a whole. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

enum { TOLERATIONS_MAX = 32, YEAR_SECONDS = 366 * 86400 };

static const char *const operators[] = {
    [TY_TOLERATE_EQUAL] = "equal", [TY_TOLERATE_EXISTS] = "exists", NULL};

/* The first stands for "not given" and cannot be written. */
static const char *const effects[] = {
    [TY_TAINT_ANY] = "",
    [TY_TAINT_NO_SCHEDULE] = "no_schedule",
    [TY_TAINT_PREFER_NO_SCHEDULE] = "prefer_no_schedule",
    [TY_TAINT_NO_EXECUTE] = "no_execute",
    NULL,
};

#define TOLERATION(member) offsetof(struct ty_toleration, member)

static const struct ty_field toleration_fields[] = {
    {"key",      TY_FIELD_TEXT,   TOLERATION(key),     1, 0,            NULL     },
    {"operator", TY_FIELD_CHOICE, TOLERATION(op),      0, 0,            operators},
    {"value",    TY_FIELD_TEXT,   TOLERATION(value),   0, 0,            NULL     },
    {"effect",   TY_FIELD_CHOICE, TOLERATION(effect),  0, 0,            effects  },
    {"seconds",  TY_FIELD_INT64,  TOLERATION(seconds), 0, YEAR_SECONDS, NULL     },
};

static void check_key(struct ty_spec_reader *reader, const json_t *value,
                      const struct ty_toleration *toleration)
{
    if (toleration->key && !ty_spec_qualified_name_valid(toleration->key))
        ty_spec_fault_in(reader, "key", "key_invalid",
                         "must be a taint's key, such as nvidia.com/gpu");
    if (!json_object_get(value, "key") && toleration->op == TY_TOLERATE_EQUAL)
        ty_spec_fault_in(reader, "key", "required", "is missing: only exists goes without a key");
}

static void read_toleration(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    struct ty_toleration *toleration = item;

    toleration->seconds = TY_NOT_GIVEN;
    ty_spec_read_fields(reader, value, toleration_fields, 5, toleration);
    if (!json_is_object(value))
        return;
    check_key(reader, value, toleration);
    if (toleration->value && !ty_spec_label_value_valid(toleration->value))
        ty_spec_fault_in(reader, "value", "label_invalid",
                         "has at most 63 letters, digits, . _ and -, with a letter or digit at "
                         "both ends");
    if (toleration->value && toleration->value[0] != '\0' && toleration->op == TY_TOLERATE_EXISTS)
        ty_spec_fault_in(reader, "value", "value_unused", "goes with equal only");
    if (json_object_get(value, "effect") && toleration->effect == TY_TAINT_ANY &&
        json_string_length(json_object_get(value, "effect")) == 0)
        ty_spec_fault_in(reader, "effect", "unknown_value", "is none of the values allowed here");
    if (toleration->seconds >= 0 && toleration->effect != TY_TAINT_NO_EXECUTE)
        ty_spec_fault_in(reader, "seconds", "seconds_need_no_execute",
                         "goes with the effect no_execute only");
}

void ty_spec_read_tolerations(struct ty_spec_reader *reader, const json_t *array,
                              struct ty_tolerations *tolerations_out)
{
    tolerations_out->items =
        ty_spec_read_items(reader, array, TOLERATIONS_MAX, sizeof(*tolerations_out->items),
                           read_toleration, &tolerations_out->count);
}

void ty_spec_read_shared(struct ty_spec_reader *reader, const struct ty_raw_shared *raw,
                         struct ty_spec_shared *shared_out)
{
    size_t mark = reader->at_len;

    if (raw->secrets) {
        ty_spec_enter(reader, "secrets");
        ty_spec_read_secrets(reader, raw->secrets, &shared_out->secrets);
        ty_spec_leave(reader, mark);
    }
    if (raw->node_selector) {
        ty_spec_enter(reader, "node_selector");
        ty_spec_read_qualified(reader, raw->node_selector, &shared_out->node_selector);
        ty_spec_leave(reader, mark);
    }
    if (raw->affinity) {
        ty_spec_enter(reader, "affinity");
        ty_spec_read_affinity(reader, raw->affinity, &shared_out->affinity);
        ty_spec_leave(reader, mark);
    }
    if (raw->tolerations) {
        ty_spec_enter(reader, "tolerations");
        ty_spec_read_tolerations(reader, raw->tolerations, &shared_out->tolerations);
        ty_spec_leave(reader, mark);
    }
}
