/* The machine, checked over every state and every observation, and along every path from a new
 * job. */
#include "unit.h"

#include "trainyard/base/str.h"
#include "trainyard/domain/machine.h"

#include <stdio.h>
#include <stdlib.h>

enum { SECOND = 1000000 };

static const struct ty_job_rules no_rules = {0};
static const struct ty_job_rules timed = {.timeout_us = 10 * SECOND};

/* Every byte set, so that "untouched" and "equal" can be asked with memcmp. */
static struct ty_job_status status_of(ty_job_state state, bool run_active)
{
    struct ty_job_status status;

    memset(&status, 0, sizeof(status));
    status.state = state;
    status.run_active = run_active;
    status.cause = TY_CAUSE_SUBMITTED;
    status.sequence = 7;
    status.attempt = 2;
    status.observed_at = 100 * SECOND;
    return status;
}

static struct ty_observation seen_of(ty_seen_kind kind)
{
    struct ty_observation seen;

    memset(&seen, 0, sizeof(seen));
    seen.kind = kind;
    seen.attempt = 2;
    seen.at = 200 * SECOND;
    return seen;
}

/* --- the matrix --- */

/* What each observation means in each state, written by hand. Letters: the next state
 *   q queued  s starting  r running  R restarting  p suspended  c cancelling
 *   S succeeded  F failed  C cancelled  L lost
 * or  . ignored  t touched  f forbidden  = same state (changed by its cause).
 * Columns:
 *   waiting admitted start_deadline deadline start_failed | starting running restarting succeeded
 * failed stopped gone | cancel suspend resume */
struct matrix_row {
    ty_job_state state;
    bool run_active;
    const char *expect;
};

static const struct matrix_row matrix[] = {
    {TY_JOB_QUEUED,     false, "=s... ....... Cp."},
    {TY_JOB_QUEUED,     true,  "=.... tttSFtt cp."},
    {TY_JOB_STARTING,   true,  "...cF =rRSFLL cp."},
    {TY_JOB_RUNNING,    true,  "...c. t=RSFLL cp."},
    {TY_JOB_RESTARTING, true,  "...c. tr=SFLL cp."},
    {TY_JOB_SUSPENDED,  false, "..... ....... C.q"},
    {TY_JOB_SUSPENDED,  true,  "..... tttSFtt c.q"},
    {TY_JOB_CANCELLING, true,  "..... tttSFCC .ff"},
    {TY_JOB_SUCCEEDED,  false, "..... ....... fff"},
    {TY_JOB_SUCCEEDED,  true,  "..... ...tttt fff"},
    {TY_JOB_FAILED,     false, "..... ....... fff"},
    {TY_JOB_FAILED,     true,  "..... ...tttt fff"},
    {TY_JOB_CANCELLED,  false, "..... ....... .ff"},
    {TY_JOB_CANCELLED,  true,  "..... ...tttt .ff"},
    {TY_JOB_LOST,       false, "..... ....... fff"},
    {TY_JOB_LOST,       true,  "..... ...tttt fff"},
};

static const char state_letters[TY_JOB_STATE_COUNT] = {'q', 's', 'r', 'R', 'p',
                                                       'c', 'S', 'F', 'C', 'L'};

/* The n-th letter, blanks not counted. */
static char letter_at(const char *expect, int n)
{
    for (; *expect; expect++)
        if (*expect != ' ' && n-- == 0)
            return *expect;
    return '?';
}

static char outcome(const struct ty_job_status *now, const struct ty_observation *seen,
                    const struct ty_job_rules *rules)
{
    struct ty_job_status next = *now;

    switch (ty_job_step(now, seen, rules, &next)) {
    case TY_STEP_CHANGED:
        return next.state == now->state ? '=' : state_letters[next.state];
    case TY_STEP_TOUCHED:
        return 't';
    case TY_STEP_IGNORED:
        return '.';
    case TY_STEP_FORBIDDEN:
        return 'f';
    }
    return '?';
}

