/* Content digests by version, kept within a bound.
 *
 * The cache is an array of small sets: a version's hash names its set, and the one in it that was
 * used longest ago makes room. A digest being computed is a flight on the stack of the thread that
 * computes it; others who ask for the same version join it and are let go before the stack is left.
 */
#include "walk.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/scope.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { WAYS = 8, CHUNK = 262144, YOUNG_US = 50000 };

struct kept {
    struct ty_file_stat version; /* valid when `used` is not 0 */
    uint64_t used;
    uint8_t sha256[TY_SHA256];
};

struct flight {
    const struct ty_file_stat *version;
    struct flight *next;
    size_t waiting;
    bool landed;
    ty_status status;
    struct ty_error err;
    uint8_t sha256[TY_SHA256];
};

/* Everything below the lock is its. */
struct ty_file_digests {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct kept *sets;
    size_t set_count;
    uint64_t uses;
    struct flight *flights;
};

ty_status ty_file_digests_create(size_t capacity, struct ty_file_digests **digests_out,
                                 struct ty_error *err)
{
    struct ty_file_digests *digests = calloc(1, sizeof(*digests));
    if (!digests)
        return ty_fail(err, TY_NO_MEMORY, "make room for digests");
    digests->set_count = (capacity + WAYS - 1) / WAYS;
    if (digests->set_count == 0)
        digests->set_count = 1;
    digests->sets = calloc(digests->set_count, WAYS * sizeof(*digests->sets));
    if (!digests->sets) {
        free(digests);
        return ty_fail(err, TY_NO_MEMORY, "make room for digests");
    }
    pthread_mutex_init(&digests->lock, NULL);
    pthread_cond_init(&digests->changed, NULL);
    *digests_out = digests;
    return TY_OK;
}

void ty_file_digests_destroy(struct ty_file_digests *digests)
{
    if (!digests)
        return;
    pthread_cond_destroy(&digests->changed);
    pthread_mutex_destroy(&digests->lock);
    free(digests->sets);
    free(digests);
}

static struct kept *set_of(const struct ty_file_digests *digests,
                           const struct ty_file_stat *version)
{
    uint64_t hash = (version->inode ^ (version->device << 32)) * 0x9E3779B97F4A7C15U;
    return digests->sets + (hash >> 32) % digests->set_count * WAYS;
}

/* Under the lock. */
static struct kept *find_kept(struct ty_file_digests *digests, const struct ty_file_stat *version)
{
    struct kept *set = set_of(digests, version);
    for (size_t at = 0; at < WAYS; at++)
        if (set[at].used && ty_file_same_version(&set[at].version, version)) {
            set[at].used = ++digests->uses;
            return &set[at];
        }
    return NULL;
}

/* Under the lock. */
static void keep(struct ty_file_digests *digests, const struct ty_file_stat *version,
                 const uint8_t *sha256)
{
    struct kept *set = set_of(digests, version);
    struct kept *oldest = set;
    for (size_t at = 1; at < WAYS; at++)
        if (set[at].used < oldest->used)
            oldest = &set[at];
    oldest->version = *version;
    oldest->used = ++digests->uses;
    memcpy(oldest->sha256, sha256, TY_SHA256);
}

