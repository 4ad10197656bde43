#include "admit.h"

#include "trainyard/base/scope.h"

#include <stdlib.h>
#include <string.h>

enum { SHARE_UNIT = 1000000, SHARE_OF_UNKNOWN = 1000 };

/* One tenant's line: its jobs lie together in `jobs`, best first. */
struct line {
    size_t next;
    size_t end;
    struct admit_room whole; /* its quota */
    struct admit_room left;
    struct admit_use considered; /* admitted and considered before: what its share is made of */
};

struct judge {
    struct admit_round *round;
    struct line *lines;
    struct line **heap; /* lines that have jobs left, the next to consider first */
    size_t heap_count;
    struct admit_room whole;
    struct admit_room left;
};

static int64_t limit_of(int64_t limit)
{
    return limit < 0 ? INT64_MAX : limit;
}

static int64_t less(int64_t left, int64_t taken)
{
    if (left == INT64_MAX)
        return left;
    return taken < left ? left - taken : 0;
}

static void take(struct admit_room *room, const struct admit_use *use)
{
    room->jobs = less(room->jobs, use->jobs);
    room->replicas = less(room->replicas, use->replicas);
    room->gpus = less(room->gpus, use->gpus);
}

static bool fits(const struct admit_room *room, const struct admit_use *need)
{
    return need->jobs <= room->jobs && need->replicas <= room->replicas && need->gpus <= room->gpus;
}

static struct admit_room room_of_quota(const struct ty_quota *quota)
{
    return (struct admit_room){.jobs = limit_of(quota->max_jobs),
                               .replicas = limit_of(quota->max_replicas),
                               .gpus = limit_of(quota->max_gpus)};
}

static struct admit_room room_of_machine(const struct ty_capacity *capacity)
{
    return (struct admit_room){.jobs = INT64_MAX,
                               .replicas = limit_of(capacity->replicas),
                               .gpus = limit_of(capacity->gpus)};
}

static struct admit_use need_of(const struct admit_job *job)
{
    return (struct admit_use){.jobs = 1, .replicas = job->replicas, .gpus = job->gpus};
}

static int64_t part(int64_t used, int32_t whole)
{
    return used * SHARE_UNIT / (whole > 0 ? whole : SHARE_OF_UNKNOWN);
}

static int64_t share_of(const struct judge *judge, const struct line *line)
{
    int64_t replicas = part(line->considered.replicas, judge->round->capacity.replicas);
    int64_t gpus = part(line->considered.gpus, judge->round->capacity.gpus);
    return replicas > gpus ? replicas : gpus;
}

/* --- which line is considered next: a heap, so that a round is n log(tenants) --- */
static bool before(const struct judge *judge, const struct line *a, const struct line *b)
{
    const struct admit_job *x = &judge->round->jobs[a->next];
    const struct admit_job *y = &judge->round->jobs[b->next];
    if (x->priority != y->priority)
        return x->priority > y->priority;
    int64_t share_a = share_of(judge, a);
    int64_t share_b = share_of(judge, b);
    return share_a != share_b ? share_a < share_b : x->age < y->age;
}

static void sift_down(struct judge *judge, size_t at)
{
    for (;;) {
        size_t best = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++)
            if (child < judge->heap_count && before(judge, judge->heap[child], judge->heap[best]))
                best = child;
        if (best == at)
            return;
        struct line *moved = judge->heap[at];
        judge->heap[at] = judge->heap[best];
        judge->heap[best] = moved;
        at = best;
    }
}

static int compare_in_line(const void *a, const void *b)
{
    const struct admit_job *x = a;
    const struct admit_job *y = b;
    if (x->tenant != y->tenant)
        return x->tenant < y->tenant ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->age < y->age ? -1 : x->age > y->age;
}