static void every_state_answers_every_observation_as_the_matrix_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(matrix); i++) {
        for (int kind = 0; kind < TY_SEEN_KIND_COUNT; kind++) {
            struct ty_job_status now = status_of(matrix[i].state, matrix[i].run_active);
            struct ty_observation seen = seen_of((ty_seen_kind)kind);
            char expected = letter_at(matrix[i].expect, kind);

            if (now.state == TY_JOB_CANCELLING)
                now.cause = TY_CAUSE_CANCELLED_BY_USER;
            now.deadline_at = 150 * SECOND;
            char got = outcome(&now, &seen, &no_rules);

            if (got != expected)
                print_error("state %s, run %d, observation %d: %c, not %c\n",
                            ty_job_state_name(now.state), now.run_active, kind, got, expected);
            assert_int_equal(got, expected);
        }
    }
}

/* --- all combinations --- */

struct combination {
    struct ty_job_status now;
    struct ty_observation seen;
    struct ty_job_rules rules;
};

typedef void check_step(const struct combination *c, ty_step_result result,
                        const struct ty_job_status *next);

/* 32 variants of the flags that a status and an observation may have. */
enum { VARIANTS = 32 };

static struct combination combine(int state, int run_active, int kind, int attempt, int variant)
{
    struct combination c = {
        status_of((ty_job_state)state, run_active != 0), seen_of((ty_seen_kind)kind), {0}};

    c.seen.attempt = attempt;
    c.now.cancel_requested = (variant & 1) != 0;
    c.now.deadline_at = (variant & 2) != 0 ? 150 * SECOND : 0;
    c.now.started_at = (variant & 4) != 0 ? 300 * SECOND : 0; /* after what is seen */
    c.seen.restarts = (variant & 8) != 0 ? 3 : 0;
    c.rules.restart_limit = (variant & 16) != 0 ? 3 : 0;
    c.seen.cause = (variant & 1) != 0 ? TY_CAUSE_EVICTED : TY_CAUSE_NONE;
    c.seen.exit.known = (variant & 2) != 0;
    c.seen.exit.code = c.seen.exit.known ? 3 : 0;
    return c;
}

static void for_all(check_step *check)
{
    for (int state = 0; state < TY_JOB_STATE_COUNT; state++)
        for (int run = 0; run < 2; run++)
            for (int kind = 0; kind < TY_SEEN_KIND_COUNT; kind++)
                for (int attempt = 1; attempt <= 3; attempt++)
                    for (int variant = 0; variant < VARIANTS; variant++) {
                        struct combination c = combine(state, run, kind, attempt, variant);
                        struct ty_job_status next;

                        memset(&next, 0xa5, sizeof(next));
                        struct ty_job_status untouched = next;
                        ty_step_result result = ty_job_step(&c.now, &c.seen, &c.rules, &next);

                        if (result == TY_STEP_IGNORED || result == TY_STEP_FORBIDDEN)
                            assert_memory_equal(&next, &untouched, sizeof(next));
                        check(&c, result, &next);
                    }
}

static void check_terminal(const struct combination *c, ty_step_result result,
                           const struct ty_job_status *next)
{
    if (!ty_job_terminal(c->now.state))
        return;
    assert_int_not_equal(result, TY_STEP_CHANGED);
    if (result == TY_STEP_TOUCHED) {
        assert_int_equal(next->state, c->now.state);
        assert_int_equal(next->cause, c->now.cause);
        assert_int_equal(next->finished_at, c->now.finished_at);
        assert_true(c->now.run_active);
        assert_false(next->run_active);
    }
}

static void terminal_never_changes(void **state)
{
    (void)state;
    for_all(check_terminal);
}

static void check_sequence(const struct combination *c, ty_step_result result,
                           const struct ty_job_status *next)
{
    if (result == TY_STEP_CHANGED)
        assert_int_equal(next->sequence, c->now.sequence + 1);
    if (result == TY_STEP_TOUCHED) {
        assert_int_equal(next->sequence, c->now.sequence);
        assert_int_equal(next->state, c->now.state);
        assert_int_equal(next->cause, c->now.cause);
        assert_string_equal(next->message, c->now.message);
        assert_int_equal(next->attempt, c->now.attempt);
    }
}

static void the_sequence_grows_by_one_with_a_change_and_never_else(void **state)
{
    (void)state;
    for_all(check_sequence);
}

static void check_cause(const struct combination *c, ty_step_result result,
                        const struct ty_job_status *next)
{
    if (result != TY_STEP_CHANGED)
        return;
    assert_true(next->cause > TY_CAUSE_NONE && next->cause < TY_CAUSE_COUNT);
    assert_true(c->now.state == TY_JOB_CANCELLING || next->message[0] != '\0');
}

