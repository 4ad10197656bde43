#include "unit.h"

#include "place.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <dirent.h>
#include <sys/stat.h>

static size_t count_entries(int fd)
{
    DIR *folder = ty_folder_entries(fd);
    size_t count = 0;

    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2;
}

static void what_was_written_is_read_back(void **state)
{
    const struct place *place = *state;
    ty_auto_buf buf = {0};
    struct stat info;

    ty_buf_init(&buf, 1000);
    ty_buf_adds(&buf, "<");
    assert_int_equal(ty_file_write(place->fd, "a", "x\0y", 3, 0640, NULL), TY_OK);
    assert_int_equal(ty_file_read(place->fd, "a", &buf, NULL), TY_OK);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "<x\0y", 5);
    assert_int_equal(fstatat(place->fd, "a", &info, 0), 0);
    assert_int_equal(info.st_mode & 07777, 0640);
    assert_int_equal(ty_file_write(place->fd, "a", "", 0, 0600, NULL), TY_OK);
    ty_buf_clear(&buf);
    assert_int_equal(ty_file_read(place->fd, "a", &buf, NULL), TY_OK);
    assert_int_equal(buf.len, 0);
    assert_int_equal(count_entries(place->fd), 1);
}

static void a_file_of_just_the_maximum_is_read_and_a_larger_one_refused(void **state)
{
    const struct place *place = *state;
    static char bytes[200000];

    memset(bytes, 'b', sizeof(bytes));
    assert_int_equal(ty_file_write(place->fd, "big", bytes, sizeof(bytes), 0600, NULL), TY_OK);
    for (size_t spare = 0; spare < 2; spare++) {
        ty_auto_buf buf = {0};
        struct ty_error err;

        ty_buf_init(&buf, sizeof(bytes) + 1 - spare);
        ty_buf_adds(&buf, "<");
        if (spare == 0) {
            assert_int_equal(ty_file_read(place->fd, "big", &buf, &err), TY_OK);
            assert_int_equal(buf.len, sizeof(bytes) + 1);
        } else {
            assert_int_equal(ty_file_read(place->fd, "big", &buf, &err), TY_TOO_LARGE);
            assert_string_equal(err.text, "big is larger than 200000 bytes");
            assert_int_equal(buf.len, 1);
            assert_string_equal(buf.data, "<");
            assert_int_equal(buf.failed, TY_OK);
        }
    }
}

static void reading_what_is_not_a_readable_file_fails(void **state)
{
    const struct place *place = *state;
    struct ty_error err;
    ty_auto_buf buf = {0};

    ty_buf_init(&buf, 100);
    assert_int_equal(ty_file_read(place->fd, "none", &buf, &err), TY_NOT_FOUND);
    assert_string_equal(err.text, "open none: No such file or directory");
    assert_int_equal(mkdirat(place->fd, "folder", 0700), 0);
    assert_int_equal(ty_file_read(place->fd, "folder", &buf, &err), TY_INTERNAL);
    assert_int_equal(buf.len, 0);
}

static void errors_never_show_the_folder(void **state)
{
    const struct place *place = *state;
    struct ty_error err;
    ty_auto_buf buf = {0};
    char path[TEMPORARY_PATH + 32];

    ty_buf_init(&buf, 100);
    snprintf(path, sizeof(path), "%s/missing/file", place->path);
    assert_int_equal(ty_file_read(AT_FDCWD, path, &buf, &err), TY_NOT_FOUND);
    assert_null(strstr(err.text, "/tmp"));
    assert_int_equal(ty_file_write(AT_FDCWD, path, "x", 1, 0600, &err), TY_NOT_FOUND);
    assert_null(strstr(err.text, "/tmp"));
    assert_int_equal(ty_folder_open(place->fd, "missing", false, &(int){0}, &err), TY_NOT_FOUND);
    assert_null(strstr(err.text, "/tmp"));
}

static void a_failed_write_leaves_the_old_file_and_no_other(void **state)
{
    const struct place *place = *state;
    struct ty_error err;
    ty_auto_buf buf = {0};

    ty_buf_init(&buf, 100);
    assert_int_equal(mkdirat(place->fd, "taken", 0700), 0);
    assert_int_equal(ty_file_write(place->fd, "taken", "x", 1, 0600, &err), TY_INTERNAL);
    assert_true(ty_str_starts(err.text, "write taken: replace taken: "));
    assert_int_equal(ty_file_write(place->fd, "taken", "x", 1, 0600, NULL), TY_INTERNAL);
    assert_int_equal(count_entries(place->fd), 1);
}

static void a_write_follows_a_path_and_replaces_links_not_their_targets(void **state)
{
    const struct place *place = *state;
    struct stat info;
    ty_auto_buf buf = {0};

    ty_buf_init(&buf, 100);
    assert_int_equal(mkdirat(place->fd, "sub", 0700), 0);
    assert_int_equal(ty_file_write(place->fd, "target", "old", 3, 0600, NULL), TY_OK);
    assert_int_equal(symlinkat("../target", place->fd, "sub/link"), 0);
    assert_int_equal(ty_file_write(place->fd, "sub/link", "new", 3, 0600, NULL), TY_OK);
    assert_int_equal(fstatat(place->fd, "sub/link", &info, AT_SYMLINK_NOFOLLOW), 0);
    assert_true(S_ISREG(info.st_mode));
    assert_int_equal(ty_file_read(place->fd, "target", &buf, NULL), TY_OK);
    assert_string_equal(buf.data, "old");
}

