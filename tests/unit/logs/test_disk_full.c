/* No room: what fitted is kept, what did not is counted, and when there is room again it goes on.
 */
#include "place.h"

#include "trainyard/logs/archive.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

static struct ty_log_writer *open_writer(int folder_fd)
{
    struct ty_log_writer *writer = NULL;
    struct ty_error err = {0};
    if (ty_log_writer_open(folder_fd, "m", &writer, &err) != TY_OK)
        fail_msg("%s", err.text);
    return writer;
}

static void assert_gap(int folder_fd, int64_t count, int64_t bytes, int64_t offset)
{
    struct ty_log_reader *reader = NULL;
    struct ty_log_gaps gaps;
    assert_int_equal(ty_log_reader_open(folder_fd, "m", &reader, NULL), TY_OK);
    assert_int_equal(ty_log_gaps(reader, &gaps, NULL), TY_OK);
    assert_int_equal(gaps.count, count);
    assert_int_equal(gaps.bytes, bytes);
    assert_int_equal(gaps.offset, offset);
    ty_log_reader_close(reader);
}

static void set_limit(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_file_size_limit_keeps_what_fitted_and_notes_the_gap(void **state)
{
    struct place *place = *state;
    struct ty_error err = {0};
    char bytes[100];
    memset(bytes, 'x', sizeof(bytes));
    signal(SIGXFSZ, SIG_IGN);
    struct ty_log_writer *writer = open_writer(place->fd);
    set_limit(1000);
    for (int at = 0; at < 9; at++)
        assert_int_equal(ty_log_writer_append(writer, bytes, 100, 1000000, NULL), TY_OK);
    assert_int_equal(ty_log_writer_append(writer, bytes, 60, 1000000, NULL), TY_OK);
    assert_int_equal(ty_log_writer_append(writer, bytes, 100, 1000000, &err), TY_STORAGE_FULL);
    assert_int_equal(ty_log_writer_end(writer), 1000); /* 40 fitted */
    assert_int_equal(ty_log_writer_lost(writer), 60);
    assert_int_equal(ty_log_writer_append(writer, bytes, 100, 1000000, &err), TY_STORAGE_FULL);
    assert_int_equal(ty_log_writer_lost(writer), 160);
    set_limit(RLIM_INFINITY);
    assert_int_equal(ty_log_writer_append(writer, "on\n", 3, 1000000, NULL), TY_OK);
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    ty_log_writer_close(writer);
    assert_gap(place->fd, 2, 160, 1000);
}

static void an_index_without_room_costs_no_bytes_and_catches_up(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place->fd);
    signal(SIGXFSZ, SIG_IGN);
    set_limit(64); /* two records; the log itself is short */
    for (int at = 0; at < 4; at++)
        assert_int_equal(ty_log_writer_append(writer, "0123456789", 10, at * 1000000, NULL), TY_OK);
    /* 24 more fit; neither the rest nor its gap does */
    assert_int_equal(
        ty_log_writer_append(writer, "0123456789012345678901234567890123456789", 40, 5000000, NULL),
        TY_STORAGE_FULL);
    assert_int_equal(ty_log_writer_lost(writer), 16);
    assert_int_equal(ty_log_writer_attempt(writer, 1, 6000000, NULL), TY_STORAGE_FULL);
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_STORAGE_FULL);
    set_limit(RLIM_INFINITY);
    assert_int_equal(ty_log_writer_append(writer, "after", 5, 7000000, NULL), TY_OK);
    assert_int_equal(ty_log_writer_attempt(writer, 1, 8000000, NULL), TY_OK);
    ty_log_writer_close(writer);
    assert_gap(place->fd, 1, 16, 64);

    struct ty_log_reader *reader = NULL;
    struct ty_log_extent extent;
    int64_t wall_us = 0;
    assert_int_equal(ty_log_reader_open(place->fd, "m", &reader, NULL), TY_OK);
    assert_int_equal(ty_log_extent(reader, 1, &extent, NULL), TY_OK);
    assert_int_equal(extent.start, 69);
    assert_int_equal(ty_log_time_at(reader, 64, &wall_us, NULL), TY_OK);
    assert_int_equal(wall_us, 7000000);
    ty_log_reader_close(reader);
}

