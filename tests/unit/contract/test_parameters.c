#include "small.h"

#include "source.h"

#include "trainyard/contract/documents.h"

#define JOB "job_01j9z3k4m5n6p7q8r9s0t1v2w3"

static struct ty_contract *contract;

static int set_up(void **state)
{
    const struct ty_document *document = ty_contract_rules();

    (void)state;
    return ty_contract_create(document->bytes, document->len, &contract, NULL) != TY_OK;
}

static int tear_down(void **state)
{
    (void)state;
    ty_contract_destroy(contract);
    return 0;
}

/* clang-format off */
static const struct {
    const char *operation;
    struct source_list list;
    ty_status status;
    const char *faults;
} cases[] = {
    {"jobs_list", {{{'q', "limit", "10"}, {'q', "sort", "created_at"}}}, TY_OK, ""},
    {"jobs_list", {{{'q', "limit", "1000000"}}}, TY_OK, ""}, /* clamped by whoever reads it */
    {"jobs_list", {{{'q', "limit", "0"}}}, TY_INVALID, "limit out_of_range"},
    {"jobs_list", {{{'q', "limit", "-1"}}}, TY_INVALID, "limit out_of_range"},
    {"jobs_list", {{{'q', "limit", "abc"}}}, TY_INVALID, "limit wrong_type"},
    {"jobs_list", {{{'q', "limit", "1.5"}}}, TY_INVALID, "limit wrong_type"},
    {"jobs_list", {{{'q', "limit", "+1"}}}, TY_INVALID, "limit wrong_type"},
    {"jobs_list", {{{'q', "limit", " 1"}}}, TY_INVALID, "limit wrong_type"},
    {"jobs_list", {{{'q', "limit", "01"}}}, TY_INVALID, "limit wrong_type"},
    {"jobs_list", {{{'q', "limit", "-0"}}}, TY_INVALID, "limit wrong_type"},
    {"jobs_list", {{{'q', "limit", ""}}}, TY_INVALID, "limit wrong_type"},
    {"jobs_list", {{{'q', "limit", "99999999999999999999"}}}, TY_INVALID, "limit out_of_range"},
    {"jobs_list", {{{'q', "limit", "1"}, {'q', "limit", "2"}}}, TY_INVALID, "limit repeated"},
    {"jobs_list", {{{'q', "Limit", "1"}}}, TY_INVALID, "Limit unknown_parameter"},
    {"jobs_list",
     {{{'q', "offset", "1"}, {'q', "sort", "name"}}},
     TY_INVALID, "sort not_in_enum, offset unknown_parameter"},
    {"jobs_list",
     {{{'q', "Trainyard-Tenant", "x"}}},
     TY_INVALID, "Trainyard-Tenant unknown_parameter"},
    {"jobs_list", {{{'q', "state", "running"}, {'q', "state", "queued"}}}, TY_OK, ""},
    {"jobs_list", {{{'q', "state", "running,queued"}}}, TY_OK, ""},
    {"jobs_list", {{{'q', "state", "running,"}}}, TY_INVALID, "state not_in_enum"},
    {"jobs_list", {{{'q', "state", ""}}}, TY_INVALID, "state not_in_enum"},
    {"jobs_list", {{{'q', "state", "Running"}}}, TY_INVALID, "state not_in_enum"},
    {"jobs_list",
     {{{'q', "state",
        "queued,queued,queued,queued,queued,queued,queued,queued,queued,queued,queued"}}},
     TY_INVALID, "state too_many_items"},
    {"jobs_list", {{{'q', "label", "team=vision"}, {'q', "label", "empty="}}}, TY_OK, ""},
    {"jobs_list", {{{'q', "label", "team"}}}, TY_INVALID, "label pattern"},
    {"jobs_list", {{{'q', "label", "a=b,c=d"}}}, TY_INVALID, "label pattern"},
    {"jobs_list", {{{'q', "name", "mnist*"}}}, TY_OK, ""},
    {"jobs_list", {{{'q', "name", "mn*ist"}}}, TY_INVALID, "name pattern"},
    {"jobs_list", {{{'q', "name", "a\x80"}}}, TY_INVALID, "name not_utf8"},
    {"jobs_list", {{{'q', "\x80", "a"}}}, TY_INVALID, "? unknown_parameter"},
    {"jobs_list", {{{'q', "created_after", "2026-01-02T03:04:05+02:00"}}}, TY_OK, ""},
    {"jobs_list",
     {{{'q', "created_after", "2026-02-30T03:04:05Z"}}},
     TY_INVALID, "created_after bad_format"},
    {"jobs_list", {{{'q', "created_after", "2026-01-02"}}}, TY_INVALID, "created_after too_short"},
    {"jobs_list", {{{'q', "cursor", "a b"}}}, TY_INVALID, "cursor pattern"},
    {"jobs_list", {{{'h', "trainyard-tenant", "vision"}}}, TY_OK, ""},
    {"jobs_list", {{{'h', "trainyard-tenant", "Vision!"}}}, TY_INVALID, "Trainyard-Tenant pattern"},
    {"jobs_create",
     {{{'q', "dry_run", "true"}, {'h', "idempotency-key", "\"k 1\""}}},
     TY_INVALID, "Idempotency-Key pattern"},
    {"jobs_create", {{{'q', "dry_run", "true"}, {'h', "idempotency-key", "\"k1\""}}}, TY_OK, ""},
    {"jobs_create", {{{'q', "dry_run", "1"}}}, TY_INVALID, "dry_run wrong_type"},
    {"jobs_create", {{{'q', "dry_run", ""}}}, TY_INVALID, "dry_run wrong_type"},
    {"jobs_create", {{{'q', "dry_run", "True"}}}, TY_INVALID, "dry_run wrong_type"},
    {"jobs_get", {{{'p', "job_id", JOB}}}, TY_OK, ""},
    {"jobs_get", {{{'p', "job_id", JOB}, {'q', "wait", "61"}}}, TY_INVALID, "wait out_of_range"},
    {"jobs_get", {{{'p', "job_id", JOB}, {'h', "If-None-Match", "\"a\", W/\"b\""}}}, TY_OK, ""},
    {"jobs_get",
     {{{'p', "job_id", JOB}, {'h', "If-None-Match", "a"}}},
     TY_INVALID, "If-None-Match pattern"},
    {"jobs_get", {{{'p', "job_id", "job_x"}}}, TY_NOT_FOUND, "job_id too_short"},
    {"jobs_get",
     {{{'p', "job_id", "job_81j9z3k4m5n6p7q8r9s0t1v2w3"}}},
     TY_NOT_FOUND, "job_id pattern"},
    {"jobs_get", {{{'p', "job_id", JOB "\n"}}}, TY_NOT_FOUND, "job_id too_long"},
    {"jobs_get",
     {{{'p', "job_id", "\x80"}, {'q', "x", ""}}},
     TY_NOT_FOUND, "job_id not_utf8, x unknown_parameter"},
    {"jobs_get", {{{0}}}, TY_NOT_FOUND, "job_id required"},
    {"jobs_logs",
     {{{'p', "job_id", JOB}, {'q', "tail", "0"}, {'q', "replica", "worker-12"}}},
     TY_OK, ""},
    {"jobs_logs",
     {{{'p', "job_id", JOB}, {'q', "tail", "99999999999999999999"}}},
     TY_INVALID, "tail out_of_range"},
    {"jobs_logs",
     {{{'p', "job_id", JOB}, {'q', "tail", "1.5"}, {'q', "replica", "worker-01"}}},
     TY_INVALID, "replica pattern, tail wrong_type"},
    {"jobs_logs", {{{'p', "job_id", JOB}, {'h', "Last-Event-ID", "12"}}}, TY_OK, ""},
    {"jobs_logs",
     {{{'p', "job_id", JOB}, {'h', "Last-Event-ID", "x"}}},
     TY_INVALID, "Last-Event-ID pattern"},
    {"volumes_get", {{{'p', "volume", "data.v1"}}}, TY_OK, ""},
    {"volumes_get", {{{'p', "volume", ".."}}}, TY_NOT_FOUND, "volume pattern"},
    /* files: hostile names exist, names that lead elsewhere do not */
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "a b+%2F#?;\n\"\\.pt"}}},
     TY_OK, ""},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "dir/.../..x/.hidden"}}},
     TY_OK, ""},
    {"jobs_artifact_get", {{{'p', "job_id", JOB}, {'p', "path", "no\xff utf8"}}}, TY_OK, ""},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "../x"}}},
     TY_NOT_FOUND, "path pattern"},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "a/./x"}}},
     TY_NOT_FOUND, "path pattern"},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "a/.."}}},
     TY_NOT_FOUND, "path pattern"},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "/etc/passwd"}}},
     TY_NOT_FOUND, "path pattern"},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "a//b"}}},
     TY_NOT_FOUND, "path pattern"},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "a/"}}},
     TY_NOT_FOUND, "path pattern"},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", ""}}},
     TY_NOT_FOUND, "path too_short"},
    {"jobs_artifact_get",
     {{{'p', "job_id", JOB}, {'p', "path", "a"}, {'h', "Range", "bytes=0-1,5-"}}},
     TY_OK, ""},
    {"livez", {{{'q', "verbose", ""}}}, TY_INVALID, "verbose unknown_parameter"},
};
/* clang-format on */

