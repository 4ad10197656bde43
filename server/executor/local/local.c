/* The operations: apply writes the folder of the run and hands it to the thread; all else is a
 * command to the thread. */
#include "executor/local/inside.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>

enum {
    DEFAULT_BACKOFF_MS = 10 * 1000,
    DEFAULT_GRACE_MS = 30 * 1000,
    UNLOCK_TRIES = 100,
    UNLOCK_PAUSE_US = 10 * 1000
};

static ty_status send_named(struct local *local, struct local_command *command,
                            const struct ty_run_ref *run, struct ty_error *err)
{
    if (!ty_dns1035_label(run->object_name) || !ty_dns1123_label(run->namespace))
        return ty_fail(err, TY_REFUSED, "the run has no good name");
    command->attempt = run->attempt;
    ty_str_copy(command->object, sizeof command->object, run->object_name);
    ty_str_copy(command->namespace, sizeof command->namespace, run->namespace);
    ty_str_copy(command->job_id, sizeof command->job_id, run->job_id);
    return ty_local_send(local, command, err);
}

static ty_status send_kind(struct ty_executor *executor, local_command_kind kind,
                           const struct ty_run_ref *run, struct ty_error *err)
{
    struct local_command command = {.kind = kind};
    return send_named((struct local *)executor, &command, run, err);
}

/* --- apply --- */

/* The claims that come with the job. */
static ty_status make_claims(struct ty_executor *executor, const struct ty_run *run,
                             struct ty_error *err)
{
    const json_t *objects = run->manifest->objects;
    for (size_t i = 0; i < json_array_size(objects); i++) {
        const json_t *object = json_array_get(objects, i);
        const char *name = ty_object_text(json_object_get(object, "metadata"), "name", "");
        if (!ty_str_equal(ty_object_text(object, "kind", ""), "PersistentVolumeClaim"))
            continue;
        ty_status status = ty_local_create_claim(executor, run->namespace, name, err);
        if (status != TY_OK && status != TY_CONFLICT)
            return status == TY_INVALID
                       ? ty_fail(err, TY_REFUSED, "\"%s\" is not the name of a claim", name)
                       : status;
    }
    return TY_OK;
}

/* A terminal line is written shortly before the supervisor is gone. */
static bool await_unlock(struct local *local, const char *object)
{
    for (int i = 0; i < UNLOCK_TRIES; i++) {
        if (!ty_run_folder_locked(local, object))
            return true;
        usleep(UNLOCK_PAUSE_US);
    }
    return false;
}

typedef enum { FOLDER_NONE, FOLDER_SAME, FOLDER_NEWER } folder_state;

/* What is in the place of the run's folder. An earlier attempt of the job is cleared away when it
 * is over. */
static ty_status look_at_folder(struct local *local, const struct ty_run *run,
                                folder_state *state_out, struct ty_error *err)
{
    ty_auto_json plan = NULL;
    ty_status status = ty_run_folder_plan(local, run->object_name, &plan, err);
    if (status == TY_NOT_FOUND) {
        *state_out = FOLDER_NONE;
        return TY_OK;
    }
    if (status == TY_CORRUPT) { /* a power cut leaves that of a run which may have begun */
        *state_out = FOLDER_SAME;
        return TY_OK;
    }
    if (status != TY_OK)
        return status;
    if (!ty_str_equal(ty_object_text(plan, "job_id", ""), run->job_id))
        return ty_fail_code(err, TY_REFUSED, "object_name_taken",
                            "another job runs under the name %s", run->object_name);
    int64_t attempt = ty_object_int(plan, "attempt", 0);
    if (attempt >= run->attempt) {
        *state_out = attempt == run->attempt ? FOLDER_SAME : FOLDER_NEWER;
        return TY_OK;
    }
    if (!await_unlock(local, run->object_name))
        return ty_fail(err, TY_UNAVAILABLE, "the earlier attempt of %s has not ended yet",
                       run->object_name);
    status = ty_run_folder_remove(local, run->object_name, err);
    if (status == TY_OK)
        *state_out = FOLDER_NONE;
    return status;
}