static void every_change_has_a_cause(void **state)
{
    (void)state;
    for_all(check_cause);
}

static bool of_an_attempt(ty_seen_kind kind)
{
    return kind == TY_SEEN_DEADLINE || (kind >= TY_SEEN_START_FAILED && kind <= TY_SEEN_GONE);
}

static void check_attempt(const struct combination *c, ty_step_result result,
                          const struct ty_job_status *next)
{
    if (of_an_attempt(c->seen.kind) && c->seen.attempt != c->now.attempt)
        assert_int_equal(result, TY_STEP_IGNORED);
    if (result == TY_STEP_CHANGED && next->attempt != c->now.attempt) {
        assert_int_equal(c->seen.kind, TY_SEEN_ADMITTED);
        assert_int_equal(next->attempt, c->now.attempt + 1);
        assert_false(c->now.run_active); /* one run at a time */
    }
}

static void word_of_another_attempt_is_ignored_and_only_admission_begins_one(void **state)
{
    (void)state;
    for_all(check_attempt);
}

static void check_times(const struct combination *c, ty_step_result result,
                        const struct ty_job_status *next)
{
    if (result != TY_STEP_CHANGED && result != TY_STEP_TOUCHED)
        return;
    assert_true(next->observed_at >= c->now.observed_at);
    assert_true(c->now.started_at == 0 || next->started_at == c->now.started_at);
    if (result == TY_STEP_CHANGED && ty_job_terminal(next->state)) {
        assert_true(next->finished_at >= next->started_at);
        assert_true(next->finished_at >= c->seen.at);
    }
    if (result == TY_STEP_CHANGED && !ty_job_terminal(next->state))
        assert_int_equal(next->finished_at, c->now.finished_at);
}

static void time_never_goes_backwards(void **state)
{
    (void)state;
    for_all(check_times);
}

static void check_run(const struct combination *c, ty_step_result result,
                      const struct ty_job_status *next)
{
    bool ends = c->seen.kind >= TY_SEEN_SUCCEEDED && c->seen.kind <= TY_SEEN_GONE;

    if (result != TY_STEP_CHANGED && result != TY_STEP_TOUCHED)
        return;
    if (c->now.run_active && !next->run_active)
        assert_true(ends); /* only the executor's own word ends a run */
    if (!c->now.run_active && next->run_active)
        assert_int_equal(c->seen.kind, TY_SEEN_ADMITTED);
    if (ends && c->seen.attempt == c->now.attempt)
        assert_false(next->run_active);
}

static void only_the_executor_ends_a_run_and_only_admission_begins_one(void **state)
{
    (void)state;
    for_all(check_run);
}

static void check_restarts(const struct combination *c, ty_step_result result,
                           const struct ty_job_status *next)
{
    if (result != TY_STEP_CHANGED && result != TY_STEP_TOUCHED)
        return;
    assert_true(next->restarts >= c->now.restarts);
    assert_true(next->restarts >= next->attempt_restarts);
}

static void restarts_are_never_forgotten(void **state)
{
    (void)state;
    for_all(check_restarts);
}

static void check_restart_limit(const struct combination *c, ty_step_result result,
                                const struct ty_job_status *next)
{
    bool goes_on = c->seen.kind == TY_SEEN_RUNNING || c->seen.kind == TY_SEEN_RESTARTING;
    bool attempt = c->now.state == TY_JOB_STARTING || c->now.state == TY_JOB_RUNNING ||
                   c->now.state == TY_JOB_RESTARTING;

    if (!goes_on || !attempt || !c->now.run_active || c->seen.attempt != c->now.attempt)
        return;
    if (c->rules.restart_limit > 0 && c->seen.restarts >= c->rules.restart_limit) {
        assert_int_equal(result, TY_STEP_CHANGED);
        assert_int_equal(next->state, TY_JOB_CANCELLING);
        assert_int_equal(next->cause, TY_CAUSE_RETRY_LIMIT_EXCEEDED);
    } else if (result == TY_STEP_CHANGED) {
        assert_int_not_equal(next->state, TY_JOB_CANCELLING);
    }
}

static void a_run_at_its_restart_limit_is_stopped(void **state)
{
    (void)state;
    for_all(check_restart_limit);
}

