/* The simulation: one seed is one history of a gateway under faults; every promise is held against
 * the database after every step, and in the end, without faults, everything must come to rest.
 *
 *   sim --seeds 1..2000            run them; a failing seed prints the command that replays it
 *   sim --seed 7 --verbose         one, with what happens
 *   sim --bug NAME --seeds 1..2000 put a bug in: succeeds when a seed finds it, and says which */
#include "bugs.h"
#include "fake.h"
#include "journal.h"
#include "sim_vfs.h"

#include "trainyard/base/str.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_DEFAULT = 150, REST_TURNS = 4000, OPEN_TRIES = 20 };

struct totals {
    uint64_t seeds;
    uint64_t acknowledged;
    uint64_t crashes;
    uint64_t disk_faults;
    uint64_t reached[TY_JOB_STATE_COUNT][TY_CAUSE_COUNT];
};

static const char *const bug_names[] = {[BUG_NONE] = "none",
                                        [BUG_LOST_COMMIT] = "lost_commit",
                                        [BUG_EARLY_ANSWER] = "early_answer",
                                        [BUG_DOUBLE_APPLY] = "double_apply"};

/* --- time --- */
static int64_t next_event_ms(const struct world *world)
{
    int64_t next = fake_next_ms(world->fake);
    if (world->next_turn == 0)
        return next;
    int64_t later_us = world->next_turn - world->wall_us;
    int64_t turn_ms = world->monotonic_ms + (later_us > 0 ? later_us / 1000 + 1 : 0);
    return next == 0 || turn_ms < next ? turn_ms : next;
}

static void pass_time(struct world *world, int64_t ms)
{
    world->monotonic_ms += ms;
    world->wall_us += ms * 1000;
}

static void pass_some_time(struct world *world)
{
    static const uint64_t spans[] = {1, 50, 50, 5000, 600000};
    int64_t next_ms = next_event_ms(world);
    if (chance(world, 500) && next_ms > world->monotonic_ms)
        pass_time(world, next_ms - world->monotonic_ms);
    else
        pass_time(world, (int64_t)below(world, spans[below(world, 5)]));
    if (fault(world, 5)) /* someone sets the clock */
        world->wall_us += ((int64_t)below(world, 7200) - 3600) * 1000000;
}

/* --- faults of the disk --- */
static void arm_disk(struct world *world)
{
    if (fault(world, 30))
        sim_vfs_cut_after(world->disk, 1 + below(world, 80));
    if (fault(world, 10))
        sim_vfs_fail_nth(world->disk, SIM_SYNC, 1 + below(world, 20));
    if (fault(world, 10))
        sim_vfs_fail_nth(world->disk, SIM_WRITE, 1 + below(world, 60));
    if (fault(world, 10))
        sim_vfs_fail_nth(world->disk, SIM_READ, 1 + below(world, 100));
    if (fault(world, 15))
        sim_vfs_set_capacity(world->disk, sim_vfs_used(world->disk) + (int64_t)below(world, 20000));
    if (chance(world, 150))
        sim_vfs_set_capacity(world->disk, 0);
}

static void heal_disk(struct world *world)
{
    sim_vfs_set_capacity(world->disk, 0);
    sim_vfs_cut_after(world->disk, 0);
    for (int kind = 0; kind < SIM_CALL_KINDS; kind++)
        sim_vfs_fail_nth(world->disk, (sim_vfs_call)kind, 0);
}

/* --- start and restart --- */
static void open_again(struct world *world)
{
    struct ty_error err = {0};
    for (int tries = 0; tries < OPEN_TRIES; tries++) {
        if (tries == OPEN_TRIES / 2)
            heal_disk(world);
        if (world_open(world, &err) == TY_OK)
            return;
        world_say(world, "does not open: %s", err.text);
        if (sim_vfs_is_cut(world->disk))
            world_crash(world, chance(world, 500));
    }
    world_fail(world, "P1: the store does not open again: %s", err.text);
}

static void restart(struct world *world, bool machine)
{
    world_crash(world, machine);
    open_again(world);
}

/* A store that has seen the disk fail takes no more writes until someone starts the gateway again.
 */
static bool wants_restart(struct world *world)
{
    struct ty_error err = {0};
    return ty_store_health(world->store, &err) != TY_OK && (!world->faults || chance(world, 100));
}

/* --- the run --- */
static void turn(struct world *world)
{
    fake_pump(world->fake);
    world->next_turn = ty_engine_step(world->engine, world->wall_us);
    (void)ty_store_drain(world->store);
    if (world_dead(world))
        restart(world, chance(world, 600));
    else if (fault(world, 10) || wants_restart(world))
        restart(world, fault(world, 300));
}

/* The checks look at the disk as it is: no fault is spent on them. */
static void look(struct world *world)
{
    if (world->failed || world_dead(world))
        return;
    sim_vfs_fail_nth(world->disk, SIM_READ, 0);
    bool faults = world->faults;
    world->faults = false;
    check_promises(world);
    world->faults = faults;
}

static void run_steps(struct world *world)
{
    for (; world->step < world->options.steps && !world->failed; world->step++) {
        pass_some_time(world);
        arm_disk(world);
        for (uint64_t i = below(world, 3); i > 0 && !world_dead(world); i--)
            clients_act(world);
        turn(world);
        look(world);
    }
}

