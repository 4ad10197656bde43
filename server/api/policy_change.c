/* A policy set by an administrator: merged, judged, made into text. */
#include "api/policy.h"

enum { POLICY_TEXT_MAX = 32 * 1024 };

/* Members that are the job itself, so that no policy can give them. */
static const struct {
    const char *holder;
    const char *member;
    const char *why;
} own_members[] = {
    {"defaults", "image",   "is required of every request, so that a default is never used"},
    {"defaults", "script",  "is the job itself: a request says script or command"          },
    {"defaults", "command", "is the job itself: a request says script or command"          },
    {"forced",   "script",  "is the job itself: a request says script or command"          },
    {"forced",   "command", "is the job itself: a request says script or command"          },
};

static void refuse_own_members(const json_t *document, struct ty_faults *faults)
{
    char pointer[64];
    for (size_t i = 0; i < sizeof own_members / sizeof own_members[0]; i++) {
        if (!json_object_get(json_object_get(document, own_members[i].holder),
                             own_members[i].member))
            continue;
        snprintf(pointer, sizeof pointer, "/policy/%s/%s", own_members[i].holder,
                 own_members[i].member);
        ty_faults_add(faults, TY_AT_POINTER, pointer, "not_allowed", "%s", own_members[i].why);
    }
}

/* Copy faults of a part to their place in the whole. */
static void move_faults(const struct ty_faults *from, const char *prefix, struct ty_faults *to)
{
    char where[sizeof from->items[0].where + 32];
    for (size_t i = 0; i < from->count; i++) {
        snprintf(where, sizeof where, "%s%s", prefix, from->items[i].where);
        ty_faults_add(to, TY_AT_POINTER, where, from->items[i].code, "%s", from->items[i].detail);
    }
}

/* The members of a job as they would stand in one: the contract judges a job that has nothing
 * else. */
static ty_status check_members(const struct ty_api *api, const json_t *document, const char *holder,
                               struct ty_faults *faults, struct ty_error *err)
{
    const json_t *members = json_object_get(document, holder);
    ty_auto_json job = json_pack("{ssss}", "image", "image", "script", "script");
    struct ty_faults own;
    char prefix[32];
    if (!job)
        return ty_fail(err, TY_NO_MEMORY, "policy");
    if (ty_json_merge(job, members, err) != TY_OK)
        return err->status;
    (void)json_object_del(job, "command");
    ty_faults_init(&own);
    ty_status status = ty_contract_check(api->options.contract, "JobSpec", job, &own, err);
    if (status != TY_REFUSED)
        return status;
    snprintf(prefix, sizeof prefix, "/policy/%s", holder);
    move_faults(&own, prefix, faults);
    return TY_OK;
}

static ty_status check_document(const struct ty_api *api, const json_t *document,
                                struct ty_faults *faults, struct ty_error *err)
{
    struct ty_policy *policy = NULL;
    struct ty_faults own;
    ty_faults_init(&own);
    ty_status status = ty_contract_check(api->options.contract, "Policy", document, &own, err);
    if (status == TY_OK)
        status = ty_policy_parse(document, &policy, &own, err);
    ty_policy_unref(policy);
    if (status != TY_OK && status != TY_REFUSED)
        return status;
    move_faults(&own, "/policy", faults);
    refuse_own_members(document, faults);
    if (check_members(api, document, "defaults", faults, err) != TY_OK ||
        check_members(api, document, "forced", faults, err) != TY_OK)
        return err->status;
    if (!ty_faults_any(faults))
        return TY_OK;
    return ty_fail_code(err, TY_REFUSED, "validation_failed", "the policy is not allowed");
}

static ty_status merged(const char *stored, const json_t *patch, json_t **document_out,
                        struct ty_error *err)
{
    ty_auto_json document = NULL;
    if (ty_json_parse(stored, strlen(stored), &document, err) != TY_OK)
        return err->status;
    if (json_is_null(patch))
        json_object_clear(document);
    if (ty_json_merge(document, patch, err) != TY_OK)
        return err->status;
    *document_out = ty_steal(&document);
    return TY_OK;
}

ty_status api_policy_merge(const struct ty_api *api, const char *stored, const json_t *patch,
                           char **text_out, struct ty_faults *faults, struct ty_error *err)
{
    ty_auto_json document = NULL;
    if (merged(stored, patch, &document, err) != TY_OK ||
        check_document(api, document, faults, err) != TY_OK)
        return err->status;
    char *text = json_dumps(document, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (!text)
        return ty_fail(err, TY_NO_MEMORY, "policy");
    if (strlen(text) > POLICY_TEXT_MAX) {
        ty_faults_add(faults, TY_AT_POINTER, "/policy", "too_large", "has %zu bytes, at most %d",
                      strlen(text), POLICY_TEXT_MAX);
        free(text);
        return ty_fail_code(err, TY_REFUSED, "validation_failed", "the policy is too large");
    }
    *text_out = text;
    return TY_OK;
}
