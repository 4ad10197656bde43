/* Names with values: labels, environment, parameters. Sorted by name, so that the order in which a
 * client wrote them (or a store kept them) changes nothing in what is rendered. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <ctype.h>
#include <stdlib.h>

enum {
    LABELS_MAX = 32,
    LABEL_BYTES = 63,
    ENV_MAX = 256,
    NAME_BYTES = 128,
    PARAMETERS_MAX = 256,
    PARAMETER_NAME_BYTES = 63,
    PARAMETER_BYTES = 4096,
    NUMBER_TEXT = 32,
    PREFIX_BYTES = 253,
    QUALIFIED_MAX = 32,
    OPTIONS_MAX = 16,
    OPTION_NAME_BYTES = 63,
    OPTION_BYTES = 253
};

/* Variables that the operator, torchrun or the executors set: theirs would win, silently. A '*'
 * stands for the rest of the name. */
static const char *const owned_variables[] = {
    "MASTER_*",
    "PET_*",
    "TRAINYARD_*",
    "TORCHELASTIC_*",
    "WORLD_SIZE",
    "RANK",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "GROUP_WORLD_SIZE",
    "ROLE_RANK",
    "ROLE_NAME",
    "ROLE_WORLD_SIZE",
    "PYTHONUNBUFFERED",
    "HOSTNAME",
    "NVIDIA_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
};

/* Variables that programs need to start: a parameter must not take them by the way. */
static const char *const system_variables[] = {
    "PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME",
};

static bool in_list(const char *name, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(list[i]);

        if (list[i][len - 1] == '*' ? strncmp(name, list[i], len - 1) == 0
                                    : ty_str_equal(name, list[i]))
            return true;
    }
    return false;
}

static bool variable_owned(const char *name)
{
    return in_list(name, owned_variables, sizeof(owned_variables) / sizeof(owned_variables[0]));
}

static bool variable_of_system(const char *name)
{
    return in_list(name, system_variables, sizeof(system_variables) / sizeof(system_variables[0]));
}

void ty_parameter_variable(const char *name, char out[TY_PARAMETER_VARIABLE])
{
    size_t i = 0;

    for (; i < TY_PARAMETER_VARIABLE - 1 && name[i]; i++)
        out[i] = isalnum((unsigned char)name[i]) ? (char)toupper((unsigned char)name[i]) : '_';
    out[i] = '\0';
}

/* First byte a letter or one of `first`, the others letters, digits or one of `rest`. */
static bool made_of(const char *text, const char *first, const char *rest)
{
    if (text[0] == '\0' || !(isalpha((unsigned char)text[0]) || strchr(first, text[0])))
        return false;
    for (const char *p = text + 1; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr(rest, *p))
            return false;
    return true;
}

/* Letters, digits, . _ and - with a letter or digit at both ends; "" when allowed. */
static bool valid_label_text(const char *text, bool empty_allowed)
{
    size_t len = strlen(text);

    if (len == 0)
        return empty_allowed;
    if (len > LABEL_BYTES || !isalnum((unsigned char)text[0]) ||
        !isalnum((unsigned char)text[len - 1]))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
            return false;
    return true;
}

typedef void check_name(struct ty_spec_reader *reader, const char *name);
typedef char *read_value(struct ty_spec_reader *reader, const json_t *value);

/* What may stand in one kind of object. */
struct pair_rules {
    size_t max;
    check_name *check;
    read_value *read;
};

static int compare_pairs(const void *a, const void *b)
{
    return strcmp(((const struct ty_pair *)a)->name, ((const struct ty_pair *)b)->name);
}

static void read_pairs(struct ty_spec_reader *reader, const json_t *object,
                       const struct pair_rules *rules, struct ty_pairs *pairs_out)
{
    const char *name;
    json_t *value;

    if (!json_is_object(object)) {
        ty_spec_fault(reader, "wrong_type", "must be an object");
        return;
    }
    if (json_object_size(object) > rules->max) {
        ty_spec_fault(reader, "too_many", "has %zu members; at most %zu are allowed",
                      json_object_size(object), rules->max);
        return;
    }
    pairs_out->items = ty_spec_alloc(reader, json_object_size(object), sizeof(*pairs_out->items));
    if (!pairs_out->items)
        return;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        size_t mark = ty_spec_enter(reader, name);
        struct ty_pair *pair = &pairs_out->items[pairs_out->count];

        rules->check(reader, name);
        pair->value = rules->read(reader, value);
        pair->name = pair->value ? ty_spec_dup(reader, name) : NULL;
        if (pair->name)
            pairs_out->count++;
        else
            free(pair->value);
        ty_spec_leave(reader, mark);
    }
    if (pairs_out->count > 1)
        qsort(pairs_out->items, pairs_out->count, sizeof(*pairs_out->items), compare_pairs);
}

