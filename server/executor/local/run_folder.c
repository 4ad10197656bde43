/* The folder of a run. It is filled under a name of its own and renamed, so that it is there as a
 * whole or not at all. One fsync, of runs/ after the rename, makes its existence durable before
 * anything runs: that alone keeps a power cut from doubling a run. Its contents need no fsync: a
 * run whose plan was lost cannot have survived the cut either. */
#include "executor/local/inside.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/failpoint.h"
#include "trainyard/base/file.h"
#include "trainyard/base/random.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include "executor/supervisor/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define HALF_MADE ".new-"

enum { HALF_MADE_NAME = 128 };

static ty_status write_file(int folder_fd, const char *name, const void *bytes, size_t len,
                            mode_t mode, struct ty_error *err)
{
    ty_auto_fd fd =
        openat(folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, mode) != 0)
        return ty_fail_errno(err, errno, "write a file of the run");
    return ty_write_all(fd, bytes, len, err);
}

/* A folder that the job may look into, whatever our own mask is. */
static ty_status make_open_folder(int parent_fd, const char *name, struct ty_error *err)
{
    if (mkdirat(parent_fd, name, 0755) != 0)
        return errno == EEXIST ? TY_OK : ty_fail_errno(err, errno, "make a folder of the run");
    if (fchmodat(parent_fd, name, 0755, 0) != 0)
        return ty_fail_errno(err, errno, "open a folder of the run");
    return TY_OK;
}

/* Open the folders of `path` one by one, making them; `*name_out` is what remains after the last
 * slash. */
static ty_status open_parents(int folder_fd, const char *path, int *fd_out, const char **name_out,
                              struct ty_error *err)
{
    ty_auto_fd fd = dup(folder_fd);
    const char *slash;
    while ((slash = strchr(path, '/'))) {
        char part[NAME_MAX + 1];
        size_t len = (size_t)(slash - path);
        if (len == 0 || len > NAME_MAX || (len == 2 && path[0] == '.' && path[1] == '.'))
            return ty_fail(err, TY_REFUSED, "a file of the job has a bad path");
        memcpy(part, path, len);
        part[len] = '\0';
        int next;
        ty_status status = make_open_folder(fd, part, err);
        if (status == TY_OK)
            status = ty_folder_open(fd, part, false, &next, err);
        if (status != TY_OK)
            return status;
        close(fd);
        fd = next;
        path = slash + 1;
    }
    if (!path[0] || ty_str_equal(path, "..") || ty_str_equal(path, "."))
        return ty_fail(err, TY_REFUSED, "a file of the job has a bad path");
    *name_out = path;
    *fd_out = ty_steal_fd(&fd);
    return TY_OK;
}

static ty_status decode(const char *text, uint8_t **bytes_out, size_t *len_out,
                        struct ty_error *err)
{
    size_t max = strlen(text) / 4 * 3 + 3;
    ty_auto_free uint8_t *bytes = malloc(max);
    if (!bytes)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a file of the run");
    if (ty_base64_decode(text, strlen(text), bytes, max, len_out) != TY_OK)
        return ty_fail(err, TY_REFUSED, "binaryData of a ConfigMap is not base64");
    *bytes_out = ty_steal(&bytes);
    return TY_OK;
}

static ty_status write_one(int folder_fd, const char *path, const json_t *file,
                           struct ty_error *err)
{
    const char *name;
    ty_auto_fd parent = -1;
    ty_status status = open_parents(folder_fd, path, &parent, &name, err);
    if (status != TY_OK)
        return status;
    mode_t mode = (mode_t)ty_object_int(file, "mode", 0644) & 0777;
    const json_t *text = json_object_get(file, "text");
    if (text)
        return write_file(parent, name, json_string_value(text), json_string_length(text), mode,
                          err);
    ty_auto_free uint8_t *bytes = NULL;
    size_t len;
    status = decode(ty_object_text(file, "base64", ""), &bytes, &len, err);
    return status == TY_OK ? write_file(parent, name, bytes, len, mode, err) : status;
}

static ty_status make_one_folder(int folder_fd, const char *path, struct ty_error *err)
{
    const char *name;
    ty_auto_fd parent = -1;
    ty_status status = open_parents(folder_fd, path, &parent, &name, err);
    return status == TY_OK ? make_open_folder(parent, name, err) : status;
}

static ty_status write_plan(int folder_fd, const json_t *plan, bool whole, struct ty_error *err)
{
    ty_auto_free char *text = json_dumps(plan, JSON_COMPACT);
    if (!text)
        return ty_fail(err, TY_NO_MEMORY, "no memory for a plan");
    if (whole)
        return ty_file_write(folder_fd, "plan.json", text, strlen(text), 0600, err);
    return write_file(folder_fd, "plan.json", text, strlen(text), 0600, err);
}

static ty_status fill_folder(int folder_fd, const struct ty_made_plan *made, struct ty_error *err)
{
    const char *path;
    json_t *file;
    ty_status status = write_plan(folder_fd, made->plan, false, err);
    ty_failpoint("local.after_plan");
    json_object_foreach(made->folders, path, file)
    {
        if (status == TY_OK)
            status = make_one_folder(folder_fd, path, err);
    }
    json_object_foreach(made->files, path, file)
    {
        if (status == TY_OK)
            status = write_one(folder_fd, path, file, err);
    }
    return status;
}

static ty_status publish(struct local *local, const char *half_made, const char *object,
                         struct ty_error *err)
{
    if (renameat2(local->runs_fd, half_made, local->runs_fd, object, RENAME_NOREPLACE) != 0) {
        if (errno == EEXIST || errno == ENOTEMPTY)
            return ty_fail(err, TY_CONFLICT, "run %s exists", object);
        return ty_fail_errno(err, errno, "make the folder of the run");
    }
    if (fsync(local->runs_fd) != 0)
        return ty_fail_errno(err, errno, "store the folder of the run");
    return TY_OK;
}