static ty_status write_run(struct local *local, const struct ty_run *run, json_t **plan_out,
                           struct ty_error *err)
{
    const struct ty_local_host *host = ty_local_host(local);
    const struct ty_plan_setting setting = {.data_folder = local->data_folder,
                                            .bwrap = host->bwrap[0] ? host->bwrap : NULL,
                                            .boot_id = host->boot_id,
                                            .torchrun_needs_tee = host->torchrun_needs_tee,
                                            .backoff_base_ms = local->backoff_base_ms,
                                            .grace_ms = local->grace_ms,
                                            .log_bytes = local->log_bytes,
                                            .find_root = ty_local_find_root,
                                            .root_context = local};
    struct ty_made_plan made;
    ty_status status = ty_plan_make(run, &setting, &made, err);
    if (status != TY_OK)
        return status;
    status = make_claims(&local->base, run, err);
    ty_failpoint("local.after_claims");
    if (status == TY_OK)
        status = ty_run_folder_write(local, run->object_name, &made, err);
    if (status == TY_OK)
        *plan_out = ty_steal(&made.plan);
    ty_made_plan_done(&made);
    return status == TY_CONFLICT ? TY_OK : status; /* another caller was first: theirs is tracked */
}

static ty_status apply(struct ty_executor *executor, const struct ty_run *run, struct ty_error *err)
{
    struct local *local = (struct local *)executor;
    const struct ty_run_ref ref = {run->job_id, run->namespace, run->object_name, run->attempt};
    folder_state state;
    if (!ty_dns1035_label(run->object_name) || !ty_dns1123_label(run->namespace))
        return ty_fail(err, TY_REFUSED, "the run has no good name");
    ty_status status = look_at_folder(local, run, &state, err);
    if (status != TY_OK || state == FOLDER_NEWER)
        return status;
    ty_auto_json plan = NULL;
    if (state == FOLDER_NONE)
        status = write_run(local, run, &plan, err);
    if (status != TY_OK)
        return status == TY_NOT_FOUND ? ty_wrap(err, "run %s", run->object_name) : status;
    struct local_command command = {.kind = COMMAND_TRACK, .plan = ty_steal(&plan)};
    return send_named(local, &command, &ref, err);
}

static ty_status stop(struct ty_executor *executor, const struct ty_run_ref *run,
                      struct ty_error *err)
{
    return send_kind(executor, COMMAND_STOP, run, err);
}

static ty_status scale(struct ty_executor *executor, const struct ty_run_ref *run, int32_t replicas,
                       struct ty_error *err)
{
    struct local_command command = {.kind = COMMAND_SCALE, .replicas = replicas};
    return send_named((struct local *)executor, &command, run, err);
}

/* Whether the folder is that of this attempt or an earlier one, and nothing of it lives. */
static ty_status may_set_aside(struct local *local, const struct ty_run_ref *run, bool *may_out,
                               struct ty_error *err)
{
    ty_auto_json plan = NULL;
    ty_status status = ty_run_folder_plan(local, run->object_name, &plan, err);
    run_lock lock = ty_run_folder_lock(local, run->object_name);
    bool ours = status == TY_CORRUPT || /* names are the jobs' own: whose else could it be */
                (status == TY_OK && ty_str_equal(ty_object_text(plan, "job_id", ""), run->job_id) &&
                 ty_object_int(plan, "attempt", 0) <= run->attempt);
    if (status != TY_OK && status != TY_NOT_FOUND && status != TY_CORRUPT)
        return status;
    if (ours && lock == RUN_LOCK_UNKNOWN)
        return ty_fail(err, TY_UNAVAILABLE, "whether run %s has ended is not known",
                       run->object_name);
    *may_out = ours && lock == RUN_LOCK_FREE;
    return TY_OK;
}

