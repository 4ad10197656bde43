#include "state.h"

#include "trainyard/base/file.h"
#include "trainyard/base/id.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REMOVED_FOLDER ".removed"

ty_status trash_open(struct ty_engine *engine, struct ty_error *err)
{
    engine->logs_fd = -1;
    engine->removed_fd = -1;
    if (!engine->options.data_folder)
        return TY_OK;
    int data_fd = open(engine->options.data_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (data_fd < 0)
        return ty_fail_errno(err, errno, "open the data folder");
    ty_status status = ty_folder_open(data_fd, "logs", true, &engine->logs_fd, err);
    close(data_fd);
    if (status == TY_OK)
        status = ty_folder_open(engine->logs_fd, REMOVED_FOLDER, true, &engine->removed_fd, err);
    if (status != TY_OK)
        trash_close(engine);
    return status;
}

void trash_close(struct ty_engine *engine)
{
    if (engine->logs_fd >= 0)
        close(engine->logs_fd);
    if (engine->removed_fd >= 0)
        close(engine->removed_fd);
    engine->logs_fd = -1;
    engine->removed_fd = -1;
}

ty_status trash_set_aside(struct ty_engine *engine, const char *id, struct ty_error *err)
{
    if (engine->removed_fd < 0 || renameat(engine->logs_fd, id, engine->removed_fd, id) == 0)
        return TY_OK;
    if (errno == ENOENT)
        return TY_OK; /* it never wrote a line */
    return ty_fail_errno(err, errno, "set the logs of the job aside");
}

void trash_put_back(struct ty_engine *engine, const char *id)
{
    if (engine->removed_fd >= 0 && renameat(engine->removed_fd, id, engine->logs_fd, id) != 0 &&
        errno != ENOENT)
        ty_log(engine->options.log, TY_LOG_WARNING, "logs_not_restored",
               "the logs of %s stay set aside until the next start", id);
}

void trash_empty(struct ty_engine *engine, const char *id)
{
    struct ty_error err = {0};
    if (engine->removed_fd >= 0 && ty_tree_remove(engine->removed_fd, id, &err) != TY_OK)
        ty_log(engine->options.log, TY_LOG_WARNING, "logs_not_removed", "%s: %s", id, err.text);
}

/* A removal that a crash cut short: the row says whether it had been committed. */
static void recover_one(struct ty_engine *engine, const char *id)
{
    struct job_facts facts;
    struct ty_error err = {0};
    switch (act_read_facts(engine, 0, id, &facts, &err)) {
    case TY_OK:
        trash_put_back(engine, id);
        break;
    case TY_NOT_FOUND:
        trash_empty(engine, id);
        break;
    default:
        break; /* looked at again by the next start */
    }
}

/* The job a file name stands for; false for any other file. */
static bool job_of_file(const char *name, const char *suffix, char id[TY_ID_TEXT])
{
    size_t len = strlen(name);
    size_t tail = strlen(suffix);
    if (!ty_str_ends(name, suffix) || len - tail >= TY_ID_TEXT)
        return false;
    memcpy(id, name, len - tail);
    id[len - tail] = '\0';
    return ty_id_valid("job_", id);
}

void trash_each(struct ty_engine *engine, const char *suffix,
                void (*visit)(struct ty_engine *engine, const char *id))
{
    char id[TY_ID_TEXT];
    DIR *folder = engine->removed_fd < 0 ? NULL : ty_folder_entries(engine->removed_fd);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (job_of_file(entry->d_name, suffix, id))
            visit(engine, id);
    closedir(folder);
}

void trash_recover(struct ty_engine *engine)
{
    trash_each(engine, "", recover_one);
}
