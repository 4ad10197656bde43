/* What other threads tell the engine: committed jobs, ends of its own writes, observations. First
 * in, first out, so that the commits of one job arrive in the order they were made. Letters are
 * made before the write they tell of, so that posting one never fails. */
#ifndef TRAINYARD_ENGINE_INBOX_H
#define TRAINYARD_ENGINE_INBOX_H

#include "trainyard/store/jobs.h"

#include <pthread.h>

/* What the engine keeps of a job's record. */
struct job_facts {
    int64_t row;
    int64_t tenant;
    int64_t revision;
    int64_t created_at;
    int64_t updated_at; /* of the last transition, or of a later PATCH */
    int64_t timeout_seconds;
    int32_t priority;
    int32_t replicas;
    int32_t gpus;
    bool elastic;
    char id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
    char namespace[TY_OBJECT_NAME];
    char tenant_name[TY_OBJECT_NAME];
    struct ty_job_status status;
};

void job_facts_take(struct job_facts *facts, const struct ty_job_record *record);

typedef enum {
    LETTER_COMMIT,  /* struct commit_letter: someone else committed a change */
    LETTER_SEEN,    /* struct seen: an executor's observation */
    LETTER_WRITTEN, /* struct observe_write: the engine's own write came back */
    LETTER_REMOVED, /* struct removal: the engine's own removal came back */
    LETTER_PRUNED,  /* struct prune: surplus checkpoints were removed */
    LETTER_WISH     /* struct letter: remove the job when it has ended */
} letter_kind;

struct letter {
    struct letter *next;
    letter_kind kind;
    char id[TY_ID_TEXT];
};

struct commit_letter {
    struct letter letter;
    struct job_facts facts;
    bool grew; /* the job has a larger size: one of the growths */
};

/* One observation on its way into the store. */
struct seen {
    struct letter letter;
    struct ty_observation observation;
    char *replicas; /* JSON text, owned; NULL = says nothing of them */
};

void seen_destroy(struct seen *seen); /* takes NULL */
bool seen_goes_on(
    const struct seen *seen); /* tells of a run that goes on: a later word says more */

enum { INBOX_FULL = 65536 };

struct inbox {
    pthread_mutex_t lock;
    pthread_cond_t filled; /* on the monotonic clock */
    struct letter *first;
    struct letter **last;
    size_t count;
    bool poked; /* quotas, capacity or claims changed */
    bool stopping;
};

void inbox_init(struct inbox *inbox);
void inbox_done(struct inbox *inbox); /* empty */

/* Hand a letter over. */
void inbox_post(struct inbox *inbox, struct letter *letter);

/* The same for an observation. When the inbox is full it takes the place of an older one of the
 * same job that it makes pointless (only the last word counts), so the inbox is bounded by the
 * number of jobs beyond that. */
void inbox_post_seen(struct inbox *inbox, struct seen *seen);

/* Whether new work may be taken on: TY_UNAVAILABLE while too many letters wait or the engine stops.
 */
ty_status inbox_check(struct inbox *inbox, struct ty_error *err) TY_MUST_CHECK;

void inbox_poke(struct inbox *inbox);

/* Everything there is, as a list in order. */
struct letter *inbox_take(struct inbox *inbox, bool *poked_out);

/* Wait until something comes, `timeout_ms` have passed or it is told to stop. False when stopping.
 */
bool inbox_wait(struct inbox *inbox, int64_t timeout_ms);
void inbox_stop(struct inbox *inbox);

#endif
