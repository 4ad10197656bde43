/* What a removed job leaves besides its logs, its run and the claims made for it alone, is noted in
 * a file beside the logs that are set aside, before the row goes. A crash after the commit would
 * leave it for ever otherwise: nobody else knows the names. At start the row says whether the note
 * counts. A process's crash loses no note; a power cut may, and then claims stay behind, which
 * harms nobody.
 *
 * The file holds the namespace, the object's name, the attempt and the claims, a line each. */
#include "state.h"

#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define REMAINS_SUFFIX ".remains"

enum { REMAINS_NAME = TY_ID_TEXT + 16, REMAINS_MAX = 1024 * 1024 };

static void remains_name(const char *id, char out[REMAINS_NAME])
{
    (void)snprintf(out, REMAINS_NAME, "%s" REMAINS_SUFFIX, id);
}

ty_status remains_note(struct ty_engine *engine, const struct job_facts *facts,
                       const struct own_claims *claims, struct ty_error *err)
{
    char name[REMAINS_NAME];
    ty_auto_buf text = {0};
    if (engine->removed_fd < 0)
        return TY_OK;
    ty_buf_init(&text, REMAINS_MAX);
    ty_buf_addf(&text, "%s\n%s\n%d\n", facts->namespace, facts->object_name,
                (int)facts->status.attempt);
    for (size_t i = 0; i < claims->count; i++)
        ty_buf_addf(&text, "%s\n", claims->names[i]);
    ty_status status = ty_buf_check(&text, "what the job leaves", err);
    if (status != TY_OK)
        return status;
    remains_name(facts->id, name);
    ty_auto_fd fd =
        openat(engine->removed_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return ty_fail_errno(err, errno, "note what the job leaves");
    return ty_write_all(fd, text.data, text.len, err);
}

void remains_forget(struct ty_engine *engine, const char *id)
{
    char name[REMAINS_NAME];
    remains_name(id, name);
    if (engine->removed_fd >= 0)
        (void)unlinkat(engine->removed_fd, name, 0); /* one that is not there is forgotten */
}

/* --- at start --- */

/* The next line of a note, cut off in place; NULL at its end. A last line that was not written
 * whole is none. */
static char *next_line(char **at)
{
    char *line = *at;
    char *end = strchr(line, '\n');
    if (!end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return line;
}

static ty_status read_claims(char *at, struct own_claims *claims, struct ty_error *err)
{
    size_t lines = 0;
    for (const char *byte = at; *byte; byte++)
        lines += *byte == '\n';
    claims->names = calloc(lines + 1, sizeof(*claims->names));
    if (!claims->names)
        return ty_fail(err, TY_NO_MEMORY, "no memory for the job's claims");
    for (char *line; (line = next_line(&at));)
        if (ty_str_copy(claims->names[claims->count], TY_CLAIM_NAME, line))
            claims->count++;
    return TY_OK;
}

/* TY_CORRUPT: a note that a crash left half written, before the row could go. */
static ty_status read_note(char *at, struct job_facts *facts, struct own_claims *claims,
                           struct ty_error *err)
{
    const char *namespace = next_line(&at);
    const char *object = namespace ? next_line(&at) : NULL;
    const char *attempt = object ? next_line(&at) : NULL;
    int64_t number;
    if (!attempt || ty_str_to_int(attempt, 0, INT32_MAX, &number) != TY_OK ||
        !ty_str_copy(facts->namespace, sizeof(facts->namespace), namespace) ||
        !ty_str_copy(facts->object_name, sizeof(facts->object_name), object))
        return ty_fail(err, TY_CORRUPT, "a note of what a job leaves is not whole");
    facts->status.attempt = (int32_t)number;
    return read_claims(at, claims, err);
}

static ty_status remove_all(struct ty_engine *engine, const struct job_facts *facts,
                            const struct own_claims *claims, struct ty_error *err)
{
    struct ty_executor *executor = engine->options.executor;
    const struct ty_run_ref ref = live_run_ref(facts);
    ty_status status =
        facts->status.attempt > 0 ? executor->ops->remove(executor, &ref, err) : TY_OK;
    if (status != TY_OK && status != TY_NOT_FOUND)
        return status;
    claims_remove(engine, facts, claims);
    return TY_OK;
}

static ty_status finish_removal(struct ty_engine *engine, const char *id, struct ty_error *err)
{
    char name[REMAINS_NAME];
    struct job_facts facts = {0};
    struct own_claims claims = {0};
    ty_auto_buf text = {0};
    ty_buf_init(&text, REMAINS_MAX);
    remains_name(id, name);
    ty_str_copy(facts.id, sizeof(facts.id), id);
    ty_status status = ty_file_read(engine->removed_fd, name, &text, err);
    if (status == TY_OK)
        status = text.len > 0 ? read_note(text.data, &facts, &claims, err) : TY_CORRUPT;
    if (status == TY_OK)
        status = remove_all(engine, &facts, &claims, err);
    claims_done(&claims);
    return status == TY_CORRUPT ? TY_OK : status;
}

static void recover_remains(struct ty_engine *engine, const char *id)
{
    struct job_facts facts;
    struct ty_error err = {0};
    ty_status status = act_read_facts(engine, 0, id, &facts, &err);
    if (status == TY_NOT_FOUND)
        status = finish_removal(engine, id, &err);
    if (status == TY_OK)
        remains_forget(engine, id);
    else
        ty_log(engine->options.log, TY_LOG_WARNING, "removal_not_finished", "%s: %s", id, err.text);
}

void remains_recover(struct ty_engine *engine)
{
    trash_each(engine, REMAINS_SUFFIX, recover_remains);
}