/* --- reachable statuses --- */

/* What distinguishes statuses for the walk; counters and times left out. */
struct place {
    ty_job_state state;
    ty_job_cause cause;
    bool run_active;
    bool cancel_requested;
    bool suspend_requested;
    bool has_deadline;
};

enum { PLACES = TY_JOB_STATE_COUNT * TY_CAUSE_COUNT * 16 };

static size_t place_of(const struct ty_job_status *s)
{
    return (((size_t)s->state * TY_CAUSE_COUNT + (size_t)s->cause) << 4) +
           (size_t)(s->run_active ? 8 : 0) + (size_t)(s->cancel_requested ? 4 : 0) +
           (size_t)(s->suspend_requested ? 2 : 0) + (size_t)(s->deadline_at != 0 ? 1 : 0);
}

struct walk {
    struct ty_job_status found[PLACES];
    bool known[PLACES];
    size_t count;
    bool state_reached[TY_JOB_STATE_COUNT];
};

static void visit(struct walk *walk, const struct ty_job_status *status)
{
    size_t place = place_of(status);

    walk->state_reached[status->state] = true;
    if (walk->known[place])
        return;
    walk->known[place] = true;
    walk->found[walk->count++] = *status;
}

static void assert_sane(const struct ty_job_status *s)
{
    bool attempt =
        s->state == TY_JOB_STARTING || s->state == TY_JOB_RUNNING || s->state == TY_JOB_RESTARTING;

    if (attempt || s->state == TY_JOB_CANCELLING)
        assert_true(s->run_active);
    if (!attempt)
        assert_int_equal(s->deadline_at, 0);
    assert_int_equal(s->suspend_requested, s->state == TY_JOB_SUSPENDED);
    assert_int_equal(s->finished_at != 0, ty_job_terminal(s->state));
    if (s->state == TY_JOB_CANCELLED)
        assert_true(s->cancel_requested);
    if (s->state == TY_JOB_CANCELLING)
        assert_true(s->cause == TY_CAUSE_CANCELLED_BY_USER ||
                    s->cause == TY_CAUSE_DEADLINE_EXCEEDED ||
                    s->cause == TY_CAUSE_RETRY_LIMIT_EXCEEDED);
    if (s->state == TY_JOB_RUNNING || s->state == TY_JOB_RESTARTING)
        assert_true(s->attempt > 0);
}

static void step_from(struct walk *walk, const struct ty_job_status *now)
{
    static const ty_job_cause causes[] = {TY_CAUSE_NONE, TY_CAUSE_VOLUME_NOT_FOUND,
                                          TY_CAUSE_CRASH_LOOPING, TY_CAUSE_WAITING_FOR_QUOTA};

    for (int kind = 0; kind < TY_SEEN_KIND_COUNT; kind++)
        for (size_t cause = 0; cause < UNIT_COUNT(causes); cause++)
            for (int32_t restarts = 0; restarts < 5; restarts += 2) {
                struct ty_observation seen = seen_of((ty_seen_kind)kind);
                struct ty_job_rules rules = {.timeout_us = 10 * SECOND, .restart_limit = 4};
                struct ty_job_status next;

                seen.attempt = now->attempt;
                seen.cause = causes[cause];
                seen.restarts = restarts;
                seen.at = 1000 * SECOND;
                ty_step_result result = ty_job_step(now, &seen, &rules, &next);

                if (result != TY_STEP_CHANGED && result != TY_STEP_TOUCHED)
                    continue;
                assert_sane(&next);
                visit(walk, &next);
            }
}

static void along_every_path_the_invariants_hold_and_every_state_is_reached(void **state)
{
    struct walk *walk = calloc(1, sizeof(*walk));
    struct ty_job_status start;

    (void)state;
    assert_non_null(walk);
    for (int suspended = 0; suspended < 2; suspended++) {
        ty_job_begin(suspended != 0, &start);
        assert_sane(&start);
        visit(walk, &start);
    }
    for (size_t i = 0; i < walk->count; i++) {
        struct ty_job_status now = walk->found[i];

        step_from(walk, &now);
    }
    for (int i = 0; i < TY_JOB_STATE_COUNT; i++)
        assert_true(walk->state_reached[i]);
    assert_true(walk->count > 40);
    free(walk);
}

