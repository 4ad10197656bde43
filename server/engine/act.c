/* A user's actions on one job. Each is one observation judged by the machine inside a transaction,
 * and the caller waits for its commit; what follows from it the engine finds in the committed job.
 */
#include "state.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/str.h"

#include <inttypes.h>
#include <stdlib.h>

/* What a user asks of the state machine. */
struct wanted {
    struct act act; /* first */
    struct ty_observation observation;
};

ty_status act_forbidden(const struct ty_job_record *record, struct ty_error *err)
{
    const char *state = ty_job_state_name(record->status.state);
    if (ty_job_terminal(record->status.state))
        return ty_fail_code(err, TY_CONFLICT, "job_finished", "the job has ended (%s)", state);
    return ty_fail_code(err, TY_CONFLICT, "invalid_transition", "not while the job is %s", state);
}

ty_status act_check_revision(int64_t if_revision, int64_t revision, struct ty_error *err)
{
    if (if_revision > 0 && if_revision != revision)
        return ty_fail(err, TY_PRECONDITION, "the job has changed since");
    return TY_OK;
}

ty_status act_find(struct ty_writer *writer, const struct act *act,
                   struct ty_job_record *record_out, struct ty_error *err)
{
    ty_status status = ty_jobs_find(writer, act->tenant, act->job_id, record_out, err);
    return status == TY_OK ? act_check_revision(act->if_revision, record_out->revision, err)
                           : status;
}

void act_post(struct ty_engine *engine, struct commit_letter *letter)
{
    letter->letter.kind = LETTER_COMMIT;
    ty_str_copy(letter->letter.id, sizeof(letter->letter.id), letter->facts.id);
    inbox_post(&engine->inbox, &letter->letter);
}

void act_announce(struct ty_engine *engine, struct commit_letter *letter)
{
    ty_hub_changed(engine->options.hub, letter->facts.id, letter->facts.revision, false);
    act_post(engine, letter);
}

static ty_status apply_wanted(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    struct wanted *wanted = (struct wanted *)write;
    struct act *act = &wanted->act;
    struct ty_job_record record;
    ty_status status = act_find(writer, act, &record, err);
    if (status != TY_OK)
        return status;

    const struct ty_job_rules rules = {.timeout_us = record.timeout_seconds * 1000000};
    struct ty_job_status next;
    ty_step_result result = ty_job_step(&record.status, &wanted->observation, &rules, &next);
    if (result == TY_STEP_FORBIDDEN)
        return act_forbidden(&record, err);
    act->changed = result == TY_STEP_CHANGED || result == TY_STEP_TOUCHED;
    ty_failpoint("act.before_save");
    if (act->changed)
        status = ty_jobs_save_step(writer, &record, result, &next, NULL, err);
    if (status == TY_OK)
        job_facts_take(&act->letter->facts, &record);
    return status;
}

void act_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct act *act = (struct act *)write;
    struct commit_letter *letter = act->letter;
    (void)err;
    ty_failpoint("act.after_commit");
    if (status != TY_OK || !act->changed)
        return;
    act->letter = NULL;
    act_announce(act->engine, letter);
}

ty_status act_run(struct ty_engine *engine, struct act *act, struct ty_error *err)
{
    ty_status status = inbox_check(&engine->inbox, err);
    if (status != TY_OK)
        return status;
    act->engine = engine;
    act->letter = calloc(1, sizeof(*act->letter));
    if (!act->letter)
        return ty_fail(err, TY_NO_MEMORY, "no memory to act on a job");
    atomic_fetch_add(&engine->writes_in_flight, 1);
    status = ty_store_write_wait(engine->options.store, &act->write, err);
    atomic_fetch_sub(&engine->writes_in_flight, 1);
    free(act->letter);
    return status;
}

ty_status ty_engine_act(struct ty_engine *engine, int64_t tenant, const char *job_id,
                        ty_seen_kind kind, const char *message, int64_t if_revision,
                        struct ty_error *err)
{
    struct wanted wanted = {
        .act = {.write = {.apply = apply_wanted, .done = act_done},
                .tenant = tenant,
                .job_id = job_id,
                .if_revision = if_revision},
        .observation = {.kind = kind,                         .at = ty_now_us(engine->options.clock)}
    };
    ty_str_copy(wanted.observation.message, sizeof(wanted.observation.message),
                message ? message : "");
    return act_run(engine, &wanted.act, err);
}

/* --- removing --- */
static bool take_facts(void *context, const struct ty_job_record *record)
{
    job_facts_take(context, record);
    return true;
}

ty_status act_read_facts(struct ty_engine *engine, int64_t tenant, const char *job_id,
                         struct job_facts *facts_out, struct ty_error *err)
{
    struct ty_reader *reader = NULL;
    ty_status status = ty_reader_open(engine->options.store, &reader, err);
    if (status != TY_OK)
        return status;
    status = ty_jobs_get(reader, tenant, job_id, take_facts, facts_out, err);
    ty_reader_close(reader);
    return status;
}

/* Cancel it unless it has ended already; a job that ends by itself meanwhile is where it should be.
 */
static ty_status cancel_first(struct ty_engine *engine, const struct job_facts *facts,
                              int64_t if_revision, struct ty_error *err)
{
    if (ty_job_terminal(facts->status.state))
        return TY_OK;
    ty_status status = ty_engine_act(engine, facts->tenant, facts->id, TY_SEEN_CANCEL,
                                     "to be removed", if_revision, err);
    return status == TY_CONFLICT ? TY_OK : status;
}

/* Cancel it and leave word to remove it when it has ended. */
static ty_status remove_later(struct ty_engine *engine, const struct job_facts *facts,
                              int64_t if_revision, struct ty_error *err)
{
    struct letter *wish = calloc(1, sizeof(*wish));
    if (!wish)
        return ty_fail(err, TY_NO_MEMORY, "no memory to remove a job");
    ty_failpoint("wish.before_note");
    ty_status status = wish_note(engine, facts->id, err);
    ty_failpoint("wish.after_note");
    if (status == TY_OK) {
        status = cancel_first(engine, facts, if_revision, err);
        ty_failpoint("wish.after_cancel");
        if (status != TY_OK)
            wish_forget(engine, facts->id);
    }
    if (status == TY_OK)
        wish_post(engine, wish, facts->id);
    else
        free(wish);
    return status;
}

ty_status ty_engine_delete(struct ty_engine *engine, int64_t tenant, const char *job_id, bool force,
                           int64_t if_revision, bool *pending_out, struct ty_error *err)
{
    struct job_facts facts;
    ty_status status = inbox_check(&engine->inbox, err);
    if (status == TY_OK)
        status = act_read_facts(engine, tenant, job_id, &facts, err);
    if (status == TY_OK)
        status = act_check_revision(if_revision, facts.revision, err);
    if (status != TY_OK)
        return status;

    bool over = live_is_over(&facts);
    if (!over && !force)
        return ty_fail_code(err, TY_CONFLICT, "job_active",
                            "the job is %s; cancel it first or remove it with force",
                            ty_job_state_name(facts.status.state));
    status = over ? removal_run(engine, &facts, if_revision, err)
                  : remove_later(engine, &facts, if_revision, err);
    if (status == TY_OK)
        *pending_out = !over;
    return status;
}
