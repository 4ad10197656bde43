/* The engine's life cycle and its step. The happy path of a job: submit commits it (a letter
 * comes), it enters the line, a round admits it (a write, a letter), its plan says APPLY, the
 * executor's words come as letters and go to the store, a terminal commit lets it leave the table.
 *
 * A crash anywhere loses only what is in memory: the next engine reads the live jobs and plans
 * again from the start. */
#include "state.h"

#include "trainyard/base/thread.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LIVE_PAGE = 1000,
    IDLE_MS = 5000,        /* the thread turns at least this often */
    CLOCK_SET_US = 1000000 /* a step of the wall clock against the monotonic one */
};

/* --- life cycle --- */
struct loading {
    struct ty_engine *engine;
    int64_t last_row;
    size_t count;
    ty_status status;
};

static bool load_job(void *context, const struct ty_job_record *record)
{
    struct loading *loading = context;
    struct job_facts facts;
    job_facts_take(&facts, record);
    loading->status = live_take(loading->engine, &facts);
    if (loading->status != TY_OK)
        return false;
    struct live_job *job = live_find(loading->engine, facts.id);
    if (job)
        job->check_due = facts.status.run_active;
    loading->last_row = record->row;
    loading->count++;
    return true;
}

static ty_status load_live_jobs(struct ty_engine *engine, struct ty_error *err)
{
    struct loading loading = {.engine = engine, .status = TY_OK};
    do {
        loading.count = 0;
        ty_status status =
            ty_jobs_live(engine->reader, loading.last_row, LIVE_PAGE, load_job, &loading, err);
        if (status != TY_OK)
            return ty_wrap(err, "load the live jobs");
        if (loading.status != TY_OK)
            return ty_fail(err, loading.status, "no memory for the live jobs");
    } while (loading.count == LIVE_PAGE);
    return TY_OK;
}

static ty_status open_engine(struct ty_engine *engine, struct ty_error *err)
{
    if (ty_map_create(NULL, &engine->jobs) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the engine");
    ty_status status = trash_open(engine, err);
    if (status == TY_OK)
        status = ty_reader_open(engine->options.store, &engine->reader, err);
    if (status == TY_OK)
        status = load_live_jobs(engine, err);
    if (status == TY_OK) {
        trash_recover(engine);
        remains_recover(engine);
        wish_recover(engine);
    }
    return status;
}

ty_status ty_engine_create(const struct ty_engine_options *options, struct ty_engine **engine_out,
                           struct ty_error *err)
{
    struct ty_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the engine");
    engine->options = *options;
    engine->logs_fd = -1;
    engine->removed_fd = -1;
    engine->dirty_last = &engine->dirty;
    engine->tenants_stale = true;
    engine->now = ty_now_us(options->clock);
    engine->now_ms = ty_monotonic_ms(options->clock);
    engine->skew = engine->now - engine->now_ms * 1000;
    engine->figures.turned_ms = engine->now_ms;
    inbox_init(&engine->inbox);
    pthread_mutex_init(&engine->view_lock, NULL);
    ty_status status = open_engine(engine, err);
    if (status != TY_OK) {
        ty_engine_destroy(engine);
        return status;
    }
    *engine_out = engine;
    return TY_OK;
}

/* A second turn within a millisecond means a burst of letters: let some gather, so that each
 * submit of a thousand a second is not a change of threads of its own. */
static void rest_in_burst(int64_t *last_ms)
{
    static const struct timespec rest = {.tv_nsec = 1000000};
    int64_t now_ms = ty_monotonic_ms(ty_clock_system());
    if (now_ms == *last_ms)
        nanosleep(&rest, NULL);
    *last_ms = now_ms;
}

static void *run_engine(void *context)
{
    struct ty_engine *engine = context;
    const struct ty_clock *clock = engine->options.clock;
    int64_t timeout_ms = 0;
    int64_t last_ms = 0;
    while (inbox_wait(&engine->inbox, timeout_ms)) {
        int64_t next = ty_engine_step(engine, ty_now_us(clock));
        rest_in_burst(&last_ms);
        int64_t later_us = next == 0 ? INT64_C(1000) * IDLE_MS : next - ty_now_us(clock);
        timeout_ms = later_us <= 0 ? 0 : later_us / 1000 + 1;
        if (timeout_ms > IDLE_MS)
            timeout_ms = IDLE_MS;
    }
    return NULL;
}

ty_status ty_engine_start(struct ty_engine *engine, struct ty_error *err)
{
    ty_status status = prune_open(engine, err);
    if (status == TY_OK)
        status = ty_thread_start(&engine->thread, "ty-engine", run_engine, engine, err);
    engine->threaded = status == TY_OK;
    return status;
}

void ty_engine_stop(struct ty_engine *engine)
{
    inbox_stop(&engine->inbox);
    if (engine->threaded)
        pthread_join(engine->thread, NULL);
    engine->threaded = false;
    prune_close(engine);
    ty_reader_close(engine->reader);
    engine->reader = NULL;
}

ty_status engine_write(struct ty_engine *engine, struct ty_write *write, struct ty_error *err)
{
    atomic_fetch_add(&engine->writes_in_flight, 1);
    ty_status status = ty_store_write(engine->options.store, write, err);
    if (status != TY_OK)
        atomic_fetch_sub(&engine->writes_in_flight, 1);
    return status;
}

/* Our writes come back by a call into this memory: wait for the store's thread to make the last. */
static void wait_for_writes(struct ty_engine *engine)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    while (atomic_load(&engine->writes_in_flight) > 0)
        nanosleep(&pause, NULL);
}

