/* Power cuts, failing disks and full disks on the simulated disk: what was acknowledged is there,
 * and the database is sound after each. Many seeds; TRAINYARD_SEED=n runs one, TRAINYARD_SEEDS=n so
 * many. */
#include "sim_vfs.h"
#include "store_fixture.h"
#include "trainyard/base/random.h"
#include "trainyard/store/tenants.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 60, JOBS_MAX = 16384 };

struct world {
    uint64_t seed;
    struct sim_vfs *vfs;
    struct ty_seeded seeded;
    struct ty_random random;
    struct store_fixture fixture;
    bool acknowledged[JOBS_MAX]; /* by number of the job */
    bool refused[JOBS_MAX];      /* told that it failed by itself */
    int cuts;
    int attempts; /* to open */
};

static void options_of(struct world *world, const char *name)
{
    test_clock_init(&world->fixture.time, INT64_C(1767225600000000));
    world->fixture.options = (struct ty_store_options){
        .folder = "sim", .vfs = name, .clock = &world->fixture.time.clock, .group_max = 16};
}

static uint64_t below(struct world *world, uint64_t bound)
{
    return ty_random_below(&world->random, bound);
}

static bool note_tenant(void *context, const struct ty_tenant_record *tenant)
{
    *(int64_t *)context = tenant->row;
    return true;
}

/* Open, through power cuts while opening too. */
static void power_up(struct world *world, bool crash)
{
    struct ty_error err = {0};
    if (crash)
        sim_vfs_crash(world->vfs);
    else
        sim_vfs_kill(world->vfs); /* the process ends, the machine goes on */
    if (below(world, 4) == 0)
        sim_vfs_cut_after(world->vfs, 1 + below(world, 40));
    while (ty_store_open(&world->fixture.options, &world->fixture.store, &err) != TY_OK) {
        if (!sim_vfs_is_cut(world->vfs) || world->attempts++ > 1000)
            fail_msg("seed %llu: open: %s", (unsigned long long)world->seed, err.text);
        sim_vfs_crash(world->vfs);
    }
    sim_vfs_cut_after(world->vfs, 1 + below(world, 200));
}

static bool note_id(void *context, const struct ty_job_record *record)
{
    bool *present = context;
    long number = strtol(record->id + 4, NULL, 10);
    assert_in_range(number, 1, JOBS_MAX - 1);
    present[number] = true;
    return true;
}

static void check_promises(struct world *world)
{
    static bool present[JOBS_MAX];
    struct ty_error err = {0};
    struct ty_reader *reader = NULL;
    struct ty_tenant_counts counts = {0};
    int64_t total = 0;
    memset(present, 0, sizeof(present));
    sim_vfs_cut_after(world->vfs, 0);
    struct ty_job_query query = {.tenant = world->fixture.tenant, .limit = JOBS_MAX};
    assert_int_equal(ty_reader_open(world->fixture.store, &reader, &err), TY_OK);
    if (ty_tenants_get(reader, TY_TENANT_DEFAULT, note_tenant, &query.tenant, &err) != TY_OK)
        fail_msg("seed %llu: %s", (unsigned long long)world->seed, err.text);
    world->fixture.tenant = query.tenant;
    if (ty_jobs_list(reader, &query, note_id, present, &err) != TY_OK)
        fail_msg("seed %llu: %s", (unsigned long long)world->seed, err.text);
    for (int i = 0; i < JOBS_MAX; i++) {
        total += present[i];
        if (world->acknowledged[i] && !present[i])
            fail_msg("seed %llu: job %d was acknowledged and is lost",
                     (unsigned long long)world->seed, i);
        if (world->refused[i] && present[i])
            fail_msg("seed %llu: job %d was refused and is there", (unsigned long long)world->seed,
                     i);
    }
    assert_int_equal(ty_tenants_count(reader, query.tenant, &counts, &err), TY_OK);
    assert_int_equal(counts.jobs, total);
    ty_reader_close(reader);
}

