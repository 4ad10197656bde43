#include "unit.h"

#include "trainyard/http/route.h"

static void handler(void *context, struct ty_request *request)
{
    (void)context;
    (void)request;
}

static const struct ty_route routes[] = {
    {TY_METHOD_GET,    "/",                                     0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_GET,    "/v1/jobs",                              0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_POST,   "/v1/jobs",                              0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_POST,   "/v1/jobs:batch",                        0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_GET,    "/v1/jobs/{job_id}",                     0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_PATCH,  "/v1/jobs/{job_id}",                     0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_DELETE, "/v1/jobs/{id}",                         0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_POST,   "/v1/jobs/{job_id}/cancel",              0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_GET,    "/v1/jobs/{job_id}/artifacts",           0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_GET,    "/v1/jobs/{job_id}/artifacts/{path...}", 0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_GET,    "/v1/jobs/latest",                       0, 0, 0, NULL, NULL, handler},
    {TY_METHOD_PUT,    "/v1/volumes/{name}/files/{path...}",    0, 0, 0, NULL, NULL, handler},
};

static size_t split(const char *path, char *room, const char *segments[16])
{
    size_t count = 0;

    memcpy(room, path + 1, strlen(path)); /* a copy to cut */
    segments[count++] = room;
    for (char *at = room; *at; at++)
        if (*at == '/') {
            *at = '\0';
            segments[count++] = at + 1;
        }
    return count;
}

static void a_path_finds_its_row_or_the_methods_it_has(void **state)
{
    static const struct {
        ty_method method;
        const char *path;
        const char *row; /* NULL with allow: 405; NULL without: 404 */
        const char *allow;
    } cases[] = {
        {TY_METHOD_GET,     "/",                           "/",                                     "GET, HEAD, OPTIONS"               },
        {TY_METHOD_GET,     "/v1/jobs",                    "/v1/jobs",                              "GET, HEAD, POST, OPTIONS"         },
        {TY_METHOD_HEAD,    "/v1/jobs",                    "/v1/jobs",                              "GET, HEAD, POST, OPTIONS"         },
        {TY_METHOD_POST,    "/v1/jobs:batch",              "/v1/jobs:batch",                        "POST, OPTIONS"                    },
        {TY_METHOD_GET,     "/v1/jobs:batch",              NULL,                                    "POST, OPTIONS"                    },
        {TY_METHOD_GET,     "/v1/jobs:other",              NULL,                                    NULL                               },
        {TY_METHOD_GET,     "/v1/jobs/j1",                 "/v1/jobs/{job_id}",                     "GET, HEAD, PATCH, DELETE, OPTIONS"},
        {TY_METHOD_DELETE,  "/v1/jobs/j1",                 "/v1/jobs/{id}",                         "GET, HEAD, PATCH, DELETE, OPTIONS"},
        {TY_METHOD_PUT,     "/v1/jobs/j1",                 NULL,                                    "GET, HEAD, PATCH, DELETE, OPTIONS"},
        {TY_METHOD_OPTIONS, "/v1/jobs/j1",                 NULL,                                    "GET, HEAD, PATCH, DELETE, OPTIONS"},
        {TY_METHOD_TRACE,   "/v1/jobs/j1",                 NULL,                                    "GET, HEAD, PATCH, DELETE, OPTIONS"},
        {TY_METHOD_GET,     "/v1/jobs/latest",             "/v1/jobs/latest",                       "GET, HEAD, OPTIONS"               },
        {TY_METHOD_POST,    "/v1/jobs/latest/cancel",      "/v1/jobs/{job_id}/cancel",              "POST, OPTIONS"                    },
        {TY_METHOD_HEAD,    "/v1/jobs/j1/cancel",          NULL,                                    "POST, OPTIONS"                    },
        {TY_METHOD_GET,     "/v1/jobs/j1/artifacts",       "/v1/jobs/{job_id}/artifacts",
         "GET, HEAD, OPTIONS"                                                                                                          },
        {TY_METHOD_GET,     "/v1/jobs/j1/artifacts/a/b/c", "/v1/jobs/{job_id}/artifacts/{path...}",
         "GET, HEAD, OPTIONS"                                                                                                          },
        {TY_METHOD_GET,     "/v1/jobs/j1/artifacts/",      NULL,                                    NULL                               },
        {TY_METHOD_GET,     "/v1/jobs/j1/artifacts//a",    NULL,                                    NULL                               },
        {TY_METHOD_GET,     "/v1/jobs/",                   NULL,                                    NULL                               },
        {TY_METHOD_GET,     "/v1/jobs//cancel",            NULL,                                    NULL                               },
        {TY_METHOD_GET,     "/v1",                         NULL,                                    NULL                               },
        {TY_METHOD_GET,     "/v1/jobs/j1/nope",            NULL,                                    NULL                               },
        {TY_METHOD_GET,     "/V1/jobs",                    NULL,                                    NULL                               },
    };
    struct ty_router *router = NULL;
    struct ty_error err;

    (void)state;
    assert_int_equal(ty_router_create(routes, UNIT_COUNT(routes), &router, &err), TY_OK);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_route_match match;
        const char *segments[16];
        char room[128];
        size_t count = split(cases[i].path, room, segments);
        ty_status status = ty_router_find(router, cases[i].method, segments, count, &match);

        assert_int_equal(status, cases[i].row ? TY_OK : cases[i].allow ? TY_REFUSED : TY_NOT_FOUND);
        if (cases[i].row)
            assert_string_equal(match.route->path, cases[i].row);
        else
            assert_null(match.route);
        if (cases[i].allow)
            assert_string_equal(match.allow, cases[i].allow);
        else
            assert_null(match.allow);
    }
    ty_router_destroy(router);
}

