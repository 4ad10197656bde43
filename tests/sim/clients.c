/* What clients do: submit with and without keys, again with the same key, with the key of another
 * body; cancel, suspend, resume, remove. Each writes down what it was told. A crash in between
 * leaves it without an answer. */
#include "journal.h"

#include "trainyard/base/str.h"

#include <stdio.h>
#include <stdlib.h>

#define SECONDS INT64_C(1000000)
#define KEY_AGE (INT64_C(20) * 3600 * SECONDS) /* well within what a key is kept for */

/* A submit on its way; owns what the engine borrows. */
struct sent {
    struct ty_submit submit; /* first */
    struct world *world;
    size_t job;
    size_t attempt; /* which try */
    bool other_body;
    bool answered_early; /* the bug */
    char key[40];
    char claim[8];
    const char *claims[1];
};

/* With the second the gateway counts the restarts, not the operator. */
static const char *const specs[] = {
    "{\"name\":\"sim\",\"image\":\"python:3\",\"script\":\"print(1)\"}",
    "{\"name\":\"sim\",\"image\":\"python:3\",\"script\":\"print(1)\","
    "\"restart\":\"exit_code\",\"max_retries\":1}",
};
static const char elastic_spec[] =
    "{\"name\":\"sim\",\"image\":\"python:3\",\"script\":\"print(1)\","
    "\"elastic\":{\"min\":1,\"max\":6}}";
enum { SIZE_MAX_OF_ELASTIC = 6 };

static void acknowledge(struct world *world, struct job *job, struct try *try, const char *id)
{
    try->state = ASK_ACKNOWLEDGED;
    world->journal->acknowledged++;
    if (job->acknowledged && !ty_str_equal(job->id, id))
        world_fail(world, "H6: %s was acknowledged as %s and as %s", job->name, job->id, id);
    job->acknowledged = true;
    ty_str_copy(job->id, sizeof(job->id), id);
}

static void take_answer(struct sent *sent, ty_status status, const struct ty_error *err)
{
    struct world *world = sent->world;
    struct job *job = &world->journal->jobs[sent->job];
    struct try *try = &job->tries[sent->attempt];
    world_say(world, "submit of %s as %s: %s", job->name, try->id, ty_status_name(status));
    if (world_dead(world)) {
        try->state = ASK_UNKNOWN;
        return;
    }
    if (status == TY_OK && job->acknowledged && job->other_body != sent->other_body)
        world_fail(world, "H6: another body was taken for the key of %s", job->name);
    if (status == TY_OK) {
        job->other_body = sent->other_body;
        acknowledge(world, job, try, sent->submit.replayed ? sent->submit.replayed_id : try->id);
        return;
    }
    bool known = status == TY_LIMITED || status == TY_CONFLICT;
    try->state = known ? ASK_REFUSED : ASK_UNKNOWN;
    world->journal->refused++;
    if (status == TY_INTERNAL || status == TY_CORRUPT)
        world_fail(world, "submit of %s failed with %s: %s", job->name, ty_status_name(status),
                   err ? err->text : "");
}

static void answered(struct ty_submit *submit, ty_status status, const struct ty_error *err)
{
    struct sent *sent = (struct sent *)submit;
    if (!sent->answered_early)
        take_answer(sent, status, err);
    free(sent);
}

static void fill_record(struct world *world, struct sent *sent, struct job *job, struct try *try)
{
    struct ty_job_record *record = &sent->submit.insert.record;
    ty_id_make(&world->random, world->wall_us, "job_", try->id);
    ty_object_name_make(job->name, try->id, try->object_name);
    *record = (struct ty_job_record){.tenant = world->tenants[job->tenant],
                                     .id = try->id,
                                     .name = job->name,
                                     .object_name = try->object_name,
                                     .namespace = world->namespaces[job->tenant],
                                     .tenant_name = world->namespaces[job->tenant],
                                     .image = "python:3",
                                     .labels = "{}",
                                     .warnings = "[]",
                                     .replica_list = "[]",
                                     .executor = "local",
                                     .replicas = job->replicas,
                                     .gpus = job->gpus,
                                     .priority = (int32_t)below(world, 3) - 1,
                                     .keep_seconds = job->keep_seconds,
                                     .created_at = world->wall_us};
    if (job->elastic) {
        record->elastic_min = 1;
        record->elastic_max = SIZE_MAX_OF_ELASTIC;
    }
    if (chance(world, 200))
        record->timeout_seconds = 1 + (int64_t)below(world, 600);
}

