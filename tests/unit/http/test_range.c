#include "unit.h"

#include "trainyard/http/range.h"

static void a_range_is_judged_against_the_size(void **state)
{
    static const struct {
        const char *value;
        uint64_t size;
        ty_range_verdict verdict;
        uint64_t first;
        uint64_t length;
    } cases[] = {
        {NULL,                             10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=0-0",                      10,         TY_RANGE_PART,          0, 1             },
        {"bytes=0-9",                      10,         TY_RANGE_PART,          0, 10            },
        {"bytes=0-10",                     10,         TY_RANGE_PART,          0, 10            },
        {"bytes=9-",                       10,         TY_RANGE_PART,          9, 1             },
        {"bytes=9-9",                      10,         TY_RANGE_PART,          9, 1             },
        {"bytes=10-",                      10,         TY_RANGE_UNSATISFIABLE, 0, 0             },
        {"bytes=10-20",                    10,         TY_RANGE_UNSATISFIABLE, 0, 0             },
        {"bytes=-1",                       10,         TY_RANGE_PART,          9, 1             },
        {"bytes=-10",                      10,         TY_RANGE_PART,          0, 10            },
        {"bytes=-11",                      10,         TY_RANGE_PART,          0, 10            },
        {"bytes=-0",                       10,         TY_RANGE_UNSATISFIABLE, 0, 0             },
        {"bytes=0-",                       0,          TY_RANGE_UNSATISFIABLE, 0, 0             },
        {"bytes=-1",                       0,          TY_RANGE_UNSATISFIABLE, 0, 0             },
        {"bytes= 1-2 ",                    10,         TY_RANGE_PART,          1, 2             },
        {"Bytes=1-2",                      10,         TY_RANGE_PART,          1, 2             },
        {"bytes=18446744073709551615-",    10,         TY_RANGE_UNSATISFIABLE, 0, 0             },
        {"bytes=18446744073709551616-",    10,         TY_RANGE_UNSATISFIABLE, 0, 0             },
        {"bytes=0-18446744073709551616",   10,         TY_RANGE_PART,          0, 10            },
        {"bytes=-99999999999999999999999", 10,         TY_RANGE_PART,          0, 10            },
        {"bytes=1-18446744073709551615",   UINT64_MAX, TY_RANGE_PART,          1, UINT64_MAX - 1},
        {"bytes=2-1",                      10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=0-1,3-4",                  10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=",                         10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=-",                        10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes",                          10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=a-1",                      10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=1-a",                      10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=1-2x",                     10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=+1-2",                     10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=0x1-2",                    10,         TY_RANGE_WHOLE,         0, 0             },
        {"bytes=1 - 2",                    10,         TY_RANGE_WHOLE,         0, 0             },
        {"lines=1-2",                      10,         TY_RANGE_WHOLE,         0, 0             },
        {"",                               10,         TY_RANGE_WHOLE,         0, 0             },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        uint64_t first = 77;
        uint64_t length = 78;

        assert_int_equal(ty_range_judge(cases[i].value, cases[i].size, &first, &length),
                         cases[i].verdict);
        assert_true(first == (cases[i].verdict == TY_RANGE_PART ? cases[i].first : 77));
        assert_true(length == (cases[i].verdict == TY_RANGE_PART ? cases[i].length : 78));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_range_is_judged_against_the_size)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
