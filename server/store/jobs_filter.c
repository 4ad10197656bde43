#include "jobs_filter.h"

#include <stdlib.h>
#include <string.h>

/* A name prefix that matches no more than these is a list of rows; a more common one is checked row
 * by row, which is cheap because it is common. */
enum { PREFIX_ROWS = 2000 };

static const ty_sql seeks[][2] = {
    [TY_FILTER_TENANT] = {TY_SQL_JOB_SEEK_TENANT_DOWN, TY_SQL_JOB_SEEK_TENANT_UP},
    [TY_FILTER_STATES] = {TY_SQL_JOB_SEEK_STATE_DOWN,  TY_SQL_JOB_SEEK_STATE_UP },
    [TY_FILTER_NAME] = {TY_SQL_JOB_SEEK_NAME_DOWN,   TY_SQL_JOB_SEEK_NAME_UP  },
    [TY_FILTER_LABEL] = {TY_SQL_JOB_SEEK_LABEL_DOWN,  TY_SQL_JOB_SEEK_LABEL_UP },
};

/* --- one stream --- */

static ty_status seek_index(struct ty_filter_set *set, const struct ty_filter *filter,
                            int64_t state, int64_t from, int64_t *row_out, struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool found = false;
    ty_status status = ty_conn_stmt(set->conn, seeks[filter->kind][set->up ? 1 : 0], &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, set->tenant);
    ty_bind_int(&bind, from);
    if (filter->kind == TY_FILTER_STATES)
        ty_bind_int(&bind, state);
    if (filter->kind == TY_FILTER_NAME || filter->kind == TY_FILTER_LABEL)
        ty_bind_text(&bind, filter->text);
    if (filter->kind == TY_FILTER_LABEL)
        ty_bind_text(&bind, filter->value);
    status = ty_bind_step(set->conn, &bind, &found, "read jobs", err);
    if (status == TY_OK)
        *row_out = found ? sqlite3_column_int64(stmt, 0) : 0;
    return status;
}

/* Each state's stream is asked again only when the walk has passed where it stood. */
static ty_status seek_states(struct ty_filter_set *set, struct ty_filter *filter, int64_t from,
                             int64_t *row_out, struct ty_error *err)
{
    int64_t best = 0;
    for (int state = 0; state < TY_JOB_STATE_COUNT; state++) {
        int64_t *stands = &filter->state_rows[state];
        if (!(filter->states & (1U << state)) || *stands < 0)
            continue;
        if (*stands == 0 || (set->up ? *stands < from : *stands > from)) {
            ty_status status = seek_index(set, filter, state, from, stands, err);
            if (status != TY_OK)
                return status;
            if (*stands == 0) {
                *stands = -1;
                continue;
            }
        }
        if (best == 0 || (set->up ? *stands < best : *stands > best))
            best = *stands;
    }
    *row_out = best;
    return TY_OK;
}

static int64_t seek_rows(const struct ty_filter *filter, bool up, int64_t from)
{
    size_t low = 0;
    size_t high = filter->rows_count; /* the first index whose row is >= from (> from going down) */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool below = up ? filter->rows[middle] < from : filter->rows[middle] <= from;
        if (below)
            low = middle + 1;
        else
            high = middle;
    }
    if (up)
        return low < filter->rows_count ? filter->rows[low] : 0;
    return low > 0 ? filter->rows[low - 1] : 0;
}

static ty_status seek(struct ty_filter_set *set, struct ty_filter *filter, int64_t from,
                      int64_t *row_out, struct ty_error *err)
{
    switch (filter->kind) {
    case TY_FILTER_STATES:
        return seek_states(set, filter, from, row_out, err);
    case TY_FILTER_ROWS:
        *row_out = seek_rows(filter, set->up, from);
        return TY_OK;
    default:
        return seek_index(set, filter, 0, from, row_out, err);
    }
}

ty_status ty_filter_set_next(struct ty_filter_set *set, int64_t from, int64_t *row_out,
                             struct ty_error *err)
{
    int64_t candidate = from;
    size_t agreed = 0;
    for (size_t i = 0; agreed < set->count; i = (i + 1) % set->count) {
        int64_t row = 0;
        ty_status status = seek(set, &set->filters[i], candidate, &row, err);
        if (status != TY_OK)
            return status;
        if (row == 0) {
            *row_out = 0;
            return TY_OK;
        }
        agreed = row == candidate ? agreed + 1 : 1;
        candidate = row;
    }
    *row_out = candidate;
    return TY_OK;
}

/* --- building the set --- */

