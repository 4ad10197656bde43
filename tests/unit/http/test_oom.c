#include "unit.h"

#include "http/gzip.h"
#include "http/request_state.h"
#include "http/server_state.h"
#include "oom.h"
#include "trainyard/http/response.h"

#include <fcntl.h>
#include <stdlib.h>

/* Every allocation of this room failing in turn: nothing crashes, nothing leaks (under a
 * sanitizer), and what could not be made is said, never left half-made. */

static void handler(void *context, struct ty_request *request)
{
    (void)context;
    (void)request;
}

static const struct ty_route routes[] = {
    {TY_METHOD_GET,  "/v1/jobs",                0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_POST, "/v1/jobs/{id}/cancel",    0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_GET,  "/v1/jobs/{id}/{path...}", 0, 0, 0, NULL, NULL, handler},
};

static void compile_routes(void *context)
{
    struct ty_router *router = NULL;
    ty_status status = ty_router_create(routes, UNIT_COUNT(routes), &router, NULL);

    (void)context;
    ty_oom_pause();
    assert_int_equal(status, ty_oom_failed() ? TY_NO_MEMORY : TY_OK);
    assert_true((router != NULL) == !status);
    ty_oom_resume();
    ty_router_destroy(router);
}

static void the_router_is_whole_or_not_there(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(compile_routes, NULL) > 10);
}

static void read_messages(void *context)
{
    static const struct ty_reader_limits limits = {32768, 8192, 100, 1000};
    static const char bytes[] = "POST /a HTTP/1.1\r\nHost: h\r\nA1: b\r\nA2: b\r\nA3: b\r\nA4: "
                                "b\r\nA5: b\r\nA6: b\r\nA7: b\r\nA8: b\r\n"
                                "A9: b\r\nA10: b\r\nA11: b\r\nA12: b\r\nA13: b\r\nA14: b\r\nA15: "
                                "b\r\nA16: b\r\nA17: b\r\nContent-Length: 2\r\n\r\n{}"
                                "GET /b HTTP/1.1\r\nHost: h\r\n\r\n";
    char room[TY_READER_RESERVE + sizeof bytes];
    struct ty_reader reader;

    (void)context;
    ty_reader_init(&reader, &limits);
    memcpy(room + TY_READER_RESERVE, bytes, sizeof bytes - 1);
    ty_reader_feed(&reader, room + TY_READER_RESERVE, sizeof bytes - 1, room);
    ty_oom_pause();
    if (ty_oom_failed())
        assert_string_equal(reader.fault.code, "out_of_memory");
    else
        assert_null(reader.fault.code);
    ty_oom_resume();
    ty_reader_done(&reader);
}

static void the_reader_refuses_what_it_cannot_keep(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(read_messages, NULL) > 4);
}

static void pack_and_unpack(void *context)
{
    char text[3000];
    size_t len = 0;
    void *packed;
    ty_auto_buf out = {0};

    (void)context;
    memset(text, 'a', sizeof text);
    for (size_t i = 0; i < sizeof text; i += 7)
        text[i] = (char)('a' + i % 23);
    ty_buf_init(&out, sizeof text + 1);
    packed = ty_gzip_deflate(text, sizeof text, &len);
    if (packed) {
        ty_status status = ty_gzip_inflate(packed, len, &out, NULL);

        ty_oom_pause();
        assert_true(status == TY_OK || (ty_oom_failed() && status == TY_NO_MEMORY));
        ty_oom_resume();
    }
    ty_oom_pause();
    assert_true(packed || ty_oom_failed());
    ty_oom_resume();
    free(packed);
}

static void gzip_fails_cleanly(void **state)
{
    (void)state;
    assert_true(ty_oom_sweep(pack_and_unpack, NULL) > 2);
}

/* ---- a request without a library behind it, to answer ---- */

struct bench {
    struct ty_http_server server;
    struct ty_connection connection;
    struct ty_request *request;
    struct ty_response *(*make)(void);
    int status;           /* expected when no allocation failed */
    const char *encoding; /* what the client takes */
};

static const struct ty_reader_limits bench_limits = {32768, 8192, 100, 1000};

static void set_up(struct bench *bench)
{
    static const char form[] =
        "GET /file HTTP/1.1\r\nHost: h\r\nAccept-Encoding: %s\r\nRange: bytes=1-2\r\n"
        "If-None-Match: \"other\"\r\nIf-None-Match: \"others\"\r\nOrigin: https://a\r\n\r\n";
    static const char *const origins[] = {"https://a", NULL};
    char room[TY_READER_RESERVE + sizeof form + 16];
    int len = snprintf(room + TY_READER_RESERVE, sizeof form + 16, form, bench->encoding);

    bench->server.clock = ty_clock_system();
    bench->server.random = ty_random_system();
    bench->server.options.cors_origins = origins;
    pthread_mutex_init(&bench->server.tender.lock, NULL);
    bench->connection.server = &bench->server;
    bench->connection.random = ty_random_seeded(&bench->connection.seed, 1);
    ty_id_make(&bench->connection.random, 1, "req_", bench->connection.id);
    ty_reader_init(&bench->connection.reader, &bench_limits);
    ty_reader_feed(&bench->connection.reader, room + TY_READER_RESERVE, (size_t)len, room);
    bench->request =
        ty_request_begin(&bench->connection, ty_reader_take(&bench->connection.reader));
    assert_non_null(bench->request);
}

