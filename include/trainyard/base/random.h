/* Randomness as an argument: the kernel's, or a seeded source in tests and the simulation. */
#ifndef TRAINYARD_BASE_RANDOM_H
#define TRAINYARD_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

struct ty_random {
    void (*fill)(void *context, void *bytes, size_t len); /* never fails */
    void *context;
};

/* getrandom(2). */
const struct ty_random *ty_random_system(void);

/* A uniform value below `bound` (bound > 0). */
uint64_t ty_random_below(const struct ty_random *random, uint64_t bound);

/* A seeded source (xoshiro256**): the same seed gives the same bytes. `state` must outlive the
 * result. */
struct ty_seeded {
    uint64_t words[4];
};
struct ty_random ty_random_seeded(struct ty_seeded *state, uint64_t seed);

#endif
