/* The PyTorchJob: its run policy, its roles and what makes it elastic. Values that are missing are
 * the operator's defaults, not ours. */
#include "annotations.h"
#include "import.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <stdio.h>
#include <string.h>

static const struct import_choice clean_pods[] = {
    {"None",    "none"   },
    {"Running", "running"},
    {"All",     "all"    },
    {NULL,      NULL     }
};

/* --- run policy --- */

/* The operator gives up at the limit's restart in place; 0 and 1 are both the first (contract 3.5).
 */
static void read_backoff(struct import *im, const json_t *value)
{
    int64_t limit = 0;

    im->backoff = true;
    if (!import_integer(im, value, &limit))
        return;
    if (limit < 0 || limit > 1001)
        import_fault(im, "out_of_range", "must be 0 to 1001");
    else
        import_put(im, "max_retries", json_integer(limit > 0 ? limit - 1 : 0));
}

/* One member of the spec that two fields may say: they must agree. */
static void put_once(struct import *im, const char *member, const json_t *value)
{
    const json_t *known = json_object_get(im->target, member);

    if (!import_text(im, value))
        return;
    if (known && !json_equal(known, value))
        import_fault(im, "conflict", "says other than \"%s\", which the job says elsewhere",
                     json_string_value(known));
    else if (!known)
        import_put(im, member, import_copy(im, value));
}

/* clang-format off */
static const struct import_rule gang_rules[] = {
    FIELD_AS(IMPORT_INTEGER, "minAvailable", "min_available"),
    FIELD_AS(IMPORT_INTEGER, "scheduleTimeoutSeconds", "timeout_seconds"),
    FIELD_REFUSED("minResources", "{}", "the operator sums what the replicas ask for"),
};
/* clang-format on */

/* The queue and the class are the job's own members; the rest is the gang. */
static void read_gang(struct import *im, const json_t *value)
{
    static const char *const shared[][2] = {
        {"queue",         "queue"         },
        {"priorityClass", "priority_class"}
    };
    ty_auto_json rest = import_copy(im, value);

    if (!import_is_object(im, value) || !rest)
        return;
    for (size_t i = 0; i < 2; i++) {
        const json_t *given = import_get(value, shared[i][0]);
        size_t mark = import_enter(im, shared[i][0]);

        if (given)
            put_once(im, shared[i][1], given);
        import_leave(im, mark);
        json_object_del(rest, shared[i][0]);
    }
    struct import_target before = import_into(im, "gang", false);

    IMPORT_BY(im, rest, gang_rules);
    import_back(im, before);
}

/* clang-format off */
static const struct import_rule policy_rules[] = {
    FIELD_CHOICE("cleanPodPolicy", "clean_pods", clean_pods),
    FIELD_AS(IMPORT_INTEGER, "ttlSecondsAfterFinished", "keep_seconds"),
    FIELD_AS(IMPORT_INTEGER, "activeDeadlineSeconds", "timeout_seconds"),
    FIELD_READ("backoffLimit", read_backoff, NULL),
    FIELD_READ("schedulingPolicy", read_gang, "{}"),
    FIELD_AS(IMPORT_BOOLEAN, "suspend", "suspended"),
    FIELD_REFUSED("managedBy", "\"kubeflow.org/training-operator\"", "the training operator runs the gateway's jobs"),
};
/* clang-format on */

static void read_policy(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, policy_rules);
}

/* A field of runPolicy that stands beside it. The operator would lose it without a word (contract
 * 8); many published manifests have it so, and what it means is plain. */
static void read_misplaced_clean(struct import *im, const json_t *value)
{
    const char *text = import_choose(im, value, clean_pods);

    if (!text)
        return;
    if (json_object_get(im->spec, "clean_pods")) {
        import_fault(im, "not_supported", "belongs under runPolicy, where it is said already");
        return;
    }
    import_put(im, "clean_pods", json_string(text));
    import_warn(im, "misplaced_field",
                "belongs under runPolicy and is taken so; a cluster would ignore it here");
}

/* --- elastic --- */

/* The operator makes a variable of the options, where Kubernetes takes $$ for a dollar sign. */
static void put_option(struct import *im, const char *key, const char *value)
{
    ty_auto_free char *text = import_unescape(im, value, false);

    if (text)
        import_put(im, key, json_string(text));
}

static void read_conf(struct import *im, const json_t *value)
{
    size_t index;
    json_t *pair;

    if (!import_is_array(im, value))
        return;
    struct import_target before = import_into(im, "conf", false);

    json_array_foreach(value, index, pair)
    {
        size_t mark = import_enter_index(im, index);
        const char *key = import_get_text(pair, "key");
        const json_t *text = import_get(pair, "value");

        if (!key || !json_is_string(text) || json_object_size(pair) != 2)
            import_fault(im, "wrong_type", "must have a key and a value, both text");
        else if (json_object_get(im->target, key))
            import_fault(im, "conflict", "the key %s is there twice", key);
        else
            put_option(im, key, json_string_value(text));
        import_leave(im, mark);
    }
    import_back(im, before);
}

