#include "unit.h"

#include "trainyard/base/scope.h"
#include "trainyard/http/response.h"
#include "trainyard/http/server.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* What the hooks saw; written on HTTP threads, read when the exchange is over. */
static struct {
    atomic_int answer_with; /* ty_status of `authenticate` */
    atomic_int observed;
    int status;
    char path[64];
    char route[64];
    char principal[16];
    atomic_int released;
    atomic_int drained;
} seen;

static void hello(void *context, struct ty_request *request)
{
    (void)context;
    ty_request_answer(request,
                      ty_response_bytes(200, "text/plain", (void *)(uintptr_t) "hello", 5, NULL));
}

static const struct ty_route routes[] = {
    {TY_METHOD_GET, "/hello",       0, 0, 0,               NULL, NULL, hello},
    {TY_METHOD_GET, "/hello/{who}", 0, 0, TY_ROUTE_PUBLIC, NULL, NULL, hello},
};

static void release(void *principal)
{
    (void)principal;
    atomic_fetch_add(&seen.released, 1);
}

static ty_status authenticate(void *context, struct ty_request *request, struct ty_error *err)
{
    ty_status status = (ty_status)atomic_load(&seen.answer_with);

    (void)context;
    ty_request_set_principal(request, (void *)(uintptr_t) "first", release);
    ty_request_set_principal(request, (void *)(uintptr_t) "second", release);
    return status ? ty_fail(err, status, "because of %d", (int)status) : TY_OK;
}

static void observe(void *context, const struct ty_http_observation *observation)
{
    (void)context;
    seen.status = observation->status;
    snprintf(seen.path, sizeof seen.path, "%s", observation->path);
    snprintf(seen.route, sizeof seen.route, "%s",
             observation->route ? observation->route->path : "-");
    snprintf(seen.principal, sizeof seen.principal, "%s",
             observation->principal ? (const char *)observation->principal : "-");
    atomic_fetch_add(&seen.observed, 1);
}

static void drain(void *context)
{
    (void)context;
    atomic_fetch_add(&seen.drained, 1);
}

static struct ty_http_options options_for(const char *const *listen)
{
    return (struct ty_http_options){
        .listen = listen,
        .threads = 2,
        .routes = routes,
        .route_count = UNIT_COUNT(routes),
        .hooks = {NULL, authenticate, NULL, NULL, observe, drain},
    };
}

static struct ty_http_server *start(const char *const *listen)
{
    struct ty_http_options options = options_for(listen);
    struct ty_http_server *server = NULL;

    assert_int_equal(ty_http_server_create(&options, &server, NULL), TY_OK);
    assert_int_equal(ty_http_server_start(server, NULL), TY_OK);
    return server;
}

static int dial(int family, unsigned port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(family == AF_INET ? connect(fd, (struct sockaddr *)&v4, sizeof v4)
                                       : connect(fd, (struct sockaddr *)&v6, sizeof v6),
                     0);
    return fd;
}

/* One exchange on a connection of its own; the whole answer. */
static void ask(int family, unsigned port, const char *path, char out[4096])
{
    ty_auto_fd fd = dial(family, port);
    char request[256];
    size_t len = 0;
    ssize_t got;
    int expected = atomic_load(&seen.observed) + 1;

    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
             path);
    assert_int_equal(write(fd, request, strlen(request)), strlen(request));
    while ((got = read(fd, out + len, 4095 - len)) > 0)
        len += (size_t)got;
    out[len] = '\0';
    for (int i = 0; i < 500 && atomic_load(&seen.observed) < expected; i++)
        usleep(2000);
}

static void every_address_is_served_on_a_port_known_before_the_start(void **state)
{
    static const char *const listen[] = {"127.0.0.1:0", "localhost:0", "[::1]:0", NULL};
    struct ty_http_server *server = start(listen);
    char answer[4096];

    (void)state;
    atomic_store(&seen.answer_with, TY_OK);
    assert_int_equal(ty_http_server_port(server, 3), 0);
    ask(AF_INET, ty_http_server_port(server, 0), "/hello", answer);
    assert_non_null(strstr(answer, "\r\n\r\nhello"));
    ask(AF_INET6, ty_http_server_port(server, 2), "/hello", answer);
    assert_non_null(strstr(answer, "\r\n\r\nhello"));
    assert_true(ty_http_server_port(server, 0) != ty_http_server_port(server, 1));
    ty_http_server_destroy(server);
}

static void what_cannot_be_bound_or_read_is_said_and_gives_no_server(void **state)
{
    static const struct {
        const char *listen;
        ty_status status;
    } cases[] = {
        {"",                TY_INVALID    },
        {"127.0.0.1",       TY_INVALID    },
        {":80",             TY_INVALID    },
        {"127.0.0.1:",      TY_INVALID    },
        {"127.0.0.1:x",     TY_INVALID    },
        {"127.0.0.1:65536", TY_INVALID    },
        {"127.0.0.1:-1",    TY_INVALID    },
        {"::1:80",          TY_INVALID    },
        {"[::1:80",         TY_INVALID    },
        {"[]:80",           TY_INVALID    },
        {"192.0.2.1:0",     TY_UNAVAILABLE},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const char *listen[] = {"127.0.0.1:0", cases[i].listen, NULL};
        struct ty_http_options options = options_for(listen);
        struct ty_http_server *server = (void *)&seen;
        struct ty_error err = {0};

        assert_int_equal(ty_http_server_create(&options, &server, &err), cases[i].status);
        assert_ptr_equal(server, &seen);
        assert_true(err.text[0]);
    }
}

