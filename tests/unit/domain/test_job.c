#include "unit.h"

#include "trainyard/base/str.h"
#include "trainyard/domain/job.h"

#include <ctype.h>

static void every_state_has_a_name_that_reads_back(void **state)
{
    (void)state;
    for (int i = 0; i < TY_JOB_STATE_COUNT; i++) {
        ty_job_state parsed = TY_JOB_STATE_COUNT;
        const char *name = ty_job_state_name((ty_job_state)i);

        assert_int_equal(ty_job_state_parse(name, &parsed), TY_OK);
        assert_int_equal(parsed, i);
    }
    assert_string_equal(ty_job_state_name(TY_JOB_QUEUED), "queued");
    assert_string_equal(ty_job_state_name(TY_JOB_LOST), "lost");
}

static void every_cause_has_a_snake_case_name_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < TY_CAUSE_COUNT; i++) {
        ty_job_cause parsed = TY_CAUSE_COUNT;
        const char *name = ty_job_cause_name((ty_job_cause)i);

        for (const char *p = name; *p; p++)
            assert_true(islower((unsigned char)*p) || *p == '_');
        assert_int_equal(ty_job_cause_parse(name, &parsed), TY_OK);
        assert_int_equal(parsed, i);
        assert_int_equal(ty_job_cause_text((ty_job_cause)i)[0] != '\0', i != TY_CAUSE_NONE);
    }
    assert_string_equal(ty_job_cause_text((ty_job_cause)99), "");
    assert_string_equal(ty_job_cause_name(TY_CAUSE_WAITING_FOR_QUOTA), "waiting_for_quota");
}

static void unknown_names_are_refused_and_leave_the_output_alone(void **state)
{
    static const char *const names[] = {"", "Queued", "queue", "queued ", "unknown", "9"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(names); i++) {
        ty_job_state job_state = TY_JOB_FAILED;
        ty_job_cause cause = TY_CAUSE_EVICTED;

        assert_int_equal(ty_job_state_parse(names[i], &job_state), TY_INVALID);
        assert_int_equal(job_state, TY_JOB_FAILED);
        assert_int_equal(ty_job_cause_parse(names[i], &cause), TY_INVALID);
        assert_int_equal(cause, TY_CAUSE_EVICTED);
    }
}

static void numbers_out_of_range_have_a_name_too(void **state)
{
    (void)state;
    assert_string_equal(ty_job_state_name((ty_job_state)99), "unknown");
    assert_string_equal(ty_job_cause_name((ty_job_cause)99), "unknown");
}

static void exactly_the_last_four_states_are_terminal(void **state)
{
    (void)state;
    for (int i = 0; i < TY_JOB_STATE_COUNT; i++)
        assert_int_equal(ty_job_terminal((ty_job_state)i), i >= TY_JOB_SUCCEEDED);
}

static void an_object_name_is_the_name_and_the_short_form_of_the_id(void **state)
{
    static const char id[] = "job_01j9z3k4m5n6p7q8r9s0t1v2w3";
    static const char long_name[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    char out[TY_OBJECT_NAME];

    (void)state;
    ty_object_name_make("mnist", id, out);
    assert_string_equal(out, "mnist-k4m1v2w3");
    assert_true(ty_dns1035_label(out));
    ty_object_name_make(long_name, id, out);
    assert_int_equal(strlen(out), TY_OBJECT_NAME - 1);
    assert_true(ty_str_ends(out, "-k4m1v2w3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_has_a_name_that_reads_back),
        cmocka_unit_test(every_cause_has_a_snake_case_name_of_its_own),
        cmocka_unit_test(unknown_names_are_refused_and_leave_the_output_alone),
        cmocka_unit_test(numbers_out_of_range_have_a_name_too),
        cmocka_unit_test(exactly_the_last_four_states_are_terminal),
        cmocka_unit_test(an_object_name_is_the_name_and_the_short_form_of_the_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
