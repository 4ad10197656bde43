/* How much a spec takes, judged against the policy's limits. Values are the spec's, after defaults
 * and overrides; the pointer names the member of the body that brought the value. */
#include "policy_inside.h"

#include "trainyard/base/str.h"

#include <inttypes.h>
#include <stdio.h>

enum { POINTER = 64 };

struct judge {
    const struct ty_policy *policy;
    const struct ty_policy_scene *scene;
    const json_t *body;
    const struct ty_job_spec *spec;
    struct ty_faults *faults;
};

static void check(struct judge *judge, ty_policy_limit limit, const char *pointer, int64_t value,
                  const char *unit)
{
    int64_t most = judge->policy->limits[limit];

    if (value > most)
        ty_faults_add(judge->faults, TY_AT_POINTER, pointer, "limit_exceeded",
                      "is %" PRId64 "%s; the tenant's policy allows at most %" PRId64 "%s", value,
                      unit, most, unit);
}

/* Silence means no limit: the value must be said. */
static void check_said(struct judge *judge, ty_policy_limit limit, const char *pointer,
                       int64_t value, const char *unit)
{
    int64_t most = judge->policy->limits[limit];

    if (value == 0 && most != INT64_MAX)
        ty_faults_add(judge->faults, TY_AT_POINTER, pointer, "limit_required",
                      "must be given: the tenant's policy allows at most %" PRId64 "%s", most,
                      unit);
    else
        check(judge, limit, pointer, value, unit);
}

/* The member of `resources` that sets a role's use of `name`, as a pointer below `prefix`. */
static void check_resource(struct judge *judge, ty_policy_limit limit, const json_t *holder,
                           const char *prefix, const char *name, int64_t value)
{
    const json_t *limits = json_object_get(json_object_get(holder, "resources"), "limits");
    char pointer[POINTER];

    snprintf(pointer, sizeof(pointer), "%s/resources%s/%s", prefix,
             json_object_get(limits, name) ? "/limits" : "", name);
    check_said(judge, limit, pointer, value, limit == TY_LIMIT_CPU ? "m" : " bytes");
}

static void check_resources(struct judge *judge, const struct ty_spec_role *role,
                            const json_t *holder, const char *prefix)
{
    check_resource(judge, TY_LIMIT_CPU, holder, prefix, "cpu", role->resources.cpu_millis);
    check_resource(judge, TY_LIMIT_MEMORY, holder, prefix, "memory", role->resources.memory_bytes);
}

static void check_gpus(struct judge *judge, const struct ty_spec_role *role, const json_t *holder,
                       const char *prefix)
{
    char pointer[POINTER];

    (void)holder;
    snprintf(pointer, sizeof(pointer), "%s/gpus", prefix);
    check(judge, TY_LIMIT_GPUS_PER_REPLICA, pointer, role->resources.gpus, "");
}

/* What each role has of `member`: told at the role's own member where it overrides the job's, and
 * once for what it has from the job. */
static void check_roles(struct judge *judge, const char *member,
                        void (*check_one)(struct judge *judge, const struct ty_spec_role *role,
                                          const json_t *holder, const char *prefix))
{
    const struct {
        const struct ty_spec_role *role;
        const char *name;
        const char *prefix;
    } roles[] = {
        {&judge->spec->master, "master", "/master"},
        {&judge->spec->worker, "worker", "/worker"},
    };
    bool job_told = false;

    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        const json_t *override = json_object_get(judge->body, roles[i].name);
        bool own = json_object_get(override, member);

        if (roles[i].role->replicas == 0 || (!own && job_told))
            continue;
        if (own)
            check_one(judge, roles[i].role, override, roles[i].prefix);
        else
            check_one(judge, roles[i].role, judge->body, "");
        job_told = job_told || !own;
    }
}

/* A job that may be scaled is judged by the most it may grow to. */
static void check_size(struct judge *judge)
{
    const json_t *elastic = json_object_get(judge->body, "elastic");
    const json_t *max = json_object_get(elastic, "max");
    const struct ty_job_spec *spec = judge->spec;

    if (max) {
        int64_t most = json_integer_value(max);

        check(judge, TY_LIMIT_REPLICAS, "/elastic/max", most, "");
        check(judge, TY_LIMIT_GPUS, "/elastic/max", most * spec->worker.resources.gpus, " GPUs");
        check(judge, TY_LIMIT_RETRIES, "/elastic/max_restarts", spec->elastic.max_restarts, "");
    } else {
        check(judge, TY_LIMIT_REPLICAS, "/replicas", spec->replicas, "");
        check(judge, TY_LIMIT_GPUS, "/gpus", ty_job_spec_gpus(spec), " in all");
    }
}

void ty_policy_judge_amounts(const struct ty_policy *policy, const struct ty_policy_scene *scene,
                             const json_t *body, const struct ty_job_spec *spec, size_t spec_bytes,
                             struct ty_faults *faults)
{
    struct judge judge = {policy, scene, body, spec, faults};
    int64_t timeout =
        spec->timeout_seconds > 0 ? spec->timeout_seconds : scene->default_timeout_seconds;
    int64_t keep = spec->keep_seconds >= 0 ? spec->keep_seconds : scene->default_keep_seconds;

    check_size(&judge);
    check_roles(&judge, "resources", check_resources);
    check_roles(&judge, "gpus", check_gpus);
    check_said(&judge, TY_LIMIT_TIMEOUT, "/timeout_seconds", timeout, " s");
    check(&judge, TY_LIMIT_KEEP, "/keep_seconds", keep, " s");
    check(&judge, TY_LIMIT_PROCESSES, "/processes_per_replica", spec->processes_per_replica, "");
    check(&judge, TY_LIMIT_RETRIES, "/max_retries", spec->max_retries, "");
    check(&judge, TY_LIMIT_SPEC_BYTES, "", (int64_t)spec_bytes, " bytes");
}
