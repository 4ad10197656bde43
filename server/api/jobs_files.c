/* GET …/artifacts, one artefact, and …/checkpoints: files beneath the volumes a job wrote to. */
#include "api/api.h"

#include "trainyard/base/file.h"
#include "trainyard/logs/files.h"

#include <fcntl.h>

enum { URL_MAX = 16 * 1024 };

/* A folder of results, opened; fd -1 while the claim or folder does not exist. */
struct folder {
    struct ty_job_record job;
    struct ty_spec_folder place;
    struct ty_spec_folder output; /* what the artefact route opens */
    int fd;
};

typedef void choose_folder(const struct ty_job_spec *spec, const char *object_name,
                           struct ty_spec_folder *folder_out);

static ty_status open_place(struct ty_api *api, struct folder *folder, struct ty_error *err)
{
    struct ty_executor *executor = api->options.executor;
    ty_auto_fd root = -1;
    ty_status status =
        executor->ops->open_claim(executor, folder->job.namespace, folder->place.claim, &root, err);
    if (status == TY_OK && folder->place.path[0] == '\0')
        folder->fd = ty_steal_fd(&root);
    else if (status == TY_OK)
        status = ty_open_beneath(root, folder->place.path, O_RDONLY | O_DIRECTORY, true,
                                 &folder->fd, err);
    return status == TY_NOT_FOUND ? TY_OK : status;
}

static ty_status open_folder(struct ty_api *api, struct ty_request *request, choose_folder *choose,
                             struct folder *folder, struct ty_error *err)
{
    struct ty_job_spec *spec = NULL;
    folder->fd = -1;
    if (api_find_job(api, request, &folder->job, err) != TY_OK ||
        api_job_spec(api, request, folder->job.row, &spec, err) != TY_OK)
        return err->status;
    choose(spec, folder->job.object_name, &folder->place);
    ty_job_spec_output(spec, folder->job.object_name, &folder->output);
    ty_job_spec_destroy(spec);
    return open_place(api, folder, err);
}

/* --- listing --- */

static void write_self(struct ty_json_writer *writer, const char *job_id,
                       const struct ty_file_entry *entry)
{
    ty_auto_buf url = {0};
    ty_buf_init(&url, URL_MAX);
    ty_buf_addf(&url, "/v1/jobs/%s/artifacts/", job_id);
    ty_file_path_encode(entry->path, entry->path_len, &url);
    ty_json_put_string(writer, "self", url.failed == TY_OK ? url.data : "");
}

static void write_artifact(struct ty_api *api, struct ty_json_writer *writer,
                           const struct folder *folder, const struct ty_file_entry *entry)
{
    uint8_t digest[TY_SHA256];
    char etag[TY_FILE_ETAG];
    ty_json_object(writer);
    ty_json_key(writer, "path");
    ty_json_string_len(writer, entry->path, entry->path_len);
    ty_json_put_int(writer, "size", entry->stat.size);
    ty_json_put_time(writer, "modified_at", entry->stat.modified_us);
    if (ty_file_digest_known(api->options.digests, &entry->stat, digest)) {
        ty_file_etag(digest, etag);
        ty_json_put_string(writer, "etag", etag);
    }
    ty_json_key(writer, "links");
    ty_json_object(writer);
    write_self(writer, folder->job.id, entry);
    ty_json_end(writer);
    ty_json_end(writer);
}

/* What both lists of files begin with: the folder, where the page starts in it, how long it may be.
 */
struct files_page {
    struct folder folder;
    char identity[TY_ID_TEXT + 16];
    struct ty_cursor cursor;
    struct ty_file_query query;
};

static ty_status begin_files(struct ty_api *api, struct ty_request *request, const char *list,
                             choose_folder *choose, struct files_page *page, struct ty_error *err)
{
    snprintf(page->identity, sizeof page->identity, "%s|%s", list,
             ty_request_variable(request, "job_id"));
    if (open_folder(api, request, choose, &page->folder, err) != TY_OK ||
        api_cursor(api, request, page->identity, &page->cursor, err) != TY_OK)
        return err->status;
    page->query = (struct ty_file_query){
        .after = page->cursor.text[0] != '\0' ? page->cursor.text : NULL,
        .limit = api_limit(request),
        .files_only = true,
    };
    return TY_OK;
}

/* The cursor of a list of files is the last path of the page before. */
static const struct ty_cursor *cursor_after(const struct ty_file_list *list, struct ty_cursor *next)
{
    if (!list->more || list->count == 0)
        return NULL;
    *next = (struct ty_cursor){0};
    if (!ty_str_copy(next->text, sizeof next->text, list->items[list->count - 1].path))
        return NULL;
    return next;
}

