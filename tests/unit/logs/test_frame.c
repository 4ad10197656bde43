#include "place.h"

#include "trainyard/base/json.h"
#include "trainyard/base/str.h"
#include "trainyard/logs/frame.h"

/* What the framer makes of a text, written as text/end-letter rows: L line, R redraw, C cut, P
 * partial. */
struct expected {
    const char *text;
    char end;
};

static char end_letter(ty_frame_end end)
{
    return "LRCP"[end];
}

static void the_rule_for_endings(void **state)
{
    static const struct {
        const char *bytes;
        ty_frames which;
        struct expected frames[6];
    } cases[] = {
        {"",              TY_FRAMES_FINAL, {{0}}                                              },
        {"a\nb\n",        TY_FRAMES_ENDED, {{"a", 'L'}, {"b", 'L'}}                           },
        {"a\nb",          TY_FRAMES_ENDED, {{"a", 'L'}}                                       },
        {"a\nb",          TY_FRAMES_OPEN,  {{"a", 'L'}, {"b", 'P'}}                           },
        {"a\nb",          TY_FRAMES_FINAL, {{"a", 'L'}, {"b", 'P'}}                           },
        {"a\r\nb\r\n",    TY_FRAMES_ENDED, {{"a", 'L'}, {"b", 'L'}}                           },
        {"1%\r2%\rx\n",   TY_FRAMES_ENDED, {{"1%", 'R'}, {"2%", 'R'}, {"x", 'L'}}             },
        {"\r1%\r2%\nend", TY_FRAMES_FINAL, {{"", 'R'}, {"1%", 'R'}, {"2%", 'L'}, {"end", 'P'}}},
        {"a\r\r\nb",      TY_FRAMES_FINAL, {{"a", 'R'}, {"", 'L'}, {"b", 'P'}}                },
        {"a\r",           TY_FRAMES_ENDED, {{0}}                                              },
        {"a\r",           TY_FRAMES_OPEN,  {{"a", 'P'}}                                       }, /* "\r" kept back */
        {"\r",            TY_FRAMES_OPEN,  {{0}}                                              },
        {"a\r",           TY_FRAMES_FINAL, {{"a", 'R'}}                                       },
        {"\r",            TY_FRAMES_FINAL, {{"", 'R'}}                                        },
        {"\n\n",          TY_FRAMES_ENDED, {{"", 'L'}, {"", 'L'}}                             },
        {"\xC3\xA9\xC3",  TY_FRAMES_OPEN,  {{"\xC3\xA9", 'P'}}                                },
        {"\xC3",          TY_FRAMES_OPEN,  {{0}}                                              },
        {"\xF0\x9F\x98",  TY_FRAMES_OPEN,  {{0}}                                              },
        {"\xC3",          TY_FRAMES_FINAL, {{"\xC3", 'P'}}                                    },
        {"\xC3\r",        TY_FRAMES_OPEN,  {{0}}                                              }, /* both kept back */
        {"\xC3\n",        TY_FRAMES_ENDED, {{"\xC3", 'L'}}                                    },
        {"ok\x80\xFF",    TY_FRAMES_OPEN,  {{"ok\x80\xFF", 'P'}}                              },
    };
    (void)state;
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        const char *chunk = cases[at].bytes;
        size_t len = strlen(chunk);
        int64_t offset = 1000;
        const struct expected *expected = cases[at].frames;
        struct ty_frame frame;
        while (ty_frame_next(chunk, len, offset, cases[at].which, &frame)) {
            const char *text = expected->text ? expected->text : "no further frame";
            assert_int_equal(frame.len, strlen(text));
            assert_memory_equal(frame.bytes, text, frame.len);
            assert_int_equal(end_letter(frame.end), expected->end);
            assert_int_equal(frame.offset, offset);
            assert_ptr_equal(frame.bytes, chunk);
            size_t used = (size_t)(frame.next - frame.offset);
            assert_in_range(used, 1, len);
            chunk += used;
            len -= used;
            offset = frame.next;
            expected++;
        }
        assert_null(expected->text);
    }
}

static void without_a_frame_the_output_is_untouched(void **state)
{
    (void)state;
    struct ty_frame frame = {.offset = 77, .next = 78};
    assert_false(ty_frame_next("abc", 3, 0, TY_FRAMES_ENDED, &frame));
    assert_false(ty_frame_next(NULL, 0, 0, TY_FRAMES_FINAL, &frame));
    assert_int_equal(frame.offset, 77);
    assert_int_equal(frame.next, 78);
}