static struct sent *prepare_submit(struct world *world, struct job *job)
{
    struct sent *sent = calloc(1, sizeof(*sent));
    if (!sent)
        abort();
    struct try *try = &job->tries[job->tries_count++];
    sent->world = world;
    sent->job = (size_t)(job - world->journal->jobs);
    sent->attempt = job->tries_count - 1;
    sent->other_body = job->tries_count > 1 && chance(world, 200);
    fill_record(world, sent, job, try);
    sent->submit.insert.spec = job->elastic ? elastic_spec : specs[chance(world, 300) ? 1 : 0];
    sent->submit.insert.spec_len = strlen(sent->submit.insert.spec);
    snprintf(sent->claim, sizeof(sent->claim), "data");
    sent->claims[0] = sent->claim;
    sent->submit.insert.claims = sent->claims;
    sent->submit.insert.claims_count = 1;
    sent->submit.quota = world->quotas[job->tenant];
    sent->submit.suspended = chance(world, 80);
    sent->submit.answered = answered;
    if (job->has_key) {
        snprintf(sent->key, sizeof(sent->key), "key-%s", job->name);
        sent->submit.idempotency_key = sent->key;
        sent->submit.idempotency_route = "POST /v1/jobs";
        sent->submit.fingerprint[0] = (unsigned char)(sent->other_body ? 1 : 0);
    }
    return sent;
}

/* The bug answers before anything is stored; where a quota may refuse it would be too easy to see.
 */
static void answer_early(struct sent *sent)
{
    if (sent->world->options.bug != BUG_EARLY_ANSWER || sent->attempt > 0 ||
        sent->submit.quota.max_queued >= 0)
        return;
    take_answer(sent, TY_OK, NULL);
    sent->answered_early = true;
}

static void not_sent(struct sent *sent)
{
    struct job *job = &sent->world->journal->jobs[sent->job];
    if (!sent->answered_early)
        job->tries[sent->attempt].state = ASK_REFUSED;
    free(sent);
}

static void send_one(struct world *world, struct job *job)
{
    struct ty_error err = {0};
    struct sent *sent = prepare_submit(world, job);
    answer_early(sent);
    if (ty_engine_submit(world->engine, &sent->submit, &err) != TY_OK)
        not_sent(sent);
}

static struct job *new_job(struct world *world)
{
    struct journal *journal = world->journal;
    if (journal->count == JOURNAL_JOBS)
        return NULL;
    size_t number = journal->count++;
    struct job *job = &journal->jobs[number];
    snprintf(job->name, sizeof(job->name), "j%zu", number);
    job->tenant = (size_t)below(world, SIM_TENANTS);
    job->has_key = chance(world, 500);
    job->asked_at = world->wall_us;
    job->replicas = 1 + (int32_t)below(world, 4);
    job->gpus = chance(world, 300) ? (int32_t)below(world, 3) : 0;
    if (chance(world, 30))
        job->replicas = SIM_CAPACITY_REPLICAS + 1; /* never fits */
    job->elastic = chance(world, 300) && job->replicas <= SIZE_MAX_OF_ELASTIC;
    if (job->elastic)
        job->gpus *= job->replicas; /* each the same */
    job->keep_seconds = chance(world, 200) ? (int64_t)below(world, 100) : -1;
    job->removal_epoch = -1;
    return job;
}

static void submit_new(struct world *world)
{
    struct job *job = new_job(world);
    if (job)
        send_one(world, job);
}

static void submit_batch(struct world *world)
{
    struct ty_submit *submits[4];
    struct sent *sent[4];
    size_t count = 0;
    struct ty_error err = {0};
    for (struct job *job; count < 4 && (job = new_job(world)); count++) {
        sent[count] = prepare_submit(world, job);
        answer_early(sent[count]);
        submits[count] = &sent[count]->submit;
    }
    if (ty_engine_submit_batch(world->engine, submits, count, &err) == TY_OK)
        return;
    for (size_t i = 0; i < count; i++)
        not_sent(sent[i]);
}