static void name_half_made(const char *object, char out[HALF_MADE_NAME])
{
    uint64_t random = ty_random_below(ty_random_system(), UINT64_MAX);
    snprintf(out, HALF_MADE_NAME, HALF_MADE "%s-%016llx", object, (unsigned long long)random);
}

ty_status ty_run_folder_write(struct local *local, const char *object,
                              const struct ty_made_plan *made, struct ty_error *err)
{
    char name[HALF_MADE_NAME];
    name_half_made(object, name);
    ty_auto_fd folder = -1;
    ty_status status = ty_folder_open(local->runs_fd, name, true, &folder, err);
    ty_failpoint("local.after_folder");
    if (status == TY_OK)
        status = fill_folder(folder, made, err);
    ty_failpoint("local.before_rename");
    if (status == TY_OK)
        status = publish(local, name, object, err);
    ty_failpoint("local.after_rename");
    if (status != TY_OK) {
        struct ty_error ignored;
        ty_status removed = ty_tree_remove(local->runs_fd, name, &ignored);
        (void)removed; /* swept at the next start */
    }
    return status;
}

ty_status ty_run_folder_plan(struct local *local, const char *object, json_t **plan_out,
                             struct ty_error *err)
{
    ty_auto_fd folder = -1;
    ty_auto_buf text = {0};
    ty_buf_init(&text, TY_PLAN_BYTES);
    ty_status status = ty_folder_open(local->runs_fd, object, false, &folder, err);
    if (status == TY_OK)
        status = ty_file_read(folder, "plan.json", &text, err);
    if (status != TY_OK)
        return status;
    json_error_t why;
    json_t *plan = json_loadb(text.data ? text.data : "", text.len, JSON_REJECT_DUPLICATES, &why);
    if (!plan && json_error_code(&why) == json_error_out_of_memory)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the plan of run %s", object);
    if (!plan)
        return ty_fail(err, TY_CORRUPT, "the plan of run %s cannot be read", object);
    *plan_out = plan;
    return TY_OK;
}

bool ty_run_folder_gone(const struct local *local, const char *object)
{
    struct stat info;
    return fstatat(local->runs_fd, object, &info, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT;
}

ty_status ty_run_folder_replace(struct local *local, const char *object, const json_t *plan,
                                struct ty_error *err)
{
    ty_auto_fd folder = -1;
    ty_status status = ty_folder_open(local->runs_fd, object, false, &folder, err);
    return status == TY_OK ? write_plan(folder, plan, true, err) : status;
}

run_lock ty_run_folder_lock(struct local *local, const char *object)
{
    char path[TY_OBJECT_NAME + 16];
    snprintf(path, sizeof path, "%s/lock", object);
    ty_auto_fd fd = openat(local->runs_fd, path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? RUN_LOCK_FREE : RUN_LOCK_UNKNOWN;
    return flock(fd, LOCK_EX | LOCK_NB) == 0 ? RUN_LOCK_FREE : RUN_LOCK_HELD;
}

bool ty_run_folder_locked(struct local *local, const char *object)
{
    return ty_run_folder_lock(local, object) != RUN_LOCK_FREE;
}

void ty_run_folder_close(struct local *local, const char *object)
{
    char path[TY_OBJECT_NAME + 32];
    struct ty_error why = {0};
    snprintf(path, sizeof path, "%s/status.jsonl", object);
    ty_auto_fd fd =
        openat(local->runs_fd, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || ty_write_all(fd, "\n", 1, &why) != TY_OK)
        ty_log(local->log, TY_LOG_WARNING, "run_not_closed", "run %s: %s", object,
               fd < 0 ? strerrordesc_np(errno) : why.text);
}

/* Where the folder of a removed run waits for its end; of the kind that the sweep takes. */
static void name_removed(const char *object, char out[HALF_MADE_NAME])
{
    snprintf(out, HALF_MADE_NAME, HALF_MADE "%s-removed", object);
}

ty_status ty_run_folder_set_aside(struct local *local, const char *object, struct ty_error *err)
{
    char name[HALF_MADE_NAME];
    name_removed(object, name);
    int failed = renameat(local->runs_fd, object, local->runs_fd, name);
    if (failed && (errno == ENOTEMPTY || errno == EEXIST)) {
        /* One of the same name was not yet taken away. */
        if (ty_tree_remove(local->runs_fd, name, err) != TY_OK)
            return err->status;
        failed = renameat(local->runs_fd, object, local->runs_fd, name);
    }
    if (failed && errno != ENOENT)
        return ty_fail_errno(err, errno, "remove the folder of a run");
    return TY_OK;
}

ty_status ty_run_folder_clear(struct local *local, const char *object, struct ty_error *err)
{
    char name[HALF_MADE_NAME];
    name_removed(object, name);
    return ty_tree_remove(local->runs_fd, name, err);
}

ty_status ty_run_folder_remove(struct local *local, const char *object, struct ty_error *err)
{
    if (ty_run_folder_set_aside(local, object, err) != TY_OK)
        return err->status;
    ty_failpoint("local.amid_remove");
    return ty_run_folder_clear(local, object, err);
}

void ty_run_folder_sweep(struct local *local)
{
    DIR *folder = ty_folder_entries(local->runs_fd);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct ty_error why;
        if (ty_str_starts(entry->d_name, HALF_MADE) &&
            ty_tree_remove(local->runs_fd, entry->d_name, &why) != TY_OK)
            ty_log(local->log, TY_LOG_WARNING, "sweep_failed", "%s", why.text);
    }
    closedir(folder);
}
