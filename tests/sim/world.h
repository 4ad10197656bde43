/* One simulated gateway: the real engine and the real store, single-threaded, under a clock, a
 * source of randomness and a disk that the simulation owns; an executor and clients that follow a
 * script. Same seed, same history. */
#ifndef TRAINYARD_SIM_WORLD_H
#define TRAINYARD_SIM_WORLD_H

#include "trainyard/engine/engine.h"

struct fake;
struct journal;
struct sim_vfs;

/* Put in on purpose, to show that the checks find them. */
typedef enum {
    BUG_NONE,
    BUG_LOST_COMMIT,  /* a step of a job is taken for stored without having been */
    BUG_EARLY_ANSWER, /* a submit is answered before its commit */
    BUG_DOUBLE_APPLY  /* a repeated apply goes out under a second name */
} sim_bug;

struct sim_options {
    uint64_t seed;
    int steps;
    sim_bug bug;
    bool verbose;
};

enum { SIM_TENANTS = 2, SIM_CAPACITY_REPLICAS = 8, SIM_CAPACITY_GPUS = 4 };

struct world {
    struct sim_options options;
    struct ty_seeded seeded;
    struct ty_random random;
    struct ty_clock clock;
    struct ty_log log;
    int64_t wall_us;
    int64_t monotonic_ms;
    int64_t next_turn; /* what the last step asked for, wall clock */
    int step;
    int64_t rest_since_us; /* wall clock; 0 = not yet at the part without faults */
    bool faults;           /* off in the last part, where everything must come to rest */
    bool crashing;         /* the process is dead: nothing that happens counts, until world_crash */
    int crashes;

    struct sim_vfs *disk;
    struct ty_store *store;
    struct ty_hub *hub;
    struct ty_engine *engine;
    struct ty_reader *reader;
    int64_t tenants[SIM_TENANTS];
    char namespaces[SIM_TENANTS][32];
    struct ty_quota quotas[SIM_TENANTS];

    struct fake *fake;
    struct journal *journal;
    uint64_t looks;                                       /* how often the promises were checked */
    uint64_t reached[TY_JOB_STATE_COUNT][TY_CAUSE_COUNT]; /* transitions seen */
    bool failed;
    char failure[1024];
};

void world_init(struct world *world, const struct sim_options *options);

/* Open store and engine on what the disk holds; retried by the caller when the disk is full. */
ty_status world_open(struct world *world, struct ty_error *err) TY_MUST_CHECK;

/* The process ends at once: what was not synced is gone or torn. `machine` takes the runs with it.
 */
void world_crash(struct world *world, bool machine);
void world_done(struct world *world);

/* A promise is broken: note the first and stop the run. */
void world_fail(struct world *world, const char *format, ...) TY_PRINTF(2, 3);
void world_say(const struct world *world, const char *format, ...) TY_PRINTF(2, 3);

/* --- randomness --- */
static inline uint64_t below(struct world *world, uint64_t bound)
{
    return ty_random_below(&world->random, bound);
}

static inline bool chance(struct world *world, uint64_t in_a_thousand)
{
    return below(world, 1000) < in_a_thousand;
}

/* Only while faults are switched on. */
static inline bool fault(struct world *world, uint64_t in_a_thousand)
{
    return world->faults && chance(world, in_a_thousand);
}

/* Whether the process has died already, though its code still runs. */
bool world_dead(const struct world *world);

/* The gateway's process dies within the current call. */
void world_die(struct world *world);

#endif
