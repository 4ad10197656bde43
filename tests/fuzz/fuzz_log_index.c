/* Any bytes as a log's index: readers answer within the log's bounds, the next writer makes it
 * sound again. */
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/logs/archive.h"

#include <fcntl.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LOG_SIZE = 300 };

/* In memory where that is possible: a disk would be made to sync with every input. */
static char memory_folder[] = "/dev/shm/trainyard-fuzz-XXXXXX";
static char disk_folder[] = "/tmp/trainyard-fuzz-XXXXXX";
static const char *folder;

static void remove_folder(void)
{
    (void)!ty_tree_remove(AT_FDCWD, folder, NULL);
}

static int open_folder(void)
{
    static int fd = -1;
    if (fd < 0) {
        folder = mkdtemp(memory_folder);
        if (!folder)
            folder = mkdtemp(disk_folder);
        if (!folder)
            abort();
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        atexit(remove_folder);
    }
    return fd;
}

static void put(int folder_fd, const char *name, const void *bytes, size_t len)
{
    ty_auto_fd fd = openat(folder_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ty_write_all(fd, bytes, len, NULL) != TY_OK)
        abort();
}

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_extent(struct ty_log_reader *reader, int32_t attempt, int64_t size)
{
    struct ty_log_extent extent;
    ty_status status = ty_log_extent(reader, attempt, &extent, NULL);
    require(status == TY_OK || (attempt > 0 && status == TY_NOT_FOUND));
    if (status != TY_OK)
        return;
    require(extent.start >= 0 && extent.start <= extent.end && extent.end <= size &&
            extent.attempts >= attempt);
    int64_t offset;
    require(ty_log_tail(reader, &extent, 3, &offset, NULL) == TY_OK);
    require(offset >= extent.start && offset <= extent.end);
}

static void check_reader(int folder_fd, int64_t size)
{
    struct ty_log_reader *reader = NULL;
    struct ty_log_gaps gaps;
    int64_t value;
    require(ty_log_reader_open(folder_fd, "m", &reader, NULL) == TY_OK);
    static const int32_t attempts[] = {0, 1, 2, 3, 4, 1000, INT32_MAX};
    for (size_t at = 0; at < sizeof(attempts) / sizeof(*attempts); at++)
        check_extent(reader, attempts[at], size);
    require(ty_log_gaps(reader, &gaps, NULL) == TY_OK);
    require(ty_log_offset_since(reader, 5000, &value, NULL) == TY_OK && value >= 0 &&
            value <= size);
    for (int64_t offset = -1; offset <= size; offset += 60)
        (void)!ty_log_time_at(reader, offset, &value, NULL);
    ty_log_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char lines[LOG_SIZE] = "one\ntwo\nthree\n";
    int folder_fd = open_folder();
    struct ty_log_writer *writer = NULL;
    put(folder_fd, "m.log", lines, sizeof(lines));
    put(folder_fd, "m.idx", data, size);
    check_reader(folder_fd, LOG_SIZE);

    /* An index that claims a far offset would make the writer extend the log: that may meet a
     * limit. */
    ty_status status = ty_log_writer_open(folder_fd, "m", &writer, NULL);
    require(status == TY_OK || status == TY_STORAGE_FULL || status == TY_UNAVAILABLE);
    if (status == TY_OK && ty_log_writer_end(writer) < 1000000) {
        require(ty_log_writer_append(writer, "x", 1, 1, NULL) == TY_OK);
        int64_t end = ty_log_writer_end(writer);
        ty_log_writer_close(writer);
        check_reader(folder_fd, end);
    } else {
        ty_log_writer_close(writer);
    }
    return 0;
}