static void all_bytes_go_through_a_slow_pipe(void **state)
{
    static char bytes[300000];
    struct ty_error err;
    int ends[2];
    pid_t child;

    (void)state;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(ty_write_all(ends[1], bytes, sizeof(bytes), NULL) ? 1 : 0);
    }
    close(ends[1]);
    for (size_t left = sizeof(bytes); left > 0;) {
        char some[7000];
        ssize_t got = read(ends[0], some, sizeof(some));

        assert_true(got > 0);
        left -= (size_t)got;
    }
    assert_int_equal(read(ends[0], bytes, 1), 0);
    close(ends[0]);
    assert_int_equal(ty_write_all(-1, "x", 1, &err), TY_INTERNAL);
    assert_int_equal(ty_write_all(-1, "", 0, &err), TY_OK);
}

static void a_full_disk_is_told_apart(void **state)
{
    ty_auto_fd full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct ty_error err;

    (void)state;
    if (full < 0)
        skip();
    assert_int_equal(ty_write_all(full, "x", 1, &err), TY_STORAGE_FULL);
    assert_string_equal(err.text, "write: No space left on device");
}

static void opens_cannot_leave_the_root(void **state)
{
    static const struct {
        const char *path;
        bool no_links;
        ty_status status;
    } cases[] = {
        {"root/in",           false, TY_OK       },
        {"in",                false, TY_OK       },
        {"sub/../in",         false, TY_OK       },
        {"inner",             false, TY_OK       },
        {"inner",             true,  TY_NOT_FOUND},
        {"sub/in",            false, TY_OK       },
        {"../outside",        false, TY_NOT_FOUND},
        {"sub/../../outside", false, TY_NOT_FOUND},
        {"/etc/passwd",       false, TY_NOT_FOUND},
        {"absolute",          false, TY_NOT_FOUND},
        {"upward",            false, TY_NOT_FOUND},
        {"magic/1",           false, TY_NOT_FOUND},
        {"loop",              false, TY_NOT_FOUND},
        {"in/x",              false, TY_NOT_FOUND},
        {"",                  false, TY_NOT_FOUND},
        {"none",              false, TY_NOT_FOUND},
    };
    const struct place *place = *state;
    ty_auto_fd root = -1;

    assert_int_equal(ty_file_write(place->fd, "outside", "x", 1, 0600, NULL), TY_OK);
    assert_int_equal(ty_folder_open(place->fd, "root", true, &root, NULL), TY_OK);
    assert_int_equal(ty_file_write(root, "in", "x", 1, 0600, NULL), TY_OK);
    assert_int_equal(mkdirat(root, "sub", 0700), 0);
    assert_int_equal(mkdirat(root, "root", 0700), 0);
    assert_int_equal(ty_file_write(root, "root/in", "x", 1, 0600, NULL), TY_OK);
    assert_int_equal(symlinkat("in", root, "inner"), 0);
    assert_int_equal(symlinkat("../in", root, "sub/in"), 0);
    assert_int_equal(symlinkat("/etc/passwd", root, "absolute"), 0);
    assert_int_equal(symlinkat("../outside", root, "upward"), 0);
    assert_int_equal(symlinkat("/proc/self/fd", root, "magic"), 0);
    assert_int_equal(symlinkat("loop", root, "loop"), 0);
    for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
        int fd = -77;

        assert_int_equal(
            ty_open_beneath(root, cases[i].path, O_RDONLY, cases[i].no_links, &fd, NULL),
            cases[i].status);
        assert_int_equal(fd >= 0, cases[i].status == TY_OK);
        if (fd >= 0) {
            assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
            assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
            close(fd);
        } else {
            assert_int_equal(fd, -77);
        }
    }
}

static void a_pipe_without_a_writer_does_not_block_an_open(void **state)
{
    const struct place *place = *state;
    ty_auto_fd fd = -1;

    assert_int_equal(mkfifoat(place->fd, "pipe", 0600), 0);
    assert_int_equal(ty_open_beneath(place->fd, "pipe", O_RDONLY, true, &fd, NULL), TY_OK);
}

static void a_path_alone_can_be_opened(void **state)
{
    const struct place *place = *state;
    ty_auto_fd fd = -1;

    assert_int_equal(ty_file_write(place->fd, "a", "", 0, 0, NULL), TY_OK);
    assert_int_equal(ty_open_beneath(place->fd, "a", O_PATH, true, &fd, NULL), TY_OK);
}

static void a_file_can_be_created_beneath_a_root(void **state)
{
    const struct place *place = *state;
    ty_auto_fd fd = -1;
    struct stat info;

    assert_int_equal(
        ty_open_beneath(place->fd, "new", O_WRONLY | O_CREAT | O_EXCL, true, &fd, NULL), TY_OK);
    assert_int_equal(fstat(fd, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

int main(void)
{
#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)
    const struct CMUnitTest tests[] = {
        PLACE_TEST(what_was_written_is_read_back),
        PLACE_TEST(a_file_of_just_the_maximum_is_read_and_a_larger_one_refused),
        PLACE_TEST(reading_what_is_not_a_readable_file_fails),
        PLACE_TEST(errors_never_show_the_folder),
        PLACE_TEST(a_failed_write_leaves_the_old_file_and_no_other),
        PLACE_TEST(a_write_follows_a_path_and_replaces_links_not_their_targets),
        PLACE_TEST(all_bytes_go_through_a_slow_pipe),
        PLACE_TEST(a_full_disk_is_told_apart),
        PLACE_TEST(opens_cannot_leave_the_root),
        PLACE_TEST(a_pipe_without_a_writer_does_not_block_an_open),
        PLACE_TEST(a_path_alone_can_be_opened),
        PLACE_TEST(a_file_can_be_created_beneath_a_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