static void parameters_are_taken_or_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct source_list list = cases[i].list;
        struct ty_parameter_source source = source_of(&list);
        struct ty_arguments arguments = {0};
        struct ty_faults faults;
        struct ty_error err = {0};
        char text[512];
        ty_status status;

        ty_faults_init(&faults);
        status = ty_operation_check_parameters(ty_contract_operation(contract, cases[i].operation),
                                               &source, &arguments, &faults, &err);
        small_faults(&faults, text, sizeof text);
        if (strcmp(text, cases[i].faults) != 0 || status != cases[i].status)
            fail_msg("case %zu of %s gave %s", i, cases[i].operation, text);
        assert_true((status == TY_OK) == (arguments.operation != NULL)); /* else untouched */
        if (status == TY_INVALID)
            assert_string_equal(err.code, "invalid_parameter");
        if (status == TY_NOT_FOUND)
            assert_string_equal(err.code, "not_found");
    }
}

static struct ty_arguments read_arguments(const char *operation, struct source_list list)
{
    struct ty_parameter_source source = source_of(&list);
    struct ty_arguments arguments = {0};
    struct ty_faults faults;

    ty_faults_init(&faults);
    assert_int_equal(ty_operation_check_parameters(ty_contract_operation(contract, operation),
                                                   &source, &arguments, &faults, NULL),
                     TY_OK);
    return arguments;
}

