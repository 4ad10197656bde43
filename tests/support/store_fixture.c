#include "store_fixture.h"

#include "trainyard/base/file.h"
#include "trainyard/base/str.h"
#include "trainyard/store/tenants.h"

#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int64_t test_wall(void *context)
{
    return atomic_load(&((struct test_clock *)context)->wall_us);
}

static int64_t test_monotonic(void *context)
{
    return atomic_load(&((struct test_clock *)context)->monotonic_ms);
}

void test_clock_init(struct test_clock *clock, int64_t wall_us)
{
    clock->clock =
        (struct ty_clock){.wall_us = test_wall, .monotonic_ms = test_monotonic, .context = clock};
    atomic_init(&clock->wall_us, wall_us);
    atomic_init(&clock->monotonic_ms, 1000);
}

static bool note_row(void *context, const struct ty_tenant_record *tenant)
{
    *(int64_t *)context = tenant->row;
    return true;
}

void store_fixture_open(struct store_fixture *fixture)
{
    struct ty_error err = {0};
    if (ty_store_open(&fixture->options, &fixture->store, &err) != TY_OK)
        fail_msg("open: %s", err.text);
    if (ty_reader_open(fixture->store, &fixture->reader, &err) != TY_OK)
        fail_msg("reader: %s", err.text);
    if (ty_tenants_get(fixture->reader, TY_TENANT_DEFAULT, note_row, &fixture->tenant, &err) !=
        TY_OK)
        fail_msg("tenant: %s", err.text);
}

void store_fixture_close(struct store_fixture *fixture)
{
    ty_reader_close(fixture->reader);
    fixture->reader = NULL;
    ty_store_close(fixture->store);
    fixture->store = NULL;
}

void store_fixture_start(struct store_fixture *fixture, bool threaded)
{
    memset(fixture, 0, sizeof(*fixture));
    test_clock_init(&fixture->time, INT64_C(1767225600000000));
    /* In memory where there is such a place: these tests are not about the disk. */
    ty_str_copy(fixture->folder, sizeof(fixture->folder),
                access("/dev/shm", W_OK) == 0 ? "/dev/shm/trainyard-store-XXXXXX"
                                              : "/tmp/trainyard-store-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    fixture->options = (struct ty_store_options){
        .folder = fixture->folder, .clock = &fixture->time.clock, .threaded = threaded};
    store_fixture_open(fixture);
}

void store_fixture_stop(struct store_fixture *fixture)
{
    struct ty_error err = {0};
    store_fixture_close(fixture);
    if (ty_tree_remove(AT_FDCWD, fixture->folder, &err) != TY_OK)
        fail_msg("clean up: %s", err.text);
}

int store_fixture_setup(void **state)
{
    struct store_fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    store_fixture_start(fixture, false);
    *state = fixture;
    return 0;
}

int store_fixture_teardown(void **state)
{
    store_fixture_stop(*state);
    free(*state);
    return 0;
}

struct apply_write {
    struct ty_write write;
    test_apply *apply;
    void *context;
};

static ty_status run_apply(struct ty_writer *writer, struct ty_write *write, struct ty_error *err)
{
    struct apply_write *self = (struct apply_write *)write;
    return self->apply(writer, self->context, err);
}

ty_status store_apply(struct ty_store *store, test_apply *apply, void *context,
                      struct ty_error *err)
{
    struct apply_write write = {.write = {.apply = run_apply}, .apply = apply, .context = context};
    return ty_store_write_wait(store, &write.write, err);
}

void test_job_init(struct test_job *job, struct store_fixture *fixture, const char *name,
                   const char *labels)
{
    static const char spec[] = "{\"image\":\"debian:12\",\"script\":\"print(1)\"}";
    memset(job, 0, sizeof(*job));
    fixture->made++;
    (void)snprintf(job->id, sizeof(job->id), "job_%026d", fixture->made);
    (void)snprintf(job->object_name, sizeof(job->object_name), "%s-%08d", name, fixture->made);
    job->insert = (struct ty_job_insert){
        .record = {.tenant = fixture->tenant,
                   .id = job->id,
                   .name = name,
                   .object_name = job->object_name,
                   .namespace = "default",
                   .image = "debian:12",
                   .labels = labels ? labels : "{}",
                   .warnings = "[]",
                   .executor = "local",
                   .replicas = 1,
                   .keep_seconds = -1,
                   .created_at = ty_now_us(&fixture->time.clock)},
        .spec = spec,
        .spec_len = sizeof(spec) - 1
    };
    job->insert.record.status =
        (struct ty_job_status){.state = TY_JOB_QUEUED, .cause = TY_CAUSE_SUBMITTED, .sequence = 1};
}

static ty_status insert_job(struct ty_writer *writer, void *context, struct ty_error *err)
{
    return ty_jobs_insert(writer, context, NULL, err);
}

int64_t test_job_store(struct store_fixture *fixture, struct test_job *job)
{
    struct ty_error err = {0};
    if (store_apply(fixture->store, insert_job, &job->insert, &err) != TY_OK)
        fail_msg("insert: %s", err.text);
    return job->insert.record.row;
}

int64_t test_job_make(struct store_fixture *fixture, const char *name, const char *labels)
{
    struct test_job job;
    test_job_init(&job, fixture, name, labels);
    return test_job_store(fixture, &job);
}

struct move {
    const char *id;
    ty_job_state state;
    bool run_active;
    int64_t now;
};

static ty_status move_job(struct ty_writer *writer, void *context, struct ty_error *err)
{
    const struct move *move = context;
    struct ty_job_record record;
    ty_status status = ty_jobs_find(writer, 0, move->id, &record, err);
    if (status != TY_OK)
        return status;
    struct ty_job_status next = record.status;
    next.state = move->state;
    next.sequence++;
    next.run_active = move->run_active;
    if (ty_job_terminal(move->state))
        next.finished_at = move->now;
    return ty_jobs_save_step(writer, &record, TY_STEP_CHANGED, &next, NULL, err);
}

void test_job_move(struct store_fixture *fixture, const char *id, ty_job_state state,
                   bool run_active)
{
    struct ty_error err = {0};
    struct move move = {
        .id = id, .state = state, .run_active = run_active, .now = ty_now_us(&fixture->time.clock)};
    if (store_apply(fixture->store, move_job, &move, &err) != TY_OK)
        fail_msg("move: %s", err.text);
}