static void come_to_rest(struct world *world)
{
    char why[256] = "";
    world->faults = false;
    world->rest_since_us = world->wall_us;
    heal_disk(world);
    if (world_dead(world))
        restart(world, false);
    for (int turns = 0; turns < REST_TURNS && !world->failed; turns++, world->step++) {
        turn(world);
        look(world);
        if (world->failed || check_rest(world, why, sizeof(why)))
            return;
        int64_t next_ms = next_event_ms(world);
        pass_time(world, next_ms > world->monotonic_ms ? next_ms - world->monotonic_ms : 1);
    }
    world_fail(world, "liveness: after %d turns without faults %s", REST_TURNS, why);
}

/* True when every promise held. */
static bool run_seed(const struct sim_options *options, struct totals *totals, char *failure,
                     size_t size)
{
    struct world world;
    struct sim_vfs_counts counts;
    world_init(&world, options);
    bugs_watch(&world);
    open_again(&world);
    run_steps(&world);
    if (!world.failed)
        come_to_rest(&world);
    sim_vfs_get_counts(world.disk, &counts);
    totals->seeds++;
    totals->acknowledged += world.journal->acknowledged;
    totals->crashes += (uint64_t)world.crashes;
    totals->disk_faults += counts.faults;
    for (size_t state = 0; state < TY_JOB_STATE_COUNT; state++)
        for (size_t cause = 0; cause < TY_CAUSE_COUNT; cause++)
            totals->reached[state][cause] += world.reached[state][cause];
    bugs_watch(NULL);
    bool held = !world.failed;
    if (!held)
        snprintf(failure, size, "at step %d: %s", world.step, world.failure);
    world_done(&world);
    return held;
}

/* How often each state was reached by each cause: what the seeds have been through. */
static void print_coverage(const struct totals *totals)
{
    for (size_t state = 0; state < TY_JOB_STATE_COUNT; state++)
        for (size_t cause = 0; cause < TY_CAUSE_COUNT; cause++)
            if (totals->reached[state][cause] > 0)
                printf("%10llu  %s/%s\n", (unsigned long long)totals->reached[state][cause],
                       ty_job_state_name((ty_job_state)state),
                       ty_job_cause_name((ty_job_cause)cause));
}

/* --- the command line --- */
struct range {
    uint64_t first;
    uint64_t last;
};

static bool parse_range(const char *text, struct range *range)
{
    char *end;
    range->first = strtoull(text, &end, 10);
    range->last = range->first;
    if (end[0] == '.' && end[1] == '.')
        range->last = strtoull(end + 2, &end, 10);
    return *end == '\0' && range->first <= range->last;
}

static bool parse_bug(const char *name, sim_bug *bug)
{
    for (size_t i = 0; i < sizeof(bug_names) / sizeof(bug_names[0]); i++)
        if (ty_str_equal(bug_names[i], name)) {
            *bug = (sim_bug)i;
            return true;
        }
    return false;
}

static bool parse_arguments(int count, char **arguments, struct sim_options *options,
                            struct range *range, bool *coverage)
{
    static const struct option known[] = {
        {"seed",     required_argument, NULL, 's'},
        {"seeds",    required_argument, NULL, 's'},
        {"steps",    required_argument, NULL, 'n'},
        {"bug",      required_argument, NULL, 'b'},
        {"verbose",  no_argument,       NULL, 'v'},
        {"coverage", no_argument,       NULL, 'c'},
        {NULL,       0,                 NULL, 0  }
    };
    int64_t steps = options->steps;
    bool good = true;
    for (int got; good && (got = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        if (got == 's')
            good = parse_range(optarg, range);
        else if (got == 'n')
            good = ty_str_to_int(optarg, 1, 1000000, &steps) == TY_OK;
        else if (got == 'b')
            good = parse_bug(optarg, &options->bug);
        else
            good = got == 'v' || got == 'c';
        options->verbose = options->verbose || got == 'v';
        *coverage = *coverage || got == 'c';
    }
    options->steps = (int)steps;
    return good && optind == count;
}

int main(int count, char **arguments)
{
    struct sim_options options = {.steps = STEPS_DEFAULT, .bug = BUG_NONE};
    struct range range = {1, 100};
    struct totals totals = {0};
    bool coverage = false;
    char failure[1200];
    if (!parse_arguments(count, arguments, &options, &range, &coverage)) {
        fprintf(stderr, "usage: sim [--seed N | --seeds A..B] [--steps N] [--verbose] [--coverage] "
                        "[--bug lost_commit|early_answer|double_apply]\n");
        return 2;
    }
    for (uint64_t seed = range.first; seed <= range.last; seed++) {
        options.seed = seed;
        if (run_seed(&options, &totals, failure, sizeof(failure)))
            continue;
        if (options.bug != BUG_NONE) {
            printf("bug %s: found by seed %llu, %s\n", bug_names[options.bug],
                   (unsigned long long)seed, failure);
            return 0;
        }
        printf("seed %llu failed %s\nreplay: %s --seed %llu --steps %d --verbose\n",
               (unsigned long long)seed, failure, arguments[0], (unsigned long long)seed,
               options.steps);
        return 1;
    }
    printf(
        "%llu seeds: every promise held (%llu submits acknowledged, %llu crashes, %llu faults of "
        "the disk)\n",
        (unsigned long long)totals.seeds, (unsigned long long)totals.acknowledged,
        (unsigned long long)totals.crashes, (unsigned long long)totals.disk_faults);
    if (coverage)
        print_coverage(&totals);
    if (options.bug == BUG_NONE)
        return 0;
    printf("bug %s was not found\n", bug_names[options.bug]);
    return 1;
}
