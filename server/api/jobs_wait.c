/* POST /v1/jobs:wait. The happy path: every job is read once; when what is waited for has not come,
 * the request is parked and the group waits at the hub, as `?wait=` does: for `any` on each job
 * that has not ended, for `all` on one at a time. A change wakes the group on the pool, which looks
 * at the jobs that changed alone. The deadline and the drain wake it too.
 *
 * Who holds a group: its request until it is answered, and each waiter at the hub. At most one pool
 * thread works on it at a time (`busy`), and everything but the list of the woken is that thread's.
 */
#include "api/api.h"

#include <stdatomic.h>

enum { DEFAULT_SECONDS = 60 };

struct group;

struct awaited {
    struct group *group;
    struct awaited *next_woken;
    struct ty_hub_wait *wait;
    char id[TY_ID_TEXT];
    bool waits; /* at the hub, or woken and not looked at yet */
    bool over;  /* in its last state, or removed */
};

struct group {
    struct ty_api *api;
    struct ty_request *request; /* NULL once answered */
    int64_t tenant;
    int64_t deadline_ms;
    bool any;
    _Atomic int refs;
    pthread_mutex_t lock; /* guards the next two */
    bool busy;
    struct awaited *woken;
    size_t over_count;
    size_t count;
    struct awaited jobs[];
};

static void unref(struct group *group)
{
    if (atomic_fetch_sub(&group->refs, 1) > 1)
        return;
    pthread_mutex_destroy(&group->lock);
    free(group);
}

/* --- looking at jobs --- */

/* Read a job; *revision_out is where a wait for it begins. */
static ty_status look(struct group *group, struct awaited *job, struct ty_reader *reader,
                      int64_t *revision_out, struct ty_error *err)
{
    struct ty_job_body *body = NULL;
    ty_status status = api_load_body(group->api, reader, group->tenant, job->id, &body, err);
    if (status != TY_OK)
        return status;
    if (body->terminal && !job->over) {
        job->over = true;
        group->over_count++;
    }
    *revision_out = body->revision;
    ty_job_body_unref(body);
    return TY_OK;
}

/* The same for a job that was there: when it is gone it has ended. */
static ty_status look_again(struct group *group, struct awaited *job, struct ty_reader *reader,
                            int64_t *revision_out, struct ty_error *err)
{
    ty_status status = look(group, job, reader, revision_out, err);
    if (status != TY_NOT_FOUND)
        return status;
    job->over = true;
    group->over_count++;
    return TY_OK;
}

static bool is_done(const struct group *group)
{
    return group->any ? group->over_count > 0 : group->over_count == group->count;
}

/* --- answering --- */

struct line {
    struct ty_json_writer *writer;
};

static bool write_found(void *context, const struct ty_job_record *record)
{
    struct ty_json_writer *writer = ((struct line *)context)->writer;
    const struct ty_job_status *status = &record->status;
    ty_json_put_string(writer, "name", record->name);
    ty_json_put_string(writer, "state", ty_job_state_name(status->state));
    ty_json_put_string(writer, "cause",
                       status->cause == TY_CAUSE_NONE ? NULL : ty_job_cause_name(status->cause));
    ty_json_put_string(writer, "message", status->message);
    ty_json_put_int(writer, "sequence", status->sequence);
    ty_json_key(writer, "exit_code");
    if (status->exit.known)
        ty_json_int(writer, status->exit.code);
    else
        ty_json_null(writer);
    return false;
}

/* `state` is null when the job was removed meanwhile. */
static ty_status write_job(struct group *group, struct awaited *job, struct ty_reader *reader,
                           struct ty_json_writer *writer, struct ty_error *err)
{
    struct line line = {writer};
    ty_json_object(writer);
    ty_json_put_string(writer, "id", job->id);
    ty_status status = ty_jobs_get(reader, group->tenant, job->id, write_found, &line, err);
    if (status == TY_NOT_FOUND) {
        ty_json_put_string(writer, "state", NULL);
        status = TY_OK;
    }
    ty_json_end(writer);
    return status;
}

