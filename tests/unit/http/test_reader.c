#include "unit.h"

#include "http/reader.h"
#include "trainyard/base/buf.h"

#include <stdio.h>
#include <stdlib.h>

static const struct ty_reader_limits limits = {
    .head_bytes = 2048, .target_bytes = 200, .fields = 10, .requests = 4};

#define HOST "Host: h\r\n"

/* Feed `len` bytes in pieces of `step`, each in a buffer of its own with the reserve in front, as
 * the connection does. What the library would see is appended to `out`. */
static void feed(struct ty_reader *reader, const char *bytes, size_t len, size_t step,
                 struct ty_buf *out)
{
    for (size_t at = 0; at < len; at += step) {
        size_t take = len - at < step ? len - at : step;
        char *room = malloc(TY_READER_RESERVE + take);
        size_t got;

        assert_non_null(room);
        memcpy(room + TY_READER_RESERVE, bytes + at, take);
        got = ty_reader_feed(reader, room + TY_READER_RESERVE, take, room);
        assert_true(got <= TY_READER_RESERVE + take);
        ty_buf_add(out, room, got);
        free(room);
    }
}

static void messages_come_out_in_normal_form_however_they_are_cut(void **state)
{
    static const struct {
        const char *in;
        const char *out;
    } cases[] = {
        {"GET /a HTTP/1.1\r\n" HOST "\r\n",                                                        "G / HTTP/1.1\r\nHost:h\r\n\r\n"          },
        {"HEAD /a HTTP/1.1\r\n" HOST "Accept: x\r\n\r\n",                                          "HEAD / HTTP/1.1\r\nHost:h\r\n\r\n"       },
        {"\r\nGET /a HTTP/1.1\r\n" HOST "\r\n",                                                    "G / HTTP/1.1\r\nHost:h\r\n\r\n"          },
        {"GET /a HTTP/1.0\r\n\r\n",                                                                "G / HTTP/1.0\r\nConnection:close\r\n\r\n"},
        {"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
         "G / HTTP/1.0\r\nConnection:keep-alive\r\n\r\n"                                                                                     },
        {"GET /a HTTP/1.1\r\n" HOST "Connection: x, close\r\n\r\nGET /b HTTP/1.1\r\n" HOST "\r\n",
         "G / HTTP/1.1\r\nHost:h\r\nConnection:close\r\n\r\n"                                                                                },
        {"POST /a HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello",
         "G / HTTP/1.1\r\nHost:h\r\nContent-Length:5\r\n\r\nhello"                                                                           },
        {"POST /a HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\nGET /b HTTP/1.1\r\n" HOST "\r\n",
         "G / HTTP/1.1\r\nHost:h\r\n\r\nG / HTTP/1.1\r\nHost:h\r\n\r\n"                                                                      },
        {"POST /a HTTP/1.1\r\n" HOST "Content-Length: 2\r\nExpect: 100-Continue\r\n\r\n{}",
         "G / HTTP/1.1\r\nHost:h\r\nContent-Length:2\r\nExpect:100-continue\r\n\r\n{}"                                                       },
        {"POST /a HTTP/1.1\r\n" HOST
         "Transfer-Encoding: Chunked\r\n\r\n3;x=\"y\"\r\nabc\r\n0;z\r\nT: u\r\nV:\r\n\r\nGET /b "
         "HTTP/1.1\r\n" HOST "\r\n",
         "G / HTTP/1.1\r\nHost:h\r\nTransfer-Encoding:chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nG / "
         "HTTP/1.1\r\nHost:h\r\n\r\n"                                                                                                        },
        {"GET /a HTTP/1.1\r\n" HOST
         "Cookie: a=b; c=d\r\nTransfer-Coding: x\r\nContent_Length: 7\r\n\r\n",           "G / HTTP/1.1\r\nHost:h\r\n\r\n"          },
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        size_t len = strlen(cases[i].in);

        for (size_t step = 1; step <= len; step++) {
            struct ty_reader reader;
            ty_auto_buf out = {0};

            ty_buf_init(&out, 10000);
            ty_reader_init(&reader, &limits);
            feed(&reader, cases[i].in, len, step, &out);
            assert_null(reader.fault.code);
            assert_string_equal(out.data, cases[i].out);
            ty_reader_done(&reader);
        }
    }
}

