/* A store in a temporary folder with the real migrations, and short ways to write and read through
 * it. */
#ifndef SUPPORT_STORE_FIXTURE_H
#define SUPPORT_STORE_FIXTURE_H

#include "trainyard/store/jobs.h"
#include "trainyard/store/store.h"

#include <stdatomic.h>

/* A clock that stands still until it is moved. */
struct test_clock {
    struct ty_clock clock;
    _Atomic int64_t wall_us;
    _Atomic int64_t monotonic_ms;
};
void test_clock_init(struct test_clock *clock, int64_t wall_us);

struct store_fixture {
    char folder[64];
    struct test_clock time;
    struct ty_store_options options;
    struct ty_store *store;
    struct ty_reader *reader;
    int64_t tenant; /* of the default tenant */
    int made;       /* jobs made so far: the source of ids and names */
};

/* Make the folder and open the store, not threaded unless said so. Fails the test on any error. */
void store_fixture_start(struct store_fixture *fixture, bool threaded);
void store_fixture_stop(struct store_fixture *fixture); /* closes and removes the folder */
/* The same for cmocka: *state is a fixture that is not threaded. */
int store_fixture_setup(void **state);
int store_fixture_teardown(void **state);
void store_fixture_close(struct store_fixture *fixture);
void store_fixture_open(struct store_fixture *fixture);

/* Run `apply(writer, context)` as one write and wait. */
typedef ty_status test_apply(struct ty_writer *writer, void *context, struct ty_error *err);
ty_status store_apply(struct ty_store *store, test_apply *apply, void *context,
                      struct ty_error *err);

/* A queued job with an id and names of its own; texts live in *job. */
struct test_job {
    struct ty_job_insert insert;
    char id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
};
void test_job_init(struct test_job *job, struct store_fixture *fixture, const char *name,
                   const char *labels);
/* Store it; fails the test on any error. Returns the row. */
int64_t test_job_store(struct store_fixture *fixture, struct test_job *job);
/* The shortest way to one more job. */
int64_t test_job_make(struct store_fixture *fixture, const char *name, const char *labels);
/* Move a stored job to a state as the machine would: sequence + 1, times set. */
void test_job_move(struct store_fixture *fixture, const char *id, ty_job_state state,
                   bool run_active);

#endif