static struct ty_response *make_answer(struct group *group, struct ty_reader *reader,
                                       struct ty_error *err)
{
    struct ty_json_writer writer;
    ty_auto_buf body = {0};
    ty_buf_init(&body, ANSWER_MAX);
    ty_json_writer_init(&writer, &body);
    ty_json_object(&writer);
    ty_json_put_bool(&writer, "done", is_done(group));
    ty_json_key(&writer, "items");
    ty_json_array(&writer);
    for (size_t i = 0; i < group->count; i++)
        if (write_job(group, &group->jobs[i], reader, &writer, err) != TY_OK)
            return NULL;
    ty_json_end(&writer);
    ty_json_end(&writer);
    if (ty_buf_check(&body, "answer", err) != TY_OK)
        return NULL;
    return ty_response_buf(200, "application/json", &body);
}

/* Nobody waits any more; who was woken meanwhile finds the request gone. */
static void take_back(struct group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        struct awaited *job = &group->jobs[i];
        if (!job->waits || !ty_hub_cancel(group->api->options.hub, job->wait))
            continue;
        job->waits = false;
        unref(group);
    }
}

static void answer(struct group *group, struct ty_response *response, const struct ty_error *err)
{
    struct ty_request *request = group->request;
    group->request = NULL;
    take_back(group);
    if (response)
        ty_request_answer(request, response);
    else
        api_answer_error(request, err);
    unref(group);
}

/* --- waiting --- */

static void work_on(void *context, size_t worker);
static void refuse(struct group *group);

/* On the thread that commits, or the timer's; with the waiter's reference. */
static void wake(void *context)
{
    struct awaited *job = context;
    struct group *group = job->group;
    pthread_mutex_lock(&group->lock);
    job->next_woken = group->woken;
    group->woken = job;
    bool busy = group->busy;
    group->busy = true;
    pthread_mutex_unlock(&group->lock);
    if (!busy && ty_pool_submit(group->api->options.pool, work_on, group) != TY_OK)
        refuse(group);
}

static ty_status wait_for(struct group *group, struct awaited *job, int64_t revision,
                          struct ty_error *err)
{
    atomic_fetch_add(&group->refs, 1);
    job->waits = true;
    ty_status status = ty_hub_wait(group->api->options.hub, job->id, revision, group->deadline_ms,
                                   wake, job, &job->wait, err);
    if (status == TY_OK)
        return TY_OK;
    job->waits = false;
    unref(group);
    return status;
}

/* Look at the jobs that have not ended and wait for each, or for the first alone. */
static ty_status wait_on(struct group *group, struct ty_reader *reader, struct ty_error *err)
{
    for (size_t i = 0; i < group->count; i++) {
        struct awaited *job = &group->jobs[i];
        int64_t revision = 0;
        if (job->over || job->waits)
            continue;
        ty_status status = look_again(group, job, reader, &revision, err);
        if (status == TY_OK && !job->over)
            status = wait_for(group, job, revision, err);
        if (status != TY_OK)
            return status;
        if (job->over ? is_done(group) : !group->any)
            return TY_OK;
    }
    return TY_OK;
}

/* Go on with what is known: answer, or wait. */
static void go_on(struct group *group, struct ty_reader *reader)
{
    struct ty_error err;
    bool late = ty_monotonic_ms(group->api->options.clock) >= group->deadline_ms ||
                atomic_load(&group->api->draining);
    ty_status status = TY_OK;
    if (!late && !is_done(group))
        status = wait_on(group, reader, &err);
    if (status != TY_OK)
        answer(group, NULL, &err);
    else if (late || is_done(group))
        answer(group, make_answer(group, reader, &err), &err);
}

