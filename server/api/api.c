/* Life cycle of the API: readers, tables, the contract's word on every route, and the timer that
 * ends what waits. */
#include "api/api.h"

#include <stdatomic.h>
#include <time.h>

enum { TICK_MS = 100, TOKENS_EVERY_TICKS = 5, USES_EVERY_TICKS = 600, USES_MAX = 1000 };

/* --- routes against the contract --- */

/* "{path...}" of a route is "{path}" in the document. */
static void contract_path(const char *route_path, char out[128])
{
    ty_str_copy(out, 128, route_path);
    char *dots = strstr(out, "...}");
    if (dots)
        memcpy(dots, "}", 2);
}

static bool same_types(const char *const *route, const char *const *contract)
{
    size_t i = 0;
    for (; route && route[i]; i++)
        if (!contract[i] || !ty_str_equal(route[i], contract[i]))
            return false;
    return !contract[i];
}

static ty_status check_route(const struct ty_route *route, const struct ty_operation *operation,
                             struct ty_error *err)
{
    const char *id = ty_operation_id(operation);
    const char *scope = ty_operation_scope(operation);
    uint64_t bit = 0;
    if (scope && ty_scope_parse(scope, &bit) != TY_OK)
        return ty_fail(err, TY_INTERNAL, "the contract gives %s an unknown scope", id);
    if (bit != route->scopes ||
        ty_operation_public(operation) != ((route->flags & TY_ROUTE_PUBLIC) != 0))
        return ty_fail(err, TY_INTERNAL, "route and contract disagree about who may use %s", id);
    if (ty_operation_body_limit(operation) != route->body_limit)
        return ty_fail(err, TY_INTERNAL, "route and contract disagree about the body limit of %s",
                       id);
    if (route->body_limit > 0 && !same_types(route->consumes, ty_operation_consumes(operation)))
        return ty_fail(err, TY_INTERNAL, "route and contract disagree about what %s consumes", id);
    return TY_OK;
}

static ty_status bind_operations(struct ty_api *api, struct ty_error *err)
{
    size_t count;
    const struct ty_route *routes = ty_api_routes(&count);
    api->operations = calloc(count, sizeof *api->operations);
    if (!api->operations)
        return ty_fail(err, TY_NO_MEMORY, "routes");
    for (size_t i = 0; i < count; i++) {
        char path[128];
        const char *method = ty_method_name(routes[i].method);
        contract_path(routes[i].path, path);
        api->operations[i] = ty_contract_operation_at_path(api->options.contract, method, path);
        if (!api->operations[i])
            return ty_fail(err, TY_INTERNAL, "the contract does not know %s %s", method, path);
        if (check_route(&routes[i], api->operations[i], err) != TY_OK)
            return err->status;
    }
    return TY_OK;
}

/* --- life cycle --- */

static ty_status open_readers(struct ty_api *api, struct ty_error *err)
{
    size_t count = ty_pool_worker_count(api->options.pool);
    api->readers = calloc(count, sizeof *api->readers);
    if (!api->readers)
        return ty_fail(err, TY_NO_MEMORY, "readers");
    for (; api->reader_count < count; api->reader_count++)
        if (ty_reader_open(api->options.store, &api->readers[api->reader_count], err) != TY_OK)
            return err->status;
    return TY_OK;
}

static ty_status ask_executor(struct ty_api *api, struct ty_error *err)
{
    struct ty_executor *executor = api->options.executor;
    ty_auto_json described = NULL;
    if (executor->ops->describe(executor, &described, err) != TY_OK)
        return ty_wrap(err, "describe the executor");
    api->executor_warnings = json_incref(json_object_get(described, "warnings"));
    atomic_store(&api->executor_asked, true);
    return TY_OK;
}

ty_status api_executor_warnings(struct ty_api *api, const json_t **warnings_out,
                                struct ty_error *err)
{
    ty_status status = TY_OK;
    if (!atomic_load(&api->executor_asked)) {
        pthread_mutex_lock(&api->asking);
        status = atomic_load(&api->executor_asked) ? TY_OK : ask_executor(api, err);
        pthread_mutex_unlock(&api->asking);
    }
    if (status == TY_OK)
        *warnings_out = api->executor_warnings;
    return status;
}