/* From every status there is a way to an end without the user: no job can be stuck by the table. */
static void every_plan_of_a_live_job_leads_on(void **state)
{
    (void)state;
    for (int i = 0; i < TY_JOB_STATE_COUNT; i++)
        for (int run = 0; run < 2; run++) {
            struct ty_job_status now = status_of((ty_job_state)i, run != 0);

            now.deadline_at = 42;
            struct ty_job_plan plan = ty_job_plan(&now);
            bool attempt = i == TY_JOB_STARTING || i == TY_JOB_RUNNING || i == TY_JOB_RESTARTING;

            assert_int_equal(plan.wake_at, attempt ? 42 : 0);
            if (i == TY_JOB_STARTING)
                assert_int_equal(plan.action, TY_PLAN_APPLY);
            else if (attempt)
                assert_int_equal(plan.action, TY_PLAN_NOTHING);
            else if (run)
                assert_int_equal(plan.action, TY_PLAN_STOP);
            else if (i == TY_JOB_QUEUED)
                assert_int_equal(plan.action, TY_PLAN_ADMIT);
            else if (ty_job_terminal((ty_job_state)i))
                assert_int_equal(plan.action, TY_PLAN_CLEAN);
            else
                assert_int_equal(plan.action, TY_PLAN_NOTHING);
        }
}

/* --- stories --- */

static struct ty_job_status story;

static void begin_story(bool suspended)
{
    ty_job_begin(suspended, &story);
}

static ty_step_result tell(const struct ty_observation *seen, const struct ty_job_rules *rules)
{
    struct ty_job_status next;
    ty_step_result result = ty_job_step(&story, seen, rules, &next);

    if (result == TY_STEP_CHANGED || result == TY_STEP_TOUCHED)
        story = next;
    return result;
}

static ty_step_result tell_kind(ty_seen_kind kind, int64_t at)
{
    struct ty_observation seen = seen_of(kind);

    seen.attempt = story.attempt;
    seen.at = at;
    return tell(&seen, &timed);
}

static void a_plain_job_goes_from_queued_to_succeeded(void **state)
{
    (void)state;
    begin_story(false);
    assert_int_equal(story.sequence, 1);
    assert_int_equal(story.cause, TY_CAUSE_SUBMITTED);
    assert_int_equal(tell_kind(TY_SEEN_WAITING, 5), TY_STEP_CHANGED);
    assert_int_equal(tell_kind(TY_SEEN_WAITING, 6), TY_STEP_IGNORED);
    assert_int_equal(story.cause, TY_CAUSE_WAITING_FOR_CAPACITY);
    assert_int_equal(tell_kind(TY_SEEN_ADMITTED, 10), TY_STEP_CHANGED);
    assert_int_equal(story.attempt, 1);
    assert_true(story.run_active);
    assert_int_equal(story.deadline_at, 10 + timed.timeout_us);
    assert_int_equal(tell_kind(TY_SEEN_STARTING, 11), TY_STEP_TOUCHED);
    assert_int_equal(story.observed_at, 11);
    assert_int_equal(tell_kind(TY_SEEN_RUNNING, 20), TY_STEP_CHANGED);
    assert_int_equal(story.started_at, 20);
    assert_int_equal(tell_kind(TY_SEEN_SUCCEEDED, 30), TY_STEP_CHANGED);
    assert_int_equal(story.state, TY_JOB_SUCCEEDED);
    assert_int_equal(story.cause, TY_CAUSE_COMPLETED);
    assert_int_equal(story.finished_at, 30);
    assert_false(story.run_active);
    assert_int_equal(story.deadline_at, 0);
    assert_int_equal(story.sequence, 5);
}

static void a_missing_claim_shows_and_goes_away_again(void **state)
{
    struct ty_observation seen;

    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10);
    seen = seen_of(TY_SEEN_STARTING);
    seen.attempt = 1;
    seen.cause = TY_CAUSE_VOLUME_NOT_FOUND;
    ty_str_copy(seen.message, sizeof(seen.message), "claim data does not exist");
    assert_int_equal(tell(&seen, &timed), TY_STEP_CHANGED);
    assert_int_equal(story.state, TY_JOB_STARTING);
    assert_int_equal(story.cause, TY_CAUSE_VOLUME_NOT_FOUND);
    assert_string_equal(story.message, "claim data does not exist");
    assert_int_equal(tell(&seen, &timed), TY_STEP_TOUCHED);
    assert_int_equal(tell_kind(TY_SEEN_STARTING, 300 * SECOND), TY_STEP_CHANGED);
    assert_int_equal(story.cause, TY_CAUSE_ADMITTED);
    assert_string_equal(story.message, ty_job_cause_text(TY_CAUSE_ADMITTED));
}