/* The log has room again before its index has: the gap is where it was, not where the end is now.
 */
static void a_gap_noted_late_is_noted_where_it_was(void **state)
{
    struct place *place = *state;
    struct ty_log_writer *writer = open_writer(place->fd);
    char bytes[64] = {0};
    signal(SIGXFSZ, SIG_IGN);
    set_limit(64); /* two records */
    assert_int_equal(ty_log_writer_attempt(writer, 1, 1000000, NULL), TY_OK);
    assert_int_equal(ty_log_writer_append(writer, bytes, 10, 2000000, NULL), TY_OK);
    assert_int_equal(ty_log_writer_append(writer, bytes, 64, 2000000, NULL), TY_STORAGE_FULL);
    set_limit(90); /* no third record, but more log */
    assert_int_equal(ty_log_writer_append(writer, bytes, 20, 2000000, NULL), TY_OK);
    assert_int_equal(ty_log_writer_end(writer), 84);
    set_limit(RLIM_INFINITY);
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    ty_log_writer_close(writer);
    assert_gap(place->fd, 1, 10, 64);
}

/* A real full file system, where one may be mounted. */
static void a_full_disk_is_survived(void **state)
{
    struct place *place = *state;
    static char bytes[10000];
    char path[128];
    struct ty_error err = {0};
    memset(bytes, 'x', sizeof(bytes));
    snprintf(path, sizeof(path), "%s/small", place->path);
    place_folder(place, "small");
    if (mount("tmpfs", path, "tmpfs", 0, "size=256k") < 0)
        skip(); /* only root may, and not everywhere */
    int fd = openat(place->fd, "small", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct ty_log_writer *writer = open_writer(fd);
    ty_status status = TY_OK;
    int64_t sent = 0;
    for (int at = 0; at < 100 && status == TY_OK; at++) {
        status = ty_log_writer_append(writer, bytes, sizeof(bytes), at * 1000000, &err);
        sent += (int64_t)sizeof(bytes);
    }
    int64_t end = ty_log_writer_end(writer);
    int64_t lost = ty_log_writer_lost(writer);
    int ballast = openat(fd, "m.log", O_RDONLY); /* still readable */
    char first = 0;
    ssize_t got = pread(ballast, &first, 1, end - 1);
    close(ballast);
    /* room again, but the writer's file keeps what it has */
    int remounted = mount("tmpfs", path, "tmpfs", MS_REMOUNT, "size=1m");
    ty_status after = ty_log_writer_append(writer, "on\n", 3, 200000000, NULL);
    ty_status sealed = ty_log_writer_seal(writer, NULL);
    int64_t last = ty_log_writer_end(writer);
    ty_log_writer_close(writer);
    assert_gap(fd, 1, lost, end);
    close(fd);
    assert_int_equal(umount2(path, MNT_DETACH), 0);

    assert_int_equal(status, TY_STORAGE_FULL);
    assert_int_equal(end + lost, sent);
    assert_true(lost > 0 && end > 100000);
    assert_int_equal(got, 1);
    assert_int_equal(first, 'x');
    assert_int_equal(remounted, 0);
    assert_int_equal(after, TY_OK);
    assert_int_equal(sealed, TY_OK);
    assert_int_equal(last, end + 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_file_size_limit_keeps_what_fitted_and_notes_the_gap),
        PLACE_TEST(an_index_without_room_costs_no_bytes_and_catches_up),
        PLACE_TEST(a_gap_noted_late_is_noted_where_it_was),
        PLACE_TEST(a_full_disk_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