/* The folder is no run any more when this returns: the caller may forget the job, and a crash
 * before the thread has taken the folder away leaves what the next start sweeps. */
static ty_status remove_run(struct ty_executor *executor, const struct ty_run_ref *run,
                            struct ty_error *err)
{
    struct local *local = (struct local *)executor;
    bool may;
    ty_status status = may_set_aside(local, run, &may, err);
    if (status == TY_OK && may)
        status = ty_run_folder_set_aside(local, run->object_name, err);
    return status == TY_OK ? send_kind(executor, COMMAND_REMOVE, run, err) : status;
}

static ty_status check(struct ty_executor *executor, const struct ty_run_ref *run,
                       struct ty_error *err)
{
    return send_kind(executor, COMMAND_CHECK, run, err);
}

/* --- life --- */

static ty_status start(struct ty_executor *executor, ty_executor_observer *observer, void *context,
                       struct ty_error *err)
{
    struct local *local = (struct local *)executor;
    local->observer = observer;
    local->observer_context = context;
    ty_run_folder_sweep(local);
    ty_status status = ty_thread_start(&local->thread, "local-runs", ty_local_follow, local, err);
    local->thread_runs = status == TY_OK;
    return status;
}

static void free_images(struct local *local)
{
    for (size_t i = 0; i < local->image_count; i++) {
        free((char *)(uintptr_t)local->images[i].pattern);
        free((char *)(uintptr_t)local->images[i].root);
    }
    free(local->images);
}