static void a_deadline_stops_the_run_and_then_fails_the_job(void **state)
{
    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10 * SECOND);
    tell_kind(TY_SEEN_RUNNING, 11 * SECOND);
    assert_int_equal(tell_kind(TY_SEEN_DEADLINE, 19 * SECOND), TY_STEP_IGNORED); /* too early */
    assert_int_equal(tell_kind(TY_SEEN_DEADLINE, 20 * SECOND), TY_STEP_CHANGED);
    assert_int_equal(story.state, TY_JOB_CANCELLING);
    assert_int_equal(story.cause, TY_CAUSE_DEADLINE_EXCEEDED);
    assert_false(story.cancel_requested);
    assert_int_equal(ty_job_plan(&story).action, TY_PLAN_STOP);
    assert_int_equal(tell_kind(TY_SEEN_CANCEL, 21 * SECOND), TY_STEP_IGNORED);
    assert_int_equal(tell_kind(TY_SEEN_STOPPED, 22 * SECOND), TY_STEP_CHANGED);
    assert_int_equal(story.state, TY_JOB_FAILED);
    assert_int_equal(story.cause, TY_CAUSE_DEADLINE_EXCEEDED);
}

static void a_start_deadline_ends_what_a_fault_keeps_from_starting_and_nothing_else(void **state)
{
    static const struct {
        ty_job_cause cause;
        bool hinders;
    } cases[] = {
        {TY_CAUSE_IMAGE_PULL_FAILED,       true },
        {TY_CAUSE_IMAGE_NAME_INVALID,      true },
        {TY_CAUSE_MOUNT_FAILED,            true },
        {TY_CAUSE_CRASH_LOOPING,           true },
        {TY_CAUSE_CONTAINER_ERROR,         true },
        {TY_CAUSE_OBJECT_CONFLICT,         true },
        {TY_CAUSE_GATEWAY_ERROR,           true },
        {TY_CAUSE_NONE,                    false},
        {TY_CAUSE_VOLUME_NOT_FOUND,        false},
        {TY_CAUSE_SECRET_NOT_FOUND,        false},
        {TY_CAUSE_UNSCHEDULABLE,           false},
        {TY_CAUSE_WAITING_FOR_CAPACITY,    false},
        {TY_CAUSE_OPERATOR_NOT_RESPONDING, false},
    };
    struct ty_observation late = seen_of(TY_SEEN_START_DEADLINE);

    (void)state;
    late.attempt = 1;
    ty_str_copy(late.message, sizeof late.message, "not started within 60 s: so and so");
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_observation waits = seen_of(TY_SEEN_STARTING);

        begin_story(false);
        tell_kind(TY_SEEN_ADMITTED, 10 * SECOND);
        waits.attempt = 1;
        waits.cause = cases[i].cause;
        (void)tell(&waits, &no_rules);
        if (!cases[i].hinders) {
            assert_int_equal(tell(&late, &no_rules), TY_STEP_IGNORED);
            continue;
        }
        assert_int_equal(tell(&late, &no_rules), TY_STEP_CHANGED);
        assert_int_equal(story.state, TY_JOB_CANCELLING);
        assert_int_equal(ty_job_plan(&story).action, TY_PLAN_STOP);
        assert_int_equal(tell_kind(TY_SEEN_STOPPED, 400 * SECOND), TY_STEP_CHANGED);
        assert_int_equal(story.state, TY_JOB_FAILED);
        assert_int_equal(story.cause, TY_CAUSE_DEADLINE_EXCEEDED);
        assert_string_equal(story.message, late.message);
    }
}