/* The next that was woken; NULL: none, and the group is left to the next thread. */
static struct awaited *take_woken(struct group *group)
{
    pthread_mutex_lock(&group->lock);
    struct awaited *job = group->woken;
    if (job)
        group->woken = job->next_woken;
    else
        group->busy = false;
    pthread_mutex_unlock(&group->lock);
    if (job)
        job->waits = false;
    return job;
}

/* Until nothing is woken; the group may be gone then. */
static void work_off(struct group *group, struct ty_reader *reader)
{
    struct ty_error err;
    struct awaited *job;
    int64_t revision = 0;
    atomic_fetch_add(&group->refs, 1);
    while ((job = take_woken(group))) {
        if (group->request && look_again(group, job, reader, &revision, &err) != TY_OK)
            answer(group, NULL, &err);
        else if (group->request)
            go_on(group, reader);
        unref(group);
    }
    unref(group);
}

static void work_on(void *context, size_t worker)
{
    struct group *group = context;
    work_off(group, group->api->readers[worker]);
}

/* The pool is full: the client hears so, on whatever thread this is. */
static void refuse(struct group *group)
{
    struct ty_error err;
    atomic_fetch_add(&group->refs, 1);
    (void)ty_fail_code(&err, TY_UNAVAILABLE, "overloaded", "too many requests are waiting");
    if (group->request)
        answer(group, NULL, &err);
    while (take_woken(group))
        unref(group);
    unref(group);
}

/* --- beginning --- */

static struct group *create_group(struct ty_api *api, struct ty_request *request)
{
    const json_t *body = ty_request_json(request);
    const json_t *ids = json_object_get(body, "ids");
    const json_t *seconds = json_object_get(body, "timeout_seconds");
    const char *mode = json_string_value(json_object_get(body, "mode"));
    size_t count = json_array_size(ids);
    struct group *group = calloc(1, sizeof *group + count * sizeof group->jobs[0]);
    if (!group)
        return NULL;
    pthread_mutex_init(&group->lock, NULL);
    group->api = api;
    group->request = request;
    group->tenant = api_caller(request)->tenant;
    group->deadline_ms = ty_monotonic_ms(api->options.clock) +
                         (seconds ? json_integer_value(seconds) : DEFAULT_SECONDS) * 1000;
    group->any = mode && ty_str_equal(mode, "any");
    group->refs = 1;
    group->busy = true;
    group->count = count;
    for (size_t i = 0; i < count; i++) {
        group->jobs[i].group = group;
        (void)ty_str_copy(group->jobs[i].id, TY_ID_TEXT, json_string_value(json_array_get(ids, i)));
    }
    return group;
}

/* Every id must be a job's: all that are none are told at once. */
static ty_status look_at_all(struct group *group, struct ty_reader *reader,
                             struct ty_faults *faults, struct ty_error *err)
{
    char pointer[32];
    int64_t revision = 0;
    for (size_t i = 0; i < group->count; i++) {
        ty_status status = look(group, &group->jobs[i], reader, &revision, err);
        if (status != TY_OK && status != TY_NOT_FOUND)
            return status;
        snprintf(pointer, sizeof pointer, "/ids/%zu", i);
        if (status == TY_NOT_FOUND)
            ty_faults_add(faults, TY_AT_POINTER, pointer, "not_found", "there is no such job");
    }
    return ty_faults_any(faults) ? ty_fail(err, TY_NOT_FOUND, "some of the jobs are not there")
                                 : TY_OK;
}

void jobs_wait(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_reader *reader = api_reader(api, request);
    struct ty_faults faults;
    struct ty_error err;
    struct group *group = create_group(api, request);
    if (!group) {
        ty_request_answer(request, NULL);
        return;
    }
    ty_faults_init(&faults);
    if (look_at_all(group, reader, &faults, &err) != TY_OK) {
        api_answer_faults(request, &err, &faults);
        unref(group);
        return;
    }
    atomic_fetch_add(&group->refs, 1);
    go_on(group, reader);
    work_off(group, reader);
    unref(group);
}
