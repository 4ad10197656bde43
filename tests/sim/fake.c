#include "fake.h"

#include "trainyard/base/str.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS_MAX = 256, WORDS_MAX = 12, STARTS_MAX = 1024 };

typedef enum { RUN_FREE, RUN_PENDING, RUN_UP, RUN_AGAIN, RUN_ENDED } run_phase;

/* An observation on its way. */
struct word {
    int64_t due_ms;
    struct ty_observation seen;
};

struct fake_run {
    run_phase phase;
    char job_id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
    int32_t attempt;
    int32_t restarts;
    int32_t restarts_left;
    bool will_fail;
    bool stopping;
    int64_t turn_ms; /* when it goes on to its next phase */
    int64_t kill_ms; /* when the stop takes effect */
    struct ty_observation last;
    struct word words[WORDS_MAX]; /* in order */
    size_t words_count;
};

/* Every start that ever was: P2 is judged by it. */
struct start {
    char job_id[TY_ID_TEXT];
    int32_t attempt;
    int32_t restarts;
    bool wiped; /* the machine lost every trace of it: a repeat cannot know */
};

struct fake {
    struct ty_executor executor; /* first */
    struct world *world;
    ty_executor_observer *observer;
    void *context;
    struct fake_run runs[RUNS_MAX];
    struct start starts[STARTS_MAX];
    size_t starts_count;
};

static bool alive(const struct fake_run *run)
{
    return run->phase == RUN_PENDING || run->phase == RUN_UP || run->phase == RUN_AGAIN;
}

static struct fake_run *find_run(struct fake *fake, const char *object_name)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (fake->runs[i].phase != RUN_FREE && ty_str_equal(fake->runs[i].object_name, object_name))
            return &fake->runs[i];
    return NULL;
}

static struct start *find_start(struct fake *fake, const char *job_id, int32_t attempt)
{
    for (size_t i = 0; i < fake->starts_count; i++)
        if (fake->starts[i].attempt == attempt && ty_str_equal(fake->starts[i].job_id, job_id))
            return &fake->starts[i];
    return NULL;
}

static int64_t later(struct fake *fake, uint64_t within_ms)
{
    return fake->world->monotonic_ms + (int64_t)below(fake->world, within_ms + 1);
}

/* --- telling --- */
static void say(struct fake *fake, const char *job_id, const struct ty_observation *seen)
{
    struct ty_replica replica = {.name = "master-0", .phase = TY_REPLICA_RUNNING};
    size_t replicas = chance(fake->world, 300) ? 1 : 0;
    world_say(fake->world, "  %s: seen %d of attempt %d", job_id, (int)seen->kind, seen->attempt);
    if (fake->observer && !world_dead(fake->world))
        fake->observer(fake->context, job_id, seen, &replica, replicas);
}

static void queue_word(struct fake *fake, struct fake_run *run, const struct ty_observation *seen)
{
    int64_t due_ms = fake->world->monotonic_ms;
    if (fault(fake->world, 300))
        due_ms = later(fake, 20000);
    if (run->words_count > 0 && run->words[run->words_count - 1].due_ms > due_ms)
        due_ms = run->words[run->words_count - 1].due_ms; /* in order for one run */
    if (run->words_count == WORDS_MAX) {                  /* only the newest matter */
        for (size_t i = 1; i < WORDS_MAX; i++)
            run->words[i - 1] = run->words[i];
        run->words_count--;
    }
    run->words[run->words_count++] = (struct word){.due_ms = due_ms, .seen = *seen};
}

static void tell(struct fake *fake, struct fake_run *run, struct ty_observation seen)
{
    seen.attempt = run->attempt;
    seen.restarts = run->restarts;
    seen.at = fake->world->wall_us;
    run->last = seen;
    queue_word(fake, run, &seen);
    if (fault(fake->world, 150))
        queue_word(fake, run, &seen); /* told twice */
}

static void tell_kind(struct fake *fake, struct fake_run *run, ty_seen_kind kind)
{
    tell(fake, run, (struct ty_observation){.kind = kind});
}

