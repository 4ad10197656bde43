/* The engine on its own thread, the store on its own, an executor and clients on theirs: every job
 * that was acknowledged comes to its end and is applied once for each attempt. Worth most under
 * ThreadSanitizer. */
#include "store_fixture.h"
#include "trainyard/base/str.h"
#include "trainyard/base/thread.h"
#include "trainyard/engine/engine.h"
#include "trainyard/store/tenants.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { CLIENTS = 3, JOBS_EACH = 60, RUNS = CLIENTS * JOBS_EACH * 4, PATIENCE_MS = 60000 };

struct run {
    char job_id[TY_ID_TEXT];
    int32_t attempt;
    bool stop;
    bool ended;
};

struct busy_executor {
    struct ty_executor executor; /* first */
    pthread_mutex_t lock;        /* guards all below */
    ty_executor_observer *observer;
    void *context;
    struct run runs[RUNS];
    size_t count;
    size_t twice; /* applies of an attempt that was there */
    bool stopping;
    pthread_t thread;
};

static struct busy_executor *of(struct ty_executor *executor)
{
    return (struct busy_executor *)executor;
}

static struct run *find_run(struct busy_executor *busy, const char *id, int32_t attempt)
{
    for (size_t i = 0; i < busy->count; i++)
        if (busy->runs[i].attempt == attempt && ty_str_equal(busy->runs[i].job_id, id))
            return &busy->runs[i];
    return NULL;
}

/* Tell of one run that is not over; false when there is none. */
static bool tell_one(struct busy_executor *busy, size_t *cursor)
{
    char id[TY_ID_TEXT] = "";
    struct ty_observation seen = {.at = 1};
    pthread_mutex_lock(&busy->lock);
    for (; *cursor < busy->count; (*cursor)++) {
        struct run *run = &busy->runs[*cursor];
        if (run->ended)
            continue;
        run->ended = true;
        seen.kind = run->stop ? TY_SEEN_STOPPED : TY_SEEN_SUCCEEDED;
        seen.attempt = run->attempt;
        ty_str_copy(id, sizeof(id), run->job_id);
        break;
    }
    ty_executor_observer *observer = busy->observer;
    pthread_mutex_unlock(&busy->lock);
    if (id[0] == '\0')
        return false;
    struct ty_observation running = seen;
    running.kind = TY_SEEN_RUNNING;
    observer(busy->context, id, &running, NULL, 0);
    observer(busy->context, id, &seen, NULL, 0);
    return true;
}

static void *run_executor(void *context)
{
    struct busy_executor *busy = context;
    const struct timespec pause = {.tv_nsec = 1000000};
    size_t cursor = 0;
    for (bool stopping = false; !stopping;) {
        if (!tell_one(busy, &cursor))
            nanosleep(&pause, NULL);
        pthread_mutex_lock(&busy->lock);
        stopping = busy->stopping;
        pthread_mutex_unlock(&busy->lock);
    }
    return NULL;
}

static ty_status busy_start(struct ty_executor *executor, ty_executor_observer *observer,
                            void *context, struct ty_error *err)
{
    struct busy_executor *busy = of(executor);
    pthread_mutex_lock(&busy->lock);
    busy->observer = observer;
    busy->context = context;
    pthread_mutex_unlock(&busy->lock);
    return ty_thread_start(&busy->thread, "executor", run_executor, busy, err);
}

static ty_status busy_apply(struct ty_executor *executor, const struct ty_run *asked,
                            struct ty_error *err)
{
    struct busy_executor *busy = of(executor);
    (void)err;
    pthread_mutex_lock(&busy->lock);
    if (find_run(busy, asked->job_id, asked->attempt)) {
        busy->twice++;
    } else if (busy->count < RUNS) {
        struct run *run = &busy->runs[busy->count++];
        *run = (struct run){.attempt = asked->attempt};
        ty_str_copy(run->job_id, sizeof(run->job_id), asked->job_id);
    }
    pthread_mutex_unlock(&busy->lock);
    return TY_OK;
}