static void a_long_line_is_cut_at_the_bound_and_between_characters(void **state)
{
    static const struct {
        const char *around; /* bytes that begin 2 before the bound */
        int move;
    } cases[] = {
        {"xxxx",             0 },
        {"\xC3\xA9xx",       0 }, /* ends at the bound */
        {"x\xC3\xA9x",       -1}, /* straddles it */
        {"\xE2\x82\xACx",    -2},
        {"\x80\x80\x80\x80", 0 }, /* stray continuations belong to nothing */
        {"\xF0\x9F\x98\x80", -2},
        {"\xC3\x80\x80\x80", 0 },
    };
    (void)state;
    char *chunk = malloc(2 * TY_FRAME_MAX);
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        struct ty_frame frame;
        memset(chunk, 'x', 2 * TY_FRAME_MAX);
        memcpy(chunk + TY_FRAME_MAX - 2, cases[at].around, 4);
        assert_false(ty_frame_next(chunk, TY_FRAME_MAX, 5, TY_FRAMES_ENDED, &frame));
        assert_true(ty_frame_next(chunk, TY_FRAME_MAX + 1, 5, TY_FRAMES_ENDED, &frame));
        assert_int_equal(frame.end, TY_FRAME_CUT);
        assert_int_equal((int64_t)frame.len, TY_FRAME_MAX + cases[at].move);
        assert_int_equal(frame.next, 5 + (int64_t)frame.len);
        struct ty_frame same;
        assert_true(ty_frame_next(chunk, 2 * TY_FRAME_MAX, 5, TY_FRAMES_FINAL, &same));
        assert_int_equal(same.next, frame.next);
    }
    /* exactly the bound, with each ending, is no cut */
    memset(chunk, 'x', 2 * TY_FRAME_MAX);
    struct ty_frame frame;
    chunk[TY_FRAME_MAX] = '\n';
    assert_true(ty_frame_next(chunk, TY_FRAME_MAX + 1, 0, TY_FRAMES_ENDED, &frame));
    assert_int_equal(frame.end, TY_FRAME_LINE);
    assert_int_equal(frame.len, TY_FRAME_MAX);
    memcpy(chunk + TY_FRAME_MAX, "\r\n", 2);
    assert_true(ty_frame_next(chunk, TY_FRAME_CHUNK, 0, TY_FRAMES_ENDED, &frame));
    assert_int_equal(frame.end, TY_FRAME_LINE);
    assert_int_equal(frame.next, TY_FRAME_CHUNK);
    free(chunk);
}

/* --- properties, over bytes made to hit the rules --- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

static size_t make_bytes(uint32_t *seed, char *bytes, size_t max)
{
    static const char *const pieces[] = {"\n",
                                         "\r",
                                         "\r\n",
                                         "x",
                                         "text ",
                                         "\xC3\xA9",
                                         "\xE2\x82\xAC",
                                         "\xC3",
                                         "\xF0\x9F",
                                         "\x80",
                                         "\xF0\x9F\x98\x80",
                                         "\xFF",
                                         "\xED\xA0\x80",
                                         "\xE0\x80"};
    size_t len = 0;
    while (len + 8 < max) {
        if (next_random(seed) % 400 == 0 && len + 70000 < max) { /* a huge line */
            memset(bytes + len, next_random(seed) % 2 ? 'y' : (char)0xA9, 70000);
            len += 70000;
        }
        const char *piece = pieces[next_random(seed) % UNIT_COUNT(pieces)];
        memcpy(bytes + len, piece, strlen(piece));
        len += strlen(piece);
    }
    return len;
}

/* A log that grows by `step` bytes at a time and a follower that reads chunks of at most
 * TY_FRAME_CHUNK bytes and now and then asks for what is open. Appends each frame's repaired text
 * and ending to `out`. */
static size_t follow(const char *bytes, size_t len, uint32_t seed, bool open, struct ty_buf *out)
{
    size_t known = 0;
    size_t at = 0;
    size_t frames = 0;
    char *repaired = malloc(3 * TY_FRAME_MAX);
    while (at < len) {
        known += 1 + next_random(&seed) % 5000;
        known = known < len ? known : len;
        ty_frames which = known == len ? TY_FRAMES_FINAL : TY_FRAMES_ENDED;
        if (open && known < len && next_random(&seed) % 2)
            which = TY_FRAMES_OPEN;
        for (;;) {
            size_t have = known - at < TY_FRAME_CHUNK ? known - at : TY_FRAME_CHUNK;
            struct ty_frame frame;
            ty_frames ask = at + have < known && which != TY_FRAMES_ENDED ? TY_FRAMES_ENDED : which;
            if (!ty_frame_next(bytes + at, have, (int64_t)at, ask, &frame))
                break;
            size_t used;
            assert_int_equal(frame.offset, at);
            assert_true(frame.len <= TY_FRAME_MAX);
            size_t text = ty_utf8_repair(frame.bytes, frame.len, true, repaired, &used);
            ty_buf_add(out, repaired, text);
            ty_buf_add(out, bytes + at + frame.len,
                       (size_t)(frame.next - frame.offset) - frame.len);
            at = (size_t)frame.next;
            frames++;
        }
    }
    free(repaired);
    assert_int_equal(at, len);
    return frames;
}

