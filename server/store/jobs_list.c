/* Pages of jobs. The key is the row: a page starts beyond the last row of the one before, so its
 * cost does not depend on how far it is, and what is inserted or deleted meanwhile neither repeats
 * nor hides a job. */
#include "jobs_filter.h"
#include "trainyard/base/str.h"

static bool times_hold(const struct ty_job_query *query, const struct ty_job_record *record)
{
    if (query->created_after > 0 && record->created_at <= query->created_after)
        return false;
    return query->created_before <= 0 || record->created_at < query->created_before;
}

/* Narrow the rows to walk by the key of the page before. */
static void apply_key(const struct ty_job_query *query, struct ty_row_range *range)
{
    if (query->after_row <= 0)
        return;
    if (query->oldest_first && query->after_row + 1 > range->first)
        range->first = query->after_row + 1;
    if (!query->oldest_first && query->after_row < range->last)
        range->last = query->after_row;
}

/* Without filters one statement walks the tenant's index. */
static ty_status walk_plain(struct ty_reader *reader, const struct ty_job_query *query,
                            const struct ty_row_range *range, struct ty_job_walk *walk,
                            struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(
        &reader->conn, query->oldest_first ? TY_SQL_JOB_LIST_UP : TY_SQL_JOB_LIST_DOWN, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, query->tenant);
    ty_bind_int(&bind, range->last);
    ty_bind_int(&bind, range->first);
    ty_bind_int(&bind, (int64_t)query->limit);
    return ty_job_walk_rows(&reader->conn, &bind, walk, err);
}

/* Look at one row that passed the streams: visit it if what is left to check holds too. */
struct candidate {
    const struct ty_job_query *query;
    const struct ty_filter_set *set;
    bool check_times;
    struct ty_job_walk *walk;
};

static bool consider(void *context, const struct ty_job_record *record)
{
    struct candidate *candidate = context;
    struct ty_job_walk *walk = candidate->walk;
    if (candidate->set->prefix && !ty_str_starts(record->name, candidate->set->prefix))
        return true;
    if (candidate->check_times && !times_hold(candidate->query, record))
        return true;
    walk->visited++;
    walk->stopped = !walk->visit(walk->context, record);
    return true;
}

static ty_status look_at(struct ty_reader *reader, int64_t row, struct candidate *candidate,
                         struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_JOB_GET_ROW, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_job_walk one = {
        .visit = consider, .context = candidate, .tenant_name = candidate->walk->tenant_name};
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, row);
    return ty_job_walk_rows(&reader->conn, &bind, &one, err);
}

static ty_status walk_filtered(struct ty_reader *reader, struct candidate *candidate,
                               const struct ty_row_range *range, struct ty_filter_set *set,
                               struct ty_error *err)
{
    const struct ty_job_query *query = candidate->query;
    struct ty_job_walk *walk = candidate->walk;
    int64_t from = set->up ? range->first : range->last - 1;
    while (walk->visited < query->limit && !walk->stopped && from > 0) {
        int64_t row = 0;
        ty_status status = ty_filter_set_next(set, from, &row, err);
        if (status != TY_OK)
            return status;
        if (row == 0 || row < range->first || row >= range->last)
            return TY_OK;
        status = look_at(reader, row, candidate, err);
        if (status != TY_OK)
            return status;
        from = set->up ? row + 1 : row - 1;
    }
    return TY_OK;
}

static ty_status walk_query(struct ty_reader *reader, const struct ty_job_query *query,
                            struct ty_job_walk *walk, struct ty_error *err)
{
    struct ty_row_range range = {.first = 1, .last = INT64_MAX};
    struct ty_filter_set set;
    ty_status status = TY_OK;
    if (query->created_after > 0 || query->created_before > 0)
        status = ty_filter_time_range(&reader->conn, query->created_after, query->created_before,
                                      &range, err);
    if (status != TY_OK)
        return status;
    apply_key(query, &range);
    status = ty_filter_set_init(&set, &reader->conn, query, err);
    struct candidate candidate = {
        .query = query, .set = &set, .check_times = range.disordered, .walk = walk};
    bool plain = set.count == 1 && set.filters[0].kind == TY_FILTER_TENANT && !set.prefix &&
                 !range.disordered;
    if (status == TY_OK && plain)
        status = walk_plain(reader, query, &range, walk, err);
    else if (status == TY_OK)
        status = walk_filtered(reader, &candidate, &range, &set, err);
    ty_filter_set_done(&set);
    return status;
}

/* "" for an unknown tenant, which has no jobs. */
static ty_status read_tenant_name(struct ty_reader *reader, int64_t tenant, char out[64],
                                  struct ty_error *err)
{
    ty_auto_stmt stmt = NULL;
    bool row = false;
    bool ok = true;
    ty_status status = ty_conn_stmt(&reader->conn, TY_SQL_TENANT_NAME, &stmt, err);
    if (status != TY_OK)
        return status;
    struct ty_bind bind = ty_bind_start(stmt);
    ty_bind_int(&bind, tenant);
    status = ty_bind_step(&reader->conn, &bind, &row, "read the tenant", err);
    if (status != TY_OK)
        return status;
    const char *name = row ? ty_column_text(stmt, 0, &ok) : "";
    if (!ok)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a tenant");
    ty_str_copy(out, 64, name);
    return TY_OK;
}

ty_status ty_jobs_list(struct ty_reader *reader, const struct ty_job_query *query,
                       ty_job_visitor *visit, void *context, struct ty_error *err)
{
    char tenant_name[64];
    struct ty_job_walk walk = {.visit = visit, .context = context, .tenant_name = tenant_name};
    if (query->limit == 0)
        return TY_OK;
    ty_status status = ty_reader_begin(reader, err);
    if (status != TY_OK)
        return status;
    status = read_tenant_name(reader, query->tenant, tenant_name, err);
    if (status == TY_OK)
        status = walk_query(reader, query, &walk, err);
    ty_reader_end(reader);
    return status;
}