static void a_taken_port_is_unavailable(void **state)
{
    static const char *const any[] = {"127.0.0.1:0", NULL};
    struct ty_http_server *first = start(any);
    char text[32];
    const char *same[] = {text, NULL};
    struct ty_http_options options = options_for(same);
    struct ty_http_server *second = NULL;
    struct ty_error err;

    (void)state;
    snprintf(text, sizeof text, "127.0.0.1:%u", ty_http_server_port(first, 0));
    assert_int_equal(ty_http_server_create(&options, &second, &err), TY_UNAVAILABLE);
    assert_non_null(strstr(err.text, "the port is taken"));
    ty_http_server_destroy(first);
}

static void a_bad_route_is_found_when_the_server_is_made(void **state)
{
    static const char *const any[] = {"127.0.0.1:0", NULL};
    static const struct ty_route bad[] = {
        {TY_METHOD_GET, "no-slash", 0, 0, 0, NULL, NULL, hello}
    };
    struct ty_http_options options = options_for(any);
    struct ty_http_server *server = NULL;

    (void)state;
    options.routes = bad;
    options.route_count = 1;
    assert_int_equal(ty_http_server_create(&options, &server, NULL), TY_INVALID);
    assert_null(server);
}

static void what_authentication_says_becomes_the_answer(void **state)
{
    static const char *const any[] = {"127.0.0.1:0", NULL};
    static const struct {
        ty_status status;
        const char *line;
        const char *field;
    } cases[] = {
        {TY_OK,              "HTTP/1.1 200 ", "Content-Type: text/plain"                        },
        {TY_UNAUTHENTICATED, "HTTP/1.1 401 ", "WWW-Authenticate: Bearer realm=\"trainyard\"\r\n"},
        {TY_FORBIDDEN,       "HTTP/1.1 403 ", "WWW-Authenticate: Bearer realm=\"trainyard\"\r\n"},
        {TY_LIMITED,         "HTTP/1.1 429 ", "Retry-After: 1\r\n"                              },
        {TY_UNAVAILABLE,     "HTTP/1.1 503 ", "Retry-After: 1\r\n"                              },
        {TY_INVALID,         "HTTP/1.1 400 ", "because of 1"                                    },
    };
    struct ty_http_server *server = start(any);
    char answer[4096];

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        atomic_store(&seen.answer_with, (int)cases[i].status);
        ask(AF_INET, ty_http_server_port(server, 0), "/hello", answer);
        assert_memory_equal(answer, cases[i].line, strlen(cases[i].line));
        assert_non_null(strstr(answer, cases[i].field));
    }
    ask(AF_INET, ty_http_server_port(server, 0), "/hello/you", answer);
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13); /* public: nobody asked */
    ty_http_server_destroy(server);
}

static void the_observer_sees_each_request_and_principals_are_released(void **state)
{
    static const char *const any[] = {"127.0.0.1:0", NULL};
    struct ty_http_server *server = start(any);
    char answer[4096];

    (void)state;
    atomic_store(&seen.answer_with, TY_OK);
    atomic_store(&seen.released, 0);
    ask(AF_INET, ty_http_server_port(server, 0), "/hello?x=1", answer);
    assert_int_equal(seen.status, 200);
    assert_string_equal(seen.path, "/hello");
    assert_string_equal(seen.route, "/hello");
    assert_string_equal(seen.principal, "second");
    ask(AF_INET, ty_http_server_port(server, 0), "/hello/you", answer);
    assert_string_equal(seen.route, "/hello/{who}");
    assert_string_equal(seen.principal, "-");
    ask(AF_INET, ty_http_server_port(server, 0), "/nope", answer);
    assert_int_equal(seen.status, 404);
    assert_string_equal(seen.route, "-");
    ask(AF_INET, ty_http_server_port(server, 0), "bad", answer);
    assert_int_equal(seen.status, 400);
    ty_http_server_destroy(server);
    assert_int_equal(atomic_load(&seen.released), 2); /* the replaced one and the one that stayed */
}

static void draining_tells_once_and_stopping_twice_is_harmless(void **state)
{
    static const char *const any[] = {"127.0.0.1:0", NULL};
    struct ty_http_server *server = start(any);
    struct ty_http_stats stats;

    (void)state;
    atomic_store(&seen.drained, 0);
    assert_true(ty_http_server_drain(server, 1));
    assert_int_equal(atomic_load(&seen.drained), 1);
    ty_http_server_stop(server);
    ty_http_server_stop(server);
    assert_true(ty_http_server_drain(server, 1));
    ty_http_server_stats(server, &stats);
    assert_int_equal(stats.connections, 0);
    ty_http_server_destroy(server);
    ty_http_server_destroy(NULL);
}

static void a_server_that_never_started_is_just_freed(void **state)
{
    static const char *const any[] = {"127.0.0.1:0", NULL};
    struct ty_http_options options = options_for(any);
    struct ty_http_server *server = NULL;

    (void)state;
    assert_int_equal(ty_http_server_create(&options, &server, NULL), TY_OK);
    assert_true(ty_http_server_drain(server, 1));
    ty_http_server_destroy(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_address_is_served_on_a_port_known_before_the_start),
        cmocka_unit_test(what_cannot_be_bound_or_read_is_said_and_gives_no_server),
        cmocka_unit_test(a_taken_port_is_unavailable),
        cmocka_unit_test(a_bad_route_is_found_when_the_server_is_made),
        cmocka_unit_test(what_authentication_says_becomes_the_answer),
        cmocka_unit_test(the_observer_sees_each_request_and_principals_are_released),
        cmocka_unit_test(draining_tells_once_and_stopping_twice_is_harmless),
        cmocka_unit_test(a_server_that_never_started_is_just_freed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