static void end_run(struct fake *fake, struct fake_run *run, ty_seen_kind kind)
{
    struct ty_observation seen = {.kind = kind};
    if (kind == TY_SEEN_FAILED) {
        seen.exit = (struct ty_job_exit){.known = true, .code = 1, .replica = "master-0"};
        seen.cause = chance(fake->world, 300) ? TY_CAUSE_OUT_OF_MEMORY : TY_CAUSE_NONE;
    }
    run->phase = RUN_ENDED;
    run->turn_ms = 0;
    tell(fake, run, seen);
}

/* --- the life of a run --- */
static uint64_t choose_length(struct world *world)
{
    static const uint64_t lengths[] = {0, 50, 2000, 60000, 3600000};
    return lengths[below(world, sizeof(lengths) / sizeof(lengths[0]))];
}

static void go_up(struct fake *fake, struct fake_run *run)
{
    run->phase = RUN_UP;
    run->turn_ms = later(fake, choose_length(fake->world));
    tell_kind(fake, run, TY_SEEN_RUNNING);
}

static void go_on(struct fake *fake, struct fake_run *run)
{
    struct start *start = find_start(fake, run->job_id, run->attempt);
    switch (run->phase) {
    case RUN_PENDING:
    case RUN_AGAIN:
        go_up(fake, run);
        break;
    case RUN_UP:
        if (run->restarts_left > 0) {
            run->restarts_left--;
            run->restarts++;
            if (start)
                start->restarts = run->restarts;
            run->phase = RUN_AGAIN;
            run->turn_ms = later(fake, 10000);
            tell_kind(fake, run, TY_SEEN_RESTARTING);
        } else {
            end_run(fake, run, run->will_fail ? TY_SEEN_FAILED : TY_SEEN_SUCCEEDED);
        }
        break;
    case RUN_FREE:
    case RUN_ENDED:
        break;
    }
}

static void advance_run(struct fake *fake, struct fake_run *run)
{
    int64_t now = fake->world->monotonic_ms;
    for (int turns = 0; turns < 20 && alive(run); turns++) {
        if (run->stopping && run->kill_ms <= now)
            end_run(fake, run, TY_SEEN_STOPPED);
        else if (run->turn_ms <= now)
            go_on(fake, run);
        else
            break;
    }
}

static void deliver(struct fake *fake, struct fake_run *run)
{
    size_t told = 0;
    while (told < run->words_count && run->words[told].due_ms <= fake->world->monotonic_ms)
        say(fake, run->job_id, &run->words[told++].seen);
    for (size_t i = told; i < run->words_count; i++)
        run->words[i - told] = run->words[i];
    run->words_count -= told;
}

/* Things that are not so: about a job that is none, about a run that has ended, about an attempt
 * that is not on. */
static void lie(struct fake *fake)
{
    struct world *world = fake->world;
    struct fake_run *run = &fake->runs[below(world, RUNS_MAX)];
    static const ty_seen_kind kinds[] = {TY_SEEN_RUNNING, TY_SEEN_SUCCEEDED, TY_SEEN_FAILED,
                                         TY_SEEN_GONE, TY_SEEN_RESTARTING};
    struct ty_observation seen = {
        .kind = kinds[below(world, 5)], .attempt = 1, .at = world->wall_us};
    if (run->phase == RUN_FREE) {
        say(fake, "job_00000000000000000000000000", &seen);
        return;
    }
    seen.attempt = run->attempt - 1;
    if (run->phase == RUN_ENDED && chance(world, 500)) {
        seen.attempt = run->attempt;
        seen.kind = chance(world, 500) ? TY_SEEN_RUNNING : TY_SEEN_RESTARTING;
        seen.restarts = run->restarts;
        if (run->words_count > 0)
            return; /* its end was not told yet: in order for one run */
    }
    say(fake, run->job_id, &seen);
}

