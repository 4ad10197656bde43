#include "unit.h"

#include "executor/local/expand.h"

static void expansion_follows_kubernetes(void **state)
{
    /* From the table of Kubernetes' own expansion_test.go, with VAR_A=A, VAR_B=B, VAR_C=C,
     * VAR_REF=$(VAR_A), VAR_EMPTY. */
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {"$(VAR_A)",                   "A"                },
        {"___$(VAR_B)___",             "___B___"          },
        {"___$(VAR_C)",                "___C"             },
        {"$(VAR_A)-$(VAR_A)",          "A-A"              },
        {"$(VAR_A)-1",                 "A-1"              },
        {"$(VAR_A)_$(VAR_B)_$(VAR_C)", "A_B_C"            },
        {"$$(VAR_B)_$(VAR_A)",         "$(VAR_B)_A"       },
        {"$$(VAR_A)_$$(VAR_B)",        "$(VAR_A)_$(VAR_B)"},
        {"f000-$$VAR_A",               "f000-$VAR_A"      },
        {"foo\\$(VAR_C)bar",           "foo\\Cbar"        },
        {"foo\\\\$(VAR_C)bar",         "foo\\\\Cbar"      },
        {"foo$(VAR_EMPTY)bar",         "foobar"           },
        {"foo$(VAR_Awhoops!",          "foo$(VAR_Awhoops!"},
        {"f00__(VAR_A)__",             "f00__(VAR_A)__"   },
        {"$?_boo_$!",                  "$?_boo_$!"        },
        {"$VAR_A",                     "$VAR_A"           },
        {"$(VAR_DNE)",                 "$(VAR_DNE)"       },
        {"$$$$$$(BIG_MONEY)",          "$$$(BIG_MONEY)"   },
        {"$$$$$$(VAR_A)",              "$$$(VAR_A)"       },
        {"$$$$$$$(GOOD_ODDS)",         "$$$$(GOOD_ODDS)"  },
        {"$$$$$$$(VAR_A)",             "$$$A"             },
        {"$VAR_A)",                    "$VAR_A)"          },
        {"${VAR_A}",                   "${VAR_A}"         },
        {"$(VAR_B)_______$(A",         "B_______$(A"      },
        {"$(VAR_C)_______$(",          "C_______$("       },
        {"$(VAR_A)foobarzab$",         "Afoobarzab$"      },
        {"foo-\\$(VAR_A",              "foo-\\$(VAR_A"    },
        {"--$($($($($--",              "--$($($($($--"    },
        {"$($($($($--foo$(",           "$($($($($--foo$(" },
        {"foo0--$($($($(",             "foo0--$($($($("   },
        {"$(foo$$var)",                "$(foo$$var)"      },
        {"$(VAR_REF)",                 "$(VAR_A)"         },
        {"",                           ""                 },
    };
    struct ty_variables variables = {0};
    struct ty_error err;
    (void)state;
    assert_int_equal(ty_variables_add(&variables, "VAR_A", "old", &err), TY_OK);
    assert_int_equal(ty_variables_add(&variables, "VAR_A", "A", &err), TY_OK);
    assert_int_equal(ty_variables_add(&variables, "VAR_B", "B", &err), TY_OK);
    assert_int_equal(ty_variables_add(&variables, "VAR_C", "C", &err), TY_OK);
    assert_int_equal(ty_variables_add(&variables, "VAR_REF", "$(VAR_A)", &err), TY_OK);
    assert_int_equal(ty_variables_add(&variables, "VAR_EMPTY", "", &err), TY_OK);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        ty_auto_buf out = {0};
        ty_buf_init(&out, 1000);
        ty_expand(cases[i].text, &variables, &out);
        assert_int_equal(out.failed, TY_OK);
        assert_string_equal(out.data ? out.data : "", cases[i].expected);
    }
    ty_variables_done(&variables);
}

static void the_last_of_a_name_wins(void **state)
{
    struct ty_variables variables = {0};
    struct ty_error err;
    (void)state;
    assert_null(ty_variables_get(&variables, "A"));
    for (int i = 0; i < 100; i++)
        assert_int_equal(ty_variables_add(&variables, "A", i == 99 ? "last" : "x", &err), TY_OK);
    assert_string_equal(ty_variables_get(&variables, "A"), "last");
    assert_null(ty_variables_get(&variables, "AB"));
    ty_variables_done(&variables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expansion_follows_kubernetes),
        cmocka_unit_test(the_last_of_a_name_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