static void free_commands(struct local_command *command)
{
    while (command) {
        struct local_command *next = command->next;
        json_decref(command->plan);
        free(command);
        command = next;
    }
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

static void destroy(struct ty_executor *executor)
{
    struct local *local = (struct local *)executor;
    if (!local)
        return;
    if (local->thread_runs) {
        pthread_mutex_lock(&local->lock);
        local->stopping = true;
        pthread_mutex_unlock(&local->lock);
        ty_local_wake(local);
        pthread_join(local->thread, NULL);
    }
    free_commands(local->first_command);
    free_commands(local->deferred);
    ty_map_destroy(local->watches);
    ty_map_destroy(local->runs);
    pthread_mutex_destroy(&local->lock);
    pthread_mutex_destroy(&local->probe_lock);
    const int fds[] = {local->runs_fd, local->volumes_fd, local->wake_fd, local->epoll_fd,
                       local->inotify_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close_if_open(fds[i]);
    free_images(local);
    free(local->data_folder);
    free(local->supervisor_path);
    free(local);
}

static const struct ty_executor_ops local_ops = {.name = "local",
                                                 .one_machine = true,
                                                 .start = start,
                                                 .apply = apply,
                                                 .stop = stop,
                                                 .scale = scale,
                                                 .remove = remove_run,
                                                 .check = check,
                                                 .capacity = ty_local_capacity,
                                                 .open_claim = ty_local_open_claim,
                                                 .create_claim = ty_local_create_claim,
                                                 .remove_claim = ty_local_remove_claim,
                                                 .measure_claim = ty_local_measure_claim,
                                                 .describe = ty_local_describe,
                                                 .destroy = destroy};

static ty_status copy_options(struct local *local, const struct ty_local_options *options,
                              struct ty_error *err)
{
    local->clock = options->clock;
    local->log = options->log;
    local->backoff_base_ms =
        options->backoff_base_ms > 0 ? options->backoff_base_ms : DEFAULT_BACKOFF_MS;
    local->log_bytes = options->log_bytes;
    local->grace_ms = options->grace_ms >= 0 ? options->grace_ms : DEFAULT_GRACE_MS;
    local->data_folder = strdup(options->data_folder);
    local->supervisor_path = strdup(options->supervisor_path);
    local->images = calloc(options->image_count + 1, sizeof *local->images);
    if (!local->data_folder || !local->supervisor_path || !local->images)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the local executor");
    for (size_t i = 0; i < options->image_count; i++) {
        local->images[i].pattern = strdup(options->images[i].pattern);
        local->images[i].root = strdup(options->images[i].root);
        local->image_count = i + 1;
        if (!local->images[i].pattern || !local->images[i].root)
            return ty_fail(err, TY_NO_MEMORY, "no memory for the local executor");
        if (local->images[i].root[0] != '/')
            return ty_fail(err, TY_INVALID,
                           "the root folder of image \"%s\" is not an absolute path",
                           local->images[i].pattern);
    }
    return TY_OK;
}

static ty_status open_below(const char *data_folder, const char *name, int *fd_out,
                            struct ty_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", data_folder, name);
    ty_status status = ty_folder_make(path, err);
    if (status != TY_OK)
        return status;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ty_fail_errno(err, errno, "open the folder of %s", name);
    *fd_out = fd;
    return TY_OK;
}

/* For the administrator to fill; nobody else may look into it. */
static ty_status make_secrets_folder(const struct local *local, struct ty_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" TY_SECRETS_FOLDER, local->data_folder);
    return ty_folder_make(path, err);
}

static ty_status watch(struct local *local, int fd, void *tag, struct ty_error *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = tag};
    if (fd < 0 || local->epoll_fd < 0 || epoll_ctl(local->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0)
        return ty_fail(err, TY_UNAVAILABLE, "no descriptors for the local executor: %s",
                       strerrordesc_np(errno));
    return TY_OK;
}

static ty_status open_all(struct local *local, struct ty_error *err)
{
    ty_status status = open_below(local->data_folder, "runs", &local->runs_fd, err);
    if (status == TY_OK)
        status = open_below(local->data_folder, "volumes", &local->volumes_fd, err);
    if (status == TY_OK)
        status = make_secrets_folder(local, err);
    if (status != TY_OK)
        return status;
    local->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    local->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    status = watch(local, local->wake_fd, &local->wake_fd, err);
    if (status != TY_OK)
        return status;
    local->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (local->inotify_fd < 0) { /* a user may have few; runs are looked at by the clock then */
        ty_log(local->log, TY_LOG_WARNING, "no_inotify", "%s", strerrordesc_np(errno));
        return TY_OK;
    }
    return watch(local, local->inotify_fd, &local->inotify_fd, err);
}

ty_status ty_local_create(const struct ty_local_options *options, struct ty_executor **executor_out,
                          struct ty_error *err)
{
    if (options->data_folder[0] != '/' || options->supervisor_path[0] != '/')
        return ty_fail(err, TY_INVALID, "the data folder and the supervisor need absolute paths");
    struct local *local = calloc(1, sizeof *local);
    if (!local)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the local executor");
    local->base.ops = &local_ops;
    local->runs_fd = local->volumes_fd = local->wake_fd = local->epoll_fd = local->inotify_fd = -1;
    pthread_mutex_init(&local->lock, NULL);
    pthread_mutex_init(&local->probe_lock, NULL);
    local->plain = options->sandbox == TY_LOCAL_PLAIN;
    ty_local_look(options, &local->host);
    ty_status status = copy_options(local, options, err);
    if (status == TY_OK && options->sandbox == TY_LOCAL_BWRAP && !ty_local_host(local)->bwrap[0])
        status = ty_fail(err, TY_UNSUPPORTED, "no sandbox can be made: %s", local->host.trouble);
    if (status == TY_OK)
        status = open_all(local, err);
    if (status == TY_OK)
        status = ty_map_create(ty_local_free_tracked, &local->runs);
    if (status == TY_OK)
        status = ty_map_create(NULL, &local->watches);
    if (status != TY_OK) {
        destroy(&local->base);
        return status;
    }
    *executor_out = &local->base;
    return TY_OK;
}
