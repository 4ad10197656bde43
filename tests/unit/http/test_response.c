#include "unit.h"

#include "http/response_state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int released;

static void count_release(void *context)
{
    (void)context;
    released++;
}

static void header_fields_are_copied_in_order(void **state)
{
    struct ty_response *response = ty_response_empty(201);
    char value[] = "one";

    (void)state;
    ty_response_header(response, "X-A", value);
    value[0] = 'X';
    ty_response_header(response, "X-A", "two");
    ty_response_location(response, "/v1/jobs/j1");
    assert_int_equal(ty_response_status(response), 201);
    assert_string_equal(ty_response_header_value(response, "x-a"), "one");
    assert_string_equal(response->fields.first->next->value, "two");
    assert_string_equal(ty_response_header_value(response, "location"), "/v1/jobs/j1");
    assert_null(ty_response_header_value(response, "X-B"));
    ty_response_destroy(response);
}

static void many_and_long_fields_find_room(void **state)
{
    struct ty_response *response = ty_response_empty(200);
    char name[16];
    char value[600];

    (void)state;
    memset(value, 'v', sizeof value);
    value[sizeof value - 1] = '\0';
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "X-%d", i);
        ty_response_header(response, name, value);
    }
    assert_false(response->no_memory || response->bad_field);
    assert_string_equal(ty_response_header_value(response, "X-39"), value);
    ty_response_destroy(response);
}

static void a_field_that_would_split_the_answer_spoils_it(void **state)
{
    static const struct {
        const char *name;
        const char *value;
    } bad[] = {
        {"X-A",               "a\r\nSet-Cookie: b"},
        {"X-A",               "a\nb"              },
        {"X-A",               "a\rb"              },
        {"X-A",               "\x01"              },
        {"X-A",               "\x7f"              },
        {"X-A",               "\xc3\xa9"          },
        {"X A",               "b"                 },
        {"",                  "b"                 },
        {"X:",                "b"                 },
        {"X-A\r\n",           "b"                 },
        {"Content-Length",    "5"                 },
        {"transfer-encoding", "chunked"           },
        {"Connection",        "close"             },
        {"Date",              "now"               },
        {"Trailer",           "x"                 },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        struct ty_response *response = ty_response_empty(200);

        ty_response_header(response, bad[i].name, bad[i].value);
        assert_true(response->bad_field);
        assert_null(response->fields.first);
        ty_response_destroy(response);
    }
}

static void only_a_well_formed_entity_tag_is_taken(void **state)
{
    static const char *const bad[] = {"",        "abc",    "\"abc",   "abc\"",
                                      "w/\"a\"", "\"a\"b", "\"a b\"", "\"\xc3\xa9\""};
    struct ty_response *response = ty_response_empty(200);

    (void)state;
    ty_response_etag(response, "W/\"a\"");
    assert_false(response->bad_field);
    assert_string_equal(ty_response_header_value(response, "etag"), "W/\"a\"");
    ty_response_destroy(response);
    for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
        response = ty_response_empty(200);
        ty_response_etag(response, bad[i]);
        assert_true(response->bad_field);
        ty_response_destroy(response);
    }
}

static void a_body_is_released_exactly_once(void **state)
{
    struct ty_response *response =
        ty_response_borrowed(200, "text/plain", NULL, "abc", 3, count_release, NULL);
    size_t len;

    (void)state;
    released = 0;
    assert_memory_equal(ty_response_bytes_of(response, &len), "abc", 3);
    assert_int_equal(len, 3);
    assert_string_equal(ty_response_media_type(response), "text/plain");
    ty_response_destroy(response);
    assert_int_equal(released, 1);
}

static void a_buffer_moves_into_its_response(void **state)
{
    struct ty_response *response;
    struct ty_buf buf;
    size_t len;

    (void)state;
    ty_buf_init(&buf, 5);
    ty_buf_adds(&buf, "hello");
    response = ty_response_buf(200, "text/plain", &buf);
    assert_memory_equal(ty_response_bytes_of(response, &len), "hello", 5);
    assert_int_equal(buf.len, 0);
    ty_response_destroy(response);
    ty_buf_adds(&buf, "longer than five");
    assert_null(ty_response_buf(200, "text/plain", &buf));
    ty_buf_done(&buf);
}

static void a_shared_body_lives_as_long_as_anyone_holds_it(void **state)
{
    struct ty_body *body = ty_body_create("application/json", "\"e\"", "{}", 2);
    struct ty_response *response = ty_response_body(200, body);
    size_t len;

    (void)state;
    ty_body_unref(body);
    assert_string_equal(ty_response_header_value(response, "ETag"), "\"e\"");
    assert_memory_equal(ty_response_bytes_of(response, &len), "{}", 2);
    assert_string_equal(ty_response_media_type(response), "application/json");
    ty_response_destroy(response);
    ty_body_unref(NULL);
    body = ty_body_create("text/plain", NULL, "", 0);
    assert_null(ty_body_etag(body));
    ty_body_unref(body);
}

static void the_gzip_form_of_a_shared_body_is_made_once(void **state)
{
    char text[4096];
    struct ty_body *body;
    const void *first;
    size_t len;

    (void)state;
    memset(text, 'a', sizeof text);
    body = ty_body_create("text/plain", NULL, text, sizeof text);
    first = ty_body_gzip(body, &len);
    assert_non_null(first);
    assert_true(len < sizeof text);
    assert_ptr_equal(ty_body_gzip(body, &len), first);
    ty_body_unref(body);
    body = ty_body_create("text/plain", NULL, "ab", 2);
    assert_null(ty_body_gzip(body, &len));
    assert_null(ty_body_gzip(body, &len));
    ty_body_unref(body);
}

