/* The filters of a list as sorted streams of rows that can be asked for "the next row at or beyond
 * this one". */
#ifndef STORE_JOBS_FILTER_H
#define STORE_JOBS_FILTER_H

#include "jobs_inside.h"

enum { TY_FILTERS_MAX = 12 };

typedef enum {
    TY_FILTER_TENANT, /* every job of the tenant */
    TY_FILTER_STATES, /* union of the states in `states` */
    TY_FILTER_NAME,   /* `text` exactly */
    TY_FILTER_LABEL,  /* `text` = `value` */
    TY_FILTER_ROWS    /* a sorted list of rows at hand */
} ty_filter_kind;

struct ty_filter {
    ty_filter_kind kind;
    const char *text;
    const char *value;
    uint32_t states;
    int64_t state_rows[TY_JOB_STATE_COUNT]; /* where each state's stream stands; 0 = not asked, -1 =
                                               ended */
    int64_t *rows;                          /* owned */
    size_t rows_count;
};

struct ty_filter_set {
    struct ty_conn *conn;
    int64_t tenant;
    bool up; /* rows grow along the walk */
    struct ty_filter filters[TY_FILTERS_MAX];
    size_t count;
    const char *prefix; /* must be checked on each record, NULL = no */
};

/* Turn a query into filters; at least one stream always exists.
 * TY_INVALID (code "too_many_filters") · TY_NO_MEMORY · what reading says. */
ty_status ty_filter_set_init(struct ty_filter_set *set, struct ty_conn *conn,
                             const struct ty_job_query *query, struct ty_error *err) TY_MUST_CHECK;
void ty_filter_set_done(struct ty_filter_set *set);

/* The first row at or beyond `from` that passes all streams, 0 at the end. Streams take turns to
 * jump (leapfrog), so the work is that of the shortest stream, not of the longest. */
ty_status ty_filter_set_next(struct ty_filter_set *set, int64_t from, int64_t *row_out,
                             struct ty_error *err) TY_MUST_CHECK;

/* [first, last) of the rows whose jobs were made strictly between two times (0 = open), by
 * bisection over the table: times of creation grow with the rows. `disordered_out` says that they
 * once did not: look at the times then. */
struct ty_row_range {
    int64_t first;
    int64_t last;
    bool disordered;
};
ty_status ty_filter_time_range(struct ty_conn *conn, int64_t after, int64_t before,
                               struct ty_row_range *range_out, struct ty_error *err) TY_MUST_CHECK;

#endif
