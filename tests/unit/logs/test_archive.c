#include "place.h"

#include "logs/index.h"
#include "trainyard/logs/archive.h"

enum { SECOND = 1000000 };

static struct ty_log_writer *open_writer(const struct place *place)
{
    struct ty_log_writer *writer = NULL;
    struct ty_error err = {0};
    ty_status status = ty_log_writer_open(place->fd, "master-0", &writer, &err);
    if (status != TY_OK)
        fail_msg("open writer: %s", err.text);
    return writer;
}

static struct ty_log_reader *open_reader(const struct place *place)
{
    struct ty_log_reader *reader = NULL;
    struct ty_error err = {0};
    ty_status status = ty_log_reader_open(place->fd, "master-0", &reader, &err);
    if (status != TY_OK)
        fail_msg("open reader: %s", err.text);
    return reader;
}

static void append(struct ty_log_writer *writer, const char *text, int64_t wall_us)
{
    assert_int_equal(ty_log_writer_append(writer, text, strlen(text), wall_us, NULL), TY_OK);
}

static void assert_extent(struct ty_log_reader *reader, int32_t attempt,
                          const struct ty_log_extent *expected)
{
    struct ty_log_extent extent;
    assert_int_equal(ty_log_extent(reader, attempt, &extent, NULL), TY_OK);
    assert_int_equal(extent.start, expected->start);
    assert_int_equal(extent.end, expected->end);
    assert_int_equal(extent.sealed, expected->sealed);
    assert_int_equal(extent.attempts, expected->attempts);
}

static int64_t count_records(const struct place *place)
{
    struct stat stat;
    assert_int_equal(fstatat(place->fd, "master-0.idx", &stat, 0), 0);
    assert_int_equal(stat.st_size % INDEX_RECORD, 0);
    return stat.st_size / INDEX_RECORD;
}

static void what_is_written_is_read(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    append(writer, "hello ", SECOND);
    struct ty_log_reader *reader = open_reader(place);
    append(writer, "wor\0ld", SECOND); /* up to the NUL */
    assert_int_equal(ty_log_writer_append(writer, "\0\xff\n", 3, SECOND, NULL), TY_OK);
    assert_int_equal(ty_log_writer_end(writer), 12);

    char bytes[32];
    size_t len = 99;
    assert_int_equal(ty_log_read(reader, 0, bytes, sizeof(bytes), &len, NULL), TY_OK);
    assert_int_equal(len, 12);
    assert_memory_equal(bytes, "hello wor\0\xff\n", 12);
    assert_int_equal(ty_log_read(reader, 6, bytes, 3, &len, NULL), TY_OK);
    assert_int_equal(len, 3);
    assert_memory_equal(bytes, "wor", 3);
    assert_int_equal(ty_log_read(reader, 12, bytes, sizeof(bytes), &len, NULL), TY_OK);
    assert_int_equal(len, 0);
    assert_int_equal(ty_log_read(reader, 1L << 60, bytes, sizeof(bytes), &len, NULL), TY_OK);
    assert_int_equal(len, 0);
    len = 99;
    assert_int_equal(ty_log_read(reader, -1, bytes, sizeof(bytes), &len, NULL), TY_INVALID);
    assert_int_equal(len, 99);
    ty_log_reader_close(reader);
    ty_log_writer_close(writer);
}

static void nothing_written_and_not_started_is_not_found(void **state)
{
    struct place *place = *state;
    struct ty_log_reader *reader = NULL;
    assert_int_equal(ty_log_reader_open(place->fd, "master-0", &reader, NULL), TY_NOT_FOUND);
    struct ty_log_writer *writer = open_writer(place);
    assert_int_equal(ty_log_reader_open(place->fd, "master-0", &reader, NULL), TY_NOT_FOUND);
    assert_int_equal(ty_log_reader_open(place->fd, "../master-0", &reader, NULL), TY_NOT_FOUND);
    assert_null(reader);
    assert_int_equal(ty_log_writer_attempt(writer, 1, SECOND, NULL), TY_OK);
    assert_int_equal(ty_log_reader_open(place->fd, "master-0", &reader, NULL), TY_OK);
    assert_extent(reader, 0, &(struct ty_log_extent){0, 0, false, 1});
    assert_extent(reader, 1, &(struct ty_log_extent){0, 0, false, 1});
    ty_log_reader_close(reader);
    ty_log_writer_close(writer);
}