/* Our renderer makes one for each attempt, "<object name>-<attempt>". */
static void read_id(struct import *im, const json_t *value)
{
    const char *text = import_text(im, value);
    size_t len = im->job.name ? strlen(im->job.name) : 0;
    int64_t attempt;
    bool made = text && im->ours && len > 0 && ty_str_starts(text, im->job.name) &&
                text[len] == '-' && ty_str_to_int(text + len + 1, 1, INT32_MAX, &attempt) == TY_OK;

    if (text && !made)
        import_put(im, "id", json_string(text));
}

static void read_elastic_processes(struct import *im, const json_t *value)
{
    int64_t number = 0;

    if (!import_integer(im, value, &number))
        return;
    if (im->processes) {
        import_fault(im, "conflict", "cannot go with spec.nprocPerNode");
        return;
    }
    snprintf(im->number, sizeof(im->number), "%lld", (long long)number);
    im->processes = im->number;
}

static const struct import_choice backends[] = {
    {"c10d",    "c10d"   },
    {"etcd",    "etcd"   },
    {"etcd-v2", "etcd-v2"},
    {NULL,      NULL     }
};

/* clang-format off */
static const struct import_rule elastic_rules[] = {
    FIELD_AS(IMPORT_INTEGER, "minReplicas", "min"),
    FIELD_AS(IMPORT_INTEGER, "maxReplicas", "max"),
    FIELD_AS(IMPORT_INTEGER, "maxRestarts", "max_restarts"),
    FIELD_READ("nProcPerNode", read_elastic_processes, NULL),
    FIELD_REFUSED("standalone", "false", "torchrun cannot start with it in a PyTorchJob"),
    FIELD_REFUSED("metrics", NULL, "the gateway scales a job when it is told to, not by metrics"),
    FIELD_REFUSED("rdzvBackend", NULL, ""),
    FIELD_REFUSED("rdzvHost", NULL, ""),
    FIELD_REFUSED("rdzvPort", NULL, ""),
    FIELD_REFUSED("rdzvId", NULL, ""),
    FIELD_REFUSED("rdzvConf", NULL, ""),
};
static const struct import_rule rendezvous_rules[] = {
    FIELD_CHOICE("rdzvBackend", "backend", backends),
    FIELD_AS(IMPORT_TEXT, "rdzvHost", "host"),
    FIELD_AS(IMPORT_INTEGER, "rdzvPort", "port"),
    FIELD_READ("rdzvId", read_id, NULL),
    FIELD_READ("rdzvConf", read_conf, "[]"),
};
/* clang-format on */

enum { RENDEZVOUS = sizeof(rendezvous_rules) / sizeof(rendezvous_rules[0]) };

/* The policy in two: what is the job's, and how its workers meet. */
static json_t *split_rendezvous(struct import *im, const json_t *policy, json_t **rest_out)
{
    json_t *rest = import_copy(im, policy);
    json_t *meeting = import_made(im, json_object());

    for (size_t i = 0; rest && i < RENDEZVOUS; i++) {
        json_t *value = json_object_get(rest, rendezvous_rules[i].field);

        if (value && json_object_set(meeting, rendezvous_rules[i].field, value) != 0)
            im->no_memory = true;
        json_object_del(rest, rendezvous_rules[i].field);
    }
    *rest_out = rest;
    return meeting;
}

static void default_bounds(struct import *im, int64_t replicas)
{
    const json_t *min = json_object_get(im->target, "min");
    const json_t *max = json_object_get(im->target, "max");
    int64_t low = min ? json_integer_value(min) : max ? json_integer_value(max) : replicas;
    int64_t high = max ? json_integer_value(max) : low;

    if (!min)
        import_put(im, "min", json_integer(low));
    if (!max)
        import_put(im, "max", json_integer(high));
}

static void read_elastic(struct import *im, const json_t *value)
{
    ty_auto_json rest = NULL;

    if (!import_is_object(im, value))
        return;
    im->elastic = value;
    if (im->roles[0].given)
        import_fault(im, "not_supported",
                     "an elastic job has workers only: the operator counts a Master wrongly");
    ty_auto_json meeting = split_rendezvous(im, value, &rest);
    struct import_target before = import_into(im, "elastic", false);

    if (rest)
        IMPORT_BY(im, rest, elastic_rules);
    default_bounds(im, im->roles[1].replicas);
    if (json_object_size(meeting) > 0) {
        struct import_target inner = import_into(im, "rendezvous", false);

        IMPORT_BY(im, meeting, rendezvous_rules);
        json_t *made = im->target;

        import_back(im, inner);
        if (json_object_size(made) == 0)
            json_object_del(im->target, "rendezvous");
    }
    import_back(im, before);
}

/* --- roles --- */