static struct job *any_job(struct world *world)
{
    struct journal *journal = world->journal;
    return journal->count == 0 ? NULL : &journal->jobs[below(world, journal->count)];
}

static void submit_again(struct world *world)
{
    struct job *job = any_job(world);
    if (job && job->has_key && job->tries_count < JOURNAL_TRIES &&
        world->wall_us - job->asked_at < KEY_AGE)
        send_one(world, job);
}

static void act(struct world *world, ty_seen_kind kind)
{
    struct job *job = any_job(world);
    struct ty_error err = {0};
    if (!job || !job->acknowledged)
        return;
    ty_status status =
        ty_engine_act(world->engine, world->tenants[job->tenant], job->id, kind, "", 0, &err);
    world_say(world, "action %d on %s: %s", (int)kind, job->id, ty_status_name(status));
    if (world_dead(world))
        return;
    if (status == TY_OK && kind == TY_SEEN_CANCEL)
        job->cancel_acknowledged = true;
    if (status == TY_NOT_FOUND && !job->may_be_gone && job->keep_seconds < 0 &&
        world->options.bug != BUG_EARLY_ANSWER)
        world_fail(world, "P1: %s is unknown to an action", job->id);
}

static void remove_job(struct world *world)
{
    struct job *job = any_job(world);
    struct ty_error err = {0};
    bool force = chance(world, 500);
    bool pending = false;
    if (!job || !job->acknowledged)
        return;
    bool was_over = job->seen && ty_job_terminal(job->status.state);
    job->may_be_gone = job->may_be_gone || was_over || force;
    ty_status status = ty_engine_delete(world->engine, world->tenants[job->tenant], job->id, force,
                                        0, &pending, &err);
    world_say(world, "removal of %s: %s%s", job->id, ty_status_name(status),
              status == TY_OK && pending ? ", later" : "");
    if (status != TY_OK || world_dead(world))
        return;
    job->may_be_gone = true;
    if (pending) {
        job->cancel_acknowledged = true;
        job->removal_epoch = world->crashes;
    } else {
        job->must_be_gone = true;
    }
}

static void cancel_one(struct world *world)
{
    act(world, TY_SEEN_CANCEL);
}

static void suspend_one(struct world *world)
{
    act(world, TY_SEEN_SUSPEND);
}

static void resume_one(struct world *world)
{
    act(world, TY_SEEN_RESUME);
}

/* What got no answer leaves the size open. */
static void scale_one(struct world *world)
{
    struct job *job = any_job(world);
    struct ty_error err = {0};
    bool changed = false;
    if (!job || !job->acknowledged)
        return;
    const struct ty_scale asked = {.tenant = world->tenants[job->tenant],
                                   .job_id = job->id,
                                   .replicas = 1 + (int32_t)below(world, SIZE_MAX_OF_ELASTIC),
                                   .quota = world->quotas[job->tenant]};
    ty_status status = ty_engine_scale(world->engine, &asked, &changed, &err);
    world_say(world, "scale of %s to %d: %s", job->id, asked.replicas, ty_status_name(status));
    if (status == TY_OK && !job->elastic)
        world_fail(world, "%s is not elastic and was scaled", job->id);
    if (world_dead(world) || status == TY_UNAVAILABLE || status == TY_STORAGE_FULL)
        job->size_acknowledged = 0;
    else if (status == TY_OK)
        job->size_acknowledged = asked.replicas;
}

static const struct {
    int64_t weight;
    void (*run)(struct world *world);
} habits[] = {
    {30, submit_new  },
    {8,  submit_again},
    {5,  submit_batch},
    {10, cancel_one  },
    {8,  suspend_one },
    {10, resume_one  },
    {6,  remove_job  },
    {8,  scale_one   },
};

void clients_act(struct world *world)
{
    int64_t all = 0;
    for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++)
        all += habits[i].weight;
    int64_t roll = (int64_t)below(world, (uint64_t)all);
    size_t chosen = 0;
    while (roll >= habits[chosen].weight)
        roll -= habits[chosen++].weight;
    habits[chosen].run(world);
}
