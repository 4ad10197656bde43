#include "engine_fixture.h"

#include "trainyard/base/str.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* --- the executor --- */
static struct script *of(struct ty_executor *executor)
{
    return (struct script *)executor;
}

static struct call *note(struct script *script, call_kind kind, const char *job_id,
                         const char *object_name, int32_t attempt)
{
    assert_true(script->calls_count < CALLS_MAX);
    struct call *call = &script->calls[script->calls_count++];
    *call = (struct call){.kind = kind, .attempt = attempt};
    ty_str_copy(call->job_id, sizeof(call->job_id), job_id);
    ty_str_copy(call->object_name, sizeof(call->object_name), object_name);
    return call;
}

static ty_status answer(const struct script *script, call_kind kind, struct ty_error *err)
{
    ty_status status = script->answers[kind];
    if (status == TY_OK)
        return TY_OK;
    return ty_fail_code(err, status, script->code ? script->code : "", "as the script says");
}

static ty_status script_start(struct ty_executor *executor, ty_executor_observer *observer,
                              void *context, struct ty_error *err)
{
    (void)err;
    of(executor)->observer = observer;
    of(executor)->context = context;
    return TY_OK;
}

static ty_status script_apply(struct ty_executor *executor, const struct ty_run *run,
                              struct ty_error *err)
{
    struct call *call = note(of(executor), CALL_APPLY, run->job_id, run->object_name, run->attempt);
    const char *resume = json_string_value(json_array_get(run->manifest->objects, 0));
    ty_str_copy(call->text, sizeof(call->text), resume ? resume : "");
    assert_non_null(run->spec);
    call->replicas = run->spec->replicas;
    return answer(of(executor), CALL_APPLY, err);
}

static ty_status script_stop(struct ty_executor *executor, const struct ty_run_ref *run,
                             struct ty_error *err)
{
    note(of(executor), CALL_STOP, run->job_id, run->object_name, run->attempt);
    return answer(of(executor), CALL_STOP, err);
}

static ty_status script_scale(struct ty_executor *executor, const struct ty_run_ref *run,
                              int32_t replicas, struct ty_error *err)
{
    struct call *call = note(of(executor), CALL_SCALE, run->job_id, run->object_name, run->attempt);
    call->replicas = replicas;
    return answer(of(executor), CALL_SCALE, err);
}

static ty_status script_remove(struct ty_executor *executor, const struct ty_run_ref *run,
                               struct ty_error *err)
{
    note(of(executor), CALL_REMOVE, run->job_id, run->object_name, run->attempt);
    return answer(of(executor), CALL_REMOVE, err);
}

static ty_status script_check(struct ty_executor *executor, const struct ty_run_ref *run,
                              struct ty_error *err)
{
    note(of(executor), CALL_CHECK, run->job_id, run->object_name, run->attempt);
    return answer(of(executor), CALL_CHECK, err);
}

static struct ty_capacity script_capacity(struct ty_executor *executor)
{
    struct script *script = of(executor);
    void (*asked_once)(void *context) = script->asked_once;
    script->asked_once = NULL;
    if (asked_once)
        asked_once(script->asked_context);
    return script->capacity;
}

static ty_status script_open_claim(struct ty_executor *executor, const char *namespace,
                                   const char *claim, int *fd_out, struct ty_error *err)
{
    (void)namespace;
    if (of(executor)->claim_fd < 0)
        return ty_fail(err, TY_NOT_FOUND, "no claim %s", claim);
    *fd_out = dup(of(executor)->claim_fd);
    return TY_OK;
}

static ty_status script_remove_claim(struct ty_executor *executor, const char *namespace,
                                     const char *claim, struct ty_error *err)
{
    struct call *call = note(of(executor), CALL_REMOVE_CLAIM, "", namespace, 0);
    ty_str_copy(call->text, sizeof(call->text), claim);
    return answer(of(executor), CALL_REMOVE_CLAIM, err);
}

static const struct ty_executor_ops ops = {.name = "script",
                                           .start = script_start,
                                           .apply = script_apply,
                                           .stop = script_stop,
                                           .scale = script_scale,
                                           .remove = script_remove,
                                           .check = script_check,
                                           .capacity = script_capacity,
                                           .open_claim = script_open_claim,
                                           .remove_claim = script_remove_claim};