/* Feed the file as far as its version says, or to its end. */
static ty_status feed_file(struct ty_sha256_stream *stream, int fd, int64_t size,
                           struct ty_error *err)
{
    ty_auto_free char *chunk = malloc(CHUNK);
    if (!chunk)
        return ty_fail(err, TY_NO_MEMORY, "read the file");
    for (int64_t at = 0; at < size;) {
        int64_t left = size - at;
        ssize_t got = pread(fd, chunk, left < CHUNK ? (size_t)left : CHUNK, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ty_fail(err, TY_UNAVAILABLE, "read the file: %s", strerrordesc_np(errno));
        if (got == 0)
            break; /* it became shorter: seen by looking again */
        ty_sha256_feed(stream, chunk, (size_t)got);
        at += got;
    }
    return TY_OK;
}

static ty_status compute(int fd, const struct ty_file_stat *version, uint8_t sha256_out[TY_SHA256],
                         struct ty_error *err)
{
    struct ty_sha256_stream *stream = NULL;
    struct ty_file_stat after;
    uint8_t sha256[TY_SHA256];
    if (ty_sha256_begin(&stream) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "begin a digest");
    ty_status status = feed_file(stream, fd, version->size, err);
    if (status == TY_OK)
        status = ty_file_stat_fd(fd, &after, err);
    if (status == TY_OK && !ty_file_same_version(&after, version))
        status = ty_fail_code(err, TY_CONFLICT, "file_changing",
                              "the file was written while it was read");
    if (status == TY_OK && ty_sha256_finish(stream, sha256) != TY_OK)
        status = ty_fail(err, TY_NO_MEMORY, "finish a digest");
    ty_sha256_destroy(stream);
    if (status == TY_OK)
        memcpy(sha256_out, sha256, TY_SHA256);
    return status;
}

/* Whether a write from now on is sure to change the version: the kernel's clock for file times
 * ticks every few milliseconds, and two writes within a tick look like one. */
static bool is_settled(const struct ty_file_stat *version)
{
    int64_t now_us = ty_now_us(ty_clock_system());
    int64_t changed_us = version->changed_ns / 1000;
    return changed_us <= now_us && now_us - changed_us >= YOUNG_US;
}

/* Under the lock. */
static struct flight *find_flight(struct ty_file_digests *digests,
                                  const struct ty_file_stat *version)
{
    for (struct flight *flight = digests->flights; flight; flight = flight->next)
        if (ty_file_same_version(flight->version, version))
            return flight;
    return NULL;
}

/* Under the lock: wait for another thread's result. The flight stays until everyone who waits has
 * left it. */
static ty_status join(struct ty_file_digests *digests, struct flight *flight,
                      uint8_t sha256_out[TY_SHA256], struct ty_error *err)
{
    flight->waiting++;
    while (!flight->landed)
        pthread_cond_wait(&digests->changed, &digests->lock);
    ty_status status = flight->status;
    if (status == TY_OK)
        memcpy(sha256_out, flight->sha256, TY_SHA256);
    else if (err)
        *err = flight->err;
    if (--flight->waiting == 0)
        pthread_cond_broadcast(&digests->changed);
    return status;
}

/* Under the lock, which is let go of while the file is read. */
static ty_status fly(struct ty_file_digests *digests, int fd, struct flight *flight)
{
    bool settled = is_settled(flight->version);
    flight->next = digests->flights;
    digests->flights = flight;
    pthread_mutex_unlock(&digests->lock);
    ty_status status = compute(fd, flight->version, flight->sha256, &flight->err);
    pthread_mutex_lock(&digests->lock);
    struct flight **link = &digests->flights;
    while (*link != flight)
        link = &(*link)->next;
    *link = flight->next;
    flight->status = status;
    flight->landed = true;
    if (status == TY_OK && settled)
        keep(digests, flight->version, flight->sha256);
    pthread_cond_broadcast(&digests->changed);
    while (flight->waiting > 0)
        pthread_cond_wait(&digests->changed, &digests->lock);
    return status;
}

ty_status ty_file_digest(struct ty_file_digests *digests, int fd, const struct ty_file_stat *stat,
                         uint8_t sha256_out[TY_SHA256], struct ty_error *err)
{
    ty_status status = TY_OK;
    pthread_mutex_lock(&digests->lock);
    const struct kept *kept = find_kept(digests, stat);
    struct flight *other = kept ? NULL : find_flight(digests, stat);
    if (kept) {
        memcpy(sha256_out, kept->sha256, TY_SHA256);
    } else if (other) {
        status = join(digests, other, sha256_out, err);
    } else {
        struct flight flight = {.version = stat};
        status = fly(digests, fd, &flight);
        if (status == TY_OK)
            memcpy(sha256_out, flight.sha256, TY_SHA256);
        else if (err)
            *err = flight.err;
    }
    pthread_mutex_unlock(&digests->lock);
    return status;
}

bool ty_file_digest_known(struct ty_file_digests *digests, const struct ty_file_stat *stat,
                          uint8_t sha256_out[TY_SHA256])
{
    pthread_mutex_lock(&digests->lock);
    const struct kept *kept = find_kept(digests, stat);
    if (kept)
        memcpy(sha256_out, kept->sha256, TY_SHA256);
    pthread_mutex_unlock(&digests->lock);
    return kept != NULL;
}

void ty_file_etag(const uint8_t sha256[TY_SHA256], char out[TY_FILE_ETAG])
{
    out[0] = '"';
    size_t len = ty_base64url(sha256, TY_SHA256, out + 1);
    out[len + 1] = '"';
    out[len + 2] = '\0';
}