static void one_replica_has_one_writer(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    struct ty_log_writer *second = NULL;
    struct ty_error err = {0};
    assert_int_equal(ty_log_writer_open(place->fd, "master-0", &second, &err), TY_CONFLICT);
    assert_string_equal(err.code, "log_in_use");
    assert_int_equal(ty_log_writer_open(place->fd, "a/b", &second, &err), TY_INVALID);
    assert_null(second);
    assert_int_equal(ty_log_writer_open(place->fd, "worker-0", &second, &err), TY_OK);
    ty_log_writer_close(second);
    ty_log_writer_close(writer);
    writer = open_writer(place);
    ty_log_writer_close(writer);
}

static void attempts_follow_one_another_and_offsets_stay(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    assert_int_equal(ty_log_writer_attempt(writer, 1, SECOND, NULL), TY_OK);
    append(writer, "one\n", SECOND);
    assert_int_equal(ty_log_writer_attempt(writer, 2, 2 * SECOND, NULL), TY_OK);
    assert_int_equal(ty_log_writer_attempt(writer, 2, 2 * SECOND, NULL), TY_INVALID);
    assert_int_equal(ty_log_writer_attempt(writer, 0, 2 * SECOND, NULL), TY_INVALID);
    ty_log_writer_close(writer);
    writer = open_writer(place); /* a new supervisor goes on */
    assert_int_equal(ty_log_writer_attempt(writer, 2, 3 * SECOND, NULL), TY_INVALID);
    append(writer, "two\n", 3 * SECOND);
    assert_int_equal(ty_log_writer_attempt(writer, 4, 4 * SECOND, NULL), TY_OK); /* 3 never began */
    append(writer, "four\n", 4 * SECOND);

    struct ty_log_reader *reader = open_reader(place);
    assert_extent(reader, 0, &(struct ty_log_extent){0, 13, false, 4});
    assert_extent(reader, 1, &(struct ty_log_extent){0, 4, true, 4});
    assert_extent(reader, 2, &(struct ty_log_extent){4, 8, true, 4});
    assert_extent(reader, 4, &(struct ty_log_extent){8, 13, false, 4});
    struct ty_log_extent extent = {.start = 77};
    assert_int_equal(ty_log_extent(reader, 3, &extent, NULL), TY_NOT_FOUND);
    assert_int_equal(ty_log_extent(reader, 5, &extent, NULL), TY_NOT_FOUND);
    assert_int_equal(ty_log_extent(reader, INT32_MAX, &extent, NULL), TY_NOT_FOUND);
    assert_int_equal(extent.start, 77);
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    assert_extent(reader, 4, &(struct ty_log_extent){8, 13, true, 4});
    ty_log_reader_close(reader);
    ty_log_writer_close(writer);
}

static void a_seal_holds_until_something_follows(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    append(writer, "a\n", SECOND);
    struct ty_log_reader *reader = open_reader(place);
    assert_extent(reader, 0, &(struct ty_log_extent){0, 2, false, 0});
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    int64_t records = count_records(place);
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    assert_extent(reader, 0, &(struct ty_log_extent){0, 2, true, 0});
    ty_log_writer_close(writer);
    writer = open_writer(place);
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    assert_int_equal(count_records(place), records); /* sealing twice is one seal */
    append(writer, "b\n", SECOND);
    assert_extent(reader, 0, &(struct ty_log_extent){0, 4, false, 0});
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    assert_extent(reader, 0, &(struct ty_log_extent){0, 4, true, 0});
    ty_log_reader_close(reader);
    ty_log_writer_close(writer);
}

static void an_empty_log_can_be_sealed(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    assert_int_equal(ty_log_writer_append(writer, "", 0, SECOND, NULL), TY_OK);
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    struct ty_log_reader *reader = open_reader(place);
    assert_extent(reader, 0, &(struct ty_log_extent){0, 0, true, 0});
    ty_log_reader_close(reader);
    ty_log_writer_close(writer);
}

