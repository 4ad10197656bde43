/* Keys of Secrets: a variable or a file of each. Nothing here ever sees a value. */
#include "spec_parts.h"

#include "trainyard/base/str.h"

#include <ctype.h>

enum { SECRETS_MAX = 32, KEY_BYTES = 253 };

static const struct ty_field secret_fields[] = {
    {"name", TY_FIELD_TEXT, offsetof(struct ty_spec_secret, name), 1, 253, NULL},
    {"key",  TY_FIELD_TEXT, offsetof(struct ty_spec_secret, key),  1, 253, NULL},
    {"env",  TY_FIELD_TEXT, offsetof(struct ty_spec_secret, env),  1, 0,   NULL},
    {"path", TY_FIELD_TEXT, offsetof(struct ty_spec_secret, path), 1, 0,   NULL},
};

static bool key_valid(const char *key)
{
    if (strlen(key) > KEY_BYTES || ty_str_equal(key, ".") || ty_str_starts(key, ".."))
        return false;
    for (; *key; key++)
        if (!isalnum((unsigned char)*key) && !strchr("-._", *key))
            return false;
    return true;
}

/* Neither `env` nor `path`: a variable called as the key. */
static void default_variable(struct ty_spec_reader *reader, struct ty_spec_secret *secret)
{
    if (!ty_spec_variable_valid(secret->key)) {
        ty_spec_fault_in(reader, "env", "required",
                         "is missing: the key %s cannot be a variable's name", secret->key);
        return;
    }
    secret->env = ty_spec_dup(reader, secret->key);
    size_t mark = ty_spec_enter(reader, "key");

    ty_spec_check_variable(reader, secret->key);
    ty_spec_leave(reader, mark);
}

static void check_use(struct ty_spec_reader *reader, const json_t *value,
                      struct ty_spec_secret *secret)
{
    bool has_env = json_object_get(value, "env");
    bool has_path = json_object_get(value, "path");

    if (has_env && has_path)
        ty_spec_fault_in(reader, "path", "env_or_path", "goes without env");
    if (!has_env && !has_path && secret->key)
        default_variable(reader, secret);
    if (has_env && secret->env) {
        size_t mark = ty_spec_enter(reader, "env");

        ty_spec_check_variable(reader, secret->env);
        ty_spec_leave(reader, mark);
    }
    const char *fault = secret->path ? ty_spec_secret_path_fault(secret->path) : NULL;

    if (fault)
        ty_spec_fault_in(reader, "path", "path_invalid", "%s", fault);
}

static void read_secret(struct ty_spec_reader *reader, const json_t *value, void *item)
{
    struct ty_spec_secret *secret = item;

    ty_spec_read_fields(reader, value, secret_fields, 4, secret);
    if (!json_is_object(value))
        return;
    if (!json_object_get(value, "name"))
        ty_spec_fault_in(reader, "name", "required", "is missing");
    else if (secret->name && !ty_dns1123_subdomain(secret->name))
        ty_spec_fault_in(reader, "name", "secret_name_invalid",
                         "must be lower-case letters, digits, - and . as in a DNS name");
    if (!json_object_get(value, "key"))
        ty_spec_fault_in(reader, "key", "required", "is missing");
    else if (secret->key && !key_valid(secret->key))
        ty_spec_fault_in(reader, "key", "secret_key_invalid",
                         "must be letters, digits, . _ and -, not beginning with two dots");
    else
        check_use(reader, value, secret);
}

/* Two secrets as one variable, or one file where the other is or needs a folder. */
static void check_among(struct ty_spec_reader *reader, const struct ty_spec_secrets *secrets,
                        size_t index)
{
    const struct ty_spec_secret *mine = &secrets->items[index];

    for (size_t i = 0; i < index; i++) {
        const struct ty_spec_secret *other = &secrets->items[i];

        if (mine->env && other->env && ty_str_equal(mine->env, other->env))
            ty_spec_fault_in(reader, "env", "env_name_taken", "%s is another secret's already",
                             mine->env);
        if (mine->path && other->path &&
            (ty_spec_path_below(mine->path, other->path) ||
             ty_spec_path_below(other->path, mine->path)))
            ty_spec_fault_in(reader, "path", "file_path_taken",
                             "is the path of another secret, or a folder of it");
    }
}

void ty_spec_read_secrets(struct ty_spec_reader *reader, const json_t *array,
                          struct ty_spec_secrets *secrets_out)
{
    secrets_out->items = ty_spec_read_items(reader, array, SECRETS_MAX, sizeof(*secrets_out->items),
                                            read_secret, &secrets_out->count);
    for (size_t i = 1; i < secrets_out->count; i++) {
        size_t mark = ty_spec_enter_index(reader, i);

        check_among(reader, secrets_out, i);
        ty_spec_leave(reader, mark);
    }
}

/* Where the program starts must be a folder. */
static void check_start(struct ty_spec_reader *reader, const char *path,
                        const struct ty_spec_role *role)
{
    const char *own = role->program == TY_PROGRAM_ENTRYPOINT ? NULL : TY_WORKING_DIR;
    const char *folder = role->working_dir ? role->working_dir : own;

    if (!folder || !ty_spec_path_below(folder, path))
        return;
    size_t mark = ty_spec_enter(reader, "path");

    ty_spec_fault_once(reader, "file_path_taken", "the program starts in the folder %s", folder);
    ty_spec_leave(reader, mark);
}

/* A file within a volume would be written into that volume; one above a volume cannot be a file. */
static void check_path(struct ty_spec_reader *reader, const char *path,
                       const struct ty_spec_role *role)
{
    check_start(reader, path, role);
    for (size_t i = 0; i < role->volumes_count; i++) {
        const char *mount = role->volumes[i].mount_path;

        if (ty_spec_path_below(path, mount) || ty_spec_path_below(mount, path)) {
            size_t mark = ty_spec_enter(reader, "path");

            ty_spec_fault_once(reader, "mount_path_taken", "a volume is mounted at %s already",
                               mount);
            ty_spec_leave(reader, mark);
            return;
        }
    }
}

static void check_variable_free(struct ty_spec_reader *reader, const char *name,
                                const struct ty_spec_role *role)
{
    for (size_t i = 0; i < role->env.count; i++) {
        if (!ty_str_equal(role->env.items[i].name, name))
            continue;
        size_t mark = ty_spec_enter(reader, "env");

        ty_spec_fault_once(reader, "env_name_taken", "%s is a variable of env already", name);
        ty_spec_leave(reader, mark);
    }
}

void ty_spec_check_secrets(struct ty_spec_reader *reader, const struct ty_spec_role *role)
{
    size_t mark = ty_spec_enter(reader, "secrets");

    for (size_t i = 0; i < role->secrets->count; i++) {
        const struct ty_spec_secret *secret = &role->secrets->items[i];
        size_t inner = ty_spec_enter_index(reader, i);

        if (secret->env)
            check_variable_free(reader, secret->env, role);
        if (secret->path)
            check_path(reader, secret->path, role);
        ty_spec_leave(reader, inner);
    }
    ty_spec_leave(reader, mark);
}
