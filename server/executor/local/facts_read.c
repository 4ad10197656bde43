#include "executor/local/facts_read.h"

#include "executor/local/objects.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

enum { REPLICAS_MAX = 1024 };

static const struct {
    const char *name;
    ty_seen_kind kind;
} kinds[] = {
    {"starting",   TY_SEEN_STARTING  },
    {"running",    TY_SEEN_RUNNING   },
    {"restarting", TY_SEEN_RESTARTING},
    {"succeeded",  TY_SEEN_SUCCEEDED },
    {"failed",     TY_SEEN_FAILED    },
    {"stopped",    TY_SEEN_STOPPED   },
    {"gone",       TY_SEEN_GONE      },
};

static const char *const phases[] = {"pending", "running", "succeeded", "failed"};

static ty_job_cause find_cause(const char *name)
{
    ty_job_cause cause;
    return ty_job_cause_parse(name, &cause) == TY_OK ? cause : TY_CAUSE_NONE;
}

static void read_exit(const json_t *object, struct ty_job_exit *out)
{
    if (!json_is_object(object))
        return;
    out->known = true;
    out->code = (int32_t)ty_object_int(object, "code", 0);
    out->signal = (int32_t)ty_object_int(object, "signal", 0);
    ty_str_copy(out->replica, sizeof out->replica, ty_object_text(object, "replica", ""));
}

static void read_replica(const json_t *object, struct ty_replica *out)
{
    struct ty_job_exit ended = {0};
    const char *phase = ty_object_text(object, "phase", "");
    ty_str_copy(out->name, sizeof out->name, ty_object_text(object, "name", ""));
    ty_str_copy(out->reason, sizeof out->reason, ty_object_text(object, "reason", ""));
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (ty_str_equal(phase, phases[i]))
            out->phase = (ty_replica_phase)i;
    }
    read_exit(json_object_get(object, "exit"), &ended);
    out->restarts = (int32_t)ty_object_int(object, "restarts", 0);
    out->has_exit = ended.known;
    out->exit_code = ended.code;
    out->exit_signal = ended.signal;
    out->started_at = ty_object_int(object, "started_at", 0);
    out->finished_at = ty_object_int(object, "finished_at", 0);
}

static ty_status read_replicas(const json_t *array, struct ty_fact *out, struct ty_error *err)
{
    size_t count = json_array_size(array);
    if (count > REPLICAS_MAX)
        return ty_fail(err, TY_CORRUPT, "a status line has %zu replicas", count);
    out->replicas = calloc(count + 1, sizeof *out->replicas);
    if (!out->replicas)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a status line");
    out->replica_count = count;
    for (size_t i = 0; i < count; i++)
        read_replica(json_array_get(array, i), &out->replicas[i]);
    return TY_OK;
}

static ty_status read_state(const json_t *object, int32_t attempt, struct ty_fact *out,
                            struct ty_error *err)
{
    const char *kind = ty_object_text(object, "kind", "");
    size_t at = 0;
    while (at < sizeof kinds / sizeof *kinds && !ty_str_equal(kinds[at].name, kind))
        at++;
    if (at == sizeof kinds / sizeof *kinds)
        return ty_fail(err, TY_CORRUPT, "a status line has no known kind");
    out->terminal = json_is_true(json_object_get(object, "terminal"));
    out->seen.kind = kinds[at].kind;
    out->seen.attempt = attempt;
    out->seen.cause = find_cause(ty_object_text(object, "cause", ""));
    out->seen.restarts = (int32_t)ty_object_int(object, "restarts", 0);
    out->seen.at = ty_object_int(object, "at", 0);
    ty_str_copy(out->seen.message, sizeof out->seen.message, ty_object_text(object, "message", ""));
    read_exit(json_object_get(object, "exit"), &out->seen.exit);
    return read_replicas(json_object_get(object, "replicas"), out, err);
}

ty_status ty_fact_read(const char *line, size_t len, int32_t attempt, struct ty_fact *out,
                       struct ty_error *err)
{
    ty_auto_json object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
    const char *event = ty_object_text(object, "event", NULL);
    if (!event)
        return ty_fail(err, TY_CORRUPT, "a line of the run's status cannot be read");
    struct ty_fact fact = {.kind = FACT_OTHER};
    if (ty_str_equal(event, "supervisor"))
        fact.kind = FACT_SUPERVISOR;
    else if (ty_str_equal(event, "process"))
        fact.kind = FACT_PROCESS;
    else if (ty_str_equal(event, "state"))
        fact.kind = FACT_STATE;
    fact.pid = ty_object_int(object, "pid", 0);
    fact.birth = ty_object_int(object, "birth", 0);
    if (fact.kind == FACT_STATE) {
        ty_status status = read_state(object, attempt, &fact, err);
        if (status != TY_OK)
            return status;
    }
    *out = fact;
    return TY_OK;
}

void ty_fact_done(struct ty_fact *fact)
{
    free(fact->replicas);
    *fact = (struct ty_fact){0};
}