static void what_breaks_a_rule_stops_the_reader_behind_the_last_good_message(void **state)
{
    static const char good[] = "GET /good HTTP/1.1\r\n" HOST "\r\n";
    static const struct {
        const char *in;
        const char *code;
        const char *passed; /* of the broken message itself */
    } cases[] = {
        {"GET /a HTTP/1.1\n",                                                          "bad_request_line",      ""},
        {"GET /a HTTP/1.1\r\nA b: c\r\n\r\n",                                          "bad_header",            ""},
        {"GET /a HTTP/1.1\r\n\r\n",                                                    "bad_host",              ""},
        {"GET /a HTTP/2.0\r\n" HOST "\r\n",                                            "version_not_supported", ""},
        {"GET /a HTTP/1.1\r\n" HOST "A: b\r\n c\r\n\r\n",                              "bad_header",            ""},
        {"GET /\xff HTTP/1.1\r\n" HOST "\r\n",                                         "bad_target",            ""},
        {"POST /a HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", "bad_header",
         ""                                                                                                       },
        {"POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd",    "bad_chunk",
         "G / HTTP/1.1\r\nHost:h\r\nTransfer-Encoding:chunked\r\n\r\n3\r\nabc"                                    },
        {"POST /a HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n3\n",          "bad_chunk",
         "G / HTTP/1.1\r\nHost:h\r\nTransfer-Encoding:chunked\r\n\r\n3"                                           },
        {"\r\n\r\nGET /a HTTP/1.1\r\n" HOST "\r\n",                                    "bad_request_line",      ""},
        {"\rGET /a HTTP/1.1\r\n" HOST "\r\n",                                          "bad_request_line",      ""},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++)
        for (int after_good = 0; after_good < 2; after_good++) {
            char bytes[512];
            char expected[512];
            size_t len;

            snprintf(bytes, sizeof bytes, "%s%s", after_good ? good : "", cases[i].in);
            snprintf(expected, sizeof expected, "%s%s",
                     after_good ? "G / HTTP/1.1\r\nHost:h\r\n\r\n" : "", cases[i].passed);
            len = strlen(bytes);
            for (size_t step = 1; step <= len; step++) {
                struct ty_reader reader;
                ty_auto_buf out = {0};

                ty_buf_init(&out, 10000);
                ty_buf_adds(&out, "");
                ty_reader_init(&reader, &limits);
                feed(&reader, bytes, len, step, &out);
                assert_int_equal(reader.phase, TY_READ_FAULT);
                assert_string_equal(reader.fault.code, cases[i].code);
                assert_string_equal(out.data, expected);
                feed(&reader, good, strlen(good), 7, &out);
                assert_string_equal(out.data, expected); /* nothing more */
                ty_reader_done(&reader);
            }
        }
}

static void heads_are_kept_in_order_with_all_they_said(void **state)
{
    static const char bytes[] =
        "PUT /a?b HTTP/1.1\r\n" HOST "X-One:  1 \r\nx-two:\r\n\r\n"
        "HEAD /c HTTP/1.1\r\n" HOST "Accept: a\r\nACCEPT: b\r\nExpect: else\r\n\r\n"
        "BREW /d HTTP/1.1\r\n" HOST "\r\n";
    struct ty_reader reader;
    struct ty_head *head;
    ty_auto_buf out = {0};

    (void)state;
    ty_buf_init(&out, 10000);
    ty_reader_init(&reader, &limits);
    assert_null(ty_reader_take(&reader));
    feed(&reader, bytes, strlen(bytes), strlen(bytes), &out);

    head = ty_reader_take(&reader);
    assert_int_equal(head->method, TY_METHOD_PUT);
    assert_string_equal(head->target, "/a?b");
    assert_int_equal(head->field_count, 3);
    assert_string_equal(head->fields[1].name, "X-One");
    assert_string_equal(head->fields[1].value, "1");
    assert_string_equal(head->fields[2].value, "");
    assert_string_equal(head->known[TY_FIELD_HOST], "h");
    ty_reader_give(&reader, head);

    head = ty_reader_take(&reader);
    assert_int_equal(head->method, TY_METHOD_HEAD);
    assert_string_equal(head->known[TY_FIELD_ACCEPT], "a");
    assert_true(head->repeated & (1u << TY_FIELD_ACCEPT));
    assert_true(head->expect_unknown && !head->expect_continue);
    ty_reader_give(&reader, head);

    head = ty_reader_take(&reader);
    assert_int_equal(head->method, TY_METHOD_COUNT);
    ty_reader_give(&reader, head);
    assert_null(ty_reader_take(&reader));
    ty_reader_done(&reader);
}