void fake_pump(struct fake *fake)
{
    struct world *world = fake->world;
    for (size_t i = 0; i < RUNS_MAX; i++)
        advance_run(fake, &fake->runs[i]);
    if (!fake->observer)
        return;
    size_t first = (size_t)below(world, RUNS_MAX); /* no order between jobs */
    bool backwards = chance(world, 500);
    for (size_t i = 0; i < RUNS_MAX; i++) {
        size_t step = backwards ? RUNS_MAX - i : i;
        struct fake_run *run = &fake->runs[(first + step) % RUNS_MAX];
        if (run->phase != RUN_FREE)
            deliver(fake, run);
    }
    if (fault(world, 100))
        lie(fake);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

int64_t fake_next_ms(const struct fake *fake)
{
    int64_t next = 0;
    for (size_t i = 0; i < RUNS_MAX; i++) {
        const struct fake_run *run = &fake->runs[i];
        if (run->phase == RUN_FREE)
            continue;
        if (alive(run))
            next = sooner(next, run->turn_ms);
        if (alive(run) && run->stopping)
            next = sooner(next, run->kill_ms);
        if (run->words_count > 0)
            next = sooner(next, run->words[0].due_ms);
    }
    return next;
}

void fake_visit_alive(const struct fake *fake, fake_visitor *visit, void *context)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (alive(&fake->runs[i]))
            visit(context, fake->runs[i].job_id, fake->runs[i].attempt);
}

int32_t fake_restarts(const struct fake *fake, const char *job_id)
{
    int32_t restarts = 0;
    for (size_t i = 0; i < fake->starts_count; i++)
        if (ty_str_equal(fake->starts[i].job_id, job_id))
            restarts += fake->starts[i].restarts;
    return restarts;
}

/* --- what the engine calls --- */
static struct fake *of(struct ty_executor *executor)
{
    return (struct fake *)executor;
}

/* A call that fails: nothing happened (or, unknown to the caller, everything did). */
static ty_status unreachable(struct ty_error *err)
{
    return ty_fail(err, TY_UNAVAILABLE, "the executor does not answer");
}

static ty_status fake_start(struct ty_executor *executor, ty_executor_observer *observer,
                            void *context, struct ty_error *err)
{
    struct fake *fake = of(executor);
    if (fault(fake->world, 100))
        return unreachable(err);
    fake->observer = observer;
    fake->context = context;
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (fake->runs[i].phase != RUN_FREE)
            queue_word(fake, &fake->runs[i], &fake->runs[i].last);
    return TY_OK;
}

/* Two runs of a job must never be alive at once, and an attempt starts once. */
static void judge_start(struct fake *fake, const struct ty_run *run)
{
    for (size_t i = 0; i < RUNS_MAX; i++) {
        const struct fake_run *other = &fake->runs[i];
        if (alive(other) && ty_str_equal(other->job_id, run->job_id))
            world_fail(
                fake->world, "P2: attempt %d of %s starts as %s while attempt %d is alive as %s",
                run->attempt, run->job_id, run->object_name, other->attempt, other->object_name);
    }
    const struct start *start = find_start(fake, run->job_id, run->attempt);
    if (start && !start->wiped)
        world_fail(fake->world, "P2: attempt %d of %s starts a second time", run->attempt,
                   run->job_id);
}

static struct fake_run *free_run(struct fake *fake)
{
    for (size_t i = 0; i < RUNS_MAX; i++)
        if (fake->runs[i].phase == RUN_FREE)
            return &fake->runs[i];
    return NULL;
}