/* The manifest carries what the test wants to see of the input. */
static ty_status render_resume(const struct ty_render_input *input,
                               struct ty_manifest *manifest_out, struct ty_faults *faults,
                               struct ty_error *err)
{
    (void)err;
    if (strcmp(input->spec->name, "too-large") == 0) {
        ty_faults_add(faults, TY_AT_POINTER, "/script", "configmap_too_large", "too many bytes");
        return TY_REFUSED;
    }
    manifest_out->objects = json_pack("[s]", input->resume_from ? input->resume_from : "");
    return TY_OK;
}

static const struct ty_renderer renderer = {.kind = "Test", .render = render_resume};

/* --- life --- */
void engine_open(struct engine_fixture *fixture)
{
    struct ty_error err = {0};
    fixture->options.store = fixture->store.store;
    assert_int_equal(ty_hub_create(64, &fixture->hub, &err), TY_OK);
    fixture->options.hub = fixture->hub;
    if (ty_engine_create(&fixture->options, &fixture->engine, &err) != TY_OK)
        fail_msg("engine: %s", err.text);
}

void engine_close(struct engine_fixture *fixture)
{
    ty_engine_stop(fixture->engine);
    (void)ty_store_drain(fixture->store.store); /* its last writes call into it */
    ty_engine_destroy(fixture->engine);
    ty_hub_destroy(fixture->hub);
    fixture->engine = NULL;
    fixture->hub = NULL;
    fixture->script.observer = NULL;
}

int engine_setup(void **state)
{
    struct engine_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    store_fixture_start(&fixture->store, false);
    fixture->script.executor.ops = &ops;
    fixture->script.capacity = (struct ty_capacity){8, 4, -1, -1};
    fixture->script.claim_fd = -1;
    fixture->random = ty_random_seeded(&fixture->seeded, 1);
    fixture->options = (struct ty_engine_options){.executor = &fixture->script.executor,
                                                  .renderer = &renderer,
                                                  .clock = &fixture->store.time.clock,
                                                  .random = &fixture->random,
                                                  .data_folder = fixture->store.folder};
    engine_open(fixture);
    *state = fixture;
    return 0;
}

int engine_teardown(void **state)
{
    struct engine_fixture *fixture = *state;
    engine_close(fixture);
    store_fixture_stop(&fixture->store);
    free(fixture);
    return 0;
}

int64_t engine_settle(struct engine_fixture *fixture)
{
    int64_t next = 0;
    size_t wrote = 1;
    for (int turns = 0; turns < 50 && (wrote > 0 || turns < 2); turns++) {
        next = ty_engine_step(fixture->engine, atomic_load(&fixture->store.time.wall_us));
        wrote = ty_store_drain(fixture->store.store);
    }
    return next;
}

void engine_pass(struct engine_fixture *fixture, int64_t ms)
{
    atomic_fetch_add(&fixture->store.time.wall_us, ms * 1000);
    atomic_fetch_add(&fixture->store.time.monotonic_ms, ms);
    (void)engine_settle(fixture);
}

/* --- submitting --- */
static void take_answer(struct ty_submit *submit, ty_status status, const struct ty_error *err)
{
    struct asked *asked = (struct asked *)submit;
    asked->answers++;
    asked->status = status;
    ty_str_copy(asked->code, sizeof(asked->code), err ? err->code : "");
}

void asked_init(struct engine_fixture *fixture, struct asked *asked, const char *name)
{
    static const char spec[] = "{\"name\":\"sim\",\"image\":\"python:3\",\"script\":\"print(1)\"}";
    memset(asked, 0, sizeof(*asked));
    fixture->submitted++;
    (void)snprintf(asked->id, sizeof(asked->id), "job_%026d", fixture->submitted);
    (void)snprintf(asked->object_name, sizeof(asked->object_name), "%s-%08d", name,
                   fixture->submitted);
    asked->submit.insert.record =
        (struct ty_job_record){.tenant = fixture->store.tenant,
                               .id = asked->id,
                               .name = name,
                               .object_name = asked->object_name,
                               .namespace = "default",
                               .tenant_name = "default",
                               .image = "python:3",
                               .labels = "{}",
                               .warnings = "[]",
                               .executor = "local",
                               .replicas = 1,
                               .keep_seconds = -1,
                               .created_at = atomic_load(&fixture->store.time.wall_us)};
    asked->submit.insert.spec = spec;
    asked->submit.insert.spec_len = sizeof(spec) - 1;
    asked->submit.quota = (struct ty_quota){-1, -1, -1, -1};
    asked->submit.answered = take_answer;
}

