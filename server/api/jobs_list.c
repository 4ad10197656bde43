/* GET /v1/jobs: one page, written row by row. */
#include "api/api.h"

struct job_list {
    struct api_page page;
    struct ty_api *api;
};

static bool write_item(void *context, const struct ty_job_record *record)
{
    struct job_list *list = context;
    struct api_page *page = &list->page;
    if (api_page_full(page))
        return false;
    int64_t position = record->status.state == TY_JOB_QUEUED
                           ? ty_engine_queue_position(list->api->options.engine, record->id)
                           : 0;
    api_write_job(&page->writer, record, NULL, position);
    page->next.row = record->row;
    page->count++;
    return true;
}

static void read_states(const struct ty_arguments *arguments, struct ty_job_query *query)
{
    for (size_t i = 0; i < ty_argument_count(arguments, "state"); i++) {
        ty_job_state state;
        if (ty_job_state_parse(ty_argument_item(arguments, "state", i), &state) == TY_OK)
            query->states |= 1u << state;
    }
}

/* "key=value" items; the texts are copies that live with the request. */
static ty_status read_labels(struct ty_request *request, struct ty_job_query *query,
                             struct ty_error *err)
{
    const struct ty_arguments *arguments = api_arguments(request);
    size_t most = sizeof query->labels / sizeof query->labels[0];
    for (size_t i = 0; i < ty_argument_count(arguments, "label") && i < most; i++) {
        char *key = ty_request_dup(request, ty_argument_item(arguments, "label", i));
        if (!key)
            return ty_fail(err, TY_NO_MEMORY, "request");
        char *value = strchr(key, '=');
        *value = '\0';
        query->labels[query->labels_count].key = key;
        query->labels[query->labels_count++].value = value + 1;
    }
    return TY_OK;
}

static ty_status read_name(struct ty_request *request, struct ty_job_query *query,
                           struct ty_error *err)
{
    const char *given = ty_argument_text(api_arguments(request), "name");
    if (!given)
        return TY_OK;
    char *name = ty_request_dup(request, given);
    if (!name)
        return ty_fail(err, TY_NO_MEMORY, "request");
    size_t len = strlen(name);
    query->name_prefix = len > 0 && name[len - 1] == '*';
    if (query->name_prefix)
        name[len - 1] = '\0';
    query->name = name;
    return TY_OK;
}

static ty_status read_query(struct ty_request *request, struct ty_job_query *query,
                            struct ty_error *err)
{
    const struct ty_arguments *arguments = api_arguments(request);
    const char *sort = ty_argument_text(arguments, "sort");
    query->tenant = api_caller(request)->tenant;
    query->oldest_first = sort && ty_str_equal(sort, "created_at");
    /* The store's bounds are exclusive; `created_after` takes its own moment in. */
    if (ty_argument_given(arguments, "created_after"))
        query->created_after = ty_argument_time(arguments, "created_after") - 1;
    query->created_before = ty_argument_time(arguments, "created_before");
    read_states(arguments, query);
    if (read_labels(request, query, err) != TY_OK)
        return err->status;
    return read_name(request, query, err);
}

/* Filters and sort in one canonical text: what a cursor is bound to. */
static void write_identity(const struct ty_job_query *query, struct ty_buf *out)
{
    ty_buf_addf(out, "jobs|%u|%s|%d|%lld|%lld|%d", query->states, query->name ? query->name : "",
                query->name_prefix, (long long)query->created_after,
                (long long)query->created_before, query->oldest_first);
    for (size_t i = 0; i < query->labels_count; i++)
        ty_buf_addf(out, "|%s=%s", query->labels[i].key, query->labels[i].value);
}

static ty_status fill(struct ty_api *api, struct ty_request *request, struct ty_buf *identity,
                      struct job_list *list, struct ty_error *err)
{
    struct ty_job_query query = {0};
    struct ty_cursor cursor;
    if (read_query(request, &query, err) != TY_OK)
        return err->status;
    write_identity(&query, identity);
    if (ty_buf_check(identity, "query", err) != TY_OK ||
        api_cursor(api, request, identity->data, &cursor, err) != TY_OK)
        return err->status;
    query.after_row = cursor.row;
    query.limit = list->page.limit + 1;
    return ty_jobs_list(api_reader(api, request), &query, write_item, list, err);
}

void jobs_list(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_error err;
    ty_auto_buf body = {0};
    ty_auto_buf identity = {0};
    ty_buf_init(&identity, 4096);
    struct job_list list = {.page.limit = api_limit(request), .api = api};
    api_begin_page(&list.page.writer, &body);
    if (fill(api, request, &identity, &list, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    api_answer_page(api, request, &list.page.writer, identity.data, api_page_next(&list.page));
}
