#include "results.h"

#include "trainyard/base/file.h"
#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/logs/files.h"
#include "trainyard/store/events.h"

#include <fcntl.h>
#include <stdlib.h>

/* Of more checkpoints than NEW_MAX at one look the newest are told. */
enum { NEW_MAX = 64, LIST_MAX = 10000, TEXT_MAX = 32 * 1024 };

/* --- writing --- */

struct notices_write {
    struct ty_write write; /* first */
    const char *job_id;
    struct ty_event_notice notices[NEW_MAX + 1];
    char *texts[NEW_MAX + 1]; /* owned: the `extra` of each */
    size_t count;
};

static ty_status apply_notices(struct ty_writer *writer, struct ty_write *write,
                               struct ty_error *err)
{
    struct notices_write *self = (struct notices_write *)write;
    struct ty_job_record record;
    ty_status status = ty_jobs_find(writer, 0, self->job_id, &record, err);
    if (status == TY_NOT_FOUND)
        return TY_OK; /* removed meanwhile: nobody is left to be told */
    return status == TY_OK ? ty_events_notice(writer, &record, self->notices, self->count, err)
                           : status;
}

static void free_notices(struct notices_write *write)
{
    for (size_t i = 0; i < write->count; i++)
        free(write->texts[i]);
}

/* Take a text as the next notice's. */
static ty_status add_notice(struct notices_write *write, ty_event_type type, const char *message,
                            struct ty_buf *extra, struct ty_error *err)
{
    ty_status status = ty_buf_check(extra, "event", err);
    if (status != TY_OK)
        return status;
    char *text = ty_buf_take(extra, NULL);
    if (!text)
        return ty_fail(err, TY_NO_MEMORY, "no memory for an event");
    write->texts[write->count] = text;
    write->notices[write->count++] = (struct ty_event_notice){type, message, text};
    return TY_OK;
}

static ty_status send_notices(struct ty_engine *engine, struct notices_write *write,
                              struct ty_error *err)
{
    write->write = (struct ty_write){.apply = apply_notices};
    return write->count == 0 ? TY_OK
                             : ty_store_write_wait(engine->options.store, &write->write, err);
}

/* --- looking --- */

/* TY_NOT_FOUND while the claim or the folder is not there, or cannot be looked into from here. */
static ty_status open_folder(const struct results_look *look, const struct ty_spec_folder *folder,
                             int *fd_out, struct ty_error *err)
{
    struct ty_executor *executor = look->engine->options.executor;
    ty_auto_fd root = -1;
    ty_status status =
        executor->ops->open_claim(executor, look->namespace, folder->claim, &root, err);
    if (status == TY_UNSUPPORTED)
        return TY_NOT_FOUND;
    if (status == TY_OK && folder->path[0] == '\0')
        *fd_out = ty_steal_fd(&root);
    else if (status == TY_OK)
        status = ty_open_beneath(root, folder->path, O_RDONLY | O_DIRECTORY, true, fd_out, err);
    return status;
}

static ty_status list_folder(const struct results_look *look, const struct ty_spec_folder *folder,
                             struct ty_file_list *list_out, struct ty_error *err)
{
    const struct ty_file_query query = {.limit = LIST_MAX, .files_only = true};
    ty_auto_fd fd = -1;
    ty_status status = open_folder(look, folder, &fd, err);
    return status == TY_OK ? ty_files_list(fd, &query, list_out, err) : status;
}

static bool is_checkpoint(const struct results_look *look, const struct ty_file_entry *entry)
{
    return entry->stat.size > 0 && entry->stat.modified_us >= look->since_us &&
           entry->stat.modified_us < look->before_us && !ty_checkpoint_temporary(entry->path);
}

static int compare_age(const void *a, const void *b)
{
    const struct ty_file_entry *left = *(const struct ty_file_entry *const *)a;
    const struct ty_file_entry *right = *(const struct ty_file_entry *const *)b;
    if (left->stat.modified_ns != right->stat.modified_ns)
        return left->stat.modified_ns < right->stat.modified_ns ? -1 : 1;
    return strcmp(left->path, right->path);
}

/* A mark that differs when a file came, went or changed. */
static uint64_t mark(uint64_t before, const struct ty_file_entry *entry)
{
    uint64_t hash = before ^ (uint64_t)entry->stat.modified_ns ^ (uint64_t)entry->stat.size << 32;
    return (hash ^ entry->stat.inode) * UINT64_C(0x9e3779b97f4a7c15);
}

