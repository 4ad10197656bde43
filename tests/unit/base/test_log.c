#include "unit.h"

#include "trainyard/base/json.h"
#include "trainyard/base/log.h"
#include "trainyard/base/scope.h"

#include <stdlib.h>

static int64_t fixed_wall(void *context)
{
    (void)context;
    return 1;
}

static const struct ty_clock fixed_clock = {.wall_us = fixed_wall};

struct capture {
    int ends[2];
    struct ty_log log;
    char text[32768];
};

static int set_up(void **state)
{
    struct capture *capture = calloc(1, sizeof(*capture));

    if (!capture || pipe(capture->ends))
        return -1;
    capture->log = (struct ty_log){
        .clock = &fixed_clock, .fd = capture->ends[1], .level = TY_LOG_INFO, .format = "text"};
    *state = capture;
    return 0;
}

static int tear_down(void **state)
{
    struct capture *capture = *state;

    close(capture->ends[0]);
    close(capture->ends[1]);
    free(capture);
    return 0;
}

/* What was written since the last call; a newline is put in so that an empty pipe does not block.
 */
static const char *written(struct capture *capture)
{
    ssize_t got;

    assert_int_equal(write(capture->ends[1], "", 1), 1);
    got = read(capture->ends[0], capture->text, sizeof(capture->text));
    assert_true(got > 0);
    assert_int_equal(capture->text[got - 1], '\0');
    return capture->text;
}

static void a_text_line_has_time_level_event_and_message(void **state)
{
    struct capture *capture = *state;

    ty_log(&capture->log, TY_LOG_WARNING, "disk_low", "%d %% left", 3);
    assert_string_equal(written(capture),
                        "1970-01-01T00:00:00.000001Z warning disk_low: 3 % left\n");
}

static void a_json_line_is_one_object(void **state)
{
    struct capture *capture = *state;

    capture->log.format = "json";
    ty_log(&capture->log, TY_LOG_ERROR, "boom", "it said \"no\" \xff");
    assert_string_equal(written(capture),
                        "{\"time\":\"1970-01-01T00:00:00.000001Z\",\"level\":\"error\",\"event\":"
                        "\"boom\",\"message\":\"it said \\\"no\\\" \xef\xbf\xbd\"}\n");
}

static void lines_below_the_level_and_without_a_log_are_dropped(void **state)
{
    struct capture *capture = *state;
    struct ty_log silent = capture->log;

    ty_log(&capture->log, TY_LOG_DEBUG, "x", "y");
    ty_log(NULL, TY_LOG_ERROR, "x", "y");
    silent.fd = -1;
    ty_log(&silent, TY_LOG_ERROR, "x", "y");
    assert_string_equal(written(capture), "");
    ty_log(&capture->log, TY_LOG_INFO, "x", "y");
    assert_string_not_equal(written(capture), "");
}

static void tokens_and_control_bytes_are_masked(void **state)
{
    static const struct {
        const char *message;
        const char *shown;
    } cases[] = {
        {"ty_u_AbC123xyz",                "ty_u_***"              },
        {"a ty_s_0123 b",                 "a ty_s_*** b"          },
        {"\"ty_a_q\"",                    "\"ty_a_*\""            },
        {"x=ty_j_01,ty_u_zzzz",           "x=ty_j_**,ty_u_***"    },
        {"ty_u_",                         "ty_u_"                 },
        {"ty_x_abc",                      "ty_x_abc"              },
        {"ty_u",                          "ty_u"                  },
        {"ty_",                           "ty_"                   },
        {"party_u_abc",                   "party_u_***"           },
        {"ty_ty_u_abcd",                  "ty_ty_u_***"           },
        {"a\nb\tc\x1b[0m\x7f",            "a?b?c?[0m?"            },
        {"caf\xc3\xa9 \xc2\x9b \xc2\xa0", "caf\xc3\xa9 ? \xc2\xa0"},
        {"",                              ""                      },
    };
    struct capture *capture = *state;

    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        static const char front[] = "1970-01-01T00:00:00.000001Z info    e: ";
        const char *line;

        ty_log(&capture->log, TY_LOG_INFO, "e", "%s", cases[i].message);
        line = written(capture);
        assert_memory_equal(line, front, strlen(front));
        line += strlen(front);
        assert_int_equal(strlen(line), strlen(cases[i].shown) + 1);
        assert_memory_equal(line, cases[i].shown, strlen(cases[i].shown));
    }
}

static void a_token_cut_by_the_limit_is_still_masked(void **state)
{
    struct capture *capture = *state;
    char message[5000];

    memset(message, 'x', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    for (size_t at = 2030; at < 2060; at++) {
        char saved[16];

        memcpy(saved, message + at, 10);
        memcpy(message + at, "ty_u_9QQQQ", 10);
        ty_log(&capture->log, TY_LOG_INFO, "e", "%s", message);
        assert_null(strchr(written(capture), 'Q'));
        memcpy(message + at, saved, 10);
    }
}

static void a_huge_message_is_cut_and_stays_one_json_line(void **state)
{
    struct capture *capture = *state;
    ty_auto_json json = NULL;
    char message[100000];
    const char *line;

    memset(message, '\xff', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    capture->log.format = "json";
    ty_log(&capture->log, TY_LOG_INFO, "e", "%s", message);
    line = written(capture);
    assert_int_equal(line[strlen(line) - 1], '\n');
    assert_int_equal(ty_json_parse(line, strlen(line), &json, NULL), TY_OK);
}

int main(void)
{
#define CAPTURE_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(a_text_line_has_time_level_event_and_message),
        CAPTURE_TEST(a_json_line_is_one_object),
        CAPTURE_TEST(lines_below_the_level_and_without_a_log_are_dropped),
        CAPTURE_TEST(tokens_and_control_bytes_are_masked),
        CAPTURE_TEST(a_token_cut_by_the_limit_is_still_masked),
        CAPTURE_TEST(a_huge_message_is_cut_and_stays_one_json_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