static void start_run(struct fake *fake, const struct ty_run *asked, struct fake_run *run)
{
    struct world *world = fake->world;
    judge_start(fake, asked);
    if (!run)
        run = free_run(fake);
    if (!run || fake->starts_count == STARTS_MAX)
        return;
    *run = (struct fake_run){.phase = RUN_PENDING,
                             .attempt = asked->attempt,
                             .restarts_left = chance(world, 200) ? (int32_t)below(world, 4) : 0,
                             .will_fail = chance(world, 300)};
    ty_str_copy(run->job_id, sizeof(run->job_id), asked->job_id);
    ty_str_copy(run->object_name, sizeof(run->object_name), asked->object_name);
    run->turn_ms = later(fake, chance(world, 500) ? 0 : 30000);
    struct start *start = &fake->starts[fake->starts_count++];
    *start = (struct start){.attempt = asked->attempt};
    ty_str_copy(start->job_id, sizeof(start->job_id), asked->job_id);
    tell(fake, run,
         (struct ty_observation){.kind = TY_SEEN_STARTING,
                                 .cause = chance(world, 200) ? TY_CAUSE_VOLUME_NOT_FOUND
                                                             : TY_CAUSE_NONE});
}

/* Idempotent by object name and attempt, as executor.h asks. */
static void take_apply(struct fake *fake, const struct ty_run *asked)
{
    struct fake_run *run = find_run(fake, asked->object_name);
    if (run && run->attempt == asked->attempt) {
        queue_word(fake, run, &run->last); /* adopted */
        return;
    }
    if (run && run->attempt > asked->attempt)
        world_fail(fake->world, "P2: attempt %d of %s comes after attempt %d", asked->attempt,
                   asked->job_id, run->attempt);
    start_run(fake, asked, run);
}

/* The bug: a repeat goes out under a name of its own, so that it finds nothing to adopt. */
static void rename_repeat(struct fake *fake, struct ty_run *asked, char name[TY_OBJECT_NAME])
{
    if (!find_start(fake, asked->job_id, asked->attempt))
        return;
    snprintf(name, TY_OBJECT_NAME, "n%016llx", (unsigned long long)below(fake->world, UINT64_MAX));
    asked->object_name = name;
}

static ty_status fake_apply(struct ty_executor *executor, const struct ty_run *run,
                            struct ty_error *err)
{
    struct fake *fake = of(executor);
    struct world *world = fake->world;
    struct ty_run asked = *run;
    char name[TY_OBJECT_NAME];
    if (world_dead(world) || fault(world, 100))
        return unreachable(err);
    world_say(world, "apply %s, attempt %d", run->job_id, run->attempt);
    if (world->options.bug == BUG_DOUBLE_APPLY)
        rename_repeat(fake, &asked, name);
    if (fault(world, 20) && !find_run(fake, run->object_name))
        return ty_fail_code(err, TY_REFUSED, "image_name_invalid", "never with that image");
    take_apply(fake, &asked);
    if (fault(world, 30))
        world_die(world);
    if (fault(world, 100))
        return unreachable(err);
    return TY_OK;
}

static void take_stop(struct fake *fake, const struct ty_run_ref *asked)
{
    struct fake_run *run = find_run(fake, asked->object_name);
    if (!run || run->attempt != asked->attempt) {
        struct ty_observation gone = {
            .kind = TY_SEEN_GONE, .attempt = asked->attempt, .at = fake->world->wall_us};
        say(fake, asked->job_id, &gone);
        return;
    }
    if (!alive(run)) {
        queue_word(fake, run, &run->last);
        return;
    }
    if (run->stopping)
        return;
    run->stopping = true;
    run->kill_ms = later(fake, chance(fake->world, 500) ? 0 : 40000);
}

static ty_status fake_stop(struct ty_executor *executor, const struct ty_run_ref *run,
                           struct ty_error *err)
{
    struct fake *fake = of(executor);
    if (world_dead(fake->world) || fault(fake->world, 100))
        return unreachable(err);
    world_say(fake->world, "stop %s, attempt %d", run->job_id, run->attempt);
    take_stop(fake, run);
    if (fault(fake->world, 20))
        world_die(fake->world);
    return fault(fake->world, 100) ? unreachable(err) : TY_OK;
}

