/* Reading a replica's log and asking its index. Nothing is kept between calls: the files say it
 * all, and a writer may be at work meanwhile. The log's size is therefore asked before the index,
 * so that bytes of an attempt which the index did not yet know of are never taken for bytes of the
 * one before. */
#include "reader.h"

#include "index.h"
#include "trainyard/base/scope.h"
#include "trainyard/logs/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static ty_status fail_read(struct ty_error *err, int errnum)
{
    return ty_fail(err, TY_UNAVAILABLE, "read the log: %s", strerrordesc_np(errnum));
}

static ty_status log_size(const struct ty_log_reader *reader, int64_t *size_out,
                          struct ty_error *err)
{
    struct stat stat;
    if (fstat(reader->log_fd, &stat) < 0)
        return fail_read(err, errno);
    *size_out = stat.st_size;
    return TY_OK;
}

/* How many records the index holds, and the last of them. */
static ty_status ask_index(const struct ty_log_reader *reader, int64_t *count_out,
                           struct index_record *last_out, struct ty_error *err)
{
    if (reader->index_fd >= 0)
        return ty_index_last(reader->index_fd, count_out, last_out, err);
    *count_out = 0;
    *last_out = (struct index_record){.kind = INDEX_TIME};
    return TY_OK;
}

/* TY_NOT_FOUND when the file is absent; anything but a regular file is not a log. */
static ty_status open_file(int folder_fd, const char *name, int *fd_out, struct ty_error *err)
{
    ty_auto_fd fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return ty_fail(err, TY_NOT_FOUND, "the replica has written nothing yet");
    struct stat stat;
    if (fd < 0 || fstat(fd, &stat) < 0)
        return fail_read(err, errno);
    if (!S_ISREG(stat.st_mode))
        return ty_fail(err, TY_UNAVAILABLE, "the log is not a regular file");
    *fd_out = ty_steal_fd(&fd);
    return TY_OK;
}

static ty_status open_files(struct ty_log_reader *reader, int folder_fd, const char *replica,
                            struct ty_error *err)
{
    char log_name[LOG_NAME];
    char index_name[LOG_NAME];
    if (!ty_log_names(replica, log_name, index_name))
        return ty_fail(err, TY_NOT_FOUND, "no replica of that name");
    ty_status status = open_file(folder_fd, log_name, &reader->log_fd, err);
    if (status == TY_OK)
        status = open_file(folder_fd, index_name, &reader->index_fd, err);
    if (status == TY_NOT_FOUND && reader->log_fd >= 0)
        status = TY_OK; /* the writer makes the index first: it was taken away */
    if (status != TY_OK)
        return status;

    struct index_record last;
    int64_t records;
    int64_t size = 0;
    status = ask_index(reader, &records, &last, err);
    if (status == TY_OK)
        status = log_size(reader, &size, err);
    if (status == TY_OK && records == 0 && size == 0)
        return ty_fail(err, TY_NOT_FOUND, "the replica has written nothing yet");
    return status;
}

ty_status ty_log_reader_open(int folder_fd, const char *replica, struct ty_log_reader **reader_out,
                             struct ty_error *err)
{
    struct ty_log_reader *reader = malloc(sizeof(*reader));
    if (!reader)
        return ty_fail(err, TY_NO_MEMORY, "open the log");
    *reader = (struct ty_log_reader){.log_fd = -1, .index_fd = -1};
    ty_status status = open_files(reader, folder_fd, replica, err);
    if (status != TY_OK) {
        ty_log_reader_close(reader);
        return status;
    }
    *reader_out = reader;
    return TY_OK;
}

void ty_log_reader_close(struct ty_log_reader *reader)
{
    if (!reader)
        return;
    if (reader->log_fd >= 0)
        close(reader->log_fd);
    if (reader->index_fd >= 0)
        close(reader->index_fd);
    free(reader);
}

ty_status ty_log_read(struct ty_log_reader *reader, int64_t offset, void *out, size_t max,
                      size_t *len_out, struct ty_error *err)
{
    if (offset < 0)
        return ty_fail(err, TY_INVALID, "a log has no negative offsets");
    size_t len = 0;
    while (len < max) {
        ssize_t got = pread(reader->log_fd, (char *)out + len, max - len, offset + (int64_t)len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail_read(err, errno);
        if (got == 0)
            break;
        len += (size_t)got;
    }
    *len_out = len;
    return TY_OK;
}

/* Where the attempt begins; TY_NOT_FOUND when there was none such. */
static ty_status attempt_start(const struct ty_log_reader *reader, int64_t count, int32_t attempt,
                               int64_t *start_out, struct ty_error *err)
{
    struct index_record record;
    int64_t at;
    ty_status status =
        ty_index_find(reader->index_fd, count, ty_index_at_attempt, attempt, &at, err);
    if (status == TY_OK)
        status = ty_index_get(reader->index_fd, at, count, &record, &at, err);
    if (status == TY_NOT_FOUND || (status == TY_OK && record.attempt != attempt))
        return ty_fail(err, TY_NOT_FOUND, "the replica had no attempt %d", attempt);
    if (status == TY_OK)
        *start_out = record.offset;
    return status;
}

/* Narrow the extent of the whole log to one attempt of it. */
static ty_status narrow(const struct ty_log_reader *reader, int64_t count, int32_t attempt,
                        struct ty_log_extent *extent, struct ty_error *err)
{
    if (attempt > extent->attempts)
        return ty_fail(err, TY_NOT_FOUND, "the replica had no attempt %d", attempt);
    ty_status status = attempt_start(reader, count, attempt, &extent->start, err);
    if (status != TY_OK || attempt == extent->attempts)
        return status;
    /* The next attempt's number may be any higher one. */
    struct index_record next;
    int64_t at;
    status =
        ty_index_find(reader->index_fd, count, ty_index_at_attempt, (int64_t)attempt + 1, &at, err);
    if (status == TY_OK)
        status = ty_index_get(reader->index_fd, at, count, &next, &at, err);
    if (status != TY_OK)
        return status;
    extent->end = next.offset;
    extent->sealed = true;
    return TY_OK;
}

/* The present end and the last record at one moment: a record that points beyond the size asked
 * before it was written after its bytes, so those are there now, unless a power cut took them. */
static ty_status look(const struct ty_log_reader *reader, int64_t *size_out, int64_t *count_out,
                      struct index_record *last_out, struct ty_error *err)
{
    int64_t size = 0;
    ty_status status = log_size(reader, size_out, err);
    if (status == TY_OK)
        status = ask_index(reader, count_out, last_out, err);
    if (status != TY_OK || last_out->offset <= *size_out)
        return status;
    status = log_size(reader, &size, err);
    if (status == TY_OK)
        *size_out = size < last_out->offset ? size : last_out->offset;
    return status;
}

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < limit ? value : limit;
}