/* A key with or without a prefix, as labels of nodes and pods have. */
bool ty_spec_qualified_name_valid(const char *name)
{
    const char *slash = strchr(name, '/');
    char prefix[PREFIX_BYTES + 1];

    if (!slash)
        return valid_label_text(name, false);
    size_t len = (size_t)(slash - name);

    if (len > PREFIX_BYTES || !valid_label_text(slash + 1, false))
        return false;
    memcpy(prefix, name, len);
    prefix[len] = '\0';
    return ty_dns1123_subdomain(prefix);
}

static void check_qualified_name(struct ty_spec_reader *reader, const char *name)
{
    if (!ty_spec_qualified_name_valid(name))
        ty_spec_fault(reader, "key_invalid",
                      "must be a label's key: letters, digits, . _ and -, at most 63, with or "
                      "without a DNS name and / in front");
}

static void check_label_key(struct ty_spec_reader *reader, const char *name)
{
    if (!valid_label_text(name, false))
        ty_spec_fault(reader, "label_invalid",
                      "a label's key has 1 to 63 letters, digits, . _ and -, a letter or digit at "
                      "both ends, and no prefix");
}

static char *read_label_value(struct ty_spec_reader *reader, const json_t *value)
{
    const char *text = ty_spec_text(reader, value);

    if (text && !valid_label_text(text, true)) {
        ty_spec_fault(reader, "label_invalid",
                      "a label's value has at most 63 letters, digits, . _ and -, with a letter or "
                      "digit at both ends");
        return NULL;
    }
    return ty_spec_dup(reader, text);
}

void ty_spec_read_labels(struct ty_spec_reader *reader, const json_t *object,
                         struct ty_pairs *pairs_out)
{
    static const struct pair_rules rules = {LABELS_MAX, check_label_key, read_label_value};

    read_pairs(reader, object, &rules, pairs_out);
}

bool ty_spec_variable_valid(const char *name)
{
    return made_of(name, "_", "_") && strlen(name) <= NAME_BYTES;
}

void ty_spec_check_variable(struct ty_spec_reader *reader, const char *name)
{
    if (!ty_spec_variable_valid(name))
        ty_spec_fault(reader, "env_name_invalid",
                      "a variable's name has at most 128 letters, digits and _ and does not begin "
                      "with a digit");
    else if (variable_owned(name))
        ty_spec_fault(reader, "env_name_reserved",
                      "is set by the launcher or the gateway, which would win over this value");
}

static char *read_variable(struct ty_spec_reader *reader, const json_t *value)
{
    return ty_spec_dup(reader, ty_spec_text(reader, value));
}

void ty_spec_read_env(struct ty_spec_reader *reader, const json_t *object,
                      struct ty_pairs *pairs_out)
{
    static const struct pair_rules rules = {ENV_MAX, ty_spec_check_variable, read_variable};

    read_pairs(reader, object, &rules, pairs_out);
}

void ty_spec_read_qualified(struct ty_spec_reader *reader, const json_t *object,
                            struct ty_pairs *pairs_out)
{
    static const struct pair_rules rules = {QUALIFIED_MAX, check_qualified_name, read_label_value};

    read_pairs(reader, object, &rules, pairs_out);
}

bool ty_spec_label_value_valid(const char *text)
{
    return valid_label_text(text, true);
}

static void check_option(struct ty_spec_reader *reader, const char *name)
{
    if (!ty_spec_variable_valid(name) || strlen(name) > OPTION_NAME_BYTES)
        ty_spec_fault(reader, "option_name_invalid",
                      "an option's name has at most 63 letters, digits and _ and does not begin "
                      "with a digit");
}

