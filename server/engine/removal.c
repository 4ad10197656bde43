/* Removing a finished job, in an order that a crash at any point leaves whole: what it leaves is
 * noted, the executor forgets the run (harmless when repeated), the logs are set aside, the row
 * goes in a commit, claims and logs go for good, then the note. If the commit fails the logs come
 * back; after a crash the next start looks whether the row is there. */
#include "state.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/str.h"

#include <stdlib.h>

struct removal {
    struct ty_write write;
    struct letter letter; /* how it comes back */
    struct ty_engine *engine;
    struct job_facts facts;
    struct own_claims claims;
    int64_t if_revision;
    bool waited_for; /* by a caller's thread: nothing is posted */
    ty_status status;
};

struct removal *removal_of(struct letter *letter)
{
    return (struct removal *)((char *)letter - offsetof(struct removal, letter));
}

void removal_destroy(struct removal *removal)
{
    claims_done(&removal->claims);
    free(removal);
}

static ty_status apply_removal(struct ty_writer *writer, struct ty_write *write,
                               struct ty_error *err)
{
    struct removal *removal = (struct removal *)write;
    struct ty_job_record record;
    const char *id = removal->letter.id;
    ty_status status = ty_jobs_find(writer, removal->facts.tenant, id, &record, err);
    if (status == TY_OK)
        status = act_check_revision(removal->if_revision, record.revision, err);
    if (status != TY_OK)
        return status;
    if (record.status.run_active)
        return ty_fail_code(err, TY_CONFLICT, "job_active", "the job's run has not ended yet");
    ty_failpoint("removal.before_delete");
    status = ty_jobs_delete(writer, removal->facts.tenant, id, err);
    ty_failpoint("removal.after_delete");
    return status;
}

static void removal_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct removal *removal = (struct removal *)write;
    struct ty_engine *engine = removal->engine;
    (void)err;
    removal->status = status;
    if (status == TY_OK)
        ty_hub_changed(engine->options.hub, removal->letter.id, removal->facts.revision + 1, true);
    if (removal->waited_for)
        return;
    inbox_post(&engine->inbox, &removal->letter);
    atomic_fetch_sub(&engine->writes_in_flight, 1);
}

static ty_status prepare(struct ty_engine *engine, const struct job_facts *facts,
                         struct removal **removal_out, struct ty_error *err)
{
    struct ty_executor *executor = engine->options.executor;
    const struct ty_run_ref ref = live_run_ref(facts);
    struct removal *removal = calloc(1, sizeof(*removal));
    if (!removal)
        return ty_fail(err, TY_NO_MEMORY, "no memory to remove a job");
    removal->write = (struct ty_write){.apply = apply_removal, .done = removal_done};
    removal->letter.kind = LETTER_REMOVED;
    ty_str_copy(removal->letter.id, sizeof(removal->letter.id), facts->id);
    removal->engine = engine;
    removal->facts = *facts;

    ty_status status = claims_read(engine, facts, &removal->claims, err);
    if (status == TY_OK)
        status = remains_note(engine, facts, &removal->claims, err);
    ty_failpoint("removal.before_run");
    if (status == TY_OK && facts->status.attempt > 0)
        status = executor->ops->remove(executor, &ref, err);
    ty_failpoint("removal.before_set_aside");
    if (status == TY_OK || status == TY_NOT_FOUND)
        status = trash_set_aside(engine, facts->id, err);
    ty_failpoint("removal.after_set_aside");
    if (status != TY_OK) {
        remains_forget(engine, facts->id);
        removal_destroy(removal);
        return status;
    }
    *removal_out = removal;
    return TY_OK;
}

static void put_back(struct ty_engine *engine, const char *id)
{
    trash_put_back(engine, id);
    remains_forget(engine, id);
}

static void forget_files(struct ty_engine *engine, const char *id)
{
    trash_empty(engine, id);
    ty_failpoint("removal.after_logs");
    remains_forget(engine, id);
    wish_forget(engine, id);
    ty_failpoint("removal.after_wish");
}

/* The row is gone, or it is not: files follow it. */
static void settle_files(struct ty_engine *engine, const struct removal *removal)
{
    ty_failpoint("removal.before_claims");
    if (removal->status == TY_OK)
        claims_remove(engine, &removal->facts, &removal->claims);
    ty_failpoint("removal.after_claims");
    if (removal->status == TY_OK || removal->status == TY_NOT_FOUND)
        forget_files(engine, removal->letter.id);
    else
        put_back(engine, removal->letter.id);
}

ty_status removal_begin(struct ty_engine *engine, const struct job_facts *facts,
                        struct ty_error *err)
{
    struct removal *removal;
    ty_status status = prepare(engine, facts, &removal, err);
    if (status != TY_OK)
        return status;
    status = engine_write(engine, &removal->write, err);
    if (status == TY_OK) {
        engine->removals++;
        return TY_OK;
    }
    put_back(engine, facts->id);
    removal_destroy(removal);
    return status;
}

void removal_ended(struct ty_engine *engine, struct removal *removal)
{
    struct live_job *job = live_find(engine, removal->letter.id);
    engine->removals--;
    settle_files(engine, removal);
    if (job) {
        job->removing = false;
        job->gone = removal->status == TY_OK || removal->status == TY_NOT_FOUND;
        if (!job->gone)
            backoff_fail(&job->call_backoff, engine->options.random, engine->now_ms);
        live_mark(engine, job);
    }
    removal_destroy(removal);
}

ty_status removal_run(struct ty_engine *engine, const struct job_facts *facts, int64_t if_revision,
                      struct ty_error *err)
{
    struct removal *removal;
    ty_status status = prepare(engine, facts, &removal, err);
    if (status != TY_OK)
        return status;
    removal->waited_for = true;
    removal->if_revision = if_revision;
    status = ty_store_write_wait(engine->options.store, &removal->write, err);
    removal->status = status;
    settle_files(engine, removal);
    removal_destroy(removal);
    return status;
}