static ty_status busy_stop(struct ty_executor *executor, const struct ty_run_ref *asked,
                           struct ty_error *err)
{
    struct busy_executor *busy = of(executor);
    struct ty_observation gone = {.kind = TY_SEEN_GONE, .attempt = asked->attempt, .at = 1};
    (void)err;
    pthread_mutex_lock(&busy->lock);
    struct run *run = find_run(busy, asked->job_id, asked->attempt);
    if (run)
        run->stop = true;
    pthread_mutex_unlock(&busy->lock);
    if (!run)
        busy->observer(busy->context, asked->job_id, &gone, NULL, 0);
    return TY_OK;
}

static ty_status busy_remove(struct ty_executor *executor, const struct ty_run_ref *run,
                             struct ty_error *err)
{
    (void)executor;
    (void)run;
    (void)err;
    return TY_OK;
}

static ty_status busy_remove_claim(struct ty_executor *executor, const char *namespace,
                                   const char *claim, struct ty_error *err)
{
    (void)executor;
    (void)namespace;
    (void)claim;
    (void)err;
    return TY_OK;
}

static struct ty_capacity busy_capacity(struct ty_executor *executor)
{
    (void)executor;
    return (struct ty_capacity){20, 0, -1, -1};
}

static ty_status busy_open_claim(struct ty_executor *executor, const char *namespace,
                                 const char *claim, int *fd_out, struct ty_error *err)
{
    (void)executor;
    (void)namespace;
    (void)fd_out;
    return ty_fail(err, TY_NOT_FOUND, "no claim %s", claim);
}

static const struct ty_executor_ops ops = {.name = "busy",
                                           .start = busy_start,
                                           .apply = busy_apply,
                                           .stop = busy_stop,
                                           .remove = busy_remove,
                                           .capacity = busy_capacity,
                                           .open_claim = busy_open_claim,
                                           .remove_claim = busy_remove_claim};

static ty_status render_nothing(const struct ty_render_input *input,
                                struct ty_manifest *manifest_out, struct ty_faults *faults,
                                struct ty_error *err)
{
    (void)input;
    (void)faults;
    (void)err;
    manifest_out->objects = NULL;
    return TY_OK;
}

static const struct ty_renderer renderer = {.kind = "Nothing", .render = render_nothing};

/* --- clients --- */
struct client {
    pthread_t thread;
    struct ty_engine *engine;
    int64_t tenant;
    int number;
    atomic_int acknowledged;
    int removed;
};

struct asked {
    struct ty_submit submit; /* first */
    struct client *client;
    char id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
};

static void take_answer(struct ty_submit *submit, ty_status status, const struct ty_error *err)
{
    struct asked *asked = (struct asked *)submit;
    (void)err;
    if (status == TY_OK)
        atomic_fetch_add(&asked->client->acknowledged, 1);
    free(asked);
}

static void make_id(char id[TY_ID_TEXT], const struct client *client, int number)
{
    (void)snprintf(id, TY_ID_TEXT, "job_%013d%013d", client->number, number);
}

static bool send_one(struct client *client, int number)
{
    static const char spec[] = "{\"name\":\"a\",\"image\":\"python:3\",\"script\":\"print(1)\"}";
    struct asked *asked = calloc(1, sizeof(*asked));
    struct ty_error err = {0};
    if (!asked)
        return false;
    asked->client = client;
    make_id(asked->id, client, number);
    (void)snprintf(asked->object_name, sizeof(asked->object_name), "a-%d-%d", client->number,
                   number);
    asked->submit.insert = (struct ty_job_insert){
        .record = {.tenant = client->tenant,
                   .id = asked->id,
                   .name = "a",
                   .object_name = asked->object_name,
                   .namespace = "default",
                   .image = "python:3",
                   .labels = "{}",
                   .warnings = "[]",
                   .executor = "local",
                   .replicas = 1,
                   .keep_seconds = -1,
                   .created_at = 1},
        .spec = spec,
        .spec_len = sizeof(spec) - 1
    };
    asked->submit.quota = (struct ty_quota){-1, -1, -1, -1};
    asked->submit.answered = take_answer;
    if (ty_engine_submit(client->engine, &asked->submit, &err) == TY_OK)
        return true;
    free(asked);
    return false;
}