static ty_status fake_scale(struct ty_executor *executor, const struct ty_run_ref *run,
                            int32_t replicas, struct ty_error *err)
{
    struct fake *fake = of(executor);
    if (world_dead(fake->world) || fault(fake->world, 100))
        return unreachable(err);
    world_say(fake->world, "scale %s, attempt %d, to %d", run->job_id, run->attempt, replicas);
    if (fault(fake->world, 20))
        world_die(fake->world);
    return fault(fake->world, 100) ? unreachable(err) : TY_OK;
}

static ty_status fake_remove(struct ty_executor *executor, const struct ty_run_ref *asked,
                             struct ty_error *err)
{
    struct fake *fake = of(executor);
    struct fake_run *run = find_run(fake, asked->object_name);
    if (world_dead(fake->world) || fault(fake->world, 50))
        return unreachable(err);
    if (run && alive(run))
        world_fail(fake->world, "P2: the run of %s is removed while it is alive", asked->job_id);
    if (run)
        *run = (struct fake_run){.phase = RUN_FREE};
    return TY_OK;
}

static ty_status fake_check(struct ty_executor *executor, const struct ty_run_ref *asked,
                            struct ty_error *err)
{
    struct fake *fake = of(executor);
    if (world_dead(fake->world) || fault(fake->world, 100))
        return unreachable(err);
    struct fake_run *run = find_run(fake, asked->object_name);
    if (run && run->attempt == asked->attempt) {
        queue_word(fake, run, &run->last);
        return TY_OK;
    }
    struct ty_observation gone = {
        .kind = TY_SEEN_GONE, .attempt = asked->attempt, .at = fake->world->wall_us};
    say(fake, asked->job_id, &gone);
    return TY_OK;
}

static struct ty_capacity fake_capacity(struct ty_executor *executor)
{
    (void)executor;
    return (struct ty_capacity){.replicas = SIM_CAPACITY_REPLICAS,
                                .gpus = SIM_CAPACITY_GPUS,
                                .cpu_millis = -1,
                                .memory_bytes = -1};
}

static ty_status fake_open_claim(struct ty_executor *executor, const char *namespace,
                                 const char *claim, int *fd_out, struct ty_error *err)
{
    (void)executor;
    (void)namespace;
    (void)fd_out;
    return ty_fail(err, TY_NOT_FOUND, "no claim %s", claim);
}

static ty_status fake_remove_claim(struct ty_executor *executor, const char *namespace,
                                   const char *claim, struct ty_error *err)
{
    (void)namespace;
    (void)claim;
    return fault(of(executor)->world, 100) ? unreachable(err) : TY_OK;
}

static const struct ty_executor_ops ops = {.name = "fake",
                                           .start = fake_start,
                                           .apply = fake_apply,
                                           .stop = fake_stop,
                                           .scale = fake_scale,
                                           .remove = fake_remove,
                                           .check = fake_check,
                                           .capacity = fake_capacity,
                                           .open_claim = fake_open_claim,
                                           .remove_claim = fake_remove_claim};

static void wipe_run(struct fake *fake, struct fake_run *run)
{
    struct start *start = find_start(fake, run->job_id, run->attempt);
    if (start)
        start->wiped = true;
    *run = (struct fake_run){.phase = RUN_FREE};
}

void fake_crash(struct fake *fake, bool machine)
{
    struct world *world = fake->world;
    fake->observer = NULL;
    for (size_t i = 0; i < RUNS_MAX; i++) {
        struct fake_run *run = &fake->runs[i];
        run->words_count = 0; /* what was not told is told anew by the next start */
        if (!machine || !alive(run))
            continue;
        end_run(fake, run, TY_SEEN_GONE); /* found without a result */
        run->words_count = 0;
        if (chance(world, 300))
            wipe_run(fake, run); /* not even that is left */
    }
}

struct fake *fake_create(struct world *world)
{
    struct fake *fake = calloc(1, sizeof(*fake));
    if (!fake)
        abort();
    fake->executor.ops = &ops;
    fake->world = world;
    return fake;
}

void fake_destroy(struct fake *fake)
{
    free(fake);
}

struct ty_executor *fake_executor(struct fake *fake)
{
    return &fake->executor;
}