static int compare_position(const void *a, const void *b)
{
    const struct admit_job *x = a;
    const struct admit_job *y = b;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* They mostly come in order already: then a look is enough. */
static void sort_jobs(struct admit_round *round, int (*compare)(const void *a, const void *b))
{
    for (size_t i = 1; i < round->jobs_count; i++) {
        if (compare(&round->jobs[i - 1], &round->jobs[i]) <= 0)
            continue;
        qsort(round->jobs, round->jobs_count, sizeof(*round->jobs), compare);
        return;
    }
}

static void open_lines(struct judge *judge)
{
    struct admit_round *round = judge->round;
    for (size_t i = 0; i < round->tenants_count; i++) {
        const struct admit_tenant *tenant = &round->tenants[i];
        struct line *line = &judge->lines[i];
        line->whole = room_of_quota(&tenant->quota);
        line->left = line->whole;
        take(&line->left, &tenant->use);
        line->considered = tenant->use;
    }
    for (size_t i = 0; i < round->jobs_count; i++) {
        struct line *line = &judge->lines[round->jobs[i].tenant];
        if (line->end == 0) {
            line->next = i;
            judge->heap[judge->heap_count++] = line;
        }
        line->end = i + 1;
    }
    for (size_t i = judge->heap_count; i > 0; i--)
        sift_down(judge, i - 1);
}

static admit_verdict judge_need(const struct admit_room *quota, struct admit_room *quota_left,
                                const struct admit_room *machine, struct admit_room *machine_left,
                                const struct admit_use *need)
{
    if (!fits(quota, need))
        return ADMIT_ABOVE_QUOTA;
    if (!fits(machine, need))
        return ADMIT_ABOVE_CAPACITY;
    bool granted = fits(quota_left, need);
    take(quota_left, need);
    if (!granted)
        return ADMIT_WAITS_FOR_QUOTA;
    admit_verdict verdict = fits(machine_left, need) ? ADMIT_NOW : ADMIT_WAITS_FOR_CAPACITY;
    take(machine_left, need);
    return verdict;
}

static void judge_next(struct judge *judge, int64_t position)
{
    struct line *line = judge->heap[0];
    struct admit_job *job = &judge->round->jobs[line->next];
    struct admit_use need = need_of(job);
    job->position = position;
    job->verdict = judge_need(&line->whole, &line->left, &judge->whole, &judge->left, &need);
    line->considered.replicas += need.replicas;
    line->considered.gpus += need.gpus;
    if (++line->next == line->end)
        judge->heap[0] = judge->heap[--judge->heap_count];
    sift_down(judge, 0);
}

ty_status admit_judge(struct admit_round *round)
{
    if (round->jobs_count == 0)
        return TY_OK;
    size_t room = round->tenants_count + 1;
    ty_auto_free struct line *lines = calloc(room, sizeof(*lines));
    ty_auto_free struct line **heap = calloc(room, sizeof(struct line *));
    if (!lines || !heap)
        return TY_NO_MEMORY;

    struct judge judge = {.round = round, .lines = lines, .heap = heap};
    judge.whole = room_of_machine(&round->capacity);
    judge.left = judge.whole;
    take(&judge.left, &round->use);
    sort_jobs(round, compare_in_line);
    open_lines(&judge);
    for (int64_t position = 1; judge.heap_count > 0; position++)
        judge_next(&judge, position);
    sort_jobs(round, compare_position);
    return TY_OK;
}

void admit_reach_init(struct admit_reach *reach, const struct admit_round *round,
                      const struct admit_tenant *tenant)
{
    reach->quota = room_of_quota(&tenant->quota);
    reach->quota_left = reach->quota;
    reach->machine = room_of_machine(&round->capacity);
    reach->machine_left = reach->machine;
    take(&reach->quota_left, &tenant->use);
    take(&reach->machine_left, &round->use);
}

/* Every job is one and has a replica. */
bool admit_reach_open(const struct admit_reach *reach)
{
    return reach->quota_left.jobs > 0 && reach->quota_left.replicas > 0 &&
           reach->machine_left.replicas > 0;
}

/* What a job takes does not depend on other tenants, who can only leave less of the machine. */
void admit_reach_take(struct admit_reach *reach, const struct admit_job *job)
{
    struct admit_use need = need_of(job);
    (void)judge_need(&reach->quota, &reach->quota_left, &reach->machine, &reach->machine_left,
                     &need);
}
