#include "trainyard/base/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void fill_from_kernel(void *context, void *bytes, size_t len)
{
    char *next = bytes;

    (void)context;
    while (len > 0) {
        ssize_t got = getrandom(next, len, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            abort(); /* only a kernel without getrandom: going on would mean guessable tokens */
        next += got;
        len -= (size_t)got;
    }
}

const struct ty_random *ty_random_system(void)
{
    static const struct ty_random kernel = {.fill = fill_from_kernel};

    return &kernel;
}

uint64_t ty_random_below(const struct ty_random *random, uint64_t bound)
{
    /* Values under 2^64 mod bound would make the small results likelier: draw again. */
    uint64_t unfair = (0 - bound) % bound;
    uint64_t value;

    do {
        random->fill(random->context, &value, sizeof(value));
    } while (value < unfair);
    return value % bound;
}

static uint64_t rotate_left(uint64_t value, int bits)
{
    return (value << bits) | (value >> (64 - bits));
}

/* xoshiro256** 1.0 (Blackman and Vigna, public domain). */
static uint64_t next_word(struct ty_seeded *state)
{
    uint64_t *s = state->words;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

static void fill_from_seed(void *context, void *bytes, size_t len)
{
    unsigned char *next = bytes;

    while (len > 0) {
        uint64_t word = next_word(context);
        size_t step = len < sizeof(word) ? len : sizeof(word);

        memcpy(next, &word, step);
        next += step;
        len -= step;
    }
}

/* splitmix64 spreads one seed over the state, as the authors of xoshiro advise. */
struct ty_random ty_random_seeded(struct ty_seeded *state, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15u;

        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        state->words[i] = z ^ (z >> 31);
    }
    return (struct ty_random){.fill = fill_from_seed, .context = state};
}