static void a_files_descriptor_is_closed_with_its_response(void **state)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    (void)state;
    ty_response_destroy(ty_response_file("text/plain", fd, 0));
    assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void problems_take_status_from_the_catalogue(void **state)
{
    struct ty_response *response = ty_response_problem("job_active", "still running", NULL);

    (void)state;
    assert_int_equal(ty_response_status(response), 409);
    assert_string_equal(response->detail, "still running");
    assert_string_equal(ty_response_media_type(response), "application/problem+json");
    assert_null(ty_response_header_value(response, "Retry-After"));
    ty_response_destroy(response);
    response = ty_response_problem("never_heard_of", "secret words", NULL);
    assert_int_equal(ty_response_status(response), 500);
    assert_null(response->detail);
    ty_response_destroy(response);
}

static void limits_and_outages_say_when_to_come_back(void **state)
{
    static const char *const codes[] = {"rate_limited", "quota_exceeded", "overloaded",
                                        "storage_full", "draining"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(codes); i++) {
        struct ty_response *response = ty_response_problem(codes[i], NULL, NULL);

        assert_string_equal(ty_response_header_value(response, "Retry-After"), "1");
        ty_response_retry_after(response, 0);
        assert_string_equal(ty_response_header_value(response, "Retry-After"), "1");
        ty_response_retry_after(response, 17);
        assert_string_equal(ty_response_header_value(response, "Retry-After"), "17");
        assert_ptr_equal(response->fields.first, response->fields.last);
        ty_response_destroy(response);
    }
}

static void an_errors_words_are_shown_unless_they_are_ours(void **state)
{
    static const struct {
        ty_status status;
        bool shown;
    } cases[] = {
        {TY_INVALID,     true },
        {TY_CONFLICT,    true },
        {TY_UNAVAILABLE, true },
        {TY_UNSUPPORTED, true },
        {TY_INTERNAL,    false},
        {TY_CORRUPT,     false},
        {TY_NO_MEMORY,   false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_response *response;
        struct ty_error err;

        (void)ty_fail(&err, cases[i].status, "words");
        response = ty_response_error(&err, NULL);
        if (cases[i].shown)
            assert_string_equal(response->detail, "words");
        else
            assert_null(response->detail);
        ty_response_destroy(response);
    }
}

static void faults_are_copied(void **state)
{
    struct ty_response *response;
    struct ty_faults faults;

    (void)state;
    ty_faults_init(&faults);
    response = ty_response_problem("validation_failed", NULL, &faults);
    assert_null(response->faults);
    ty_response_destroy(response);
    ty_faults_add(&faults, TY_AT_POINTER, "/a", "required", "x");
    response = ty_response_problem("validation_failed", NULL, &faults);
    faults.items[0].where[1] = 'b';
    assert_string_equal(response->faults->items[0].where, "/a");
    ty_response_destroy(response);
}

static void attachments_carry_both_forms_of_their_name(void **state)
{
    static const struct {
        const char *name;
        const char *value;
    } cases[] = {
        {"model.pt",     "attachment; filename=\"model.pt\"; filename*=UTF-8''model.pt"          },
        {"a b\"c\\d.pt", "attachment; filename=\"a b_c_d.pt\"; filename*=UTF-8''a%20b%22c%5Cd.pt"},
        {"\xc3\xa9",     "attachment; filename=\"__\"; filename*=UTF-8''%C3%A9"                  },
        {"a\nX-Evil: 1",
         "attachment; filename=\"a_X-Evil: 1\"; filename*=UTF-8''a%0AX-Evil%3A%201"              },
        {"\xff",         "attachment; filename=\"_\"; filename*=UTF-8''%EF%BF%BD"                },
        {"100%.pt",      "attachment; filename=\"100_.pt\"; filename*=UTF-8''100%25.pt"          },
        {"",             "attachment; filename=\"\"; filename*=UTF-8''"                          },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_response *response = ty_response_empty(200);

        ty_response_attachment(response, cases[i].name);
        assert_string_equal(ty_response_header_value(response, "Content-Disposition"),
                            cases[i].value);
        ty_response_destroy(response);
    }
}

static void every_call_takes_null(void **state)
{
    size_t len = 1;

    (void)state;
    ty_response_header(NULL, "a", "b");
    ty_response_etag(NULL, "\"a\"");
    ty_response_location(NULL, "/");
    ty_response_retry_after(NULL, 1);
    ty_response_attachment(NULL, "a");
    ty_response_compress(NULL, false);
    ty_response_destroy(NULL);
    assert_int_equal(ty_response_status(NULL), 503);
    assert_null(ty_response_header_value(NULL, "a"));
    assert_null(ty_response_bytes_of(NULL, &len));
    assert_int_equal(len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_fields_are_copied_in_order),
        cmocka_unit_test(many_and_long_fields_find_room),
        cmocka_unit_test(a_field_that_would_split_the_answer_spoils_it),
        cmocka_unit_test(only_a_well_formed_entity_tag_is_taken),
        cmocka_unit_test(a_body_is_released_exactly_once),
        cmocka_unit_test(a_buffer_moves_into_its_response),
        cmocka_unit_test(a_shared_body_lives_as_long_as_anyone_holds_it),
        cmocka_unit_test(the_gzip_form_of_a_shared_body_is_made_once),
        cmocka_unit_test(a_files_descriptor_is_closed_with_its_response),
        cmocka_unit_test(problems_take_status_from_the_catalogue),
        cmocka_unit_test(limits_and_outages_say_when_to_come_back),
        cmocka_unit_test(an_errors_words_are_shown_unless_they_are_ours),
        cmocka_unit_test(faults_are_copied),
        cmocka_unit_test(attachments_carry_both_forms_of_their_name),
        cmocka_unit_test(every_call_takes_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
