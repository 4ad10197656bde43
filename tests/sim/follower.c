/* P6: a client that follows each tenant's events and resumes by the last one it saw. It is never
 * told of what was not committed, misses nothing, is told nothing twice, and what it was told stays
 * so over every crash. */
#include "journal.h"

#include "trainyard/base/str.h"
#include "trainyard/store/events.h"

#include <inttypes.h>

struct follower {
    struct world *world;
    struct followed *of;
    int64_t expected;
};

static uint64_t digest(const struct ty_event *event)
{
    const int64_t numbers[] = {event->type,  event->at,           event->job,  event->state,
                               event->cause, event->job_sequence, event->from, event->attempt};
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        hash = (hash ^ (uint64_t)numbers[i]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (const char *at = event->message; *at; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    return hash;
}

static struct told_job *told_of(struct followed *of, int64_t row)
{
    for (size_t i = 0; i < of->jobs_count; i++)
        if (of->jobs[i].row == row)
            return &of->jobs[i];
    if (of->jobs_count == JOURNAL_TOLD_JOBS)
        return NULL;
    of->jobs[of->jobs_count].row = row;
    return &of->jobs[of->jobs_count++];
}

/* Each transition of a job is told once, in order, and says what its history says. */
static void check_transition(struct follower *follower, const struct ty_event *event)
{
    struct told_job *told = told_of(follower->of, event->job);
    if (!told)
        return;
    if (event->job_sequence != told->sequence + 1)
        world_fail(follower->world, "P6: %s: transition %" PRId64 " is told after %" PRId64,
                   event->job_id, event->job_sequence, told->sequence);
    else if (event->has_from != (event->job_sequence > 1) ||
             (event->has_from && event->from != told->state))
        world_fail(follower->world, "P6: %s: transition %" PRId64 " is told to come from elsewhere",
                   event->job_id, event->job_sequence);
    told->sequence = event->job_sequence;
    told->state = event->state;
    told->changed = true;
    (void)ty_str_copy(told->id, sizeof told->id, event->job_id);
}

static bool visit(void *context, const struct ty_event *event)
{
    struct follower *follower = context;
    struct followed *of = follower->of;
    uint64_t hash = digest(event);
    if (event->sequence != follower->expected++)
        world_fail(follower->world, "P6: event %" PRId64 " follows %" PRId64, event->sequence,
                   follower->expected - 2);
    if (event->sequence >= JOURNAL_EVENTS || follower->world->failed)
        return false;
    if (event->sequence <= of->position) {
        if (of->seen[event->sequence] != hash)
            world_fail(follower->world, "P6: event %" PRId64 " has changed", event->sequence);
        return true;
    }
    of->seen[event->sequence] = hash;
    of->position = event->sequence;
    if (event->type >= TY_EVENT_JOB_STATE)
        check_transition(follower, event);
    return true;
}

static bool compare(void *context, const struct ty_job_record *record)
{
    *(int64_t *)context = record->status.sequence;
    return false;
}

/* An event is committed with its change: never one without the other. */
static void check_together(struct world *world, struct followed *of)
{
    struct ty_error err = {0};
    for (size_t i = 0; i < of->jobs_count && !world->failed; i++) {
        struct told_job *told = &of->jobs[i];
        int64_t stored = told->sequence;
        if (!told->changed)
            continue;
        told->changed = false;
        ty_status status = ty_jobs_get(world->reader, 0, told->id, compare, &stored, &err);
        if (status == TY_OK && stored != told->sequence)
            world_fail(world, "P6: %s is at %" PRId64 " and told of up to %" PRId64, told->id,
                       stored, told->sequence);
    }
}

static void follow(struct world *world, size_t tenant)
{
    struct followed *of = &world->journal->followed[tenant];
    struct follower follower = {.world = world, .of = of};
    struct ty_event_query query = {.tenant = world->tenants[tenant],
                                   .after = world->journal->recheck ? 0 : of->position,
                                   .limit = JOURNAL_EVENTS};
    struct ty_error err = {0};
    int64_t first = 0;
    int64_t last = 0;
    int64_t seen = 0;
    if (ty_events_range(world->reader, query.tenant, &first, &last, &err) != TY_OK) {
        world_fail(world, "the events cannot be read: %s", err.text);
        return;
    }
    if (last < of->position)
        world_fail(world, "P6: %" PRId64 " events were told and %" PRId64 " are there",
                   of->position, last);
    if (query.after + 1 < first) /* out of keeping */
        query.after = first - 1;
    follower.expected = query.after + 1;
    ty_status status = ty_events_list(world->reader, &query, visit, &follower, &seen, &err);
    if (status != TY_OK)
        world_fail(world, "the events cannot be read: %s", err.text);
    check_together(world, of);
}

void check_followers(struct world *world)
{
    for (size_t i = 0; i < SIM_TENANTS && !world->failed; i++)
        follow(world, i);
}