static void destroy_letter(struct letter *letter)
{
    switch (letter->kind) {
    case LETTER_SEEN:
        seen_destroy((struct seen *)letter);
        break;
    case LETTER_WRITTEN:
        observe_write_destroy(observe_write_of(letter));
        break;
    case LETTER_REMOVED:
        removal_destroy(removal_of(letter));
        break;
    case LETTER_PRUNED:
        prune_destroy(prune_of(letter));
        break;
    case LETTER_COMMIT:
    case LETTER_WISH:
        free(letter);
        break;
    }
}

static void destroy_letters(struct letter *letter)
{
    while (letter) {
        struct letter *next = letter->next;
        destroy_letter(letter);
        letter = next;
    }
}

static void destroy_jobs(struct ty_engine *engine)
{
    while (engine->all) {
        struct live_job *job = engine->all;
        engine->all = job->all_next;
        observe_drop_pending(job);
        free(job);
    }
    ty_map_destroy(engine->jobs);
}

void ty_engine_destroy(struct ty_engine *engine)
{
    if (!engine)
        return;
    ty_engine_stop(engine);
    wait_for_writes(engine);
    bool poked;
    destroy_letters(inbox_take(&engine->inbox, &poked));
    destroy_letters(engine->wishes);
    destroy_jobs(engine);
    timers_done(&engine->timers);
    trash_close(engine);
    free(engine->tenants);
    free(engine->round_jobs);
    pthread_mutex_destroy(&engine->view_lock);
    inbox_done(&engine->inbox);
    free(engine);
}

/* --- the step --- */
static void take_commit(struct ty_engine *engine, struct commit_letter *commit)
{
    engine->growths_taken += commit->grew;
    if (live_take(engine, &commit->facts) != TY_OK)
        ty_log(engine->options.log, TY_LOG_ERROR, "no_memory", "take in %s", commit->letter.id);
    free(commit);
}

static void take_seen(struct ty_engine *engine, struct seen *seen)
{
    struct live_job *job = live_find(engine, seen->letter.id);
    if (!job) { /* over, removed or never ours: nothing may change any more */
        seen_destroy(seen);
        return;
    }
    observe_take(job, seen);
    live_mark(engine, job);
}

/* The client wants the job removed when it has ended; perhaps it has already. */
static void take_wish(struct ty_engine *engine, struct letter *wish)
{
    struct live_job *job = live_find(engine, wish->id);
    struct job_facts facts;
    struct ty_error err = {0};
    ty_status status = TY_OK;
    if (!job)
        status = act_read_facts(engine, 0, wish->id, &facts, &err);
    if (!job && status == TY_OK) {
        job = live_add(engine, &facts);
        status = job ? TY_OK : TY_NO_MEMORY;
    }
    if (status != TY_OK && status != TY_NOT_FOUND) {
        wish->next = engine->wishes;
        engine->wishes = wish;
        return;
    }
    if (job) {
        job->remove_wanted = true;
        live_mark(engine, job);
    }
    free(wish);
}

static void take_wishes_again(struct ty_engine *engine)
{
    struct letter *wish = engine->wishes;
    if (engine->sweep_due_ms > engine->now_ms)
        return;
    engine->wishes = NULL;
    while (wish) {
        struct letter *next = wish->next;
        take_wish(engine, wish);
        wish = next;
    }
}

static void take_letter(struct ty_engine *engine, struct letter *letter)
{
    switch (letter->kind) {
    case LETTER_COMMIT:
        take_commit(engine, (struct commit_letter *)letter);
        break;
    case LETTER_SEEN:
        take_seen(engine, (struct seen *)letter);
        break;
    case LETTER_WRITTEN:
        observe_written(engine, observe_write_of(letter));
        break;
    case LETTER_REMOVED:
        removal_ended(engine, removal_of(letter));
        break;
    case LETTER_PRUNED:
        prune_ended(engine, prune_of(letter));
        break;
    case LETTER_WISH:
        take_wish(engine, letter);
        break;
    }
}

