#include "unit.h"

#include "trainyard/domain/spec.h"

struct legal {
    const char *text;
    int64_t millis;
};

static void legal_quantities_have_their_exact_value(void **state)
{
    static const struct legal cases[] = {
        {"0",                                       0                           },
        {"1",                                       1000                        },
        {"+1",                                      1000                        },
        {"007",                                     7000                        },
        {"0.5",                                     500                         },
        {".5",                                      500                         },
        {"5.",                                      5000                        },
        {"500m",                                    500                         },
        {"1.2Gi",                                   1288490188800               },
        {"1e3",                                     1000000                     },
        {"1E3",                                     1000000                     },
        {"1e+3",                                    1000000                     },
        {"1500e-3",                                 1500                        },
        {"2k",                                      2000000                     },
        {"512m",                                    512                         },
        {"128M",                                    INT64_C(128000000000)       },
        {"128Mi",                                   INT64_C(134217728000)       },
        {"1G",                                      INT64_C(1000000000000)      },
        {"1Gi",                                     INT64_C(1073741824000)      },
        {"1Ki",                                     1024000                     },
        {"1Ti",                                     INT64_C(1099511627776000)   },
        {"1E",                                      INT64_C(-1)                 }, /* out of range */
        {"9P",                                      INT64_C(9000000000000000000)},
        {"8Pi",                                     INT64_C(9007199254740992000)},
        {"9223372036854775807m",                    INT64_MAX                   },
 /* finer than a thousandth: rounded up, as a cluster does */
        {"1n",                                      1                           },
        {"1u",                                      1                           },
        {"1000001u",                                1001                        },
        {"0.0001",                                  1                           },
        {"0.0000",                                  0                           },
        {"1.0000000000000000000000000000000000001", 1001                        },
        {"0.1Ki",                                   102400                      },
        {"0.0009765625Ki",                          1000                        },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        int64_t millis = -7;
        ty_status status = ty_quantity_parse(cases[i].text, &millis);

        if (cases[i].millis < 0) {
            assert_int_equal(status, TY_INVALID);
            assert_int_equal(millis, -7);
            continue;
        }
        if (status != TY_OK || millis != cases[i].millis)
            print_error("%s\n", cases[i].text);
        assert_int_equal(status, TY_OK);
        assert_true(millis == cases[i].millis);
    }
}

static void illegal_quantities_are_refused_and_leave_the_output_alone(void **state)
{
    static const char *const texts[] = {
        "",
        " ",
        "1 Gi",
        " 1",
        "1 ",
        "1gi",
        "1GI",
        "1GB",
        "1Gib",
        "2K",
        "1KI",
        "1ki",
        "1mi",
        "abc",
        "Gi",
        ".",
        "+",
        "-1",
        "-1Gi",
        "--1",
        "+-1",
        "1.2.3",
        "1,5",
        "1e",
        "1e3Gi",
        "1Gie3",
        "e3",
        "1e99",
        "1e3.5",
        "0x10",
        "1_000",
        "inf",
        "nan",
        "\xef\xbc\x91\xef\xbc\x92", /* full-width digits */
        "9223372036854775808m",
        "10Pi",
        "1Ei",
        "99999999999999999999999999999999999999999999999999",
        "11111111111111111111111111111111111111111111111111111111111111111",
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(texts); i++) {
        int64_t millis = -7;

        if (ty_quantity_parse(texts[i], &millis) != TY_INVALID)
            print_error("accepted: %s\n", texts[i]);
        assert_int_equal(ty_quantity_parse(texts[i], &millis), TY_INVALID);
        assert_true(millis == -7);
    }
}

static void whole_units_are_rounded_up_and_reach_further(void **state)
{
    static const struct legal cases[] = {
        {"0",                   0                           },
        {"1m",                  1                           },
        {"1.2Gi",               1288490189                  },
        {"100000000000000000",  INT64_C(100000000000000000) },
        {"99999Ti",             INT64_C(109950063265972224) },
        {"9223372036854775807", INT64_MAX                   },
        {"7Ei",                 INT64_C(8070450532247928832)},
    };
    int64_t whole = -7;

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        if (ty_quantity_parse_whole(cases[i].text, &whole) != TY_OK || whole != cases[i].millis)
            print_error("%s gives %lld\n", cases[i].text, (long long)whole);
        assert_true(whole == cases[i].millis);
    }
    whole = -7;
    assert_int_equal(ty_quantity_parse_whole("9223372036854775808", &whole), TY_INVALID);
    assert_int_equal(ty_quantity_parse_whole("8Ei", &whole), TY_INVALID);
    assert_int_equal(ty_quantity_parse_whole("1gi", &whole), TY_INVALID);
    assert_true(whole == -7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_quantities_have_their_exact_value),
        cmocka_unit_test(illegal_quantities_are_refused_and_leave_the_output_alone),
        cmocka_unit_test(whole_units_are_rounded_up_and_reach_further),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
