/* Pages of jobs against a model in memory: every filter, both directions, changes between pages. */
#include "store_fixture.h"
#include "trainyard/base/random.h"
#include "trainyard/base/str.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { JOBS = 300, PAGE_MAX = 400 };

struct model_job {
    int64_t row;
    char id[TY_ID_TEXT];
    const char *name;
    int team; /* label team=<n> */
    bool big; /* label size=big */
    ty_job_state state;
    int64_t created_at;
    bool deleted;
};

struct world {
    struct store_fixture fixture;
    struct ty_seeded seeded;
    struct ty_random random;
    struct model_job jobs[2 * JOBS];
    size_t count;
};

static const char *const names[] = {"mnist", "mnist-large", "resnet", "bert", "m"};

static uint64_t below(struct world *world, uint64_t bound)
{
    return ty_random_below(&world->random, bound);
}

static void add_job(struct world *world)
{
    struct model_job *model = &world->jobs[world->count++];
    struct test_job job;
    char labels[64];
    model->name = names[below(world, UNIT_COUNT(names))];
    model->team = (int)below(world, 20);
    model->big = below(world, 10) == 0;
    (void)snprintf(labels, sizeof(labels), "{\"team\":\"%d\"%s}", model->team,
                   model->big ? ",\"size\":\"big\"" : "");
    atomic_fetch_add(&world->fixture.time.wall_us, (int64_t)below(world, 3) * 1000);
    test_job_init(&job, &world->fixture, model->name, labels);
    model->row = test_job_store(&world->fixture, &job);
    model->created_at = job.insert.record.created_at;
    ty_str_copy(model->id, sizeof(model->id), job.id);
    model->state = (ty_job_state)below(world, TY_JOB_STATE_COUNT);
    if (model->state != TY_JOB_QUEUED)
        test_job_move(&world->fixture, job.id, model->state, false);
}

static int start(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->random = ty_random_seeded(&world->seeded, 42);
    store_fixture_start(&world->fixture, false);
    for (size_t i = 0; i < JOBS; i++)
        add_job(world);
    *state = world;
    return 0;
}

static int stop(void **state)
{
    struct world *world = *state;
    store_fixture_stop(&world->fixture);
    free(world);
    return 0;
}

struct page {
    size_t count;
    int64_t rows[PAGE_MAX];
};

static bool note_row(void *context, const struct ty_job_record *record)
{
    struct page *page = context;
    assert_true(page->count < PAGE_MAX);
    assert_string_equal(record->tenant_name, "default");
    page->rows[page->count++] = record->row;
    return true;
}

static void list(struct world *world, const struct ty_job_query *query, struct page *page)
{
    struct ty_error err = {0};
    page->count = 0;
    if (ty_jobs_list(world->fixture.reader, query, note_row, page, &err) != TY_OK)
        fail_msg("list: %s", err.text);
}

/* --- the model's answer --- */

static bool label_holds(const struct model_job *job, const char *key, const char *value)
{
    char team[8];
    (void)snprintf(team, sizeof(team), "%d", job->team);
    if (ty_str_equal(key, "team"))
        return ty_str_equal(value, team);
    return job->big && ty_str_equal(key, "size") && ty_str_equal(value, "big");
}

static bool matches(const struct model_job *job, const struct ty_job_query *query)
{
    bool fits = !job->deleted && (query->states == 0 || (query->states >> job->state & 1));
    if (query->name)
        fits = fits && (query->name_prefix ? ty_str_starts(job->name, query->name)
                                           : ty_str_equal(job->name, query->name));
    for (size_t i = 0; i < query->labels_count; i++)
        fits = fits && label_holds(job, query->labels[i].key, query->labels[i].value);
    if (query->created_after > 0)
        fits = fits && job->created_at > query->created_after;
    if (query->created_before > 0)
        fits = fits && job->created_at < query->created_before;
    if (query->after_row > 0)
        fits = fits &&
               (query->oldest_first ? job->row > query->after_row : job->row < query->after_row);
    return fits;
}

static void expect(const struct world *world, const struct ty_job_query *query, struct page *page)
{
    page->count = 0;
    for (size_t i = 0; i < world->count && page->count < query->limit; i++) {
        const struct model_job *job = &world->jobs[query->oldest_first ? i : world->count - 1 - i];
        if (matches(job, query))
            page->rows[page->count++] = job->row;
    }
}