static void *run_client(void *context)
{
    static const ty_seen_kind kinds[] = {TY_SEEN_CANCEL, TY_SEEN_SUSPEND, TY_SEEN_RESUME};
    struct client *client = context;
    struct ty_error err = {0};
    char id[TY_ID_TEXT];
    bool pending;
    for (int i = 0; i < JOBS_EACH; i++) {
        (void)send_one(client, i);
        make_id(id, client, i / 2);
        if (i % 3 != 0)
            (void)!ty_engine_act(client->engine, client->tenant, id, kinds[i % 3], "", 0, &err);
        if (i % 10 == 0 && ty_engine_delete(client->engine, client->tenant, id, i % 20 == 0, 0,
                                            &pending, &err) == TY_OK)
            client->removed++;
        (void)ty_engine_queue_position(client->engine, id);
        ty_engine_poke(client->engine);
    }
    for (int i = 0; i < JOBS_EACH; i++) { /* nobody stays suspended */
        make_id(id, client, i);
        (void)!ty_engine_act(client->engine, client->tenant, id, TY_SEEN_RESUME, "", 0, &err);
    }
    return NULL;
}

/* --- the test --- */
static int64_t count_live(struct ty_engine *engine)
{
    struct ty_engine_figures figures;
    int64_t live = 0;
    ty_engine_figures(engine, &figures);
    for (size_t i = 0; i < TY_JOB_STATE_COUNT; i++)
        live += figures.live_jobs[i];
    return live;
}

/* Terminal and no run left: what the store itself calls live is empty. */
static bool none_is_live(struct store_fixture *store)
{
    struct ty_error err = {0};
    struct ty_tenant_counts counts = {0};
    assert_int_equal(ty_tenants_count(store->reader, store->tenant, &counts, &err), TY_OK);
    return counts.live == 0;
}

static void everything_acknowledged_comes_to_its_end(void **state)
{
    (void)state;
    struct store_fixture store;
    struct ty_error err = {0};
    struct ty_hub *hub = NULL;
    struct ty_engine *engine = NULL;
    struct busy_executor *busy = calloc(1, sizeof(*busy));
    struct client clients[CLIENTS] = {0};
    assert_non_null(busy);
    busy->executor.ops = &ops;
    pthread_mutex_init(&busy->lock, NULL);
    store_fixture_start(&store, true);
    assert_int_equal(ty_hub_create(64, &hub, &err), TY_OK);
    struct ty_engine_options options = {.store = store.store,
                                        .executor = &busy->executor,
                                        .renderer = &renderer,
                                        .hub = hub,
                                        .clock = ty_clock_system(),
                                        .random = ty_random_system()};
    assert_int_equal(ty_engine_create(&options, &engine, &err), TY_OK);
    assert_int_equal(ty_engine_start(engine, &err), TY_OK);

    for (int i = 0; i < CLIENTS; i++) {
        clients[i].engine = engine;
        clients[i].tenant = store.tenant;
        clients[i].number = i;
        assert_int_equal(
            ty_thread_start(&clients[i].thread, "client", run_client, &clients[i], &err), TY_OK);
    }
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i].thread, NULL);
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; waited < PATIENCE_MS && !(none_is_live(&store) && count_live(engine) == 0);
         waited++)
        nanosleep(&pause, NULL);
    assert_true(none_is_live(&store));
    assert_int_equal(count_live(engine), 0);

    ty_engine_stop(engine);
    pthread_mutex_lock(&busy->lock);
    busy->stopping = true;
    pthread_mutex_unlock(&busy->lock);
    pthread_join(busy->thread, NULL);
    ty_engine_destroy(engine);
    int acknowledged = 0;
    for (int i = 0; i < CLIENTS; i++)
        acknowledged += atomic_load(&clients[i].acknowledged);
    assert_int_equal(acknowledged, CLIENTS * JOBS_EACH);
    ty_hub_destroy(hub);
    store_fixture_stop(&store);
    pthread_mutex_destroy(&busy->lock);
    free(busy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_acknowledged_comes_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
