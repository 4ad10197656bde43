/* A writer killed at a random moment: what it wrote is there to the last whole append, the index is
 * sound, and the next writer goes on. */
#include "place.h"

#include "logs/index.h"
#include "trainyard/logs/archive.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { KILLS = 200 };

/* What the dying writer did, in memory that outlives it. */
struct diary {
    volatile int64_t acknowledged; /* end of the log after the last append that returned */
    volatile int32_t attempt;      /* the last one whose mark returned */
};

/* The byte that belongs at an offset, so that any part of the log can be judged. */
static char byte_at(int64_t offset)
{
    uint64_t mixed = (uint64_t)offset * 0x9E3779B97F4A7C15U;
    return mixed >> 59 == 0 ? '\n' : (char)('a' + (mixed >> 40) % 26);
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 8;
}

/* Runs in the child until it is killed. */
static void write_until_killed(int folder_fd, struct diary *diary, uint32_t seed)
{
    static char bytes[70000];
    struct ty_log_writer *writer = NULL;
    if (ty_log_writer_open(folder_fd, "master-0", &writer, NULL) != TY_OK)
        _exit(2);
    int32_t attempt = diary->attempt;
    for (int64_t wall_us = 1;; wall_us += 30000) {
        int64_t end = ty_log_writer_end(writer);
        size_t len = 1 + next_random(&seed) % (next_random(&seed) % 20 == 0 ? sizeof(bytes) : 300);
        if (next_random(&seed) % 15 == 0) {
            if (ty_log_writer_attempt(writer, attempt + 1, wall_us, NULL) == TY_OK)
                diary->attempt = ++attempt;
            else
                attempt++; /* the last writer died between its mark and its diary */
        }
        for (size_t at = 0; at < len; at++)
            bytes[at] = byte_at(end + (int64_t)at);
        if (ty_log_writer_append(writer, bytes, len, wall_us, NULL) != TY_OK)
            _exit(3);
        diary->acknowledged = end + (int64_t)len;
    }
}

static void kill_a_writer(const struct place *place, struct diary *diary, uint32_t *seed)
{
    pid_t child = fork();
    if (child == 0)
        write_until_killed(place->fd, diary, *seed);
    assert_true(child > 0);
    const struct timespec rest = {.tv_nsec = (long)(next_random(seed) % 6000000)};
    nanosleep(&rest, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status)); /* it did not fail by itself */
}

struct order {
    int64_t offset;
    int32_t attempt;
    int64_t records;
};

static bool check_order(const struct index_record *record, void *context)
{
    struct order *order = context;
    assert_true(record->offset >= order->offset);
    assert_true(record->attempt >= order->attempt);
    order->offset = record->offset;
    order->attempt = record->attempt;
    order->records++;
    return true;
}

static void check_index(const struct place *place, int64_t end)
{
    struct order order = {0};
    struct index_record last;
    int64_t count = 0;
    ty_auto_fd fd = openat(place->fd, "master-0.idx", O_RDONLY | O_CLOEXEC);
    assert_int_equal(ty_index_last(fd, &count, &last, NULL), TY_OK);
    assert_int_equal(ty_index_each(fd, count, check_order, &order, NULL), TY_OK);
    assert_int_equal(order.records, count); /* each one checks */
    assert_true(order.offset <= end);
    assert_int_equal(last.offset, order.offset);
}

/* `from` was judged before: a log only grows. */
static void check_bytes(struct ty_log_reader *reader, int64_t from, int64_t end)
{
    static char bytes[65536];
    while (from < end) {
        size_t len = 0;
        assert_int_equal(ty_log_read(reader, from, bytes, sizeof(bytes), &len, NULL), TY_OK);
        assert_true(len > 0);
        for (size_t at = 0; at < len; at++)
            if (bytes[at] != byte_at(from + (int64_t)at))
                fail_msg("wrong byte at %lld", (long long)from + (long long)at);
        from += (int64_t)len;
    }
}

static void a_killed_writer_loses_nothing_and_the_next_goes_on(void **state)
{
    struct place *place = *state;
    uint32_t seed = 20260101;
    int64_t judged = 0;
    struct diary *diary =
        mmap(NULL, sizeof(*diary), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(diary != MAP_FAILED);
    for (int round = 0; round < KILLS; round++) {
        struct ty_log_reader *reader = NULL;
        struct ty_log_extent extent;
        kill_a_writer(place, diary, &seed);
        ty_status status = ty_log_reader_open(place->fd, "master-0", &reader, NULL);
        if (status == TY_NOT_FOUND) { /* killed before it did anything */
            assert_int_equal(diary->acknowledged, 0);
            continue;
        }
        assert_int_equal(status, TY_OK);
        assert_int_equal(ty_log_extent(reader, 0, &extent, NULL), TY_OK);
        assert_true(extent.end >= diary->acknowledged);
        assert_in_range(extent.attempts, diary->attempt, diary->attempt + 1);
        assert_false(extent.sealed);
        check_bytes(reader, judged, extent.end);
        check_index(place, extent.end);
        judged = extent.end;
        diary->attempt = extent.attempts;
        ty_log_reader_close(reader);
    }
    assert_true(judged > 100000);

    /* the daemon seals for the dead */
    struct ty_log_writer *writer = NULL;
    struct ty_log_reader *reader = NULL;
    struct ty_log_extent extent;
    struct ty_log_gaps gaps;
    assert_int_equal(ty_log_writer_open(place->fd, "master-0", &writer, NULL), TY_OK);
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    ty_log_writer_close(writer);
    assert_int_equal(ty_log_reader_open(place->fd, "master-0", &reader, NULL), TY_OK);
    assert_int_equal(ty_log_extent(reader, 0, &extent, NULL), TY_OK);
    assert_true(extent.sealed);
    assert_int_equal(extent.end, judged);
    assert_int_equal(ty_log_gaps(reader, &gaps, NULL), TY_OK);
    assert_int_equal(gaps.count, 0);
    ty_log_reader_close(reader);
    munmap(diary, sizeof(*diary));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_killed_writer_loses_nothing_and_the_next_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
