/* Merge patches (the examples of RFC 7396) and how one object is told to differ from another. */
#include "oom.h"

#include "trainyard/base/json.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <stdio.h>

static json_t *json_of(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

    assert_non_null(value);
    return value;
}

/* RFC 7396 appendix A, as far as target and patch are objects. */
static const struct {
    const char *target;
    const char *patch;
    const char *result;
} merges[] = {
    {"{\"a\":\"b\"}",             "{\"a\":\"c\"}",                    "{\"a\":\"c\"}"            },
    {"{\"a\":\"b\"}",             "{\"b\":\"c\"}",                    "{\"a\":\"b\",\"b\":\"c\"}"},
    {"{\"a\":\"b\"}",             "{\"a\":null}",                     "{}"                       },
    {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}",                     "{\"b\":\"c\"}"            },
    {"{\"a\":[\"b\"]}",           "{\"a\":\"c\"}",                    "{\"a\":\"c\"}"            },
    {"{\"a\":\"c\"}",             "{\"a\":[\"b\"]}",                  "{\"a\":[\"b\"]}"          },
    {"{\"a\":{\"b\":\"c\"}}",     "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"    },
    {"{\"a\":[{\"b\":\"c\"}]}",   "{\"a\":[1]}",                      "{\"a\":[1]}"              },
    {"{\"e\":null}",              "{\"a\":1}",                        "{\"e\":null,\"a\":1}"     },
    {"{}",                        "{\"a\":{\"bb\":{\"ccc\":null}}}",  "{\"a\":{\"bb\":{}}}"      },
    {"{\"a\":1}",                 "{\"a\":{\"b\":2}}",                "{\"a\":{\"b\":2}}"        },
};

static void a_merge_patch_is_applied_as_the_rfc_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(merges); i++) {
        json_t *target = json_of(merges[i].target);
        json_t *patch = json_of(merges[i].patch);
        json_t *before = json_deep_copy(patch);
        json_t *result = json_of(merges[i].result);

        assert_int_equal(ty_json_merge(target, patch, NULL), TY_OK);
        if (!json_equal(target, result))
            print_error("%s with %s\n", merges[i].target, merges[i].patch);
        assert_true(json_equal(target, result));
        assert_true(json_equal(patch, before));
        json_decref(target);
        json_decref(patch);
        json_decref(before);
        json_decref(result);
    }
}

static const struct {
    const char *from;
    const char *to;
    const char *changes;
} differences[] = {
    {"{}",                            "{}",                            "[]"                                              },
    {"{\"a\":1,\"b\":[1]}",           "{\"b\":[1],\"a\":1}",           "[]"                                              },
    {"{\"a\":1}",                     "{\"a\":2}",                     "[{\"pointer\":\"/a\",\"from\":1,\"to\":2}]"      },
    {"{\"a\":1}",                     "{}",                            "[{\"pointer\":\"/a\",\"from\":1}]"               },
    {"{}",                            "{\"a\":null}",                  "[{\"pointer\":\"/a\",\"to\":null}]"              },
    {"{\"e\":{\"a/b\":1,\"c~d\":2}}", "{\"e\":{\"a/b\":2,\"c~d\":3}}",
     "[{\"pointer\":\"/e/a~1b\",\"from\":1,\"to\":2},{\"pointer\":\"/e/"
     "c~0d\",\"from\":2,\"to\":3}]"                                                                                      },
    {"{\"a\":[1,{\"b\":2}]}",         "{\"a\":[1,{\"b\":3}]}",
     "[{\"pointer\":\"/a/1/b\",\"from\":2,\"to\":3}]"                                                                    },
    {"{\"a\":[1]}",                   "{\"a\":[1,2]}",                 "[{\"pointer\":\"/a\",\"from\":[1],\"to\":[1,2]}]"},
    {"{\"a\":{\"b\":1}}",             "{\"a\":\"b\"}",
     "[{\"pointer\":\"/a\",\"from\":{\"b\":1},\"to\":\"b\"}]"                                                            },
};

static void a_difference_is_told_where_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(differences); i++) {
        json_t *from = json_of(differences[i].from);
        json_t *to = json_of(differences[i].to);
        ty_auto_buf out = {0};

        ty_buf_init(&out, 65536);
        assert_int_equal(ty_json_changes(from, to, &out, NULL), TY_OK);
        assert_string_equal(out.data, differences[i].changes);
        json_decref(from);
        json_decref(to);
    }
}

static void a_long_value_is_told_by_its_length(void **state)
{
    char long_text[600];
    json_t *from;
    json_t *to;
    ty_auto_buf out = {0};

    (void)state;
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    from = json_pack("{ss}", "script", "short");
    to = json_pack("{ss}", "script", long_text);
    ty_buf_init(&out, 65536);
    assert_int_equal(ty_json_changes(from, to, &out, NULL), TY_OK);
    assert_string_equal(out.data,
                        "[{\"pointer\":\"/script\",\"from\":\"short\",\"to_bytes\":599}]");
    json_decref(from);
    json_decref(to);
}

static void many_differences_are_told_by_their_members(void **state)
{
    json_t *from = json_pack("{s{}si}", "env", "n", 1);
    json_t *to = json_pack("{s{}si}", "env", "n", 2);
    ty_auto_buf out = {0};

    (void)state;
    for (int i = 0; i < 201; i++) {
        char name[16];

        snprintf(name, sizeof(name), "V%d", i);
        json_object_set_new(json_object_get(to, "env"), name, json_integer(i));
        if (i == 198) { /* with n, 200 in all */
            ty_buf_init(&out, 65536);
            assert_int_equal(ty_json_changes(from, to, &out, NULL), TY_OK);
            assert_non_null(strstr(out.data, "/env/V198"));
            ty_buf_clear(&out);
        }
    }
    assert_int_equal(ty_json_changes(from, to, &out, NULL), TY_OK);
    assert_null(strstr(out.data, "/env/"));
    assert_non_null(strstr(out.data, "{\"pointer\":\"/env\",\"from\":{},\"to_bytes\":"));
    assert_non_null(strstr(out.data, "{\"pointer\":\"/n\",\"from\":1,\"to\":2}"));
    json_decref(from);
    json_decref(to);
}

static void merge_and_tell(void *context)
{
    const json_t *patch = context;
    ty_auto_buf out = {0};
    json_t *before;
    json_t *target;
    struct ty_error err = {0};

    ty_oom_pause();
    before = json_of("{\"a\":{\"b\":1},\"c\":[1,2],\"d\":\"x\"}");
    target = json_deep_copy(before);
    ty_oom_resume();
    ty_buf_init(&out, 65536);
    ty_status status = ty_json_merge(target, patch, &err);

    if (status == TY_OK)
        status = ty_json_changes(before, target, &out, &err);
    ty_oom_expect(status);
    json_decref(target);
    json_decref(before);
}

static void every_allocation_may_fail(void **state)
{
    json_t *patch =
        json_of("{\"a\":{\"b\":2,\"n\":{\"m\":[1]}},\"c\":[1,3],\"d\":null,\"e\":\"y\"}");

    (void)state;
    assert_true(ty_oom_sweep(merge_and_tell, patch) > 10);
    json_decref(patch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_merge_patch_is_applied_as_the_rfc_says),
        cmocka_unit_test(a_difference_is_told_where_it_is),
        cmocka_unit_test(a_long_value_is_told_by_its_length),
        cmocka_unit_test(many_differences_are_told_by_their_members),
        cmocka_unit_test(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