static void arguments_are_read_by_their_types(void **state)
{
    struct ty_arguments arguments =
        read_arguments("jobs_list", (struct source_list){
                                        {{'q', "limit", "7"},
                                         {'q', "state", "queued,running"},
                                         {'q', "label", "a=b"},
                                         {'q', "state", "lost"},
                                         {'q', "label", "c="},
                                         {'q', "created_after", "1970-01-01T00:00:01.5Z"},
                                         {'h', "Trainyard-Tenant", "vision"}}
    });

    (void)state;
    assert_int_equal(ty_argument_integer(&arguments, "limit"), 7);
    assert_int_equal(ty_argument_count(&arguments, "state"), 3);
    assert_string_equal(ty_argument_item(&arguments, "state", 0), "queued");
    assert_string_equal(ty_argument_item(&arguments, "state", 1), "running");
    assert_string_equal(ty_argument_item(&arguments, "state", 2), "lost");
    assert_null(ty_argument_item(&arguments, "state", 3));
    assert_int_equal(ty_argument_count(&arguments, "label"), 2);
    assert_string_equal(ty_argument_item(&arguments, "label", 1), "c=");
    assert_int_equal(ty_argument_time(&arguments, "created_after"), 1500000);
    assert_int_equal(ty_argument_time(&arguments, "created_before"), 0);
    assert_string_equal(ty_argument_text(&arguments, "Trainyard-Tenant"), "vision");
    assert_true(ty_argument_given(&arguments, "limit"));
    assert_false(ty_argument_given(&arguments, "name"));
    assert_null(ty_argument_text(&arguments, "name"));
}

static void what_is_not_given_has_its_default(void **state)
{
    struct ty_arguments list = read_arguments("jobs_list", (struct source_list){0});
    struct ty_arguments logs =
        read_arguments("jobs_logs", (struct source_list){
                                        {{'p', "job_id", JOB}, {'q', "follow", "true"}}
    });

    (void)state;
    assert_int_equal(ty_argument_integer(&list, "limit"), 50);
    assert_string_equal(ty_argument_text(&list, "sort"), "-created_at");
    assert_int_equal(ty_argument_count(&list, "state"), 0);
    assert_true(ty_argument_boolean(&logs, "follow"));
    assert_int_equal(ty_argument_integer(&logs, "tail"), 0);
    assert_false(ty_argument_given(&logs, "tail"));
    assert_string_equal(ty_argument_text(&logs, "job_id"), JOB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_taken_or_refused_by_name),
        cmocka_unit_test(arguments_are_read_by_their_types),
        cmocka_unit_test(what_is_not_given_has_its_default),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
