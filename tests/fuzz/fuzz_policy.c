/* Any JSON as {"policy", "job"}: a policy that can be read is applied to the job and judges it.
 * What it makes of a job it makes again of its own result; an open one finds nothing to say; what
 * it lets through when it lists nothing names nothing but the policy's own. */
#include "trainyard/base/json.h"
#include "trainyard/base/str.h"
#include "trainyard/domain/image.h"
#include "trainyard/domain/policy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ty_policy_scene scene = {.namespace = "team", .default_keep_seconds = -1};

static struct ty_policy *read(const json_t *document)
{
    struct ty_policy *policy = NULL;
    struct ty_faults faults;

    ty_faults_init(&faults);
    if (ty_policy_parse(document, &policy, &faults, NULL) != TY_OK && !ty_faults_any(&faults))
        abort();
    return policy;
}

static json_t *apply(const struct ty_policy *policy, json_t *job, size_t *changes_out)
{
    struct ty_warning warnings[8];
    struct ty_policy_changes changes = {.items = warnings, .max = 8};
    json_t *body = NULL;

    if (ty_policy_apply(policy, &scene, job, &body, &changes, NULL) != TY_OK)
        abort();
    *changes_out = changes.count;
    return body;
}

static size_t judge(const struct ty_policy *policy, const json_t *body)
{
    struct ty_faults faults;

    ty_faults_init(&faults);
    if (ty_policy_judge_names(policy, &scene, body, &faults, NULL) != TY_OK)
        abort();
    return faults.count;
}

static void check_open(const json_t *body)
{
    json_t *document = json_loads(TY_POLICY_OPEN, 0, NULL);
    struct ty_policy *open = read(document);

    if (!open || judge(open, body) > 0)
        abort();
    ty_policy_unref(open);
    json_decref(document);
}

static void check(const struct ty_policy *policy, json_t *job)
{
    size_t changes;
    json_t *before = json_deep_copy(job);
    json_t *body = apply(policy, job, &changes);
    json_t *again = apply(policy, body, &changes);

    if (!json_equal(body, again) || changes > 0 || !json_equal(job, before))
        abort();
    (void)judge(policy, body);
    check_open(body);
    json_decref(before);
    json_decref(body);
    json_decref(again);
}

/* A pattern that is a reference matches what it is. */
static void check_image(const char *text)
{
    struct ty_image_pattern pattern;
    struct ty_image image;

    if (ty_image_parse(text, &image) == TY_OK && ty_image_pattern_parse(text, &pattern) == TY_OK &&
        !ty_image_matches(&pattern, &image))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *input = NULL;

    if (ty_json_parse((const char *)data, size, &input, NULL) != TY_OK)
        return 0;
    json_t *job = json_object_get(input, "job");
    const char *image = json_string_value(json_object_get(job, "image"));
    struct ty_policy *policy =
        read(json_object_get(input, "policy") ? json_object_get(input, "policy") : input);

    if (policy && json_is_object(job))
        check(policy, job);
    if (image)
        check_image(image);
    ty_policy_unref(policy);
    json_decref(input);
    return 0;
}
