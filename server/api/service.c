/* Health and executors. */
#include "api/api.h"

#include "trainyard/http/problem.h"

#include <stdatomic.h>

enum { STUCK_MS = 10000 };

/* --- health: the status code is the answer, the body is for people --- */

static void answer_health(struct ty_request *request, bool good, const char *status,
                          const char *detail)
{
    if (!good) {
        struct ty_response *response = ty_response_problem("unavailable", detail, NULL);
        ty_response_retry_after(response, 5);
        ty_request_answer(request, response);
        return;
    }
    struct ty_buf body;
    struct ty_json_writer writer;
    ty_buf_init(&body, 256);
    ty_json_writer_init(&writer, &body);
    ty_json_object(&writer);
    ty_json_put_string(&writer, "status", status);
    ty_json_end(&writer);
    api_answer_json(request, 200, &body, NULL);
}

/* The HTTP threads answer, and none of them nor the engine has been inside one turn for ten
 * seconds. */
void livez(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_http_stats stats = {0};
    struct ty_engine_figures engine = {0};
    if (api->server)
        ty_http_server_stats(api->server, &stats);
    ty_engine_figures(api->options.engine, &engine);
    int64_t turned = ty_monotonic_ms(api->options.clock) - engine.turned_ms;
    answer_health(request, stats.stuck_ms < STUCK_MS && turned < STUCK_MS, "ok",
                  "the event loop does not turn");
}

void readyz(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_error err;
    if (atomic_load(&api->draining))
        answer_health(request, false, "draining", "the gateway is shutting down");
    else if (ty_store_health(api->options.store, &err) != TY_OK)
        answer_health(request, false, "degraded",
                      "writes are not possible at this time; reads are");
    else
        answer_health(request, true, "ok", NULL);
}

/* --- executors --- */

void executors_list(void *context, struct ty_request *request)
{
    struct ty_api *api = context;
    struct ty_executor *executor = api->options.executor;
    struct ty_capacity capacity = executor->ops->capacity(executor);
    struct ty_json_writer writer;
    struct ty_error err;
    ty_auto_json described = NULL;
    ty_auto_buf body = {0};
    ty_buf_init(&body, 256 * 1024);
    if (executor->ops->describe(executor, &described, &err) != TY_OK) {
        api_answer_error(request, &err);
        return;
    }
    ty_json_writer_init(&writer, &body);
    ty_json_object(&writer);
    ty_json_key(&writer, "items");
    ty_json_array(&writer);
    ty_json_object(&writer);
    const char *key;
    json_t *value;
    json_object_foreach(described, key, value)
    {
        ty_json_key(&writer, key);
        ty_json_value(&writer, value);
    }
    ty_json_key(&writer, "capacity");
    ty_json_object(&writer);
    ty_json_put_int_or_null(&writer, "replicas", capacity.replicas >= 0, capacity.replicas);
    ty_json_put_int_or_null(&writer, "gpus", capacity.gpus >= 0, capacity.gpus);
    ty_json_put_int_or_null(&writer, "cpu_millis", capacity.cpu_millis >= 0, capacity.cpu_millis);
    ty_json_put_int_or_null(&writer, "memory_bytes", capacity.memory_bytes >= 0,
                            capacity.memory_bytes);
    ty_json_end(&writer);
    ty_json_end(&writer);
    ty_json_end(&writer);
    ty_json_put_string(&writer, "next_cursor", NULL);
    ty_json_end(&writer);
    api_answer_json(request, 200, &body, NULL);
}