/* Claims may have appeared: who waits for one is handed to the executor again. */
static void apply_again(struct live_job *job)
{
    if (job->facts.status.cause == TY_CAUSE_VOLUME_NOT_FOUND)
        job->applied_attempt = 0;
}

static void mark_all(struct ty_engine *engine, void (*each)(struct live_job *job))
{
    for (struct live_job *job = engine->all; job; job = job->all_next) {
        if (each)
            each(job);
        live_mark(engine, job);
    }
}

static void take_letters(struct ty_engine *engine)
{
    bool poked;
    struct letter *letter = inbox_take(&engine->inbox, &poked);
    while (letter) {
        struct letter *next = letter->next;
        take_letter(engine, letter);
        letter = next;
    }
    if (!poked)
        return;
    engine->tenants_stale = true;
    engine->round_wanted = true;
    mark_all(engine, apply_again);
}

/* Deadlines are wall-clock times kept on the monotonic clock: when someone sets the wall clock, all
 * are reckoned anew. */
static void notice_clock(struct ty_engine *engine, int64_t now)
{
    engine->now = now;
    engine->now_ms = ty_monotonic_ms(engine->options.clock);
    int64_t skew = now - engine->now_ms * 1000;
    int64_t step = skew > engine->skew ? skew - engine->skew : engine->skew - skew;
    engine->skew = skew;
    if (step >= CLOCK_SET_US)
        mark_all(engine, NULL);
}

static void start_executor(struct ty_engine *engine)
{
    if (engine->executor_started || engine->executor_backoff.due_ms > engine->now_ms)
        return;
    struct ty_executor *executor = engine->options.executor;
    struct ty_error err = {0};
    if (executor->ops->start(executor, observe_from_executor, engine, &err) != TY_OK) {
        backoff_fail(&engine->executor_backoff, engine->options.random, engine->now_ms);
        ty_log(engine->options.log, TY_LOG_ERROR, "executor_not_started", "%s: %s; trying again",
               executor->ops->name, err.text);
        return;
    }
    engine->executor_started = true;
    engine->round_wanted = true;
    mark_all(engine, NULL);
}

static void drive_marked(struct ty_engine *engine)
{
    while (engine->dirty) {
        struct live_job *job = engine->dirty;
        engine->dirty = job->dirty_next;
        if (!engine->dirty)
            engine->dirty_last = &engine->dirty;
        job->dirty = false;
        drive_job(engine, job);
    }
}

static void publish_figures(struct ty_engine *engine)
{
    pthread_mutex_lock(&engine->view_lock);
    engine->figures.admitted_replicas = engine->use.replicas;
    engine->figures.admitted_gpus = engine->use.gpus;
    engine->figures.turned_ms = engine->now_ms;
    pthread_mutex_unlock(&engine->view_lock);
}

static int64_t earliest(int64_t a, int64_t b)
{
    if (a == 0 || b == 0)
        return a + b;
    return a < b ? a : b;
}

static int64_t next_turn(const struct ty_engine *engine)
{
    int64_t due_ms = earliest(timers_next(&engine->timers), line_due_ms(engine));
    if (engine->removals == 0 && engine->executor_started)
        due_ms = earliest(due_ms, engine->sweep_due_ms);
    if (!engine->executor_started)
        due_ms = earliest(due_ms, engine->executor_backoff.due_ms);
    if (engine->tenants_stale)
        due_ms = earliest(due_ms, engine->tenants_backoff.due_ms > engine->now_ms
                                      ? engine->tenants_backoff.due_ms
                                      : engine->now_ms);
    if (due_ms == 0)
        return 0;
    int64_t later_ms = due_ms - engine->now_ms;
    return engine->now + (later_ms > 0 ? later_ms * 1000 : 0);
}

int64_t ty_engine_step(struct ty_engine *engine, int64_t now)
{
    notice_clock(engine, now);
    start_executor(engine);
    take_letters(engine);
    take_wishes_again(engine);
    for (struct timer *timer; (timer = timers_pop(&engine->timers, engine->now_ms));)
        live_mark(engine, timer->owner);
    drive_marked(engine);
    line_read_quotas(engine);
    line_round(engine);
    sweep_expired(engine);
    publish_figures(engine);
    return next_turn(engine);
}

/* --- for other threads --- */
int64_t ty_engine_queue_position(struct ty_engine *engine, const char *job_id)
{
    pthread_mutex_lock(&engine->view_lock);
    struct live_job *job = ty_map_get(engine->jobs, job_id);
    int64_t position = job ? atomic_load(&job->position) : 0;
    pthread_mutex_unlock(&engine->view_lock);
    return position;
}

void ty_engine_poke(struct ty_engine *engine)
{
    inbox_poke(&engine->inbox);
}

void ty_engine_figures(struct ty_engine *engine, struct ty_engine_figures *out)
{
    pthread_mutex_lock(&engine->view_lock);
    *out = engine->figures;
    pthread_mutex_unlock(&engine->view_lock);
}