static int compare_rows(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* Collect the rows of a rare prefix; *count_out beyond PREFIX_ROWS means that it is a common one.
 */
static ty_status collect_prefix(struct ty_filter_set *set, const char *prefix, int64_t *rows,
                                size_t *count_out, struct ty_error *err)
{
    char end[128];
    ty_auto_stmt stmt = NULL;
    size_t count = 0;
    bool found = true;
    ty_status status = ty_conn_stmt(set->conn, TY_SQL_JOB_NAME_PREFIX, &stmt, err);
    if (status != TY_OK)
        return status;
    /* Names are of [a-z0-9-]: the DEL character sorts after all that begin alike. */
    sqlite3_snprintf((int)sizeof(end), end, "%s\x7f", prefix);
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, set->tenant);
    ty_bind_text(&bind, prefix);
    ty_bind_text(&bind, end);
    ty_bind_int(&bind, PREFIX_ROWS + 1);
    while ((status = ty_bind_step(set->conn, &bind, &found, "read jobs", err)) == TY_OK && found)
        if (count++ < PREFIX_ROWS)
            rows[count - 1] = sqlite3_column_int64(stmt, 0);
    if (status == TY_OK)
        *count_out = count;
    return status;
}

static ty_status add_prefix(struct ty_filter_set *set, const char *prefix, struct ty_error *err)
{
    size_t count = 0;
    if (strlen(prefix) > 100) { /* no name is so long */
        set->filters[set->count++] = (struct ty_filter){.kind = TY_FILTER_ROWS};
        return TY_OK;
    }
    int64_t *rows = malloc(PREFIX_ROWS * sizeof(*rows));
    if (!rows)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a list");
    ty_status status = collect_prefix(set, prefix, rows, &count, err);
    if (status != TY_OK || count > PREFIX_ROWS) {
        free(rows);
        set->prefix = prefix;
        return status;
    }
    qsort(rows, count, sizeof(*rows), compare_rows);
    set->filters[set->count++] =
        (struct ty_filter){.kind = TY_FILTER_ROWS, .rows = rows, .rows_count = count};
    return TY_OK;
}

ty_status ty_filter_set_init(struct ty_filter_set *set, struct ty_conn *conn,
                             const struct ty_job_query *query, struct ty_error *err)
{
    const uint32_t every = (1U << TY_JOB_STATE_COUNT) - 1;
    ty_status status = TY_OK;
    *set = (struct ty_filter_set){.conn = conn, .tenant = query->tenant, .up = query->oldest_first};
    if (query->labels_count > sizeof(query->labels) / sizeof(query->labels[0]))
        return ty_fail_code(err, TY_INVALID, "too_many_filters", "too many labels in one filter");
    for (size_t i = 0; i < query->labels_count; i++)
        set->filters[set->count++] = (struct ty_filter){
            .kind = TY_FILTER_LABEL, .text = query->labels[i].key, .value = query->labels[i].value};
    if (query->name && !query->name_prefix)
        set->filters[set->count++] =
            (struct ty_filter){.kind = TY_FILTER_NAME, .text = query->name};
    else if (query->name && query->name[0])
        status = add_prefix(set, query->name, err);
    if ((query->states & every) != 0 && (query->states & every) != every)
        set->filters[set->count++] =
            (struct ty_filter){.kind = TY_FILTER_STATES, .states = query->states & every};
    if (set->count == 0)
        set->filters[set->count++] = (struct ty_filter){.kind = TY_FILTER_TENANT};
    return status;
}

void ty_filter_set_done(struct ty_filter_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->filters[i].rows);
}

/* --- times --- */

/* The job at or after `row`: its row and time; 0 when there is none. */
static ty_status time_at(struct ty_conn *conn, int64_t row, int64_t *row_out, int64_t *at_out,
                         struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool found = false;
    ty_status status = ty_conn_stmt(conn, TY_SQL_JOB_TIME_AT, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, row);
    status = ty_bind_step(conn, &bind, &found, "read jobs", err);
    if (status == TY_OK) {
        *row_out = found ? sqlite3_column_int64(stmt, 0) : 0;
        *at_out = found ? sqlite3_column_int64(stmt, 1) : 0;
    }
    return status;
}

/* The smallest row whose job was made at `at` or later; one beyond the last row when there is none.
 */
static ty_status first_made(struct ty_conn *conn, int64_t end, int64_t at, int64_t *row_out,
                            struct ty_error *err)
{
    int64_t low = 0;
    int64_t high = end;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int64_t row = 0;
        int64_t made = 0;
        ty_status status = time_at(conn, middle, &row, &made, err);
        if (status != TY_OK)
            return status;
        if (row == 0 || made >= at)
            high = middle;
        else
            low = row + 1;
    }
    *row_out = low;
    return TY_OK;
}

ty_status ty_filter_time_range(struct ty_conn *conn, int64_t after, int64_t before,
                               struct ty_row_range *range_out, struct ty_error *err)
{
    struct ty_row_range range = {.first = 1, .last = INT64_MAX};
    int64_t disordered = 0;
    int64_t end = 0;
    ty_status status = ty_conn_int(conn, "SELECT value FROM meta WHERE name = 'jobs_disordered'", 0,
                                   &disordered, err);
    if (status == TY_OK)
        status = ty_conn_int(conn, "SELECT max(row) + 1 FROM jobs", 1, &end, err);
    range.disordered = disordered != 0;
    if (status == TY_OK && !range.disordered && after > 0)
        status = first_made(conn, end, after + 1, &range.first, err);
    if (status == TY_OK && !range.disordered && before > 0)
        status = first_made(conn, end, before, &range.last, err);
    if (status == TY_OK)
        *range_out = range;
    return status;
}