/* Options are joined as "a=b,c=d", so neither sign may be in a value. */
static char *read_option(struct ty_spec_reader *reader, const json_t *value)
{
    if (json_is_integer(value))
        return ty_spec_format(reader, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    const char *text = ty_spec_text(reader, value);
    bool fine = text && text[0] != '\0' && strlen(text) <= OPTION_BYTES;

    for (const char *p = text; fine && *p; p++)
        fine = *p > ' ' && *p != 0x7f && *p != ',' && *p != '=';
    if (text && !fine) {
        ty_spec_fault(reader, "option_invalid",
                      "must be 1 to 253 characters of ASCII without blanks, commas and =");
        return NULL;
    }
    return ty_spec_dup(reader, text);
}

void ty_spec_read_options(struct ty_spec_reader *reader, const json_t *object,
                          struct ty_pairs *pairs_out)
{
    static const struct pair_rules rules = {OPTIONS_MAX, check_option, read_option};

    read_pairs(reader, object, &rules, pairs_out);
}

static void check_parameter(struct ty_spec_reader *reader, const char *name)
{
    char variable[TY_PARAMETER_VARIABLE];

    ty_parameter_variable(name, variable);
    if (!made_of(name, "", "_-") || strlen(name) > PARAMETER_NAME_BYTES)
        ty_spec_fault(
            reader, "parameter_name_invalid",
            "a parameter's name has at most 63 letters, digits, _ and - and begins with a "
            "letter");
    else if (ty_str_equal(variable, "EPOCHS"))
        ty_spec_fault(reader, "parameter_name_reserved", "epochs is a member of its own");
    else if (variable_owned(variable) || variable_of_system(variable))
        ty_spec_fault(reader, "parameter_name_reserved", "would take the variable %s", variable);
}

/* The shortest decimal form that reads back as the same double. */
static void write_real(double number, char out[NUMBER_TEXT])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, NUMBER_TEXT, "%.*g", digits, number);
        if (strtod(out, NULL) == number) /* the same double, so equality is meant */
            return;
    }
}

static char *read_parameter(struct ty_spec_reader *reader, const json_t *value)
{
    char number[NUMBER_TEXT];

    switch (json_typeof(value)) {
    case JSON_TRUE:
        return ty_spec_dup(reader, "true");
    case JSON_FALSE:
        return ty_spec_dup(reader, "false");
    case JSON_INTEGER:
        return ty_spec_format(reader, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    case JSON_REAL:
        write_real(json_real_value(value), number);
        return ty_spec_dup(reader, number);
    case JSON_STRING:
        if (json_string_length(value) <= PARAMETER_BYTES)
            return ty_spec_dup(reader, ty_spec_text(reader, value));
        ty_spec_fault(reader, "too_long", "has %zu bytes; at most %d are allowed",
                      json_string_length(value), PARAMETER_BYTES);
        return NULL;
    case JSON_OBJECT:
    case JSON_ARRAY:
    case JSON_NULL:
        break;
    }
    ty_spec_fault(reader, "wrong_type", "must be a string, a number, true or false");
    return NULL;
}

static void check_same_variable(struct ty_spec_reader *reader, const struct ty_pairs *pairs)
{
    for (size_t i = 1; i < pairs->count; i++) {
        char mine[TY_PARAMETER_VARIABLE];

        ty_parameter_variable(pairs->items[i].name, mine);
        for (size_t k = 0; k < i; k++) {
            char other[TY_PARAMETER_VARIABLE];

            ty_parameter_variable(pairs->items[k].name, other);
            if (!ty_str_equal(mine, other))
                continue;
            ty_spec_fault_in(reader, pairs->items[i].name, "parameter_name_taken",
                             "gives the same variable %s as %s", mine, pairs->items[k].name);
            break;
        }
    }
}

void ty_spec_read_parameters(struct ty_spec_reader *reader, const json_t *object,
                             struct ty_pairs *pairs_out)
{
    static const struct pair_rules rules = {PARAMETERS_MAX, check_parameter, read_parameter};

    read_pairs(reader, object, &rules, pairs_out);
    check_same_variable(reader, pairs_out);
}

static void copy_pair(struct ty_spec_reader *reader, const struct ty_pair *pair,
                      struct ty_pairs *pairs)
{
    struct ty_pair *copy = &pairs->items[pairs->count++];

    copy->name = ty_spec_dup(reader, pair->name);
    copy->value = ty_spec_dup(reader, pair->value);
}

void ty_spec_merge_pairs(struct ty_spec_reader *reader, const struct ty_pairs *base,
                         const struct ty_pairs *over, struct ty_pairs *pairs_out)
{
    size_t i = 0;
    size_t k = 0;

    pairs_out->count = 0;
    pairs_out->items = ty_spec_alloc(reader, base->count + over->count, sizeof(*pairs_out->items));
    if (!pairs_out->items)
        return;
    while (i < base->count || k < over->count) {
        int order = i == base->count   ? 1
                    : k == over->count ? -1
                                       : strcmp(base->items[i].name, over->items[k].name);

        copy_pair(reader, order < 0 ? &base->items[i] : &over->items[k], pairs_out);
        i += order <= 0 ? 1 : 0;
        k += order >= 0 ? 1 : 0;
    }
}
