/* Submitting: job, first transition, event and idempotency key in one transaction; the answer
 * leaves after COMMIT. */
#include "state.h"

#include "trainyard/base/failpoint.h"
#include "trainyard/base/str.h"
#include "trainyard/store/idempotency.h"

#include <stdlib.h>
#include <string.h>

/* --- one job, inside a transaction --- */

/* TY_NOT_FOUND: the key is new, go on. TY_OK: the job exists already. TY_CONFLICT: the key belongs
 * to another body. */
static ty_status find_replay(struct ty_writer *writer, struct ty_submit *submit, int64_t now,
                             struct ty_error *err)
{
    struct ty_idempotency entry;
    ty_status status =
        ty_idempotency_find(writer, submit->insert.record.tenant, submit->idempotency_route,
                            submit->idempotency_key, now, &entry, err);
    if (status != TY_OK)
        return status;
    if (memcmp(entry.fingerprint, submit->fingerprint, sizeof(submit->fingerprint)) != 0)
        return ty_fail_code(err, TY_CONFLICT, "idempotency_key_reused",
                            "this Idempotency-Key was used with another body");
    submit->replayed = true;
    ty_str_copy(submit->replayed_id, sizeof(submit->replayed_id), entry.job_id ? entry.job_id : "");
    return TY_OK;
}

static ty_status insert_key(struct ty_writer *writer, struct ty_submit *submit, int64_t now,
                            struct ty_error *err)
{
    struct ty_idempotency entry = {.tenant = submit->insert.record.tenant,
                                   .route = submit->idempotency_route,
                                   .key = submit->idempotency_key,
                                   .job_id = submit->insert.record.id,
                                   .created_at = now};
    memcpy(entry.fingerprint, submit->fingerprint, sizeof(entry.fingerprint));
    return ty_idempotency_insert(writer, &entry, err);
}

/* A claim that the job makes by name stays when the job is gone, so it is the tenant's volume from
 * now on, unless it is one already. */
static ty_status register_claims(struct ty_writer *writer, const struct ty_submit *submit,
                                 struct ty_error *err)
{
    for (size_t i = 0; i < submit->made_count; i++) {
        struct ty_volume_record volume = submit->made_claims[i];
        volume.tenant = submit->insert.record.tenant;
        volume.namespace = submit->insert.record.namespace;
        volume.created_by_job = submit->insert.record.id;
        volume.created_at = submit->insert.record.created_at;
        ty_status status = ty_volumes_insert(writer, &volume, err);
        if (status != TY_OK && status != TY_CONFLICT)
            return status;
    }
    return TY_OK;
}

static ty_status insert_job(struct ty_writer *writer, struct ty_submit *submit,
                            struct ty_error *err)
{
    int64_t now = ty_now_us(submit->engine->options.clock);
    submit->replayed = false;
    if (submit->idempotency_key) {
        ty_status found = find_replay(writer, submit, now, err);
        if (found != TY_NOT_FOUND)
            return found;
    }
    ty_failpoint("submit.before_insert");
    ty_status status = ty_jobs_insert(writer, &submit->insert, &submit->quota, err);
    if (status == TY_OK)
        status = register_claims(writer, submit, err);
    ty_failpoint("submit.before_key");
    if (status == TY_OK && submit->idempotency_key)
        status = insert_key(writer, submit, now, err);
    ty_failpoint("submit.after_key");
    return status;
}

static ty_status prepare(struct ty_engine *engine, struct ty_submit *submit, struct ty_error *err)
{
    submit->letter = calloc(1, sizeof(*submit->letter));
    if (!submit->letter)
        return ty_fail(err, TY_NO_MEMORY, "no memory to submit a job");
    submit->engine = engine;
    submit->replayed = false;
    ty_job_begin(submit->suspended, &submit->insert.record.status);
    return TY_OK;
}

static void abandon(struct ty_submit *submit)
{
    free(submit->letter);
    submit->letter = NULL;
}

/* After COMMIT or its failure: the engine learns of the job before the client does. */
static void finish(struct ty_submit *submit, ty_status status, const struct ty_error *err)
{
    struct commit_letter *letter = submit->letter;
    submit->letter = NULL;
    if (status == TY_OK && !submit->replayed) {
        job_facts_take(&letter->facts, &submit->insert.record);
        act_post(submit->engine, letter);
    } else {
        free(letter);
    }
    ty_failpoint("submit.before_answer");
    submit->answered(submit, status, err);
    ty_failpoint("submit.after_answer");
}