static void a_cancel_keeps_the_message_of_the_user_to_the_end(void **state)
{
    struct ty_observation seen = seen_of(TY_SEEN_CANCEL);

    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10);
    ty_str_copy(seen.message, sizeof(seen.message), "wrong data");
    assert_int_equal(tell(&seen, &timed), TY_STEP_CHANGED);
    assert_true(story.cancel_requested);
    assert_int_equal(tell_kind(TY_SEEN_GONE, 12), TY_STEP_CHANGED);
    assert_int_equal(story.state, TY_JOB_CANCELLED);
    assert_int_equal(story.cause, TY_CAUSE_CANCELLED_BY_USER);
    assert_string_equal(story.message, "wrong data");
}

static void a_result_that_came_before_the_stop_wins(void **state)
{
    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10);
    tell_kind(TY_SEEN_CANCEL, 11);
    assert_int_equal(tell_kind(TY_SEEN_SUCCEEDED, 12), TY_STEP_CHANGED);
    assert_int_equal(story.state, TY_JOB_SUCCEEDED);
    assert_int_equal(tell_kind(TY_SEEN_STOPPED, 13), TY_STEP_IGNORED);
}

static void a_resumed_job_waits_until_its_old_run_is_over(void **state)
{
    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10);
    tell_kind(TY_SEEN_RUNNING, 11);
    assert_int_equal(tell_kind(TY_SEEN_SUSPEND, 12), TY_STEP_CHANGED);
    assert_int_equal(story.deadline_at, 0);
    assert_int_equal(tell_kind(TY_SEEN_RESUME, 13), TY_STEP_CHANGED);
    assert_int_equal(story.state, TY_JOB_QUEUED);
    assert_int_equal(ty_job_plan(&story).action, TY_PLAN_STOP);
    assert_int_equal(tell_kind(TY_SEEN_ADMITTED, 14), TY_STEP_IGNORED);
    assert_int_equal(tell_kind(TY_SEEN_STOPPED, 15), TY_STEP_TOUCHED);
    assert_int_equal(ty_job_plan(&story).action, TY_PLAN_ADMIT);
    assert_int_equal(tell_kind(TY_SEEN_ADMITTED, 16), TY_STEP_CHANGED);
    assert_int_equal(story.attempt, 2);

    struct ty_observation late = seen_of(TY_SEEN_FAILED);

    late.attempt = 1;
    assert_int_equal(tell(&late, &timed), TY_STEP_IGNORED);
}

static void a_job_submitted_suspended_starts_when_resumed(void **state)
{
    (void)state;
    begin_story(true);
    assert_int_equal(story.state, TY_JOB_SUSPENDED);
    assert_true(story.suspend_requested);
    assert_int_equal(ty_job_plan(&story).action, TY_PLAN_NOTHING);
    assert_int_equal(tell_kind(TY_SEEN_RESUME, 5), TY_STEP_CHANGED);
    assert_int_equal(ty_job_plan(&story).action, TY_PLAN_ADMIT);
}

static void restarts_of_all_attempts_add_up(void **state)
{
    struct ty_observation seen;

    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10);
    seen = seen_of(TY_SEEN_RESTARTING);
    seen.attempt = 1;
    seen.restarts = 1;
    seen.retry_at = 777;
    assert_int_equal(tell(&seen, &timed), TY_STEP_CHANGED);
    assert_int_equal(story.retry_at, 777);
    assert_int_equal(tell(&seen, &timed), TY_STEP_TOUCHED);
    seen.restarts = 3;
    assert_int_equal(tell(&seen, &timed), TY_STEP_CHANGED);
    assert_int_equal(story.restarts, 3);
    tell_kind(TY_SEEN_SUSPEND, 12);
    assert_int_equal(story.retry_at, 0);
    tell_kind(TY_SEEN_STOPPED, 13);
    tell_kind(TY_SEEN_RESUME, 14);
    tell_kind(TY_SEEN_ADMITTED, 15);
    assert_int_equal(story.attempt_restarts, 0);
    seen.attempt = 2;
    seen.restarts = 2;
    assert_int_equal(tell(&seen, &timed), TY_STEP_CHANGED);
    assert_int_equal(story.restarts, 5);
    assert_int_equal(story.attempt_restarts, 2);
}