struct submit {
    struct ty_write write;
    struct world *world;
    struct test_job job;
    int number;
    bool fails; /* after it has written */
};

static ty_status apply_submit(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct submit *submit = (struct submit *)write;
    ty_status status = ty_jobs_insert(writer, &submit->job.insert, NULL, err);
    if (status == TY_OK && submit->fails)
        return ty_fail(err, TY_REFUSED, "on purpose");
    return status;
}

static void submit_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct submit *submit = (struct submit *)write;
    (void)err;
    submit->world->acknowledged[submit->number] = status == TY_OK;
    submit->world->refused[submit->number] = status == TY_REFUSED;
    assert_false(status == TY_OK && submit->fails);
    free(submit);
}

static void submit_some(struct world *world, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct ty_error err = {0};
        struct submit *submit = calloc(1, sizeof(*submit));
        assert_non_null(submit);
        test_job_init(&submit->job, &world->fixture, "sim", "{\"a\":\"b\"}");
        submit->write.apply = apply_submit;
        submit->write.done = submit_done;
        submit->world = world;
        submit->number = world->fixture.made;
        submit->fails = below(world, 8) == 0;
        if (ty_store_write(world->fixture.store, &submit->write, &err) != TY_OK)
            free(submit);
    }
    ty_store_drain(world->fixture.store);
    if (below(world, 3) == 0)
        ty_store_drain(world->fixture.store); /* idle: a checkpoint */
}

static void world_start(struct world *world, uint64_t seed)
{
    memset(world, 0, sizeof(*world));
    world->seed = seed;
    world->random = ty_random_seeded(&world->seeded, seed * 7919 + 1);
    world->vfs = sim_vfs_create("sim-power", seed);
    assert_non_null(world->vfs);
    options_of(world, "sim-power");
    power_up(world, true);
    check_promises(world);
    sim_vfs_cut_after(world->vfs, 1 + below(world, 100));
}

static void world_end(struct world *world)
{
    ty_store_close(world->fixture.store);
    sim_vfs_destroy(world->vfs);
}

static void run_power_cuts(uint64_t seed, bool syncs_fail)
{
    static struct world world;
    world_start(&world, seed);
    for (int step = 0; step < STEPS; step++) {
        struct sim_vfs_odds odds = {.sync_error = syncs_fail ? 30000 : 0,
                                    .write_error = syncs_fail ? 2000 : 0};
        sim_vfs_set_odds(world.vfs, &odds);
        submit_some(&world, 1 + below(&world, 20));
        sim_vfs_set_odds(world.vfs, &(struct sim_vfs_odds){0});
        bool broken = ty_store_health(world.fixture.store, NULL) != TY_OK;
        if (!sim_vfs_is_cut(world.vfs) && !broken)
            continue;
        world.cuts++;
        if (below(&world, 2) == 0) /* else a store that is broken closes with the power on */
            sim_vfs_cut(world.vfs);
        ty_store_close(world.fixture.store);
        world.fixture.store = NULL;
        power_up(&world, below(&world, 2) == 0);
        check_promises(&world);
        sim_vfs_cut_after(world.vfs, 1 + below(&world, 300));
    }
    world_end(&world);
}

static void over_seeds(void (*run)(uint64_t seed, bool flag), bool flag)
{
    const char *one = getenv("TRAINYARD_SEED");
    const char *many = getenv("TRAINYARD_SEEDS");
    uint64_t count = many ? strtoull(many, NULL, 10) : 60;
    if (one) {
        run(strtoull(one, NULL, 10), flag);
        return;
    }
    for (uint64_t seed = 1; seed <= count; seed++)
        run(seed, flag);
}

static void power_cuts_at_any_change_lose_nothing_acknowledged(void **state)
{
    (void)state;
    over_seeds(run_power_cuts, false);
}

static void failed_syncs_before_power_cuts_lose_nothing_acknowledged(void **state)
{
    (void)state;
    over_seeds(run_power_cuts, true);
}

/* One life with the n-th call of one kind failing; then a sound one. False when no call was left to
 * fail. */
