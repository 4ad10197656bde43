/* Wishes to remove a job when it has ended, kept over a crash: an empty file beside the logs that
 * are set aside, made before the client hears of the wish and gone with the job. A crash may leave
 * the file of a wish that nobody was told of, so at start a wish counts only where the job has
 * ended or is being cancelled. */
#include "state.h"

#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WISH_SUFFIX ".wish"

enum { WISH_NAME = TY_ID_TEXT + 8 };

static void wish_name(const char *id, char out[WISH_NAME])
{
    (void)snprintf(out, WISH_NAME, "%s" WISH_SUFFIX, id);
}

ty_status wish_note(struct ty_engine *engine, const char *id, struct ty_error *err)
{
    char name[WISH_NAME];
    if (engine->removed_fd < 0)
        return TY_OK;
    wish_name(id, name);
    int fd = openat(engine->removed_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return ty_fail_errno(err, errno, "note the wish to remove the job");
    close(fd);
    if (fsync(engine->removed_fd) != 0)
        return ty_fail_errno(err, errno, "note the wish to remove the job");
    return TY_OK;
}

void wish_forget(struct ty_engine *engine, const char *id)
{
    char name[WISH_NAME];
    wish_name(id, name);
    if (engine->removed_fd >= 0)
        (void)unlinkat(engine->removed_fd, name, 0); /* one that is not there is forgotten */
}

void wish_post(struct ty_engine *engine, struct letter *wish, const char *id)
{
    wish->kind = LETTER_WISH;
    ty_str_copy(wish->id, sizeof(wish->id), id);
    inbox_post(&engine->inbox, wish);
}

static bool still_wanted(const struct job_facts *facts)
{
    return ty_job_terminal(facts->status.state) || facts->status.state == TY_JOB_CANCELLING;
}

static void recover_wish(struct ty_engine *engine, const char *id)
{
    struct job_facts facts;
    struct ty_error err = {0};
    ty_status status = act_read_facts(engine, 0, id, &facts, &err);
    if (status == TY_NOT_FOUND || (status == TY_OK && !still_wanted(&facts))) {
        wish_forget(engine, id);
        return;
    }
    struct letter *wish = calloc(1, sizeof(*wish));
    if (wish)
        wish_post(engine, wish, id);
}

void wish_recover(struct ty_engine *engine)
{
    trash_each(engine, WISH_SUFFIX, recover_wish);
}
