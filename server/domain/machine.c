/* The states a job goes through:
 *
 *             admitted           running
 *   (new)-> queued ---> starting -------> running <-----> restarting
 *            |  ^          |                 |                |
 *            |  | resume   +--------+--------+----------------+
 *   suspend  |  |                   | suspend
 *            v  |                   |
 *         suspended <---------------+
 *
 *   cancelling   from any state with a run: cancel, deadline, restart limit
 *                from starting: what keeps it from starting has lasted too long
 *   cancelled    from queued and suspended without a run: cancel
 *                from cancelling: stopped, when the user asked for it
 *   failed       from cancelling: stopped, by deadline or restart limit
 *                from starting: the objects were refused
 *                from any live state with a run: result bad
 *   succeeded    from any live state with a run: result good
 *   lost         from starting, running, restarting: the run is gone and nobody asked
 *
 * Held by every step, and checked over all states and observations by
 * tests/unit/domain/test_machine.c: starting, running, restarting and cancelling have a run
 * (run_active); queued and suspended may still have the old one, which is being stopped, and a
 * new one is admitted only when the old one is known to be over. */
#include "trainyard/domain/machine.h"

#include "trainyard/base/str.h"

#include <string.h>

#define BIT(name) (1U << (TY_JOB_##name))

enum {
    QUEUED = BIT(QUEUED),
    STARTING = BIT(STARTING),
    RUNNING = BIT(RUNNING),
    RESTARTING = BIT(RESTARTING),
    SUSPENDED = BIT(SUSPENDED),
    CANCELLING = BIT(CANCELLING),
    CANCELLED = BIT(CANCELLED),
    UP = RUNNING | RESTARTING,
    ATTEMPT = STARTING | UP,     /* an attempt is on its way */
    PARKED = QUEUED | SUSPENDED, /* no attempt, perhaps the rest of one */
    LIVE = PARKED | ATTEMPT | CANCELLING,
    TERMINAL = BIT(SUCCEEDED) | BIT(FAILED) | BIT(CANCELLED) | BIT(LOST)
};

typedef enum { ANY, RUN, IDLE } run_need;

typedef enum {
    GO,    /* to `next` with the observation's cause, else the row's */
    STAY,  /* in this state; CHANGED only when the cause is another one or replicas restarted again
            */
    TOUCH, /* no transition */
    END_STOP, /* a stop has come to its end: `cancelled`, or `failed` by the reason of the stop */
    LEAVE,    /* IGNORED: the job is where it should be */
    REFUSE    /* FORBIDDEN */
} row_action;

enum {
    BEGIN = 1,   /* a new attempt: attempt + 1, run_active, deadline */
    RUN_OVER = 2 /* the run has ended: run_active falls */
};

struct row {
    unsigned states; /* bits */
    unsigned kinds;  /* bits */
    run_need need;
    row_action action;
    ty_job_state next;
    ty_job_cause cause; /* where the observation gives none */
    unsigned effects;
};

#define SEEN(name)  (1U << (TY_SEEN_##name))
#define TO(name)    TY_JOB_##name
#define CAUSE(name) TY_CAUSE_##name

enum {
    GOES_ON = SEEN(STARTING) | SEEN(RUNNING) | SEEN(RESTARTING),
    STOPS = SEEN(STOPPED) | SEEN(GONE),
    ENDS = SEEN(SUCCEEDED) | SEEN(FAILED) | STOPS
};

