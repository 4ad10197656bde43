/* One event as it goes out: made once, sent to everyone. */
#ifndef TRAINYARD_EVENTS_TEXT_H
#define TRAINYARD_EVENTS_TEXT_H

#include "trainyard/base/digest.h"
#include "trainyard/domain/event.h"

#include <stddef.h>

/* --- ids: "<sequence>-<16 hex digits>". The digits bind the sequence to the tenant, so that an id
 * of another tenant or another gateway is refused instead of read as a place. --- */
enum { TY_EVENT_ID = 40 };

/* `key` has TY_SHA256 bytes. TY_NO_MEMORY: libcrypto's. */
ty_status ty_event_id_make(const uint8_t *key, int64_t tenant, int64_t sequence,
                           char out[TY_EVENT_ID]) TY_MUST_CHECK;
/* TY_INVALID: no id of this tenant; output untouched. TY_NO_MEMORY. */
ty_status ty_event_id_read(const uint8_t *key, int64_t tenant, const char *text,
                           int64_t *sequence_out) TY_MUST_CHECK;

/* --- texts --- */

/* Immutable, counted. `bytes` are the whole server-sent event; in it, from `head_len` on,
 * `json_len` bytes of JSON and a line end: the same as a line of NDJSON. */
struct ty_event_text {
    int refs; /* use ref and unref only */
    int64_t sequence;
    ty_event_type type;
    bool of_job;   /* about a job: `job_id` is its id */
    bool ends_job; /* a job has reached its last state */
    char job_id[TY_ID_TEXT];
    const char *labels; /* of the job, compact JSON */
    size_t head_len;
    size_t json_len;
    size_t len;
    char bytes[];
};

/* Who the events belong to, and the key of their ids (TY_SHA256 bytes; borrowed). */
struct ty_event_owner {
    const char *tenant_name;
    const uint8_t *key;
};

/* *text_out has one reference. TY_NO_MEMORY, TY_TOO_LARGE; output untouched. */
ty_status ty_event_text_make(const struct ty_event *event, const struct ty_event_owner *owner,
                             struct ty_event_text **text_out, struct ty_error *err) TY_MUST_CHECK;
struct ty_event_text *ty_event_text_ref(struct ty_event_text *text);
void ty_event_text_unref(struct ty_event_text *text); /* takes NULL */

/* --- which events somebody wants --- */
enum { TY_EVENT_LABELS_MAX = 8, TY_EVENT_LABEL = 144 };
struct ty_event_filter {
    uint64_t types;          /* bits; 0 = all */
    char job_id[TY_ID_TEXT]; /* "" = of all jobs, and what is about none */
    size_t labels_count;
    char labels[TY_EVENT_LABELS_MAX][TY_EVENT_LABEL]; /* "\"key\":\"value\"": all must hold */
};

/* Add "key=value". TY_INVALID: not of that form, too long, or one too many. Keys and values of
 * labels need no escapes in JSON. */
ty_status ty_event_filter_label(struct ty_event_filter *filter, const char *pair) TY_MUST_CHECK;

/* NULL takes everything. */
bool ty_event_filter_takes(const struct ty_event_filter *filter, const struct ty_event *event);
bool ty_event_filter_takes_text(const struct ty_event_filter *filter,
                                const struct ty_event_text *text);

#endif
