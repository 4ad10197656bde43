#include "unit.h"

#include "http/trace.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"

static void a_traceparent_is_judged_by_the_letter(void **state)
{
    static const struct {
        const char *text;
        bool valid;
    } cases[] = {
        {"00-" TRACE "-" PARENT "-01",                        true },
        {"00-" TRACE "-" PARENT "-00",                        true },
        {"01-" TRACE "-" PARENT "-01",                        true },
        {"cc-" TRACE "-" PARENT "-01-what-ever",              true },
        {"00-" TRACE "-" PARENT "-01-",                       false},
        {"01-" TRACE "-" PARENT "-01.",                       false},
        {"ff-" TRACE "-" PARENT "-01",                        false},
        {"0-" TRACE "-" PARENT "-01",                         false},
        {"0g-" TRACE "-" PARENT "-01",                        false},
        {"00-00000000000000000000000000000000-" PARENT "-01", false},
        {"00-" TRACE "-0000000000000000-01",                  false},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01", false},
        {"00-" TRACE "-" PARENT "-0",                         false},
        {"00-" TRACE "-" PARENT "-0x",                        false},
        {"00-" TRACE "_" PARENT "-01",                        false},
        {"00-" TRACE "-" PARENT,                              false},
        {"",                                                  false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        if (ty_trace_valid(cases[i].text) != cases[i].valid)
            fail_msg("%s", cases[i].text);
}

static void the_next_hop_gets_the_same_trace_and_a_new_parent(void **state)
{
    struct ty_seeded seed;
    struct ty_random random = ty_random_seeded(&seed, 1);
    char first[TY_TRACEPARENT_TEXT];
    char second[TY_TRACEPARENT_TEXT];

    (void)state;
    ty_trace_next("00-" TRACE "-" PARENT "-ff", &random, first);
    ty_trace_next("00-" TRACE "-" PARENT "-02", &random, second);
    assert_true(ty_trace_valid(first) && ty_trace_valid(second));
    assert_memory_equal(first, "00-" TRACE "-", 36);
    assert_string_equal(first + 53, "01"); /* of the flags, only "sampled" is passed on */
    assert_string_equal(second + 53, "00");
    assert_memory_not_equal(first + 36, PARENT, 16);
    assert_memory_not_equal(first + 36, second + 36, 16);
}

static void without_a_valid_one_a_trace_begins(void **state)
{
    struct ty_seeded seed;
    struct ty_random random = ty_random_seeded(&seed, 2);
    char first[TY_TRACEPARENT_TEXT];
    char second[TY_TRACEPARENT_TEXT];

    (void)state;
    ty_trace_next(NULL, &random, first);
    ty_trace_next("garbage", &random, second);
    assert_true(ty_trace_valid(first) && ty_trace_valid(second));
    assert_memory_not_equal(first + 3, second + 3, 32);
    assert_string_equal(first + 53, "00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_traceparent_is_judged_by_the_letter),
        cmocka_unit_test(the_next_hop_gets_the_same_trace_and_a_new_parent),
        cmocka_unit_test(without_a_valid_one_a_trace_begins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
