#include "unit.h"

#include "cli.h"

static void addresses_of_this_machine_are_known(void **state)
{
    static const struct {
        const char *address;
        bool loopback;
    } cases[] = {
        {"127.0.0.1:8080",               true },
        {"http://127.0.0.1:8080",        true },
        {"http://127.1.2.3",             true },
        {"https://localhost/x",          true },
        {"localhost",                    true },
        {"http://[::1]:8080",            true },
        {"http://[::1",                  false},
        {"http://[::2]:8080",            false},
        {"http://127.0.0.1.evil.org",    false},
        {"http://localhost.evil.org",    false},
        {"http://127.0.0.1@evil.org",    false},
        {"http://localhost:1@evil.org/", false},
        {"http://10.0.0.1",              false},
        {"http://evil.org/127.0.0.1",    false},
        {"",                             false},
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(cli_is_loopback(cases[i].address), cases[i].loopback);
}

/* The first ten digits of an id are its milliseconds, the highest first. */
static void the_beginning_of_an_id_gives_a_range_of_time(void **state)
{
    static const struct {
        const char *beginning;
        int64_t first_ms;
        int64_t last_ms;
    } cases[] = {
        {"job_",                           0,                (INT64_C(1) << 50) - 1},
        {"job_0",                          0,                (INT64_C(1) << 45) - 1},
        {"1",                              INT64_C(1) << 45, (INT64_C(1) << 46) - 1},
        {"job_000000000z",                 31,               31                    },
        {"job_0000000010",                 32,               32                    },
        {"job_00000000100000",             32,               32                    },
        {"job_01000000000000000000000000", INT64_C(1) << 40, INT64_C(1) << 40      },
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        int64_t first_ms = -1;
        int64_t last_ms = -1;
        assert_true(cli_id_range(cases[i].beginning, &first_ms, &last_ms));
        assert_int_equal(first_ms, cases[i].first_ms);
        assert_int_equal(last_ms, cases[i].last_ms);
    }
}

static void what_no_id_begins_with_has_no_range(void **state)
{
    static const char *const words[] = {"job_8",  "job_!", "job_0i",
                                        "job_0U", "tok_0", "job_010000000000000000000000000"};
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(words); i++) {
        int64_t first_ms = -1;
        int64_t last_ms = -1;
        assert_false(cli_id_range(words[i], &first_ms, &last_ms));
        assert_int_equal(first_ms, -1);
        assert_int_equal(last_ms, -1);
    }
}

static void states_have_their_results(void **state)
{
    static const struct {
        const char *state;
        bool terminal;
        int code;
    } cases[] = {
        {"succeeded",   true,  EXIT_DONE         },
        {"failed",      true,  EXIT_JOB_FAILED   },
        {"cancelled",   true,  EXIT_JOB_CANCELLED},
        {"lost",        true,  EXIT_JOB_LOST     },
        {"running",     false, EXIT_JOB_FAILED   },
        {"of tomorrow", false, EXIT_JOB_FAILED   },
    };
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_json job = json_pack("{s:s}", "state", cases[i].state);
        assert_int_equal(cli_job_terminal(job), cases[i].terminal);
        assert_int_equal(cli_job_result(job), cases[i].code);
    }
    assert_false(cli_job_terminal(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_this_machine_are_known),
        cmocka_unit_test(the_beginning_of_an_id_gives_a_range_of_time),
        cmocka_unit_test(what_no_id_begins_with_has_no_range),
        cmocka_unit_test(states_have_their_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