static void a_head_given_back_keeps_nothing_of_the_last(void **state)
{
    static const char first[] =
        "POST /a HTTP/1.1\r\n" HOST "Origin: o\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    static const char second[] = "GET /b HTTP/1.1\r\nHost: i\r\n\r\n";
    struct ty_reader reader;
    struct ty_head *head;
    struct ty_head *again;
    ty_auto_buf out = {0};

    (void)state;
    ty_buf_init(&out, 10000);
    ty_reader_init(&reader, &limits);
    feed(&reader, first, strlen(first), 10, &out);
    head = ty_reader_take(&reader);
    ty_reader_give(&reader, head);
    feed(&reader, second, strlen(second), 10, &out);
    again = ty_reader_take(&reader);
    assert_ptr_equal(again, head);
    assert_null(again->known[TY_FIELD_ORIGIN]);
    assert_false(again->chunked);
    assert_string_equal(again->known[TY_FIELD_HOST], "i");
    assert_int_equal(again->field_count, 1);
    ty_head_destroy(again);
    ty_reader_done(&reader);
}

static void the_limits_are_exact(void **state)
{
    char bytes[4096];
    static const struct {
        int target;  /* bytes */
        int fields;  /* one-letter fields beside Host */
        int padding; /* bytes in one more field, 0: none */
        const char *code;
    } cases[] = {
        {200, 0,  0,    NULL               },
        {250, 0,  0,    "target_too_long"  },
        {1,   9,  0,    NULL               },
        {1,   10, 0,    "headers_too_large"},
        {1,   0,  2000, NULL               },
        {1,   0,  2048, "headers_too_large"},
    };

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        struct ty_reader reader;
        ty_auto_buf out = {0};
        size_t len = (size_t)snprintf(bytes, sizeof bytes, "GET /%0*d HTTP/1.1\r\n" HOST,
                                      cases[i].target - 1, 0);

        for (int field = 0; field < cases[i].fields; field++)
            len += (size_t)snprintf(bytes + len, sizeof bytes - len, "A: b\r\n");
        if (cases[i].padding)
            len += (size_t)snprintf(bytes + len, sizeof bytes - len, "P: %0*d\r\n",
                                    cases[i].padding, 0);
        len += (size_t)snprintf(bytes + len, sizeof bytes - len, "\r\n");
        ty_buf_init(&out, 10000);
        ty_reader_init(&reader, &limits);
        feed(&reader, bytes, len, 100, &out);
        if (cases[i].code)
            assert_string_equal(reader.fault.code, cases[i].code);
        else
            assert_null(reader.fault.code);
        ty_reader_done(&reader);
    }
}

static void the_last_request_of_a_connection_is_told_to_be(void **state)
{
    static const char one[] = "GET /a HTTP/1.1\r\n" HOST "\r\n";
    struct ty_reader reader;
    ty_auto_buf out = {0};

    (void)state;
    ty_buf_init(&out, 10000);
    ty_reader_init(&reader, &limits);
    for (int i = 0; i < 6; i++)
        feed(&reader, one, strlen(one), 9, &out);
    assert_string_equal(out.data, "G / HTTP/1.1\r\nHost:h\r\n\r\nG / HTTP/1.1\r\nHost:h\r\n\r\nG / "
                                  "HTTP/1.1\r\nHost:h\r\n\r\nG / "
                                  "HTTP/1.1\r\nHost:h\r\nConnection:close\r\n\r\n");
    assert_int_equal(reader.phase, TY_READ_DONE);
    ty_reader_done(&reader);
}

static void hosts_are_judged(void **state)
{
    static const char *const good[] = {"h",     "h:80",     "h:",    "a.b-c_d~", "127.0.0.1:8080",
                                       "[::1]", "[::1]:80", "a%20b", "h:65535"};
    static const char *const bad[] = {"",     ":80",     "a b",      "a,b",   "a/b", "a@b",
                                      "a?b",  "a#b",     "a\\b",     "[::1",  "[]",  "[g]",
                                      "h:8a", "h:80:80", "h:123456", "[::1]x"};

    (void)state;
    for (size_t i = 0; i < UNIT_COUNT(good); i++)
        assert_true(ty_host_valid(good[i]));
    for (size_t i = 0; i < UNIT_COUNT(bad); i++)
        assert_false(ty_host_valid(bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_out_in_normal_form_however_they_are_cut),
        cmocka_unit_test(what_breaks_a_rule_stops_the_reader_behind_the_last_good_message),
        cmocka_unit_test(heads_are_kept_in_order_with_all_they_said),
        cmocka_unit_test(a_head_given_back_keeps_nothing_of_the_last),
        cmocka_unit_test(the_limits_are_exact),
        cmocka_unit_test(the_last_request_of_a_connection_is_told_to_be),
        cmocka_unit_test(hosts_are_judged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