/* The first row that fits decides; no row means IGNORED. */
/* clang-format off */
static const struct row rows[] = {
    /* the engine */
    {QUEUED,     SEEN(WAITING),      ANY,  STAY, TO(QUEUED),     CAUSE(WAITING_FOR_CAPACITY), 0},
    {QUEUED,     SEEN(ADMITTED),     IDLE, GO,   TO(STARTING),   CAUSE(ADMITTED), BEGIN},
    {STARTING,   SEEN(START_DEADLINE), RUN, GO,  TO(CANCELLING), CAUSE(DEADLINE_EXCEEDED), 0},
    {ATTEMPT,    SEEN(DEADLINE),     ANY,  GO,   TO(CANCELLING), CAUSE(DEADLINE_EXCEEDED), 0},
    {STARTING,   SEEN(START_FAILED), ANY,  GO,   TO(FAILED),     CAUSE(SPEC_REJECTED), 0},

    /* the executor, while the run lives: never back from running to starting */
    {STARTING,   SEEN(STARTING),     RUN,  STAY, TO(STARTING),   CAUSE(ADMITTED), 0},
    {RUNNING,    SEEN(RUNNING),      RUN,  STAY, TO(RUNNING),    CAUSE(REPLICAS_STARTED), 0},
    {ATTEMPT,    SEEN(RUNNING),      RUN,  GO,   TO(RUNNING),    CAUSE(REPLICAS_STARTED), 0},
    {RESTARTING, SEEN(RESTARTING),   RUN,  STAY, TO(RESTARTING), CAUSE(REPLICA_RESTARTED), 0},
    {ATTEMPT,    SEEN(RESTARTING),   RUN,  GO,   TO(RESTARTING), CAUSE(REPLICA_RESTARTED), 0},
    {LIVE,       GOES_ON,            RUN,  TOUCH, 0, 0, 0},

    /* the executor, at the end of the run: a result that came first wins over a stop */
    {LIVE,       SEEN(SUCCEEDED),    RUN,  GO,   TO(SUCCEEDED),  CAUSE(COMPLETED), RUN_OVER},
    {LIVE,       SEEN(FAILED),       RUN,  GO,   TO(FAILED),     CAUSE(CONTAINER_ERROR), RUN_OVER},
    {PARKED,     STOPS,              RUN,  TOUCH, 0, 0, RUN_OVER},
    {CANCELLING, STOPS,              ANY,  END_STOP, 0, 0, RUN_OVER},
    {ATTEMPT,    STOPS,              RUN,  GO,   TO(LOST),       CAUSE(OBJECT_DELETED), RUN_OVER},
    {TERMINAL,   ENDS,               RUN,  TOUCH, 0, 0, RUN_OVER},

    /* the user */
    {CANCELLING | CANCELLED, SEEN(CANCEL), ANY,  LEAVE, 0, 0, 0},
    {LIVE,       SEEN(CANCEL),       RUN,  GO,   TO(CANCELLING), CAUSE(CANCELLED_BY_USER), 0},
    {PARKED,     SEEN(CANCEL),       IDLE, GO,   TO(CANCELLED),  CAUSE(CANCELLED_BY_USER), 0},
    {QUEUED | ATTEMPT, SEEN(SUSPEND), ANY,  GO,   TO(SUSPENDED),  CAUSE(SUSPENDED_BY_USER), 0},
    {SUSPENDED,  SEEN(RESUME),       ANY,  GO,   TO(QUEUED),     CAUSE(RESUMED_BY_USER), 0},
    {CANCELLING | TERMINAL, SEEN(CANCEL) | SEEN(SUSPEND) | SEEN(RESUME), ANY, REFUSE, 0, 0, 0},
};

/* Instead of running or restarting once more. */
static const struct row over_the_limit =
    {ATTEMPT, GOES_ON, RUN, GO, TO(CANCELLING), CAUSE(RETRY_LIMIT_EXCEEDED), 0};
/* clang-format on */

static bool from_executor(ty_seen_kind kind)
{
    return kind >= TY_SEEN_STARTING && kind <= TY_SEEN_GONE;
}

static bool from_user(ty_seen_kind kind)
{
    return kind >= TY_SEEN_CANCEL;
}

/* Whether the observation speaks of one attempt only. */
static bool names_attempt(ty_seen_kind kind)
{
    return from_executor(kind) || (kind >= TY_SEEN_START_DEADLINE && kind <= TY_SEEN_START_FAILED);
}

static const struct row *find_row(const struct ty_job_status *now, ty_seen_kind kind)
{
    run_need have = now->run_active ? RUN : IDLE;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];

        if ((row->kinds & (1U << kind)) != 0 && (row->states & (1U << now->state)) != 0 &&
            (row->need == ANY || row->need == have))
            return row;
    }
    return NULL;
}

static const struct row *choose_row(const struct ty_job_status *now,
                                    const struct ty_observation *seen,
                                    const struct ty_job_rules *rules)
{
    if (names_attempt(seen->kind) && seen->attempt != now->attempt)
        return NULL;
    if (seen->kind == TY_SEEN_DEADLINE && (now->deadline_at == 0 || seen->at < now->deadline_at))
        return NULL; /* a timer of before a suspend, or one that went off early */
    if (seen->kind == TY_SEEN_START_DEADLINE && !ty_job_cause_hinders(now->cause))
        return NULL; /* it is overcome, or another thing is waited for */
    const struct row *row = find_row(now, seen->kind);
    bool goes_on = seen->kind == TY_SEEN_RUNNING || seen->kind == TY_SEEN_RESTARTING;

    if (row && row->action != TOUCH && goes_on && rules->restart_limit > 0 &&
        seen->restarts >= rules->restart_limit)
        return &over_the_limit;
    return row;
}

/* Times never go backwards, whatever the clock of the node or the machine does. */
static int64_t time_of_step(const struct ty_job_status *now, int64_t at)
{
    const int64_t known[] = {now->started_at, now->finished_at, now->observed_at};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        at = known[i] > at ? known[i] : at;
    return at;
}

static void count_restarts(struct ty_job_status *next, int32_t seen_restarts)
{
    int32_t more = seen_restarts - next->attempt_restarts;

    if (more <= 0)
        return;
    next->attempt_restarts += more;
    if (next->restarts > INT32_MAX - more)
        next->restarts = INT32_MAX;
    else
        next->restarts += more;
}

static void begin_attempt(struct ty_job_status *next, const struct ty_job_rules *rules, int64_t at)
{
    next->attempt++;
    next->attempt_restarts = 0;
    next->run_active = true;
    next->exit = (struct ty_job_exit){0};
    next->deadline_at = rules->timeout_us > 0 ? at + rules->timeout_us : 0;
}

