/* An engine on the real store (not threaded, standing clock) with an executor that does what the
 * test says. */
#ifndef ENGINE_FIXTURE_H
#define ENGINE_FIXTURE_H

#include "store_fixture.h"
#include "trainyard/engine/engine.h"

enum { CALLS_MAX = 64 };

typedef enum {
    CALL_APPLY,
    CALL_STOP,
    CALL_SCALE,
    CALL_REMOVE,
    CALL_CHECK,
    CALL_REMOVE_CLAIM
} call_kind;

struct call {
    call_kind kind;
    char job_id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
    int32_t attempt;
    int32_t replicas; /* apply and scale */
    char text[300];   /* apply: resume_from; remove_claim: the claim */
};

struct script {
    struct ty_executor executor; /* first */
    ty_executor_observer *observer;
    void *context;
    struct call calls[CALLS_MAX];
    size_t calls_count;
    ty_status answers[CALL_REMOVE_CLAIM + 1]; /* what each kind of call returns; TY_OK at first */
    const char *code;                         /* of a refusal */
    struct ty_capacity capacity;
    void (*asked_once)(void *context); /* called by the next question for it; NULL = nothing */
    void *asked_context;
    int claim_fd; /* what open_claim gives a copy of; -1 = no such claim */
};

struct engine_fixture {
    struct store_fixture store;
    struct ty_hub *hub;
    struct ty_engine *engine;
    struct script script;
    struct ty_seeded seeded;
    struct ty_random random;
    struct ty_engine_options options;
    int submitted;
};

int engine_setup(void **state); /* *state is the fixture */
int engine_teardown(void **state);
void engine_open(struct engine_fixture *fixture);
void engine_close(struct engine_fixture *fixture); /* as a crash leaves it: nothing is finished */

/* Step and commit until nothing moves at this time. Returns what the last step said. */
int64_t engine_settle(struct engine_fixture *fixture);
void engine_pass(struct engine_fixture *fixture, int64_t ms); /* let time pass, then settle */

/* One submit with its answer. */
struct asked {
    struct ty_submit submit; /* first */
    char id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
    int answers;
    ty_status status;
    char code[64];
};
void asked_init(struct engine_fixture *fixture, struct asked *asked, const char *name);
/* Submit, commit and let the engine settle; the test fails unless it is acknowledged. */
void engine_submit(struct engine_fixture *fixture, struct asked *asked, const char *name);

/* What the executor sees; settles. */
void engine_see(struct engine_fixture *fixture, const char *id, ty_seen_kind kind, int32_t attempt);
void engine_see_more(struct engine_fixture *fixture, const char *id,
                     const struct ty_observation *seen);

/* The job as stored. */
int32_t stored_replicas(struct engine_fixture *fixture, const char *id);
struct ty_job_status stored(struct engine_fixture *fixture, const char *id);
int64_t stored_revision(struct engine_fixture *fixture, const char *id);
bool is_stored(struct engine_fixture *fixture, const char *id);
void assert_state(struct engine_fixture *fixture, const char *id, ty_job_state state,
                  ty_job_cause cause);

size_t count_calls(const struct engine_fixture *fixture, call_kind kind, const char *id);
const struct call *last_call(const struct engine_fixture *fixture, call_kind kind);

#endif
