#include "place.h"

#include "logs/index.h"
#include "trainyard/base/digest.h"

static const struct index_record samples[] = {
    {.kind = INDEX_ATTEMPT, .attempt = 1, .offset = 0,               .wall_us = 1000                   },
    {.kind = INDEX_TIME,    .attempt = 1, .offset = 100,             .wall_us = -5                     },
    {.kind = INDEX_GAP,     .attempt = 2, .offset = 1L << 50,        .wall_us = 7,                       .amount = 9},
    {.kind = INDEX_SEAL,                     .attempt = INT32_MAX,                .offset = INT64_MAX, .wall_us = INT64_MAX},
    {.kind = INDEX_HOLE,                     .attempt = 3,                .offset = 5,         .amount = UINT32_MAX                },
};

static void assert_record(const struct index_record *a, const struct index_record *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->attempt, b->attempt);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->wall_us, b->wall_us);
    assert_int_equal(a->amount, b->amount);
}

static void a_record_comes_back_as_it_went(void **state)
{
    (void)state;
    for (size_t at = 0; at < UNIT_COUNT(samples); at++) {
        uint8_t bytes[INDEX_RECORD];
        struct index_record back;
        ty_index_encode(&samples[at], bytes);
        assert_true(ty_index_decode(bytes, &back));
        assert_record(&samples[at], &back);
    }
}

static void the_layout_is_the_documented_one(void **state)
{
    (void)state;
    const struct index_record record = {INDEX_GAP, 0x01020304, 0x1112131415161718,
                                        0x2122232425262728, 0x31323334};
    static const uint8_t expected[28] = {'T',  'L',  3,    1,    0x04, 0x03, 0x02, 0x01, 0x18, 0x17,
                                         0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x28, 0x27, 0x26, 0x25,
                                         0x24, 0x23, 0x22, 0x21, 0x34, 0x33, 0x32, 0x31};
    uint8_t bytes[INDEX_RECORD];
    uint32_t crc = ty_crc32(expected, sizeof(expected));
    ty_index_encode(&record, bytes);
    assert_memory_equal(bytes, expected, sizeof(expected));
    for (int at = 0; at < 4; at++)
        assert_int_equal(bytes[28 + at], (crc >> (8 * at)) & 0xFF);
}

static void every_flipped_bit_is_noticed(void **state)
{
    (void)state;
    for (size_t at = 0; at < INDEX_RECORD * 8; at++) {
        uint8_t bytes[INDEX_RECORD];
        struct index_record back = {.offset = 77};
        ty_index_encode(&samples[2], bytes);
        bytes[at / 8] = (uint8_t)(bytes[at / 8] ^ (1U << (at % 8)));
        assert_false(ty_index_decode(bytes, &back));
        assert_int_equal(back.offset, 77);
    }
}

/* Rows of a file: 'r' a good record, 'x' 32 bad bytes, 't' a torn end of 10 bytes. */
static void counting_stops_at_the_last_record_that_checks(void **state)
{
    static const struct {
        const char *rows;
        int64_t count;
    } cases[] = {
        {"",      0},
        {"t",     0},
        {"x",     0},
        {"r",     1},
        {"rt",    1},
        {"rx",    1},
        {"rrxx",  2},
        {"rxr",   3},
        {"xr",    2},
        {"xxxt",  0},
        {"rxrxt", 3},
    };
    struct place *place = *state;
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        uint8_t bytes[INDEX_RECORD * 8];
        size_t len = 0;
        for (const char *row = cases[at].rows; *row; row++) {
            memset(bytes + len, 'x', INDEX_RECORD);
            if (*row == 'r')
                ty_index_encode(&samples[0], bytes + len);
            len += *row == 't' ? 10 : INDEX_RECORD;
        }
        place_write(place, "i", bytes, len);
        ty_auto_fd fd = openat(place->fd, "i", O_RDONLY);
        struct index_record last = {.attempt = -1};
        int64_t count = -1;
        assert_int_equal(ty_index_last(fd, &count, &last, NULL), TY_OK);
        assert_int_equal(count, cases[at].count);
        assert_int_equal(last.attempt, count > 0 ? samples[0].attempt : 0);
    }
}