static bool live_with_fault(struct world *world, sim_vfs_call kind, uint64_t nth)
{
    struct ty_error err = {0};
    struct sim_vfs_counts before;
    struct sim_vfs_counts after;
    sim_vfs_get_counts(world->vfs, &before);
    sim_vfs_fail_nth(world->vfs, kind, nth);
    ty_status status = ty_store_open(&world->fixture.options, &world->fixture.store, &err);
    if (status == TY_OK) {
        for (int i = 0; i < 3; i++)
            submit_some(world, 4);
        ty_store_close(world->fixture.store);
    } else if (status != TY_UNAVAILABLE) { /* not "corrupt", not "full" */
        fail_msg("call %llu: %s: %s", (unsigned long long)nth, ty_status_name(status), err.text);
    }
    sim_vfs_fail_nth(world->vfs, kind, 0);
    sim_vfs_get_counts(world->vfs, &after);
    if (below(world, 2) == 0)
        sim_vfs_crash(world->vfs);
    else
        sim_vfs_kill(world->vfs);
    if (ty_store_open(&world->fixture.options, &world->fixture.store, &err) != TY_OK)
        fail_msg("after call %llu: %s", (unsigned long long)nth, err.text);
    check_promises(world);
    ty_store_close(world->fixture.store);
    world->fixture.store = NULL;
    return after.faults > before.faults;
}

static void every_single_failing_call_keeps_what_was_acknowledged(void **state)
{
    static const char *const kinds[] = {"write", "sync", "read"};
    (void)state;
    for (int kind = 0; kind < SIM_CALL_KINDS; kind++) {
        static struct world world;
        uint64_t nth = 1;
        world_start(&world, 77);
        sim_vfs_cut_after(world.vfs, 0);
        ty_store_close(world.fixture.store);
        while (live_with_fault(&world, (sim_vfs_call)kind, nth))
            nth++;
        if (nth < 10)
            fail_msg("only %llu calls of kind %s failed", (unsigned long long)nth, kinds[kind]);
        sim_vfs_destroy(world.vfs);
    }
}

/* The very first start, cut or failing at each change in turn: the next one finds its way. */
static void a_first_start_may_end_anywhere(void **state)
{
    (void)state;
    for (int mode = 0; mode < 3; mode++) {
        bool happened = true;
        for (uint64_t nth = 1; happened; nth++) {
            static struct world world;
            struct ty_error err = {0};
            memset(&world, 0, sizeof(world));
            world.vfs = sim_vfs_create("sim-power", nth);
            assert_non_null(world.vfs);
            options_of(&world, "sim-power");
            if (mode == 0)
                sim_vfs_cut_after(world.vfs, nth);
            else
                sim_vfs_fail_nth(world.vfs, mode == 1 ? SIM_WRITE : SIM_SYNC, nth);
            if (ty_store_open(&world.fixture.options, &world.fixture.store, &err) == TY_OK)
                ty_store_close(world.fixture.store);
            struct sim_vfs_counts counts;
            sim_vfs_get_counts(world.vfs, &counts);
            happened = counts.faults > 0 || sim_vfs_is_cut(world.vfs);
            sim_vfs_fail_nth(world.vfs, SIM_WRITE, 0);
            sim_vfs_fail_nth(world.vfs, SIM_SYNC, 0);
            sim_vfs_crash(world.vfs);
            if (ty_store_open(&world.fixture.options, &world.fixture.store, &err) != TY_OK)
                fail_msg("mode %d, call %llu: %s", mode, (unsigned long long)nth, err.text);
            check_promises(&world);
            ty_store_close(world.fixture.store);
            sim_vfs_destroy(world.vfs);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_start_may_end_anywhere),
        cmocka_unit_test(every_single_failing_call_keeps_what_was_acknowledged),
        cmocka_unit_test(power_cuts_at_any_change_lose_nothing_acknowledged),
        cmocka_unit_test(failed_syncs_before_power_cuts_lose_nothing_acknowledged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