static void frames_put_together_are_the_repaired_bytes_for_any_chunks(void **state)
{
    enum { SIZE = 400000 };
    (void)state;
    char *bytes = malloc(SIZE);
    char *repaired = malloc(3 * SIZE);
    for (uint32_t seed = 1; seed <= 12; seed++) {
        uint32_t random = seed;
        size_t used;
        size_t len = make_bytes(&random, bytes, SIZE);
        size_t expected = ty_utf8_repair(bytes, len, true, repaired, &used);
        size_t frames = 0;
        for (uint32_t chunks = 0; chunks < 6; chunks++) {
            ty_auto_buf out = {0};
            ty_buf_init(&out, 3 * SIZE);
            size_t count = follow(bytes, len, seed * 100 + chunks, chunks >= 3, &out);
            assert_int_equal(out.failed, TY_OK);
            assert_int_equal(out.len, expected);
            assert_memory_equal(out.data, repaired, expected);
            if (chunks > 0 && chunks < 3) /* asked for ended frames only, all see the same ones */
                assert_int_equal(count, frames);
            frames = chunks == 0 ? count : frames;
        }
    }
    free(repaired);
    free(bytes);
}

static void a_frame_is_one_line_of_json_and_one_event(void **state)
{
    static const char bytes[] = "ok \"q\" \x80\xFF\0\x1b[1m\xC3\xA9 after";
    static const char json[] =
        "{\"offset\":10,\"replica\":\"worker-0\",\"line\":\"ok \\\"q\\\" "
        "\xEF\xBF\xBD\xEF\xBF\xBD\\u0000\\u001b[1m\xC3\xA9 after\",\"end\":\"line\"}";
    const struct ty_frame frame = {
        .offset = 10, .next = 40, .end = TY_FRAME_LINE, .bytes = bytes, .len = sizeof(bytes) - 1};
    (void)state;
    ty_auto_buf out = {0};
    ty_buf_init(&out, 10000);
    ty_frame_json(&frame, "worker-0", &out);
    assert_int_equal(out.failed, TY_OK);
    assert_string_equal(out.data, json);
    json_t *parsed = json_loadb(out.data, out.len, JSON_ALLOW_NUL, NULL);
    assert_non_null(parsed);
    json_decref(parsed);

    ty_buf_clear(&out);
    ty_frame_event(&frame, "worker-0", &out);
    ty_auto_buf expected = {0};
    ty_buf_init(&expected, 10000);
    ty_buf_addf(&expected, "id: 40\ndata: %s\n\n", json);
    assert_string_equal(out.data, expected.data);
}

static void the_worst_frame_fits_the_stated_size(void **state)
{
    (void)state;
    char *bytes = calloc(1, TY_FRAME_MAX);
    const struct ty_frame frame = {
        .next = TY_FRAME_MAX, .end = TY_FRAME_CUT, .bytes = bytes, .len = TY_FRAME_MAX};
    ty_auto_buf out = {0};
    ty_buf_init(&out, 6 * TY_FRAME_MAX + 256);
    ty_frame_event(&frame, "a123456789-a123456789-a123456789-a123456789-a123456789-a12345678",
                   &out);
    assert_int_equal(out.failed, TY_OK);
    memset(bytes, 0xFF, TY_FRAME_MAX);
    ty_buf_clear(&out);
    ty_frame_event(&frame, "a", &out);
    assert_int_equal(out.failed, TY_OK);
    free(bytes);
}

static void an_event_id_is_a_plain_offset(void **state)
{
    static const char *const bad[] = {
        "", "-1", "1.5", "abc", " 1", "1 ", "01", "+1", "9007199254740993", "99999999999999999999"};
    int64_t offset = -7;
    (void)state;
    for (size_t at = 0; at < UNIT_COUNT(bad); at++)
        assert_int_equal(ty_frame_id_parse(bad[at], &offset), TY_INVALID);
    assert_int_equal(offset, -7);
    assert_int_equal(ty_frame_id_parse("9007199254740992", &offset), TY_OK);
    assert_int_equal(offset, 9007199254740992);
    assert_int_equal(ty_frame_id_parse("0", &offset), TY_OK);
    assert_int_equal(offset, 0);
}

static void ends_have_names(void **state)
{
    (void)state;
    assert_string_equal(ty_frame_end_name(TY_FRAME_LINE), "line");
    assert_string_equal(ty_frame_end_name(TY_FRAME_REDRAW), "redraw");
    assert_string_equal(ty_frame_end_name(TY_FRAME_CUT), "cut");
    assert_string_equal(ty_frame_end_name(TY_FRAME_PARTIAL), "partial");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_for_endings),
        cmocka_unit_test(without_a_frame_the_output_is_untouched),
        cmocka_unit_test(a_long_line_is_cut_at_the_bound_and_between_characters),
        cmocka_unit_test(frames_put_together_are_the_repaired_bytes_for_any_chunks),
        cmocka_unit_test(a_frame_is_one_line_of_json_and_one_event),
        cmocka_unit_test(the_worst_frame_fits_the_stated_size),
        cmocka_unit_test(an_event_id_is_a_plain_offset),
        cmocka_unit_test(ends_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
