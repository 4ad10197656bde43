/* Retention: records whose keeping time is over go, with their logs and runs, a few at a time. */
#include "state.h"

#include "trainyard/base/scope.h"

enum { SWEEP_PAGE = 20, SWEEP_PAUSE_MS = 10000, SWEEP_MORE_MS = 50 };

struct page {
    size_t count;
    struct job_facts facts[SWEEP_PAGE];
};

static bool take_expired(void *context, const struct ty_job_record *record)
{
    struct page *page = context;
    if (page->count == SWEEP_PAGE)
        return false;
    job_facts_take(&page->facts[page->count++], record);
    return true;
}

static ty_status sweep_page(struct ty_engine *engine, struct page *page, struct ty_error *err)
{
    ty_status status = ty_jobs_expired(engine->reader, engine->now, engine->options.default_keep_us,
                                       SWEEP_PAGE, take_expired, page, err);
    for (size_t i = 0; i < page->count && status == TY_OK; i++)
        if (!page->facts[i].status.run_active)
            status = removal_begin(engine, &page->facts[i], err);
    return status;
}

void sweep_expired(struct ty_engine *engine)
{
    if (engine->sweep_due_ms > engine->now_ms || engine->removals > 0 || !engine->executor_started)
        return;
    struct ty_error err = {0};
    ty_auto_free struct page *page = calloc(1, sizeof(*page));
    ty_status status = page ? sweep_page(engine, page, &err) : TY_NO_MEMORY;
    if (status != TY_OK)
        ty_log(engine->options.log, TY_LOG_WARNING, "retention_delayed", "%s", err.text);
    bool more = status == TY_OK && page->count == SWEEP_PAGE;
    engine->sweep_due_ms = engine->now_ms + (more ? SWEEP_MORE_MS : SWEEP_PAUSE_MS);
}