static void a_failure_keeps_the_exit_and_a_success_forgets_it(void **state)
{
    struct ty_observation seen = seen_of(TY_SEEN_RESTARTING);

    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10);
    seen.attempt = 1;
    seen.restarts = 1;
    seen.exit = (struct ty_job_exit){true, 139, 11, "worker-1"};
    tell(&seen, &timed);
    assert_int_equal(story.exit.signal, 11);

    struct ty_job_status kept = story;

    tell_kind(TY_SEEN_FAILED, 20 * SECOND);
    assert_int_equal(story.exit.code, 139);
    assert_string_equal(story.exit.replica, "worker-1");
    story = kept;
    tell_kind(TY_SEEN_SUCCEEDED, 20 * SECOND);
    assert_false(story.exit.known);
}

static void objects_refused_for_good_fail_the_job_and_are_still_stopped(void **state)
{
    struct ty_observation seen = seen_of(TY_SEEN_START_FAILED);

    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10);
    seen.attempt = 1;
    seen.cause = TY_CAUSE_OBJECT_CONFLICT;
    assert_int_equal(tell(&seen, &timed), TY_STEP_CHANGED);
    assert_int_equal(story.state, TY_JOB_FAILED);
    assert_int_equal(story.cause, TY_CAUSE_OBJECT_CONFLICT);
    assert_int_equal(ty_job_plan(&story).action, TY_PLAN_STOP);
    assert_int_equal(tell_kind(TY_SEEN_GONE, 20), TY_STEP_TOUCHED);
    assert_int_equal(ty_job_plan(&story).action, TY_PLAN_CLEAN);
}

static void a_start_seen_later_than_the_end_gives_no_negative_duration(void **state)
{
    (void)state;
    begin_story(false);
    tell_kind(TY_SEEN_ADMITTED, 10);
    tell_kind(TY_SEEN_RUNNING, 50 * SECOND);
    tell_kind(TY_SEEN_SUCCEEDED, 48 * SECOND);
    assert_int_equal(story.started_at, 50 * SECOND);
    assert_int_equal(story.finished_at, 50 * SECOND);
}

static void restarts_at_the_largest_number_do_not_wrap(void **state)
{
    struct ty_observation seen = seen_of(TY_SEEN_RESTARTING);

    (void)state;
    story = status_of(TY_JOB_RUNNING, true);
    story.restarts = INT32_MAX - 1;
    seen.restarts = INT32_MAX;
    assert_int_equal(tell(&seen, &no_rules), TY_STEP_CHANGED);
    assert_int_equal(story.restarts, INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_answers_every_observation_as_the_matrix_says),
        cmocka_unit_test(terminal_never_changes),
        cmocka_unit_test(the_sequence_grows_by_one_with_a_change_and_never_else),
        cmocka_unit_test(every_change_has_a_cause),
        cmocka_unit_test(word_of_another_attempt_is_ignored_and_only_admission_begins_one),
        cmocka_unit_test(time_never_goes_backwards),
        cmocka_unit_test(only_the_executor_ends_a_run_and_only_admission_begins_one),
        cmocka_unit_test(restarts_are_never_forgotten),
        cmocka_unit_test(a_run_at_its_restart_limit_is_stopped),
        cmocka_unit_test(along_every_path_the_invariants_hold_and_every_state_is_reached),
        cmocka_unit_test(every_plan_of_a_live_job_leads_on),
        cmocka_unit_test(a_plain_job_goes_from_queued_to_succeeded),
        cmocka_unit_test(a_missing_claim_shows_and_goes_away_again),
        cmocka_unit_test(a_deadline_stops_the_run_and_then_fails_the_job),
        cmocka_unit_test(a_start_deadline_ends_what_a_fault_keeps_from_starting_and_nothing_else),
        cmocka_unit_test(a_cancel_keeps_the_message_of_the_user_to_the_end),
        cmocka_unit_test(a_result_that_came_before_the_stop_wins),
        cmocka_unit_test(a_resumed_job_waits_until_its_old_run_is_over),
        cmocka_unit_test(a_job_submitted_suspended_starts_when_resumed),
        cmocka_unit_test(restarts_of_all_attempts_add_up),
        cmocka_unit_test(a_failure_keeps_the_exit_and_a_success_forgets_it),
        cmocka_unit_test(objects_refused_for_good_fail_the_job_and_are_still_stopped),
        cmocka_unit_test(a_start_seen_later_than_the_end_gives_no_negative_duration),
        cmocka_unit_test(restarts_at_the_largest_number_do_not_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