static void random_query(struct world *world, struct ty_job_query *query)
{
    static const char *const teams[] = {"0", "7", "19", "20"};
    static const char *const prefixes[] = {"m", "mnist", "mnist-", "x", "", "resnet"};
    *query = (struct ty_job_query){.tenant = world->fixture.tenant,
                                   .limit = 1 + below(world, 60),
                                   .oldest_first = below(world, 2) == 0};
    if (below(world, 2) == 0)
        query->states = (uint32_t)below(world, 1U << TY_JOB_STATE_COUNT);
    if (below(world, 3) == 0) {
        query->name_prefix = below(world, 2) == 0;
        query->name = query->name_prefix ? prefixes[below(world, UNIT_COUNT(prefixes))]
                                         : names[below(world, UNIT_COUNT(names))];
    }
    if (below(world, 3) == 0) {
        query->labels[query->labels_count].key = "team";
        query->labels[query->labels_count++].value = teams[below(world, UNIT_COUNT(teams))];
    }
    if (below(world, 3) == 0) {
        query->labels[query->labels_count].key = "size";
        query->labels[query->labels_count++].value = "big";
    }
    const struct model_job *some = &world->jobs[below(world, world->count)];
    if (below(world, 4) == 0)
        query->created_after = some->created_at;
    some = &world->jobs[below(world, world->count)];
    if (below(world, 4) == 0)
        query->created_before = some->created_at;
    some = &world->jobs[below(world, world->count)];
    if (below(world, 2) == 0)
        query->after_row = some->row;
}

static void check_queries(struct world *world, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        struct ty_job_query query;
        struct page got;
        struct page want;
        random_query(world, &query);
        list(world, &query, &got);
        expect(world, &query, &want);
        if (got.count != want.count)
            fail_msg("query %d: %zu jobs instead of %zu", i, got.count, want.count);
        if (got.count > 0)
            assert_memory_equal(got.rows, want.rows, got.count * sizeof(got.rows[0]));
    }
}

static void every_filter_gives_what_the_model_gives(void **state)
{
    check_queries(*state, 3000);
}

struct removal {
    int64_t tenant;
    const char *id;
};

static ty_status delete_job(struct ty_writer *writer, void *context, struct ty_error *err)
{
    const struct removal *removal = context;
    return ty_jobs_delete(writer, removal->tenant, removal->id, err);
}

static bool remove_job(struct world *world, struct model_job *job)
{
    struct ty_error err = {0};
    struct removal removal = {.tenant = world->fixture.tenant, .id = job->id};
    if (job->deleted || !ty_job_terminal(job->state))
        return false;
    assert_int_equal(store_apply(world->fixture.store, delete_job, &removal, &err), TY_OK);
    job->deleted = true;
    return true;
}

/* Case 138: jobs are made and removed while somebody pages. */
static void changes_between_pages_neither_repeat_nor_hide_a_job(void **state)
{
    struct world *world = *state;
    for (int direction = 0; direction < 2; direction++) {
        static bool seen[4 * JOBS];
        size_t known = world->count;
        struct ty_job_query query = {
            .tenant = world->fixture.tenant, .limit = 10, .oldest_first = direction == 1};
        struct page page;
        memset(seen, 0, sizeof(seen));
        do {
            list(world, &query, &page);
            for (size_t i = 0; i < page.count; i++) {
                assert_false(seen[page.rows[i]]);
                seen[page.rows[i]] = true;
            }
            if (page.count > 0)
                query.after_row = page.rows[page.count - 1];
            /* The anchor itself may go, and new ones come. */
            for (size_t i = 0; i < world->count; i++)
                if (world->jobs[i].row == query.after_row)
                    (void)remove_job(world, &world->jobs[i]);
            (void)remove_job(world, &world->jobs[below(world, world->count)]);
            if (world->count < 2 * JOBS)
                add_job(world);
        } while (page.count > 0);
        for (size_t i = 0; i < known; i++)
            if (!world->jobs[i].deleted)
                assert_true(seen[world->jobs[i].row]);
    }
    check_queries(world, 300);
}

