/* Lines of status.jsonl as values. Pure. */
#ifndef TRAINYARD_EXECUTOR_FACTS_READ_H
#define TRAINYARD_EXECUTOR_FACTS_READ_H

#include "trainyard/executor/executor.h"

typedef enum { FACT_SUPERVISOR, FACT_PROCESS, FACT_STATE, FACT_OTHER } ty_fact_kind;

struct ty_fact {
    ty_fact_kind kind;
    int64_t pid; /* SUPERVISOR, PROCESS */
    int64_t birth;
    bool terminal; /* STATE */
    struct ty_observation seen;
    struct ty_replica *replicas; /* STATE; owned */
    size_t replica_count;
};

/* TY_CORRUPT for a line that is none of ours; TY_NO_MEMORY. On success ty_fact_done frees. An event
 * of a later version is FACT_OTHER. */
ty_status ty_fact_read(const char *line, size_t len, int32_t attempt, struct ty_fact *out,
                       struct ty_error *err) TY_MUST_CHECK;
void ty_fact_done(struct ty_fact *fact);

#endif