void engine_submit(struct engine_fixture *fixture, struct asked *asked, const char *name)
{
    struct ty_error err = {0};
    if (asked->id[0] == '\0')
        asked_init(fixture, asked, name);
    if (ty_engine_submit(fixture->engine, &asked->submit, &err) != TY_OK)
        fail_msg("submit: %s", err.text);
    (void)ty_store_drain(fixture->store.store);
    assert_int_equal(asked->answers, 1);
    assert_int_equal(asked->status, TY_OK);
    (void)engine_settle(fixture);
}

void engine_see_more(struct engine_fixture *fixture, const char *id,
                     const struct ty_observation *seen)
{
    struct ty_observation told = *seen;
    struct ty_replica replica = {
        .name = "master-0", .phase = TY_REPLICA_RUNNING, .restarts = seen->restarts};
    if (told.at == 0)
        told.at = atomic_load(&fixture->store.time.wall_us);
    fixture->script.observer(fixture->script.context, id, &told, &replica, 1);
    (void)engine_settle(fixture);
}

void engine_see(struct engine_fixture *fixture, const char *id, ty_seen_kind kind, int32_t attempt)
{
    engine_see_more(fixture, id, &(struct ty_observation){.kind = kind, .attempt = attempt});
}

/* --- looking --- */
struct look {
    struct ty_job_status status;
    int64_t revision;
    int32_t replicas;
};

static bool take_look(void *context, const struct ty_job_record *record)
{
    *(struct look *)context = (struct look){
        .status = record->status, .revision = record->revision, .replicas = record->replicas};
    return true;
}

static struct look look_at(struct engine_fixture *fixture, const char *id)
{
    struct look look = {0};
    struct ty_error err = {0};
    if (ty_jobs_get(fixture->store.reader, 0, id, take_look, &look, &err) != TY_OK)
        fail_msg("%s: %s", id, err.text);
    return look;
}

struct ty_job_status stored(struct engine_fixture *fixture, const char *id)
{
    return look_at(fixture, id).status;
}

int64_t stored_revision(struct engine_fixture *fixture, const char *id)
{
    return look_at(fixture, id).revision;
}

int32_t stored_replicas(struct engine_fixture *fixture, const char *id)
{
    return look_at(fixture, id).replicas;
}

bool is_stored(struct engine_fixture *fixture, const char *id)
{
    struct look look;
    struct ty_error err = {0};
    return ty_jobs_get(fixture->store.reader, 0, id, take_look, &look, &err) == TY_OK;
}

void assert_state(struct engine_fixture *fixture, const char *id, ty_job_state state,
                  ty_job_cause cause)
{
    struct ty_job_status status = stored(fixture, id);
    if (status.state != state || status.cause != cause)
        fail_msg("%s is %s/%s, expected %s/%s", id, ty_job_state_name(status.state),
                 ty_job_cause_name(status.cause), ty_job_state_name(state),
                 ty_job_cause_name(cause));
}

size_t count_calls(const struct engine_fixture *fixture, call_kind kind, const char *id)
{
    size_t count = 0;
    for (size_t i = 0; i < fixture->script.calls_count; i++)
        if (fixture->script.calls[i].kind == kind &&
            (!id || strcmp(fixture->script.calls[i].job_id, id) == 0))
            count++;
    return count;
}

const struct call *last_call(const struct engine_fixture *fixture, call_kind kind)
{
    for (size_t i = fixture->script.calls_count; i > 0; i--)
        if (fixture->script.calls[i - 1].kind == kind)
            return &fixture->script.calls[i - 1];
    fail_msg("no such call");
    return NULL;
}
