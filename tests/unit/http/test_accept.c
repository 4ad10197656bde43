#include "unit.h"

#include "http/fields.h"
#include "http/media.h"
#include "trainyard/http/accept.h"

static const char *const offers[] = {"application/json", "application/yaml", "text/plain", NULL};

static void the_offer_liked_best_is_chosen(void **state)
{
    static const struct {
        const char *value;
        int chosen;
    } cases[] = {
        {NULL,                                             0 },
        {"",                                               0 },
        {"*/*",                                            0 },
        {"text/plain",                                     2 },
        {"text/*",                                         2 },
        {"application/*",                                  0 },
        {"application/yaml, application/json",             0 },
        {"application/yaml;q=0.9, application/json;q=0.8", 1 },
        {"application/json;q=0, */*",                      1 },
        {"application/*;q=0, */*;q=0.1",                   2 },
        {"*/*;q=0.9, application/json;q=0.1",              1 },
        {"text/plain;q=0.001",                             2 },
        {"text/plain;q=0",                                 -1},
        {"text/html",                                      -1},
        {"text/html, image/*",                             -1},
        {"application/jsonx",                              -1},
        {"*/json",                                         -1},
        {"garbage",                                        0 },
        {",,,",                                            0 },
        {"text/plain;q=1.5",                               0 }, /* cannot be read */
        {"text/plain;q=1.5, application/yaml",             1 },
        {"text/plain; format=\"a,b\"; q=0.5",              2 },
        {"text/plain ; q=0.5 , application/yaml ; q=0.6",  1 },
        {"APPLICATION/YAML",                               1 },
        {"text/plain;level=1;q=0.2, text/plain;q=0.9",     2 },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        if (ty_accept_choose(cases[i].value, offers) != cases[i].chosen)
            fail_msg("%s", cases[i].value ? cases[i].value : "NULL");
    }
}