static void variables_are_named_by_their_own_row(void **state)
{
    static const char *const segments[] = {"v1", "volumes", "data", "files", "a", "b"};
    static const char *const job[] = {"v1", "jobs", "j1"};
    struct ty_router *router = NULL;
    struct ty_route_match match;

    (void)state;
    assert_int_equal(ty_router_create(routes, UNIT_COUNT(routes), &router, NULL), TY_OK);
    assert_int_equal(ty_router_find(router, TY_METHOD_PUT, segments, 6, &match), TY_OK);
    assert_int_equal(match.variable_count, 2);
    assert_string_equal(match.names[0], "name");
    assert_int_equal(match.first_segment[0], 2);
    assert_string_equal(match.names[1], "path");
    assert_int_equal(match.first_segment[1], 4);
    assert_true(match.has_rest);
    assert_int_equal(ty_router_find(router, TY_METHOD_GET, job, 3, &match), TY_OK);
    assert_string_equal(match.names[0], "job_id");
    assert_false(match.has_rest);
    assert_int_equal(ty_router_find(router, TY_METHOD_DELETE, job, 3, &match), TY_OK);
    assert_string_equal(match.names[0], "id");
    ty_router_destroy(router);
}

static void a_row_that_cannot_be_compiled_is_named(void **state)
{
    static const char *const bad[] = {"jobs",
                                      "/{}",
                                      "/{a",
                                      "/{a}/{a}",
                                      "/{a...}/b",
                                      "/{...}",
                                      "/v1/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct ty_route row = {TY_METHOD_GET, bad[i], 0, 0, 0, NULL, NULL, handler};
        struct ty_router *router = NULL;
        struct ty_error err;

        assert_int_equal(ty_router_create(&row, 1, &router, &err), TY_INVALID);
        assert_non_null(strstr(err.text, bad[i]));
        assert_null(router);
    }
}

static void two_rows_of_one_shape_and_method_are_refused(void **state)
{
    static const struct ty_route twice[] = {
        {TY_METHOD_GET, "/a/{b}", 0, 0, 0, NULL, NULL, handler},
        {TY_METHOD_GET, "/a/{c}", 0, 0, 0, NULL, NULL, handler},
    };
    static const struct ty_route bad_methods[] = {
        {TY_METHOD_HEAD,    "/a", 0, 0, 0, NULL, NULL, handler},
        {TY_METHOD_OPTIONS, "/a", 0, 0, 0, NULL, NULL, handler},
        {TY_METHOD_GET,     "/a", 0, 0, 0, NULL, NULL, NULL   },
    };
    struct ty_router *router = NULL;

    (void)state;
    assert_int_equal(ty_router_create(twice, 2, &router, NULL), TY_INVALID);
    for (size_t i = 0; i < UNIT_COUNT(bad_methods); i++)
        assert_int_equal(ty_router_create(&bad_methods[i], 1, &router, NULL), TY_INVALID);
    assert_null(router);
}

static void an_empty_table_finds_nothing(void **state)
{
    static const char *const segments[] = {""};
    struct ty_router *router = NULL;
    struct ty_route_match match;

    (void)state;
    assert_int_equal(ty_router_create(NULL, 0, &router, NULL), TY_OK);
    assert_int_equal(ty_router_find(router, TY_METHOD_GET, segments, 1, &match), TY_NOT_FOUND);
    ty_router_destroy(router);
    ty_router_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_finds_its_row_or_the_methods_it_has),
        cmocka_unit_test(variables_are_named_by_their_own_row),
        cmocka_unit_test(a_row_that_cannot_be_compiled_is_named),
        cmocka_unit_test(two_rows_of_one_shape_and_method_are_refused),
        cmocka_unit_test(an_empty_table_finds_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