static void time_is_marked_at_most_every_tenth_of_a_second(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    for (int at = 0; at < 1000; at++) /* one line a millisecond for a second */
        append(writer, "0123456789\n", SECOND + at * 1000);
    assert_int_equal(count_records(place), 10);
    append(writer, "late\n", 9L * SECOND);
    append(writer, "clock set back\n", 2L * SECOND);
    assert_int_equal(count_records(place), 12);

    static const struct {
        int64_t offset, wall_us;
    } times[] = {
        {0,     SECOND         },
        {1099,  SECOND         },
        {1100,  SECOND + 100000},
        {10999, SECOND + 900000},
        {11000, 9L * SECOND    },
        {11005, 2L * SECOND    },
    };
    struct ty_log_reader *reader = open_reader(place);
    for (size_t at = 0; at < UNIT_COUNT(times); at++) {
        int64_t wall_us = -1;
        assert_int_equal(ty_log_time_at(reader, times[at].offset, &wall_us, NULL), TY_OK);
        assert_int_equal(wall_us, times[at].wall_us);
    }
    int64_t wall_us = -7;
    assert_int_equal(ty_log_time_at(reader, ty_log_writer_end(writer), &wall_us, NULL),
                     TY_NOT_FOUND);
    assert_int_equal(ty_log_time_at(reader, -1, &wall_us, NULL), TY_NOT_FOUND);
    assert_int_equal(wall_us, -7);

    static const struct {
        int64_t wall_us, offset;
    } since[] = {
        {0,               0    },
        {SECOND,          0    },
        {SECOND + 1,      1100 },
        {SECOND + 850000, 9900 },
        {8L * SECOND,     11000},
        {10L * SECOND,    11020},
    };
    for (size_t at = 0; at < UNIT_COUNT(since); at++) {
        int64_t offset = -1;
        assert_int_equal(ty_log_offset_since(reader, since[at].wall_us, &offset, NULL), TY_OK);
        assert_int_equal(offset, since[at].offset);
    }
    ty_log_reader_close(reader);
    ty_log_writer_close(writer);
}

static void a_torn_index_end_is_cut_off_and_gone_on_from(void **state)
{
    struct place *place = *state;
    for (int torn = 1; torn < 3 * INDEX_RECORD; torn += 7) {
        (void)unlinkat(place->fd, "master-0.log", 0);
        (void)unlinkat(place->fd, "master-0.idx", 0);
        struct ty_log_writer *writer = open_writer(place);
        assert_int_equal(ty_log_writer_attempt(writer, 1, SECOND, NULL), TY_OK);
        append(writer, "one\n", SECOND);
        ty_log_writer_close(writer);
        int fd = openat(place->fd, "master-0.idx", O_WRONLY | O_APPEND);
        for (int at = 0; at < torn; at++)
            assert_int_equal(write(fd, "T", 1), 1);
        close(fd);

        struct ty_log_reader *reader = open_reader(place);
        assert_extent(reader, 0, &(struct ty_log_extent){0, 4, false, 1});
        writer = open_writer(place);
        assert_int_equal(count_records(place), 1);
        assert_int_equal(ty_log_writer_attempt(writer, 2, SECOND, NULL), TY_OK);
        append(writer, "two\n", SECOND);
        assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
        assert_extent(reader, 1, &(struct ty_log_extent){0, 4, true, 2});
        assert_extent(reader, 2, &(struct ty_log_extent){4, 8, true, 2});
        ty_log_reader_close(reader);
        ty_log_writer_close(writer);
    }
}

static void truncate_log(const struct place *place, off_t size)
{
    ty_auto_fd fd = openat(place->fd, "master-0.log", O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, size), 0);
}

