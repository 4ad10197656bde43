/* What clients asked for and were told, and what was seen of it in the database. */
#ifndef TRAINYARD_SIM_JOURNAL_H
#define TRAINYARD_SIM_JOURNAL_H

#include "world.h"

enum { JOURNAL_JOBS = 48, JOURNAL_HISTORY = 200, JOURNAL_TRIES = 4 };

typedef enum { ASK_OPEN, ASK_ACKNOWLEDGED, ASK_REFUSED, ASK_UNKNOWN } ask_state;

/* One sent submit: its id is the gateway's if it was not a replay. */
struct
try {
    char id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
    ask_state state;
};

struct fact {
    ty_job_state to;
    ty_job_cause cause;
    int32_t attempt;
};

/* One job as its client means it: all tries carry the same key. */
struct job {
    char name[32];
    size_t tenant;
    bool has_key;
    bool other_body; /* which of its two bodies was acknowledged */
    int64_t asked_at;
    struct try tries[JOURNAL_TRIES];
    size_t tries_count;
    char id[TY_ID_TEXT]; /* acknowledged or found; "" = neither yet */
    bool acknowledged;
    int32_t replicas;
    int32_t gpus;
    bool elastic;
    int32_t size_acknowledged; /* by the last scale; 0 = none, or one without an answer since */
    int64_t keep_seconds;

    bool cancel_acknowledged;
    bool may_be_gone;  /* a removal was tried, or its time to be kept has run out */
    bool must_be_gone; /* a removal was acknowledged */
    int removal_epoch; /* crashes when a later removal was acknowledged; -1 = none */

    bool seen;
    uint64_t looked_at; /* world->looks at the last look */
    int64_t sequence;
    struct ty_job_status status;
    struct fact history[JOURNAL_HISTORY];
};

/* What a follower was told of one tenant's events. */
enum { JOURNAL_EVENTS = 8192, JOURNAL_TOLD_JOBS = JOURNAL_JOBS * JOURNAL_TRIES };
struct told_job {
    int64_t row;
    int64_t sequence;
    ty_job_state state;
    bool changed; /* since the last comparison with its record */
    char id[TY_ID_TEXT];
};
struct followed {
    int64_t position;
    uint64_t seen[JOURNAL_EVENTS]; /* a digest of each, by sequence */
    struct told_job jobs[JOURNAL_TOLD_JOBS];
    size_t jobs_count;
};

struct journal {
    struct job jobs[JOURNAL_JOBS];
    size_t count;
    struct followed followed[SIM_TENANTS];
    bool recheck; /* compare whole histories: after a crash */
    uint64_t acknowledged;
    uint64_t refused;
};

/* --- clients.c: one random action of a client --- */
void clients_act(struct world *world);

/* --- check.c --- */
/* P1-P3 on what the database says now. */
void check_promises(struct world *world);
/* --- follower.c --- */
/* P6 on the events of each tenant. */
void check_followers(struct world *world);
/* Whether everything has come to rest; else *why says what has not. */
bool check_rest(struct world *world, char *why, size_t size);

#endif