static ty_status apply_submit(struct ty_writer *writer, struct ty_write *write,
                              struct ty_error *err)
{
    return insert_job(writer, (struct ty_submit *)write, err);
}

static void submit_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct ty_submit *submit = (struct ty_submit *)write;
    struct ty_engine *engine = submit->engine;
    finish(submit, status, err);
    atomic_fetch_sub(&engine->writes_in_flight, 1);
}

ty_status ty_engine_submit(struct ty_engine *engine, struct ty_submit *submit, struct ty_error *err)
{
    ty_status status = inbox_check(&engine->inbox, err);
    if (status == TY_OK)
        status = prepare(engine, submit, err);
    if (status != TY_OK)
        return status;
    submit->write = (struct ty_write){.apply = apply_submit, .done = submit_done};
    ty_failpoint("submit.before_hand_over");
    status = engine_write(engine, &submit->write, err);
    if (status != TY_OK)
        abandon(submit);
    return status;
}

/* --- many jobs in one commit --- */
struct verdict {
    ty_status status;
    struct ty_error err;
};

struct batch {
    struct ty_write write;
    struct ty_engine *engine;
    struct ty_submit **submits;
    size_t count;
    struct verdict verdicts[];
};

/* What concerns one item only: the store finds it before it writes anything of that item. */
static bool judged_alone(ty_status status)
{
    return status == TY_OK || status == TY_CONFLICT || status == TY_LIMITED || status == TY_REFUSED;
}

static ty_status apply_batch(struct ty_writer *writer, struct ty_write *write, struct ty_error *err)
{
    struct batch *batch = (struct batch *)write;
    for (size_t i = 0; i < batch->count; i++) {
        struct verdict *verdict = &batch->verdicts[i];
        verdict->status = insert_job(writer, batch->submits[i], &verdict->err);
        if (judged_alone(verdict->status))
            continue;
        if (err)
            *err = verdict->err;
        return verdict->status;
    }
    return TY_OK;
}

static void batch_done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    struct batch *batch = (struct batch *)write;
    struct ty_engine *engine = batch->engine;
    for (size_t i = 0; i < batch->count; i++) {
        const struct verdict *verdict = &batch->verdicts[i];
        if (status != TY_OK)
            finish(batch->submits[i], status, err);
        else
            finish(batch->submits[i], verdict->status,
                   verdict->status == TY_OK ? NULL : &verdict->err);
    }
    free(batch->submits);
    free(batch);
    atomic_fetch_sub(&engine->writes_in_flight, 1);
}

static ty_status prepare_all(struct ty_engine *engine, struct batch *batch, struct ty_error *err)
{
    for (size_t i = 0; i < batch->count; i++) {
        ty_status status = prepare(engine, batch->submits[i], err);
        if (status == TY_OK)
            continue;
        while (i > 0)
            abandon(batch->submits[--i]);
        return status;
    }
    return TY_OK;
}

static ty_status send_batch(struct ty_engine *engine, struct batch *batch, struct ty_error *err)
{
    ty_status status = prepare_all(engine, batch, err);
    if (status != TY_OK)
        return status;
    status = engine_write(engine, &batch->write, err);
    for (size_t i = 0; status != TY_OK && i < batch->count; i++)
        abandon(batch->submits[i]);
    return status;
}

ty_status ty_engine_submit_batch(struct ty_engine *engine, struct ty_submit **submits, size_t count,
                                 struct ty_error *err)
{
    ty_status status = inbox_check(&engine->inbox, err);
    if (status != TY_OK)
        return status;
    struct batch *batch = calloc(1, sizeof(*batch) + count * sizeof(batch->verdicts[0]));
    struct ty_submit **copy = calloc(count + 1, sizeof(struct ty_submit *));
    if (!batch || !copy) {
        free(batch);
        free(copy);
        return ty_fail(err, TY_NO_MEMORY, "no memory to submit %zu jobs", count);
    }
    if (count > 0)
        memcpy(copy, submits, count * sizeof(struct ty_submit *));
    batch->write = (struct ty_write){.apply = apply_batch, .done = batch_done};
    batch->engine = engine;
    batch->submits = copy;
    batch->count = count;
    status = send_batch(engine, batch, err);
    if (status == TY_OK)
        return TY_OK;
    free(copy);
    free(batch);
    return status;
}