/* What a power cut leaves: the index on disk, the log's last bytes not. */
static void bytes_lost_to_a_power_cut_leave_a_hole_and_true_offsets(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    assert_int_equal(ty_log_writer_attempt(writer, 1, SECOND, NULL), TY_OK);
    append(writer, "0123456789", SECOND);
    append(writer, "x", 2L * SECOND); /* marked at 10 */
    ty_log_writer_close(writer);
    truncate_log(place, 6);

    struct ty_log_reader *reader = open_reader(place);
    assert_extent(reader, 0, &(struct ty_log_extent){0, 6, false, 1});
    for (int again = 0; again < 3; again++) { /* however often it is repaired, one hole */
        writer = open_writer(place);
        assert_int_equal(ty_log_writer_end(writer), 10);
        ty_log_writer_close(writer);
        truncate_log(place, again < 2 ? 6 : 10); /* as if it had died before it extended the log */
    }
    writer = open_writer(place);
    append(writer, "next", 3L * SECOND);
    char bytes[32];
    size_t len;
    assert_int_equal(ty_log_read(reader, 0, bytes, sizeof(bytes), &len, NULL), TY_OK);
    assert_int_equal(len, 14);
    assert_memory_equal(bytes, "012345\0\0\0\0next", 14);
    struct ty_log_gaps gaps;
    assert_int_equal(ty_log_gaps(reader, &gaps, NULL), TY_OK);
    assert_int_equal(gaps.count, 1);
    assert_int_equal(gaps.bytes, 4);
    assert_int_equal(gaps.offset, 6);
    ty_log_reader_close(reader);
    ty_log_writer_close(writer);
}

static void a_log_without_its_index_is_still_read(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    append(writer, "text", SECOND);
    ty_log_writer_close(writer);
    assert_int_equal(unlinkat(place->fd, "master-0.idx", 0), 0);
    struct ty_log_reader *reader = open_reader(place);
    struct ty_log_gaps gaps;
    int64_t value = -1;
    assert_extent(reader, 0, &(struct ty_log_extent){0, 4, false, 0});
    assert_int_equal(ty_log_gaps(reader, &gaps, NULL), TY_OK);
    assert_int_equal(gaps.count, 0);
    assert_int_equal(gaps.offset, -1);
    assert_int_equal(ty_log_time_at(reader, 0, &value, NULL), TY_NOT_FOUND);
    assert_int_equal(ty_log_offset_since(reader, 0, &value, NULL), TY_OK);
    assert_int_equal(value, 4);
    ty_log_reader_close(reader);
}

static void a_log_that_is_no_regular_file_is_not_waited_for(void **state)
{
    struct place *place = *state;
    struct ty_log_reader *reader = NULL;
    assert_int_equal(mkfifoat(place->fd, "master-0.log", 0600), 0);
    assert_int_equal(ty_log_reader_open(place->fd, "master-0", &reader, NULL), TY_UNAVAILABLE);
    assert_int_equal(unlinkat(place->fd, "master-0.log", 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", place->fd, "master-0.log"), 0);
    assert_int_equal(ty_log_reader_open(place->fd, "master-0", &reader, NULL), TY_UNAVAILABLE);
    assert_null(reader);
}

static void syncing_and_closing_nothing_is_fine(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place);
    assert_int_equal(ty_log_writer_sync(writer, NULL), TY_OK);
    append(writer, "a", SECOND);
    assert_int_equal(ty_log_writer_sync(writer, NULL), TY_OK);
    assert_int_equal(ty_log_writer_lost(writer), 0);
    ty_log_writer_close(writer);
    ty_log_writer_close(NULL);
    ty_log_reader_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(what_is_written_is_read),
        PLACE_TEST(nothing_written_and_not_started_is_not_found),
        PLACE_TEST(one_replica_has_one_writer),
        PLACE_TEST(attempts_follow_one_another_and_offsets_stay),
        PLACE_TEST(a_seal_holds_until_something_follows),
        PLACE_TEST(an_empty_log_can_be_sealed),
        PLACE_TEST(time_is_marked_at_most_every_tenth_of_a_second),
        PLACE_TEST(a_torn_index_end_is_cut_off_and_gone_on_from),
        PLACE_TEST(bytes_lost_to_a_power_cut_leave_a_hole_and_true_offsets),
        PLACE_TEST(a_log_without_its_index_is_still_read),
        PLACE_TEST(a_log_that_is_no_regular_file_is_not_waited_for),
        PLACE_TEST(syncing_and_closing_nothing_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
