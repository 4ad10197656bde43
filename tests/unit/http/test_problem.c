#include "unit.h"

#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/http/problem.h"

static void the_catalogue_is_sorted_and_every_row_is_whole(void **state)
{
    size_t count;
    const struct ty_problem_kind *kinds = ty_problem_kinds(&count);

    (void)state;
    assert_true(count > 50);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || strcmp(kinds[i - 1].code, kinds[i].code) < 0);
        assert_true(strlen(kinds[i].code) <= 63);
        assert_int_equal(strspn(kinds[i].code, "abcdefghijklmnopqrstuvwxyz0123456789_"),
                         strlen(kinds[i].code));
        assert_in_range(kinds[i].status, 400, 599);
        assert_true(strlen(kinds[i].title) > 0 && strlen(kinds[i].meaning) > 10);
        assert_ptr_equal(ty_problem_find(kinds[i].code), &kinds[i]);
    }
    assert_null(ty_problem_find("nothing_like_it"));
    assert_null(ty_problem_find(""));
}

static void every_status_has_the_http_status_it_stands_for(void **state)
{
    static const struct {
        ty_status status;
        int http;
    } cases[] = {
        {TY_INVALID,         400},
        {TY_REFUSED,         422},
        {TY_UNAUTHENTICATED, 401},
        {TY_FORBIDDEN,       403},
        {TY_NOT_FOUND,       404},
        {TY_CONFLICT,        409},
        {TY_GONE,            410},
        {TY_PRECONDITION,    412},
        {TY_TOO_LARGE,       413},
        {TY_LIMITED,         429},
        {TY_UNAVAILABLE,     503},
        {TY_STORAGE_FULL,    503},
        {TY_UNSUPPORTED,     501},
        {TY_CORRUPT,         500},
        {TY_NO_MEMORY,       503},
        {TY_INTERNAL,        500},
        {TY_OK,              500},
        {(ty_status)999,     500},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(ty_problem_of_status(cases[i].status)->status, cases[i].http);
}

static void a_known_code_wins_over_the_status_and_an_unknown_one_does_not(void **state)
{
    struct ty_error err;

    (void)state;
    (void)ty_fail_code(&err, TY_CONFLICT, "job_active", "x");
    assert_string_equal(ty_problem_of_error(&err)->code, "job_active");
    (void)ty_fail_code(&err, TY_CONFLICT, "no_such_code", "x");
    assert_string_equal(ty_problem_of_error(&err)->code, "conflict");
    (void)ty_fail(&err, TY_GONE, "x");
    assert_string_equal(ty_problem_of_error(&err)->code, "gone");
}

static json_t *document(const char *code, const char *detail, const struct ty_faults *faults)
{
    json_t *json = NULL;
    ty_auto_buf buf = {0};

    ty_buf_init(&buf, 100000);
    ty_problem_write(&buf, ty_problem_find(code), detail, "/v1/jobs/a%2Fb", "req_1", faults);
    assert_int_equal(ty_json_parse(buf.data, buf.len, &json, NULL), TY_OK);
    return json;
}

static const char *member(const json_t *json, const char *key)
{
    return json_string_value(json_object_get(json, key));
}

static void a_document_has_every_member_h1_asks_for(void **state)
{
    ty_auto_json json = document("job_active", "job \"x\" is \x01 running", NULL);

    (void)state;
    assert_string_equal(member(json, "type"), "/docs/errors#job_active");
    assert_string_equal(member(json, "title"), "Job is live");
    assert_int_equal(json_integer_value(json_object_get(json, "status")), 409);
    assert_string_equal(member(json, "detail"), "job \"x\" is \x01 running");
    assert_string_equal(member(json, "instance"), "/v1/jobs/a%2Fb");
    assert_string_equal(member(json, "code"), "job_active");
    assert_string_equal(member(json, "request_id"), "req_1");
    assert_null(json_object_get(json, "errors"));
}

static void without_a_detail_the_rows_meaning_stands(void **state)
{
    ty_auto_json json = document("not_found", NULL, NULL);

    (void)state;
    assert_string_equal(member(json, "detail"), ty_problem_find("not_found")->meaning);
}

static void faults_are_listed_with_the_kind_of_their_place(void **state)
{
    struct ty_faults faults;
    ty_auto_json json = NULL;
    json_t *errors;

    (void)state;
    ty_faults_init(&faults);
    ty_faults_add(&faults, TY_AT_POINTER, "/a/~0b", "required", "is missing");
    ty_faults_add(&faults, TY_AT_PARAMETER, "limit", "range", "at most %d", 5);
    ty_faults_add(&faults, TY_AT_HEADER, "If-Match", "syntax", "unreadable");
    json = document("validation_failed", NULL, &faults);
    errors = json_object_get(json, "errors");
    assert_int_equal(json_array_size(errors), 3);
    assert_string_equal(member(json_array_get(errors, 0), "pointer"), "/a/~0b");
    assert_string_equal(member(json_array_get(errors, 1), "parameter"), "limit");
    assert_string_equal(member(json_array_get(errors, 1), "detail"), "at most 5");
    assert_string_equal(member(json_array_get(errors, 2), "header"), "If-Match");
    assert_string_equal(member(json_array_get(errors, 2), "code"), "syntax");
}

static void faults_beyond_fifty_are_counted(void **state)
{
    struct ty_faults faults;
    ty_auto_json json = NULL;

    (void)state;
    ty_faults_init(&faults);
    for (int i = 0; i < 60; i++)
        ty_faults_add(&faults, TY_AT_POINTER, "/a", "required", "is missing");
    json = document("validation_failed", NULL, &faults);
    assert_int_equal(json_array_size(json_object_get(json, "errors")), 50);
    assert_int_equal(json_integer_value(json_object_get(json, "errors_dropped")), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_catalogue_is_sorted_and_every_row_is_whole),
        cmocka_unit_test(every_status_has_the_http_status_it_stands_for),
        cmocka_unit_test(a_known_code_wins_over_the_status_and_an_unknown_one_does_not),
        cmocka_unit_test(a_document_has_every_member_h1_asks_for),
        cmocka_unit_test(without_a_detail_the_rows_meaning_stands),
        cmocka_unit_test(faults_are_listed_with_the_kind_of_their_place),
        cmocka_unit_test(faults_beyond_fifty_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