void jobs_artifacts(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct files_page page = {.folder.fd = -1};
    struct ty_cursor next;
    struct ty_error err;
    ty_auto_file_list list = {0};
    ty_status status = begin_files(api, request, "artifacts", ty_job_spec_output, &page, &err);
    ty_auto_fd fd = page.folder.fd;
    if (status == TY_OK && fd >= 0)
        status = ty_files_list(fd, &page.query, &list, &err);
    if (status != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    ty_auto_buf body = {0};
    struct ty_json_writer writer;
    api_begin_page(&writer, &body);
    for (size_t i = 0; i < list.count; i++)
        write_artifact(api, &writer, &page.folder, &list.items[i]);
    api_answer_page(api, request, &writer, page.identity, cursor_after(&list, &next));
}

/* --- checkpoints --- */

/* Where the artefact route reaches a checkpoint: only when both lie on one claim and the output
 * folder is above. */
static bool checkpoint_prefix(const struct folder *folder, char *out, size_t size)
{
    size_t len = strlen(folder->output.path);
    const char *rest = folder->place.path + len;
    if (!ty_str_equal(folder->output.claim, folder->place.claim) ||
        strncmp(folder->output.path, folder->place.path, len) != 0 ||
        (len > 0 && *rest != '/' && *rest != '\0'))
        return false;
    rest += *rest == '/';
    return ty_str_copy(out, size, rest);
}

struct checkpoints {
    const struct folder *folder;
    const struct ty_checkpoint_list *list;
    bool reachable;
    char prefix[2 * TY_MOUNT_PATH];
};

static void write_checkpoint_link(struct ty_json_writer *writer, const struct checkpoints *all,
                                  const struct ty_file_entry *entry)
{
    ty_json_key(writer, "links");
    ty_json_object(writer);
    if (all->reachable) {
        ty_auto_buf path = {0};
        ty_buf_init(&path, URL_MAX);
        ty_buf_addf(&path, "%s%s", all->prefix, all->prefix[0] != '\0' ? "/" : "");
        ty_buf_add(&path, entry->path, entry->path_len);
        struct ty_file_entry below = {.path = path.data, .path_len = path.len};
        write_self(writer, all->folder->job.id, &below);
    }
    ty_json_end(writer);
}

static void write_checkpoint(struct ty_json_writer *writer, const struct checkpoints *all,
                             const struct ty_file_entry *entry)
{
    const char *latest = all->list->latest;
    ty_json_object(writer);
    ty_json_key(writer, "path");
    ty_json_string_len(writer, entry->path, entry->path_len);
    ty_json_put_int(writer, "size", entry->stat.size);
    ty_json_put_time(writer, "modified_at", entry->stat.modified_us);
    ty_json_put_bool(writer, "latest", latest && ty_str_equal(latest, entry->path));
    write_checkpoint_link(writer, all, entry);
    ty_json_end(writer);
}

void jobs_checkpoints(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct files_page page = {.folder.fd = -1};
    struct ty_cursor next;
    struct ty_error err;
    ty_auto_checkpoint_list list = {0};
    ty_status status =
        begin_files(api, request, "checkpoints", ty_job_spec_checkpoints, &page, &err);
    ty_auto_fd fd = page.folder.fd;
    if (status == TY_OK && fd >= 0)
        status = ty_checkpoints_list(fd, &page.query, &list, &err);
    if (status != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    struct checkpoints all = {.folder = &page.folder, .list = &list};
    all.reachable = checkpoint_prefix(&page.folder, all.prefix, sizeof all.prefix);
    ty_auto_buf body = {0};
    struct ty_json_writer writer;
    ty_buf_init(&body, ANSWER_MAX);
    ty_json_writer_init(&writer, &body);
    ty_json_object(&writer);
    ty_json_put_string(&writer, "latest", list.latest);
    ty_json_key(&writer, "items");
    ty_json_array(&writer);
    for (size_t i = 0; i < list.files.count; i++)
        write_checkpoint(&writer, &all, &list.files.items[i]);
    api_answer_page(api, request, &writer, page.identity, cursor_after(&list.files, &next));
}

/* --- one file --- */

static void add_validators(struct ty_response *response, const uint8_t digest[TY_SHA256],
                           const struct ty_file_stat *stat)
{
    char etag[TY_FILE_ETAG];
    char encoded[64];
    char field[80];
    char date[TY_HTTP_DATE_TEXT];
    ty_file_etag(digest, etag);
    ty_response_etag(response, etag);
    ty_base64(digest, TY_SHA256, encoded);
    snprintf(field, sizeof field, "sha-256=:%s:", encoded);
    ty_response_header(response, "Repr-Digest", field);
    ty_http_date_format(stat->modified_us, date);
    ty_response_header(response, "Last-Modified", date);
}

void jobs_artifact_get(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    const char *path = ty_request_variable(request, "path");
    struct folder folder = {.fd = -1};
    struct ty_file_stat stat;
    struct ty_error err;
    uint8_t digest[TY_SHA256];
    ty_auto_fd file = -1;
    ty_status status = open_folder(api, request, ty_job_spec_output, &folder, &err);
    ty_auto_fd root = folder.fd;
    if (status == TY_OK && root < 0)
        status = ty_fail(&err, TY_NOT_FOUND, "no such file");
    if (status == TY_OK)
        status = ty_file_open(root, path, &file, &stat, &err);
    if (status == TY_OK)
        status = ty_file_digest(api->options.digests, file, &stat, digest, &err);
    if (status != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    struct ty_response *response =
        ty_response_file("application/octet-stream", ty_steal_fd(&file), (uint64_t)stat.size);
    add_validators(response, digest, &stat);
    const char *slash = strrchr(path, '/');
    ty_response_attachment(response, slash ? slash + 1 : path);
    ty_response_header(response, "Cache-Control", "private, no-cache");
    ty_request_answer(request, response);
}