static const struct import_choice restarts[] = {
    {"Always",    "Always"   },
    {"OnFailure", "OnFailure"},
    {"Never",     "Never"    },
    {"ExitCode",  "ExitCode" },
    {NULL,        NULL       }
};

static void read_replicas(struct import *im, const json_t *value)
{
    int64_t number = 0;
    bool master = im->role == &im->roles[0];

    if (!import_integer(im, value, &number))
        return;
    if (number < 1 || (master && number > 1) || number > 1000)
        import_fault(im, "out_of_range", master ? "must be 1" : "must be 1 to 1000");
    else
        im->role->replicas = number;
}

static void read_restart(struct import *im, const json_t *value)
{
    const char *text = import_choose(im, value, restarts);

    if (text)
        im->role->restart = text;
}

/* clang-format off */
static const struct import_rule role_rules[] = {
    FIELD_READ("replicas", read_replicas, NULL),
    FIELD_READ("restartPolicy", read_restart, NULL),
    FIELD_READ("template", import_pod, NULL),
};
/* clang-format on */

static void read_role(struct import *im, struct import_role *role, const json_t *value)
{
    role->given = true;
    import_aim(im, role);
    IMPORT_BY(im, value, role_rules);
    if (json_is_object(value) && !import_get(value, "template"))
        import_fault_in(im, "template", "required", "is missing");
    import_aim(im, NULL);
}

static void read_roles(struct import *im, const json_t *value)
{
    const char *key;
    json_t *role;

    if (!import_is_object(im, value))
        return;
    json_object_foreach((json_t *)(uintptr_t)value, key, role)
    {
        size_t mark = import_enter(im, key);
        struct import_role *found = ty_str_equal(key, "Master")   ? &im->roles[0]
                                    : ty_str_equal(key, "Worker") ? &im->roles[1]
                                                                  : NULL;

        if (found && !json_is_null(role))
            read_role(im, found, role);
        else if (!found)
            import_fault(im, "unknown_member", "roles are Master and Worker, written so");
        import_leave(im, mark);
    }
}

static void read_processes(struct import *im, const json_t *value)
{
    im->processes = import_text(im, value);
}

#define UNDER_POLICY "belongs under runPolicy"

/* clang-format off */
static const struct import_rule spec_rules[] = {
    FIELD_READ("pytorchReplicaSpecs", read_roles, NULL),
    FIELD_READ("runPolicy", read_policy, NULL),
    FIELD_READ("nprocPerNode", read_processes, NULL),
    FIELD_READ("elasticPolicy", read_elastic, NULL),
    FIELD_READ("cleanPodPolicy", read_misplaced_clean, NULL),
    FIELD_REFUSED("backoffLimit", NULL, UNDER_POLICY),
    FIELD_REFUSED("activeDeadlineSeconds", NULL, UNDER_POLICY),
    FIELD_REFUSED("ttlSecondsAfterFinished", NULL, UNDER_POLICY),
    FIELD_REFUSED("schedulingPolicy", NULL, UNDER_POLICY),
    FIELD_REFUSED("suspend", NULL, UNDER_POLICY),
    FIELD_REFUSED("managedBy", NULL, UNDER_POLICY),
    FIELD_REFUSED("restartPolicy", NULL, "belongs under each role of pytorchReplicaSpecs"),
};
/* clang-format on */

static void read_spec(struct import *im, const json_t *value)
{
    IMPORT_BY(im, value, spec_rules);
    if (!json_is_object(value))
        return;
    if (!json_object_get(im->spec, "clean_pods"))
        import_put(im, "clean_pods", json_string("none"));
    if (!im->roles[0].given && !im->roles[1].given)
        import_fault_in(im, "pytorchReplicaSpecs", "required", "must have a Master");
    else if (!im->roles[0].given && !im->elastic)
        import_fault_in(im, "pytorchReplicaSpecs", "not_supported",
                        "workers without a Master find each other only with an elasticPolicy");
}

static void read_word(struct import *im, const json_t *value)
{
    (void)im;
    (void)value; /* judged when the stream was sorted */
}

/* clang-format off */
static const struct import_rule job_rules[] = {
    FIELD_READ("apiVersion", read_word, NULL),
    FIELD_READ("kind", read_word, NULL),
    FIELD_READ("metadata", import_job_metadata, NULL),
    FIELD_READ("spec", read_spec, NULL),
    FIELD_REFUSED("status", "{}", "is written by the operator: remove it"),
};
/* clang-format on */

void import_job(struct import *im)
{
    import_go(im, &im->job);
    import_aim(im, NULL);
    import_note(im, NULL); /* what comes from nowhere else comes from the job */
    IMPORT_BY(im, im->job.json, job_rules);
    if (!import_get(im->job.json, "metadata"))
        import_fault_in(im, "metadata", "required", "is missing");
    if (!import_get(im->job.json, "spec"))
        import_fault_in(im, "spec", "required", "is missing");
}
