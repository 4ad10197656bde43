#include "unit.h"

#include "trainyard/domain/event.h"

#include <stdio.h>

static void every_state_has_a_type_of_its_name(void **state)
{
    (void)state;
    for (int at = 0; at < TY_JOB_STATE_COUNT; at++) {
        char name[32];
        snprintf(name, sizeof name, "job.%s", ty_job_state_name((ty_job_state)at));
        assert_string_equal(ty_event_type_name(ty_event_of_state((ty_job_state)at)), name);
    }
}

static void a_name_is_read_back_and_fits_into_a_set(void **state)
{
    uint64_t bits = 0;
    int known = 0;
    (void)state;
    for (int number = 0; number < 64; number++) {
        ty_event_type type = (ty_event_type)63;
        const char *name = ty_event_type_name((ty_event_type)number);
        if (ty_event_type_parse(name, &type) != TY_OK) {
            assert_string_equal(name, "unknown");
            assert_int_equal(type, 63);
            continue;
        }
        assert_int_equal(type, number);
        assert_int_equal(bits & ty_event_type_bit(type), 0);
        bits |= ty_event_type_bit(type);
        known++;
    }
    assert_int_equal(known, 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_state_has_a_type_of_its_name),
        cmocka_unit_test(a_name_is_read_back_and_fits_into_a_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