static void tear_down(struct bench *bench)
{
    ty_request_end(bench->request, true);
    ty_request_free(bench->connection.request);
    ty_reader_done(&bench->connection.reader);
    pthread_mutex_destroy(&bench->server.tender.lock);
}

static void answer(void *context)
{
    struct bench *bench = context;

    ty_reply_prepare(bench->request, bench->make());
    ty_oom_pause();
    if (ty_oom_failed())
        assert_true(!bench->request->reply || bench->request->reply_status == bench->status ||
                    bench->request->reply_status == 503 || bench->request->reply_status == 500);
    else
        assert_int_equal(bench->request->reply_status, bench->status);
    assert_true(bench->request->reply || ty_oom_failed());
    ty_reply_discard(bench->request);
    ty_arena_reset(&bench->request->arena);
    ty_oom_resume();
}

static struct ty_response *make_json(void)
{
    struct ty_buf buf;
    struct ty_response *response;

    ty_buf_init(&buf, 10000);
    for (int i = 0; i < 200; i++)
        ty_buf_adds(&buf, "{\"a\": 1}, ");
    response = ty_response_buf(200, "application/json", &buf);
    ty_buf_done(&buf);
    ty_response_etag(response, "\"e\"");
    ty_response_header(response, "Link", "</v1/jobs?cursor=x>; rel=\"next\"");
    ty_response_attachment(response, "a name");
    return response;
}

static struct ty_response *make_shared(void)
{
    char text[2000];
    struct ty_body *body;
    struct ty_response *response;

    memset(text, 'x', sizeof text);
    body = ty_body_create("application/json", "\"e\"", text, sizeof text);
    if (!body)
        return NULL;
    response = ty_response_body(200, body);
    ty_body_unref(body);
    return response;
}

static struct ty_response *make_packed(void)
{
    static unsigned char packed[200];
    static size_t packed_len;
    struct ty_response *response;
    char text[2000];
    void *made;

    ty_oom_pause();
    memset(text, 'x', sizeof text);
    made = ty_gzip_deflate(text, sizeof text, &packed_len);
    assert_non_null(made);
    assert_true(packed_len <= sizeof packed);
    memcpy(packed, made, packed_len);
    free(made);
    ty_oom_resume();
    response = ty_response_packed(200, "text/css", packed, packed_len, sizeof text);
    ty_response_etag(response, "\"e\"");
    return response;
}

static struct ty_response *make_problem(void)
{
    struct ty_faults faults;

    ty_faults_init(&faults);
    ty_faults_add(&faults, TY_AT_POINTER, "/a", "required", "is missing");
    return ty_response_problem("validation_failed", "one fault", &faults);
}

static struct ty_response *make_file(void)
{
    int fd;
    struct ty_response *response;

    ty_oom_pause();
    fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ty_oom_resume();
    response = ty_response_file("application/octet-stream", fd, 1000);
    ty_response_etag(response, "\"e\"");
    return response;
}

static ssize_t read_nothing(void *context, char *out, size_t max)
{
    (void)context;
    (void)out;
    (void)max;
    return TY_STREAM_END;
}

static struct ty_response *make_stream(void)
{
    static const struct ty_stream_ops ops = {read_nothing, NULL, NULL, NULL};
    struct ty_stream *stream;

    if (ty_stream_create(&ops, NULL, &stream))
        return NULL;
    return ty_response_stream(200, "text/event-stream", stream);
}

static struct ty_response *make_broken(void)
{
    struct ty_response *response = ty_response_empty(200);

    ty_response_header(response, "X", "\r\n");
    return response;
}

static void an_answer_is_sent_whole_or_replaced_by_a_503(void **state)
{
    static const struct {
        struct ty_response *(*make)(void);
        int status;
        const char *encoding;
    } cases[] = {
        {make_json,    200, "gzip"    },
        {make_shared,  200, "gzip"    },
        {make_packed,  200, "gzip"    },
        {make_packed,  200, "identity"},
        {make_problem, 422, "gzip"    },
        {make_file,    206, "gzip"    },
        {make_stream,  200, "gzip"    },
        {make_broken,  500, "gzip"    },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct bench *bench = calloc(1, sizeof *bench);

        assert_non_null(bench);
        bench->make = cases[i].make;
        bench->status = cases[i].status;
        bench->encoding = cases[i].encoding;
        set_up(bench);
        assert_true(ty_oom_sweep(answer, bench) > 10);
        tear_down(bench);
        free(bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_router_is_whole_or_not_there),
        cmocka_unit_test(the_reader_refuses_what_it_cannot_keep),
        cmocka_unit_test(gzip_fails_cleanly),
        cmocka_unit_test(an_answer_is_sent_whole_or_replaced_by_a_503),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