/* What entering `next->state` means for the other fields. */
static void settle(struct ty_job_status *next, int64_t at)
{
    unsigned state = 1U << next->state;

    if (next->state == TY_JOB_RUNNING && next->started_at == 0)
        next->started_at = at;
    if (next->state != TY_JOB_RESTARTING)
        next->retry_at = 0;
    if ((state & ATTEMPT) == 0)
        next->deadline_at = 0;
    next->suspend_requested = next->state == TY_JOB_SUSPENDED;
    if ((state & (CANCELLING | CANCELLED)) != 0 && next->cause == TY_CAUSE_CANCELLED_BY_USER)
        next->cancel_requested = true;
    if (ty_job_terminal(next->state))
        next->finished_at = at;
}

static void take_exit(struct ty_job_status *next, const struct ty_observation *seen)
{
    if (!from_executor(seen->kind))
        return;
    if (seen->kind == TY_SEEN_SUCCEEDED || seen->exit.known)
        next->exit = seen->exit; /* a success forgets the failures that were restarted before it */
}

/* The part of every step that is no transition. */
static void touch(struct ty_job_status *next, const struct ty_observation *seen,
                  const struct row *row, int64_t at)
{
    if (from_executor(seen->kind)) {
        next->observed_at = at;
        count_restarts(next, seen->restarts);
    }
    if ((row->effects & RUN_OVER) != 0)
        next->run_active = false;
}

static void change(struct ty_job_status *next, const struct ty_observation *seen,
                   const struct row *row)
{
    bool by_reason_of_stop = row->action == END_STOP;
    ty_job_state state = row->next;
    ty_job_cause cause = seen->cause != TY_CAUSE_NONE ? seen->cause : row->cause;

    if (row->next == TY_JOB_CANCELLING || from_user(seen->kind))
        cause =
            row->cause; /* the reason of the stop decides its end: not the observer's to choose */
    if (by_reason_of_stop) {
        cause = next->cause;
        state = cause == TY_CAUSE_CANCELLED_BY_USER ? TY_JOB_CANCELLED : TY_JOB_FAILED;
    }
    next->state = state;
    next->cause = cause;
    if (seen->message[0] != '\0')
        ty_str_copy(next->message, sizeof(next->message), seen->message);
    else if (!by_reason_of_stop) /* the words that asked for the stop stay */
        ty_str_copy(next->message, sizeof(next->message), ty_job_cause_text(cause));
    next->sequence++;
}

static bool worth_a_transition(const struct ty_job_status *now, const struct ty_observation *seen,
                               const struct row *row)
{
    ty_job_cause cause = seen->cause != TY_CAUSE_NONE ? seen->cause : row->cause;

    return cause != now->cause ||
           (seen->kind == TY_SEEN_RESTARTING && seen->restarts > now->attempt_restarts);
}

ty_step_result ty_job_step(const struct ty_job_status *now, const struct ty_observation *seen,
                           const struct ty_job_rules *rules, struct ty_job_status *next_out)
{
    const struct row *row = choose_row(now, seen, rules);

    if (!row || row->action == LEAVE)
        return TY_STEP_IGNORED;
    if (row->action == REFUSE)
        return TY_STEP_FORBIDDEN;

    struct ty_job_status next = *now;
    int64_t at = time_of_step(now, seen->at);
    bool stays = row->action == STAY && !worth_a_transition(now, seen, row);

    if (stays && !from_executor(seen->kind))
        return TY_STEP_IGNORED;
    touch(&next, seen, row, at);
    if (row->action == TOUCH || stays) {
        *next_out = next;
        return TY_STEP_TOUCHED;
    }
    if ((row->effects & BEGIN) != 0)
        begin_attempt(&next, rules, at);
    change(&next, seen, row);
    take_exit(&next, seen);
    if (seen->kind == TY_SEEN_RESTARTING)
        next.retry_at = seen->retry_at;
    settle(&next, at);
    *next_out = next;
    return TY_STEP_CHANGED;
}

void ty_job_begin(bool suspended, struct ty_job_status *status_out)
{
    struct ty_job_status status;

    /* Every byte, so that two equal statuses compare equal. */
    memset(&status, 0, sizeof(status));
    status.state = suspended ? TY_JOB_SUSPENDED : TY_JOB_QUEUED;
    status.cause = suspended ? TY_CAUSE_SUSPENDED_BY_USER : TY_CAUSE_SUBMITTED;
    status.suspend_requested = suspended;
    status.sequence = 1;
    *status_out = status;
}

struct ty_job_plan ty_job_plan(const struct ty_job_status *status)
{
    struct ty_job_plan plan = {TY_PLAN_NOTHING, 0};
    unsigned state = 1U << status->state;

    if ((state & ATTEMPT) != 0) {
        plan.action = status->state == TY_JOB_STARTING ? TY_PLAN_APPLY : TY_PLAN_NOTHING;
        plan.wake_at = status->deadline_at;
    } else if (status->run_active) {
        plan.action = TY_PLAN_STOP;
    } else if (status->state == TY_JOB_QUEUED) {
        plan.action = TY_PLAN_ADMIT;
    } else if (ty_job_terminal(status->state)) {
        plan.action = TY_PLAN_CLEAN;
    }
    return plan;
}
