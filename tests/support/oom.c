#include "oom.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Per thread, so that a sweep never touches allocations of threads that only happen to run beside
 * it. */
static _Thread_local struct {
    bool running;
    bool all_later;
    bool failed;
    int paused;
    size_t left; /* allocations until the one that fails */
} sweep;

bool ty_oom_take(void)
{
    if (!sweep.running || sweep.paused > 0)
        return false;
    if (sweep.left > 0) {
        sweep.left--;
        return false;
    }
    if (sweep.failed && !sweep.all_later)
        return false;
    sweep.failed = true;
    return true;
}

bool ty_oom_failed(void)
{
    return sweep.failed;
}

void ty_oom_pause(void)
{
    sweep.paused++;
}

void ty_oom_resume(void)
{
    sweep.paused--;
}

static void *checked_malloc(size_t size)
{
    return malloc(size);
}

static size_t sweep_once(void (*body)(void *context), void *context, bool all_later)
{
    size_t failing = 0;

    for (;; failing++) {
        memset(&sweep, 0, sizeof(sweep));
        sweep.left = failing;
        sweep.all_later = all_later;
        sweep.running = true;
        body(context);
        sweep.running = false;
        if (!sweep.failed)
            return failing;
    }
}

size_t ty_oom_sweep(void (*body)(void *context), void *context)
{
    size_t runs;

    json_set_alloc_funcs(checked_malloc, free);
    runs = sweep_once(body, context, false);
    runs += sweep_once(body, context, true);
    json_set_alloc_funcs(malloc, free);
    return runs;
}

/* The linker's --wrap sends every call of malloc in our objects to __wrap_malloc; __real_malloc is
 * the C library's (or the sanitizer's). */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t len);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t len);

void *__wrap_malloc(size_t size)
{
    return ty_oom_take() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return ty_oom_take() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return ty_oom_take() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return ty_oom_take() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t len)
{
    return ty_oom_take() ? NULL : __real_strndup(text, len);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

/* libyaml calls its allocators through exported symbols: these take their place. */
void *yaml_malloc(size_t size);
void *yaml_realloc(void *old, size_t size);
char *yaml_strdup(const char *text);

void *yaml_malloc(size_t size)
{
    return malloc(size ? size : 1);
}

void *yaml_realloc(void *old, size_t size)
{
    return realloc(old, size ? size : 1);
}

char *yaml_strdup(const char *text)
{
    return text ? strdup(text) : NULL;
}