static ty_status fill(struct ty_api *api, struct ty_error *err)
{
    size_t count;
    (void)ty_api_routes(&count);
    api->figures = figures_create(count);
    api->pages = pages_create();
    api->streams = api_streams_create();
    if (!api->figures || !api->pages || !api->streams ||
        ty_access_table_create(&api->access) != TY_OK)
        return ty_fail(err, TY_NO_MEMORY, "api");
    if (bind_operations(api, err) != TY_OK || open_readers(api, err) != TY_OK ||
        event_pump_create(api, &api->events, err) != TY_OK)
        return err->status;
    return ty_access_table_reload(api->access, api->readers[0], api_now(api), err);
}

ty_status ty_api_create(const struct ty_api_options *options, struct ty_api **api_out,
                        struct ty_error *err)
{
    struct ty_error local;
    struct ty_api *api = calloc(1, sizeof *api);
    if (!api)
        return ty_fail(err, TY_NO_MEMORY, "api");
    api->options = *options;
    pthread_mutex_init(&api->asking, NULL);
    api->started_us = api_now(api);
    ty_status status = fill(api, err ? err : &local);
    if (status != TY_OK) {
        ty_api_destroy(api);
        return status;
    }
    *api_out = api;
    return TY_OK;
}

void ty_api_destroy(struct ty_api *api)
{
    if (!api)
        return;
    ty_api_stop(api);
    for (size_t i = 0; i < api->reader_count; i++)
        ty_reader_close(api->readers[i]);
    free(api->readers);
    free(api->operations);
    ty_access_table_destroy(api->access);
    event_pump_destroy(api->events);
    api_streams_destroy(api->streams);
    figures_destroy(api->figures);
    pages_destroy(api->pages);
    json_decref(api->executor_warnings);
    pthread_mutex_destroy(&api->asking);
    free(api);
}

void ty_api_set_server(struct ty_api *api, struct ty_http_server *server)
{
    api->server = server;
}

void ty_api_begin_drain(struct ty_api *api)
{
    atomic_store(&api->draining, true);
}

/* Everyone who only waits is answered; streams are told by their own `drain`. */
static void begin_drain(void *context)
{
    struct ty_api *api = context;
    ty_api_begin_drain(api);
    ty_hub_expire(api->options.hub, ty_monotonic_ms(api->options.clock), true);
}

struct ty_http_hooks ty_api_hooks(struct ty_api *api)
{
    return (struct ty_http_hooks){.context = api,
                                  .authenticate = api_authenticate,
                                  .scope_text = api_scope_text,
                                  .check = api_check,
                                  .observe = api_observe,
                                  .drain = begin_drain};
}

/* --- the timer --- */

/* last_used_at is written for many tokens at once, and nobody waits for it. */
struct uses_write {
    struct ty_write write; /* first */
    size_t count;
    struct ty_token_use uses[USES_MAX];
};

static ty_status apply_uses(struct ty_writer *writer, struct ty_write *write, struct ty_error *err)
{
    struct uses_write *uses = (struct uses_write *)write;
    return ty_tokens_used(writer, uses->uses, uses->count, err);
}

static void free_uses(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    (void)status;
    (void)err;
    free(write);
}

static void flush_uses(struct ty_api *api)
{
    struct ty_error err;
    struct uses_write *uses = calloc(1, sizeof *uses);
    if (!uses)
        return;
    uses->write = (struct ty_write){.apply = apply_uses, .done = free_uses};
    uses->count = ty_access_table_take_uses(api->access, uses->uses, USES_MAX);
    if (uses->count == 0 || ty_store_write(api->options.store, &uses->write, &err) != TY_OK)
        free(uses);
}

static void *run_timer(void *context)
{
    struct ty_api *api = context;
    const struct timespec tick = {.tv_nsec = TICK_MS * 1000000L};
    for (unsigned turn = 1; !atomic_load(&api->stopping); turn++) {
        nanosleep(&tick, NULL);
        ty_hub_expire(api->options.hub, ty_monotonic_ms(api->options.clock), false);
        api_streams_tick(api, turn % TOKENS_EVERY_TICKS == 0);
        if (turn % USES_EVERY_TICKS == 0)
            flush_uses(api);
    }
    flush_uses(api);
    return NULL;
}

ty_status ty_api_start(struct ty_api *api, struct ty_error *err)
{
    ty_status status = event_pump_start(api->events, err);
    if (status == TY_OK)
        status = ty_thread_start(&api->timer, "ty-timer", run_timer, api, err);
    api->timer_running = status == TY_OK;
    return status;
}

void ty_api_stop(struct ty_api *api)
{
    event_pump_stop(api->events);
    if (!api->timer_running)
        return;
    atomic_store(&api->stopping, true);
    pthread_join(api->timer, NULL);
    api->timer_running = false;
}