/* Case 140: the last page is full and nothing comes after it. */
static void an_exact_divisor_of_the_total_ends_cleanly(void **state)
{
    struct world *world = *state;
    struct ty_job_query query = {.tenant = world->fixture.tenant, .limit = JOBS / 3};
    struct page page;
    for (int i = 0; i < 3; i++) {
        list(world, &query, &page);
        assert_int_equal(page.count, JOBS / 3);
        query.after_row = page.rows[page.count - 1];
    }
    list(world, &query, &page);
    assert_int_equal(page.count, 0);
    query.limit = 0;
    query.after_row = 0;
    list(world, &query, &page);
    assert_int_equal(page.count, 0);
}

static bool stop_at_three(void *context, const struct ty_job_record *record)
{
    (void)record;
    return ++*(size_t *)context < 3;
}

static void a_visitor_ends_the_walk(void **state)
{
    struct world *world = *state;
    struct ty_error err = {0};
    struct ty_job_query query = {.tenant = world->fixture.tenant, .limit = 50};
    for (int filtered = 0; filtered < 2; filtered++) {
        size_t visited = 0;
        query.states = filtered ? 1U << TY_JOB_QUEUED : 0;
        assert_int_equal(ty_jobs_list(world->fixture.reader, &query, stop_at_three, &visited, &err),
                         TY_OK);
        assert_int_equal(visited, 3);
    }
}

static void a_clock_set_back_keeps_filters_by_time_right(void **state)
{
    struct world *world = *state;
    /* A little: times of creation stand still. */
    int64_t newest = world->jobs[world->count - 1].created_at;
    atomic_fetch_sub(&world->fixture.time.wall_us, INT64_C(2000000));
    add_job(world);
    assert_int_equal(world->jobs[world->count - 1].created_at, newest);
    atomic_fetch_add(&world->fixture.time.wall_us, INT64_C(2000000));
    check_queries(world, 500);
    /* Much: the true time is stored, and filters look at each. */
    atomic_fetch_sub(&world->fixture.time.wall_us, INT64_C(7200000000));
    for (int i = 0; i < 20; i++)
        add_job(world);
    assert_true(world->jobs[world->count - 1].created_at < newest - INT64_C(7000000000));
    check_queries(world, 1000);
    store_fixture_close(&world->fixture);
    store_fixture_open(&world->fixture);
    check_queries(world, 300);
}

/* A prefix that more than 2,000 jobs share is checked row by row instead of being collected. */
static void a_common_prefix_gives_the_same_pages(void **state)
{
    struct world *world = *state;
    struct ty_job_query query = {
        .tenant = world->fixture.tenant, .name = "common", .name_prefix = true, .limit = 50};
    struct page page;
    int64_t last = 0;
    size_t total = 0;
    for (int i = 0; i < 2100; i++)
        last = test_job_make(&world->fixture, i % 2 ? "common-a" : "common-b", NULL);
    do {
        list(world, &query, &page);
        for (size_t i = 0; i < page.count; i++)
            assert_int_equal(page.rows[i], last--);
        total += page.count;
        if (page.count > 0)
            query.after_row = page.rows[page.count - 1];
    } while (page.count > 0);
    assert_int_equal(total, 2100);
}

static void another_tenants_jobs_are_in_no_page(void **state)
{
    struct world *world = *state;
    struct ty_job_query query = {.tenant = world->fixture.tenant + 1, .limit = 50};
    struct page page;
    for (int filter = 0; filter < 4; filter++) {
        query.states = filter == 1 ? 1U << TY_JOB_QUEUED : 0;
        query.name = filter == 2 ? "mnist" : NULL;
        query.labels_count = filter == 3 ? 1 : 0;
        query.labels[0].key = "size";
        query.labels[0].value = "big";
        list(world, &query, &page);
        assert_int_equal(page.count, 0);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_filter_gives_what_the_model_gives),
        TEST(changes_between_pages_neither_repeat_nor_hide_a_job),
        TEST(an_exact_divisor_of_the_total_ends_cleanly),
        TEST(a_visitor_ends_the_walk),
        TEST(a_clock_set_back_keeps_filters_by_time_right),
        TEST(a_common_prefix_gives_the_same_pages),
        TEST(another_tenants_jobs_are_in_no_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
