/* The body that is run: what the request leaves out is filled by the policy, what the policy forces
 * replaces what was given. */
#include "policy_inside.h"

#include "spec_reader.h"
#include "trainyard/base/json.h"
#include "trainyard/base/str.h"

#include <stdio.h>
#include <string.h>

static const char *const roles[] = {"master", "worker"};
enum { ROLES = sizeof(roles) / sizeof(roles[0]), RETRIES_UNLESS_SAID = 3 };

static void note_change(struct ty_spec_reader *at, struct ty_policy_changes *changes)
{
    if (changes->count == changes->max)
        return;
    struct ty_warning *warning = &changes->items[changes->count++];

    ty_str_copy(warning->code, sizeof(warning->code), "value_forced");
    ty_str_copy(warning->pointer, sizeof(warning->pointer), at->at);
    ty_str_copy(warning->message, sizeof(warning->message),
                "The tenant's policy forces another value than the one given, which was replaced.");
}

static void note_changes(struct ty_spec_reader *at, const json_t *given, const json_t *forced,
                         struct ty_policy_changes *changes);

/* Every given value below `key` of `given` that `value` will replace by another. */
static void note_member(struct ty_spec_reader *at, const json_t *given, const char *key,
                        const json_t *value, struct ty_policy_changes *changes)
{
    const json_t *old = json_object_get(given, key);
    size_t mark = ty_spec_enter(at, key);

    if (json_is_object(old) && json_is_object(value))
        note_changes(at, old, value, changes);
    else if (old && !json_equal(old, value))
        note_change(at, changes);
    ty_spec_leave(at, mark);
}

static void note_changes(struct ty_spec_reader *at, const json_t *given, const json_t *forced,
                         struct ty_policy_changes *changes)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)forced, key, value)
        note_member(at, given, key, value, changes);
}

/* What is forced for the job holds for its roles too, which could say otherwise of the same member;
 * but for `volumes`, which a role has beside the job's. */
static ty_status force_role(json_t *body, const char *role, const json_t *forced,
                            struct ty_policy_changes *changes, struct ty_error *err)
{
    json_t *override = json_object_get(body, role);
    struct ty_spec_reader at;
    const char *key;
    json_t *value;

    ty_spec_reader_init(&at, NULL);
    (void)ty_spec_enter(&at, role);
    json_object_foreach((json_t *)(uintptr_t)forced, key, value)
    {
        if (!json_object_get(override, key) || ty_str_equal(key, "volumes"))
            continue;
        note_member(&at, override, key, value, changes);
        if (ty_json_merge_member(override, key, value, err) != TY_OK)
            return err->status;
    }
    return TY_OK;
}

static ty_status force(const struct ty_policy *policy, json_t *body,
                       struct ty_policy_changes *changes, struct ty_error *err)
{
    struct ty_spec_reader at;

    for (size_t i = 0; i < ROLES; i++)
        if (force_role(body, roles[i], policy->forced, changes, err) != TY_OK)
            return err->status;
    ty_spec_reader_init(&at, NULL);
    note_changes(&at, body, policy->forced, changes);
    return ty_json_merge(body, policy->forced, err);
}

/* The members of `given` over a copy of the defaults: objects fill each other, all else stands as
 * given. */
static ty_status fill(const json_t *defaults, const json_t *given, json_t **body_out,
                      struct ty_error *err)
{
    json_t *body = defaults ? json_deep_copy(defaults) : json_object();

    if (!body)
        return ty_fail(err, TY_NO_MEMORY, "policy");
    if (ty_json_merge(body, given, err) != TY_OK) {
        json_decref(body);
        return err->status;
    }
    *body_out = body;
    return TY_OK;
}

/* Members for which silence would mean more than the policy allows: they take the limit. */
static ty_status fill_limit(json_t *body, const char *member, int64_t meant, int64_t limit,
                            struct ty_error *err)
{
    if (limit == INT64_MAX || json_object_get(body, member) || meant <= limit)
        return TY_OK;
    if (json_object_set_new(body, member, json_integer(limit)) != 0)
        return ty_fail(err, TY_NO_MEMORY, "policy");
    return TY_OK;
}

/* What silence means: no end, unless the tenant has a default. */
static int64_t or_never(int64_t seconds, int64_t unset)
{
    return seconds == unset ? INT64_MAX : seconds;
}

static ty_status fill_limits(const struct ty_policy *policy, const struct ty_policy_scene *scene,
                             json_t *body, struct ty_error *err)
{
    const char *restart = json_string_value(json_object_get(body, "restart"));
    int64_t retries = restart && ty_str_equal(restart, "never") ? 0 : RETRIES_UNLESS_SAID;
    const struct {
        const char *member;
        int64_t meant;
        ty_policy_limit limit;
    } silent[] = {
        {"timeout_seconds", or_never(scene->default_timeout_seconds, 0),         TY_LIMIT_TIMEOUT},
        {"keep_seconds",                 or_never(scene->default_keep_seconds,                                           -1), TY_LIMIT_KEEP},
        {"max_retries",    retries,                                           TY_LIMIT_RETRIES                                        },
    };

    for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
        if (fill_limit(body, silent[i].member, silent[i].meant, policy->limits[silent[i].limit],
                       err) != TY_OK)
            return err->status;
    return TY_OK;
}

static bool changes_nothing(const struct ty_policy *policy)
{
    return json_object_size(policy->defaults) == 0 && json_object_size(policy->forced) == 0 &&
           policy->limits[TY_LIMIT_TIMEOUT] == INT64_MAX &&
           policy->limits[TY_LIMIT_KEEP] == INT64_MAX &&
           policy->limits[TY_LIMIT_RETRIES] == INT64_MAX;
}

ty_status ty_policy_apply(const struct ty_policy *policy, const struct ty_policy_scene *scene,
                          json_t *given, json_t **body_out, struct ty_policy_changes *changes,
                          struct ty_error *err)
{
    struct ty_error local = {0};
    json_t *body = NULL;

    if (changes_nothing(policy)) {
        *body_out = json_incref(given);
        return TY_OK;
    }
    err = err ? err : &local;
    ty_status status = fill(policy->defaults, given, &body, err);
    if (status == TY_OK)
        status = force(policy, body, changes, err);
    if (status == TY_OK)
        status = fill_limits(policy, scene, body, err);
    if (status != TY_OK) {
        json_decref(body);
        return status;
    }
    *body_out = body;
    return TY_OK;
}
