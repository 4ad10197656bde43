/* A process that submits is killed at random moments, again and again, on a real file system: what
 * it was told is stored is there. It tells its parent through a pipe, after the commit only. */
#include "store_fixture.h"
#include "trainyard/base/random.h"
#include "trainyard/store/tenants.h"
#include "unit.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLS = 60, IN_FLIGHT = 40, JOBS_MAX = 1000000 };

struct flight {
    struct ty_write write;
    struct test_job job;
    int number;
    int pipe;
    _Atomic bool *busy;
};

static ty_status apply(struct ty_writer *writer, struct ty_write *write, struct ty_error *err)
{
    struct flight *flight = (struct flight *)write;
    return ty_jobs_insert(writer, &flight->job.insert, NULL, err);
}

static void done(struct ty_write *ended, ty_status status, const struct ty_error *err)
{
    struct flight *flight = (struct flight *)ended;
    (void)err;
    if (status == TY_OK && write(flight->pipe, &flight->number, sizeof(flight->number)) !=
                               (ssize_t)sizeof(flight->number))
        _exit(3);
    atomic_store(flight->busy, false);
}

/* The child: submit without end. */
static void submit_for_ever(struct store_fixture *fixture, int pipe, int first)
{
    static struct flight flights[IN_FLIGHT];
    static _Atomic bool busy[IN_FLIGHT];
    struct ty_error err = {0};
    fixture->made = first;
    if (ty_store_open(&fixture->options, &fixture->store, &err) != TY_OK)
        _exit(4);
    for (int i = 0;; i = (i + 1) % IN_FLIGHT) {
        if (atomic_load(&busy[i])) {
            usleep(50);
            continue;
        }
        test_job_init(&flights[i].job, fixture, "kill", "{\"a\":\"b\"}");
        flights[i].write = (struct ty_write){.apply = apply, .done = done};
        flights[i].number = fixture->made;
        flights[i].pipe = pipe;
        flights[i].busy = &busy[i];
        atomic_store(&busy[i], true);
        if (ty_store_write(fixture->store, &flights[i].write, &err) != TY_OK)
            _exit(5);
    }
}

struct journal {
    bool acknowledged[JOBS_MAX];
    bool present[JOBS_MAX];
    int highest;
};

static void read_journal(int pipe, struct journal *journal)
{
    int number = 0;
    while (read(pipe, &number, sizeof(number)) == (ssize_t)sizeof(number)) {
        assert_in_range(number, 1, JOBS_MAX - 1);
        journal->acknowledged[number] = true;
        if (number > journal->highest)
            journal->highest = number;
    }
}

static bool note_present(void *context, const struct ty_job_record *record)
{
    struct journal *journal = context;
    int number = (int)strtol(record->id + 4, NULL, 10);
    assert_in_range(number, 1, JOBS_MAX - 1);
    assert_false(journal->present[number]);
    journal->present[number] = true;
    if (number > journal->highest)
        journal->highest = number;
    return true;
}

static size_t check(struct store_fixture *fixture, struct journal *journal)
{
    struct ty_error err = {0};
    struct ty_tenant_counts counts;
    size_t total = 0;
    memset(journal->present, 0, sizeof(journal->present));
    store_fixture_open(fixture); /* checks the whole file too */
    struct ty_job_query query = {.tenant = fixture->tenant, .limit = JOBS_MAX};
    assert_int_equal(ty_jobs_list(fixture->reader, &query, note_present, journal, &err), TY_OK);
    for (int i = 1; i <= journal->highest; i++) {
        total += journal->present[i];
        if (journal->acknowledged[i] && !journal->present[i])
            fail_msg("job %d was acknowledged and is lost", i);
    }
    assert_int_equal(ty_tenants_count(fixture->reader, fixture->tenant, &counts, &err), TY_OK);
    assert_int_equal(counts.jobs, total);
    assert_int_equal(counts.last_event, total);
    store_fixture_close(fixture);
    return total;
}

static void kill_once(struct store_fixture *fixture, struct journal *journal, unsigned wait_us)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        fixture->options.threaded = true;
        submit_for_ever(fixture, ends[1], journal->highest + 1);
    }
    close(ends[1]);
    /* The pipe must not fill up while we wait, or the child would stop instead of being killed. */
    struct pollfd wait_for = {.fd = ends[0], .events = POLLIN};
    (void)poll(&wait_for, 1, 5000); /* it has begun */
    usleep(wait_us);
    assert_int_equal(kill(child, SIGKILL), 0);
    read_journal(ends[0], journal);
    int ended = 0;
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
    close(ends[0]);
}

static void killed_at_any_moment_nothing_acknowledged_is_lost(void **state)
{
    static struct journal journal;
    struct store_fixture fixture;
    struct ty_seeded seeded;
    struct ty_random random = ty_random_seeded(&seeded, (uint64_t)getpid());
    size_t total = 0;
    (void)state;
    store_fixture_start(&fixture, false);
    store_fixture_close(&fixture);
    for (int i = 0; i < KILLS; i++) {
        kill_once(&fixture, &journal, (unsigned)ty_random_below(&random, 60000));
        total = check(&fixture, &journal);
    }
    assert_true(total > KILLS);
    store_fixture_open(&fixture);
    store_fixture_stop(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_any_moment_nothing_acknowledged_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
