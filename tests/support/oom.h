/* A sweep that makes the first, the second, … allocation of a piece of code fail, to walk every
 * out-of-memory path.
 *
 * A test links `ty_oom` (tests/unit/base.cmake), which wraps malloc, calloc, realloc, strdup and
 * strndup of all objects linked statically, and the allocators of jansson and libyaml. Only the
 * thread that runs the sweep sees failures. Other libraries can be led through ty_oom_take() where
 * they have a hook for it. */
#ifndef TRAINYARD_TESTS_SUPPORT_OOM_H
#define TRAINYARD_TESTS_SUPPORT_OOM_H

#include "unit.h"

#include "trainyard/base/error.h"

/* Runs `body(context)` with the n-th allocation failing for n = 1, 2, … until a run in which none
 * failed: first with that one failing alone, then with all later ones failing too. `body` checks
 * its own results: when ty_oom_failed() says that an allocation failed in this run, its call may
 * have failed with TY_NO_MEMORY; when not, it must have succeeded. It must free what it made.
 * Returns the number of runs in which an allocation failed. */
size_t ty_oom_sweep(void (*body)(void *context), void *context);

/* Whether an allocation failed in this run. */
bool ty_oom_failed(void);

/* Count one allocation; true when it has to fail. */
bool ty_oom_take(void);

/* No failures between these two calls (they nest): for what a body does outside of the code under
 * test. */
void ty_oom_pause(void);
void ty_oom_resume(void);

/* Fail the test unless `status` is TY_OK, or TY_NO_MEMORY after an allocation failed. */
static inline void ty_oom_expect(ty_status status)
{
    ty_oom_pause();
    if (ty_oom_failed())
        assert_true(status == TY_OK || status == TY_NO_MEMORY);
    else
        assert_int_equal(status, TY_OK);
    ty_oom_resume();
}

#endif