static void gzip_is_used_when_allowed_and_not_liked_less(void **state)
{
    static const struct {
        const char *value;
        bool gzip;
    } cases[] = {
        {NULL,                         false},
        {"",                           false},
        {"gzip",                       true },
        {"x-gzip",                     true },
        {"GZip",                       true },
        {"*",                          true },
        {"deflate, gzip;q=0.1",        true },
        {"gzip;q=0",                   false},
        {"gzip;q=0.000",               false},
        {"*;q=0",                      false},
        {"gzip;q=0, *",                false},
        {"gzip, *;q=0",                true },
        {"gzip;q=0.5, identity",       false},
        {"gzip;q=0.5, identity;q=0.5", true },
        {"identity",                   false},
        {"gzip;q=2",                   false},
        {"gzip;q=0.1234",              false},
        {"gzipped",                    false},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        if (ty_accept_gzip(cases[i].value) != cases[i].gzip)
            fail_msg("%s", cases[i].value ? cases[i].value : "NULL");
}

static void qualities_have_three_decimals_at_most(void **state)
{
    static const struct {
        const char *rest;
        int quality;
    } cases[] = {
        {"",           1000},
        {";q=1",       1000},
        {";q=1.000",   1000},
        {";q=0",       0   },
        {";q=0.5",     500 },
        {";q=0.05",    50  },
        {";q=0.005",   5   },
        {";Q=0.3",     300 },
        {"; q = 0.3",  300 },
        {";a=b;q=0.2", 200 },
        {";q=1.001",   -1  },
        {";q=.5",      -1  },
        {";q=0,5",     -1  },
        {";q=",        -1  },
        {";q=-1",      -1  },
        {";q=0.0005",  -1  },
        {";q=1.",      1000},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        assert_int_equal(ty_slice_quality((struct ty_slice){cases[i].rest, strlen(cases[i].rest)}),
                         cases[i].quality);
}

static void every_byte_is_in_the_classes_its_grammar_says(void **state)
{
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    (void)state;
    for (int c = 0; c < 256; c++) {
        bool letter = c && strchr(letters, c);
        bool token = letter || (c && strchr("!#$%&'*+-.^_`|~", c));
        bool target = letter || (c && strchr("-._~%!$&'()*+,;=:@/?[]", c));
        bool host = letter || (c && strchr("-._~%!$&'()*+;=", c));

        assert_int_equal(!!(ty_byte_classes[c] & TY_BYTE_TOKEN), token);
        assert_int_equal(!!(ty_byte_classes[c] & TY_BYTE_TARGET), target);
        assert_int_equal(!!(ty_byte_classes[c] & TY_BYTE_HOST), host);
    }
}

static void lists_split_at_commas_outside_of_quotes(void **state)
{
    static const char *const expected[] = {"a", "b c", "\"d, \\\" e\";f", "g"};
    const char *cursor = " a,b c,, \"d, \\\" e\";f ,\tg ,";
    struct ty_slice element;
    size_t count = 0;

    (void)state;
    while (ty_list_next(&cursor, &element)) {
        assert_int_equal(element.len, strlen(expected[count]));
        assert_memory_equal(element.data, expected[count], element.len);
        count++;
    }
    assert_int_equal(count, UNIT_COUNT(expected));
    assert_true(ty_list_has("keep-alive, Close", "close"));
    assert_false(ty_list_has("keep-alive, closed", "close"));
}

static void a_content_type_names_one_of_the_types_read(void **state)
{
    static const struct {
        const char *value;
        const char *type;
    } cases[] = {
        {"application/json",                     "application/json"},
        {"APPLICATION/JSON",                     "application/json"},
        {"application/json;charset=UTF-8",       "application/json"},
        {"application/json ; charset=\"utf-8\"", "application/json"},
        {"application/json;charset=us-ascii",    "application/json"},
        {"application/json;charset=utf-16",      NULL              },
        {"application/json;charset=",            NULL              },
        {"application/json2",                    NULL              },
        {"json",                                 NULL              },
        {"",                                     NULL              },
        {"text/plain;a=b",                       "text/plain"      },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        const char *type = ty_media_match(cases[i].value, offers);

        if (cases[i].type)
            assert_string_equal(type, cases[i].type);
        else
            assert_null(type);
    }
}

static void events_files_and_images_are_not_compressed(void **state)
{
    static const char *const yes[] = {"application/json",         "application/problem+json",
                                      "text/html; charset=utf-8", "text/plain",
                                      "application/yaml",         "image/svg+xml"};
    static const char *const no[] = {"text/event-stream", "application/octet-stream", "image/png",
                                     "application/gzip", "application/jsonx"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(yes); i++)
        assert_true(ty_media_compressible(yes[i]));
    for (size_t i = 0; i < UNIT_COUNT(no); i++)
        assert_false(ty_media_compressible(no[i]));
}

static void only_visible_text_may_be_sent_in_a_field(void **state)
{
    (void)state;
    assert_true(ty_field_value_sendable("a \t~"));
    assert_true(ty_field_value_sendable(""));
    assert_false(ty_field_value_sendable("a\r\nb"));
    assert_false(ty_field_value_sendable("a\nb"));
    assert_false(ty_field_value_sendable("\x7f"));
    assert_false(ty_field_value_sendable("\xc3\xa9"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_offer_liked_best_is_chosen),
        cmocka_unit_test(gzip_is_used_when_allowed_and_not_liked_less),
        cmocka_unit_test(qualities_have_three_decimals_at_most),
        cmocka_unit_test(every_byte_is_in_the_classes_its_grammar_says),
        cmocka_unit_test(lists_split_at_commas_outside_of_quotes),
        cmocka_unit_test(a_content_type_names_one_of_the_types_read),
        cmocka_unit_test(events_files_and_images_are_not_compressed),
        cmocka_unit_test(only_visible_text_may_be_sent_in_a_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