ty_status ty_log_extent(struct ty_log_reader *reader, int32_t attempt, struct ty_log_extent *out,
                        struct ty_error *err)
{
    struct index_record last;
    int64_t count;
    int64_t size;
    ty_status status = look(reader, &size, &count, &last, err);
    if (status != TY_OK)
        return status;

    struct ty_log_extent extent = {
        .start = 0,
        .end = size,
        .sealed = last.kind == INDEX_SEAL && last.offset == size,
        .attempts = last.attempt,
    };
    if (attempt > 0)
        status = narrow(reader, count, attempt, &extent, err);
    if (status != TY_OK)
        return status;
    /* After a power cut, and until a writer has repaired it, the index may know more than there is.
     */
    extent.start = at_most(extent.start, size);
    extent.end = at_most(extent.end, size);
    extent.start = at_most(extent.start, extent.end);
    *out = extent;
    return TY_OK;
}

static bool count_gap(const struct index_record *record, void *context)
{
    struct ty_log_gaps *gaps = context;
    if (record->kind != INDEX_GAP && record->kind != INDEX_HOLE)
        return true;
    if (gaps->count == 0)
        gaps->offset = record->kind == INDEX_GAP ? record->offset : record->offset - record->amount;
    gaps->count++;
    gaps->bytes += record->amount;
    return true;
}

ty_status ty_log_gaps(struct ty_log_reader *reader, struct ty_log_gaps *out, struct ty_error *err)
{
    struct ty_log_gaps gaps = {.offset = -1};
    struct index_record last;
    int64_t count;
    ty_status status = ask_index(reader, &count, &last, err);
    if (status == TY_OK)
        status = ty_index_each(reader->index_fd, count, count_gap, &gaps, err);
    if (status == TY_OK)
        *out = gaps;
    return status;
}

static bool is_mark(const struct index_record *record)
{
    return record->kind == INDEX_TIME || record->kind == INDEX_ATTEMPT;
}

ty_status ty_log_time_at(struct ty_log_reader *reader, int64_t offset, int64_t *wall_us_out,
                         struct ty_error *err)
{
    struct index_record last;
    struct index_record record;
    int64_t count;
    int64_t size = 0;
    int64_t at;
    ty_status status = ask_index(reader, &count, &last, err);
    if (status == TY_OK)
        status = log_size(reader, &size, err);
    if (status != TY_OK)
        return status;
    if (offset < 0 || offset >= size || count == 0)
        return ty_fail(err, TY_NOT_FOUND, "no byte at that offset, or its time is not known");
    /* The last mark at or before the byte. */
    status = ty_index_find(reader->index_fd, count, ty_index_at_offset, offset + 1, &at, err);
    while (status == TY_OK && at > 0) {
        int64_t found;
        status = ty_index_get(reader->index_fd, --at, count, &record, &found, err);
        if (status == TY_OK && found == at && is_mark(&record)) {
            *wall_us_out = record.wall_us;
            return TY_OK;
        }
    }
    if (status != TY_OK)
        return status;
    return ty_fail(err, TY_NOT_FOUND, "the time of that byte is not known");
}

struct since {
    int64_t wall_us;
    int64_t offset;
};

static bool find_since(const struct index_record *record, void *context)
{
    struct since *since = context;
    if (!is_mark(record) || record->wall_us < since->wall_us)
        return true;
    since->offset = record->offset;
    return false;
}

ty_status ty_log_offset_since(struct ty_log_reader *reader, int64_t wall_us, int64_t *offset_out,
                              struct ty_error *err)
{
    struct since since = {.wall_us = wall_us, .offset = INT64_MAX};
    struct index_record last;
    int64_t count;
    int64_t size = 0;
    ty_status status = log_size(reader, &size, err);
    if (status == TY_OK)
        status = ask_index(reader, &count, &last, err);
    /* A clock that was set back leaves late times before early ones, so every mark is looked at. */
    if (status == TY_OK)
        status = ty_index_each(reader->index_fd, count, find_since, &since, err);
    if (status == TY_OK)
        *offset_out = since.offset < size ? since.offset : size;
    return status;
}