static ty_status note_checkpoint(struct notices_write *write, const struct ty_file_entry *entry,
                                 struct ty_error *err)
{
    ty_auto_buf extra = {0};
    struct ty_json_writer writer;
    ty_buf_init(&extra, TEXT_MAX);
    ty_json_writer_init(&writer, &extra);
    ty_json_object(&writer);
    ty_json_key(&writer, "path");
    ty_json_string_len(&writer, entry->path, entry->path_len);
    ty_json_put_int(&writer, "size", entry->stat.size);
    ty_json_put_time(&writer, "modified_at", entry->stat.modified_us);
    ty_json_end(&writer);
    return add_notice(write, TY_EVENT_CHECKPOINT_CREATED, "", &extra, err);
}

static ty_status note_checkpoints(struct results_look *look, struct notices_write *write,
                                  uint64_t *seen_out, struct ty_error *err)
{
    ty_auto_file_list list = {0};
    uint64_t seen = 1;
    size_t count = 0;
    ty_status status = list_folder(look, &look->checkpoints, &list, err);
    if (status != TY_OK)
        return status;
    ty_auto_free const struct ty_file_entry **found = calloc(list.count + 1, sizeof *found);
    if (!found)
        return ty_fail(err, TY_NO_MEMORY, "no memory to look for checkpoints");
    for (size_t i = 0; i < list.count; i++)
        if (is_checkpoint(look, &list.items[i]))
            found[count++] = &list.items[i];
    qsort(found, count, sizeof(const struct ty_file_entry *), compare_age);
    for (size_t i = 0; i < count; i++)
        seen = mark(seen, found[i]);
    *seen_out = seen;
    if (seen == look->seen)
        return TY_OK; /* the look before has told of all of them */
    for (size_t i = count > NEW_MAX ? count - NEW_MAX : 0; i < count && status == TY_OK; i++)
        status = note_checkpoint(write, found[i], err);
    return status;
}

static ty_status note_artifacts(struct results_look *look, struct notices_write *write,
                                struct ty_error *err)
{
    ty_auto_file_list list = {0};
    ty_auto_buf extra = {0};
    struct ty_json_writer writer;
    int64_t bytes = 0;
    ty_status status = list_folder(look, &look->output, &list, err);
    if (status != TY_OK || list.count == 0)
        return status;
    for (size_t i = 0; i < list.count; i++)
        bytes += list.items[i].stat.size;
    ty_buf_init(&extra, TEXT_MAX);
    ty_json_writer_init(&writer, &extra);
    ty_json_object(&writer);
    ty_json_put_int(&writer, "count", (int64_t)list.count);
    ty_json_put_int(&writer, "bytes", bytes);
    ty_json_put_bool(&writer, "partial", list.more || list.partial);
    ty_json_end(&writer);
    return add_notice(write, TY_EVENT_ARTIFACT_READY, "", &extra, err);
}

/* What cannot be looked at has nothing to tell. */
static ty_status forgive(const struct results_look *look, ty_status status,
                         const struct ty_error *err)
{
    if (status == TY_OK || status == TY_NOT_FOUND)
        return TY_OK;
    if (status == TY_NO_MEMORY)
        return status;
    ty_log(look->engine->options.log, TY_LOG_WARNING, "results_not_seen", "folders of %s: %s",
           look->job_id, err->text);
    return TY_OK;
}

ty_status results_tell(struct results_look *look, struct ty_error *err)
{
    struct notices_write write = {.job_id = look->job_id};
    uint64_t seen = look->seen;
    ty_status status = note_checkpoints(look, &write, &seen, err);
    status = forgive(look, status, err);
    if (status == TY_OK && look->ended)
        status = forgive(look, note_artifacts(look, &write, err), err);
    if (status == TY_OK)
        status = send_notices(look->engine, &write, err);
    free_notices(&write);
    if (status == TY_OK)
        look->seen = seen;
    return status;
}

ty_status results_warn(struct ty_engine *engine, const char *job_id, const char *code,
                       const char *message, struct ty_error *err)
{
    struct notices_write write = {.job_id = job_id};
    ty_auto_buf extra = {0};
    ty_buf_init(&extra, TEXT_MAX);
    ty_buf_addf(&extra, "{\"code\":\"%s\"}", code);
    ty_status status = add_notice(&write, TY_EVENT_WARNING, message, &extra, err);
    if (status == TY_OK)
        status = send_notices(engine, &write, err);
    free_notices(&write);
    return status;
}