static void a_long_bad_end_is_walked_over_in_blocks(void **state)
{
    struct place *place = *state;
    enum { GOOD = 3, BAD = 1000 };
    static uint8_t bytes[INDEX_RECORD * (GOOD + BAD)];
    for (size_t at = 0; at < GOOD; at++)
        ty_index_encode(&samples[0], bytes + at * INDEX_RECORD);
    place_write(place, "i", bytes, sizeof(bytes));
    ty_auto_fd fd = openat(place->fd, "i", O_RDONLY);
    struct index_record last = {.attempt = -1};
    int64_t count = -1;
    assert_int_equal(ty_index_last(fd, &count, &last, NULL), TY_OK);
    assert_int_equal(count, GOOD);
}

/* Attempt k begins at record 10 k; every seventh record is destroyed. */
static void finding_by_attempt_and_offset_steps_over_bad_records(void **state)
{
    struct place *place = *state;
    enum { COUNT = 300 };
    static uint8_t bytes[INDEX_RECORD * COUNT];
    for (int at = 0; at < COUNT; at++) {
        const struct index_record record = {.kind = at % 10 ? INDEX_TIME : INDEX_ATTEMPT,
                                            .attempt = at / 10 + 1,
                                            .offset = at * 100};
        ty_index_encode(&record, bytes + at * INDEX_RECORD);
        if (at % 7 == 3)
            bytes[at * INDEX_RECORD + 9] ^= 0x40;
    }
    place_write(place, "i", bytes, sizeof(bytes));
    ty_auto_fd fd = openat(place->fd, "i", O_RDONLY);
    for (int want = 1; want <= COUNT / 10 + 1; want++) {
        struct index_record record;
        int64_t at = -1;
        assert_int_equal(ty_index_find(fd, COUNT, ty_index_at_attempt, want, &at, NULL), TY_OK);
        if (want > COUNT / 10) {
            assert_int_equal(ty_index_get(fd, at, COUNT, &record, &at, NULL), TY_NOT_FOUND);
            continue;
        }
        assert_int_equal(ty_index_get(fd, at, COUNT, &record, &at, NULL), TY_OK);
        int first = (want - 1) * 10;
        assert_int_equal(at, first % 7 == 3 ? first + 1 : first);
        assert_int_equal(record.attempt, want);
    }
    for (int offset = 0; offset <= COUNT * 100; offset += 50) {
        struct index_record record = {.offset = -1};
        int64_t at = -1;
        assert_int_equal(ty_index_find(fd, COUNT, ty_index_at_offset, offset, &at, NULL), TY_OK);
        int first = (offset + 99) / 100;
        first += first % 7 == 3 ? 1 : 0;
        if (ty_index_get(fd, at, COUNT, &record, &at, NULL) == TY_OK)
            assert_int_equal(at, first);
        else
            assert_true(first >= COUNT);
    }
}

static bool count_until_five(const struct index_record *record, void *context)
{
    int *seen = context;
    (void)record;
    return ++*seen < 5;
}

static void each_visits_good_records_until_told_to_stop(void **state)
{
    struct place *place = *state;
    static uint8_t bytes[INDEX_RECORD * 200];
    for (size_t at = 0; at < 200; at += 50) /* 4 good ones among 196 bad ones */
        ty_index_encode(&samples[0], bytes + at * INDEX_RECORD);
    place_write(place, "i", bytes, sizeof(bytes));
    ty_auto_fd fd = openat(place->fd, "i", O_RDONLY);
    int seen = 0;
    assert_int_equal(ty_index_each(fd, 200, count_until_five, &seen, NULL), TY_OK);
    assert_int_equal(seen, 4);
    seen = 3;
    assert_int_equal(ty_index_each(fd, 200, count_until_five, &seen, NULL), TY_OK);
    assert_int_equal(seen, 5);
}

static void names_are_made_for_labels_only(void **state)
{
    static const char *const bad[] = {
        "",   "..",  "a/b",  "A",
        "-a", "a.b", "a\nb", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    char log[LOG_NAME] = "-";
    char index[LOG_NAME] = "-";
    (void)state;
    for (size_t at = 0; at < UNIT_COUNT(bad); at++) {
        assert_false(ty_log_names(bad[at], log, index));
        assert_string_equal(log, "-");
    }
    assert_true(ty_log_names("worker-12", log, index));
    assert_string_equal(log, "worker-12.log");
    assert_string_equal(index, "worker-12.idx");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_comes_back_as_it_went),
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(every_flipped_bit_is_noticed),
        PLACE_TEST(counting_stops_at_the_last_record_that_checks),
        PLACE_TEST(a_long_bad_end_is_walked_over_in_blocks),
        PLACE_TEST(finding_by_attempt_and_offset_steps_over_bad_records),
        PLACE_TEST(each_visits_good_records_until_told_to_stop),
        cmocka_unit_test(names_are_made_for_labels_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
