/* Appending to a replica's log.
 *
 * The happy path: a time mark if 100 ms have passed since the last, then the bytes with one
 * write(2). Both files are held under one lock, so that there is one writer however many
 * supervisors think they are it.
 *
 * What can fail: the disk is full or refuses. Then what fitted stays, the rest is added to
 * `pending`, and a gap record is tried again before every later record until it is in; bytes that
 * fit again meanwhile are kept. A record that was written in part is written over, since records go
 * to a position and not to the end. */
#include "index.h"

#include "trainyard/base/scope.h"
#include "trainyard/logs/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

struct ty_log_writer {
    int log_fd;
    int index_fd;
    int64_t end;          /* of the log */
    int64_t max_bytes;    /* 0 = without end */
    int64_t records;      /* whole ones in the index */
    int32_t attempt;      /* the running one, 0 before the first */
    int64_t last_mark_us; /* INT64_MIN: mark before the next byte */
    int64_t pending;      /* lost, with no gap record yet */
    int64_t pending_at;   /* where the first of them would have been */
    int64_t lost;         /* since open */
    bool sealed;
    bool dirty; /* written since the last sync */
};

static ty_status fail_write(struct ty_error *err, int errnum, const char *what)
{
    if (errnum == EFBIG)
        return ty_fail(err, TY_STORAGE_FULL, "%s: the file size limit is reached", what);
    if (errnum == ENOSPC || errnum == EDQUOT || errnum == ENOMEM)
        return ty_fail_errno(err, errnum, "%s", what);
    return ty_fail(err, TY_UNAVAILABLE, "%s: %s", what, strerrordesc_np(errnum));
}

static ty_status write_record(struct ty_log_writer *writer, struct index_record record,
                              struct ty_error *err)
{
    uint8_t bytes[INDEX_RECORD];
    ssize_t written;

    record.attempt = writer->attempt;
    ty_index_encode(&record, bytes);
    do {
        written = pwrite(writer->index_fd, bytes, sizeof(bytes), writer->records * INDEX_RECORD);
    } while (written < 0 && errno == EINTR);
    if (written != INDEX_RECORD)
        return fail_write(err, written < 0 ? errno : ENOSPC, "write the log's index");
    writer->records++;
    writer->dirty = true;
    return TY_OK;
}

static uint32_t capped(int64_t amount)
{
    return amount > (int64_t)UINT32_MAX ? UINT32_MAX : (uint32_t)amount;
}

/* Say what is missing before anything else is said. */
static ty_status note_gap(struct ty_log_writer *writer, int64_t wall_us, struct ty_error *err)
{
    if (writer->pending == 0)
        return TY_OK;
    const struct index_record gap = {
        .kind = INDEX_GAP,
        .offset = writer->pending_at,
        .wall_us = wall_us,
        .amount = capped(writer->pending),
    };
    ty_status status = write_record(writer, gap, err);
    if (status == TY_OK)
        writer->pending = 0;
    return status;
}

/* A record about the present end, after any gap that is still to be noted. */
static ty_status write_mark(struct ty_log_writer *writer, index_kind kind, int64_t wall_us,
                            struct ty_error *err)
{
    ty_status status = note_gap(writer, wall_us, err);
    if (status != TY_OK)
        return status;
    return write_record(
        writer, (struct index_record){.kind = kind, .offset = writer->end, .wall_us = wall_us},
        err);
}

static ty_status open_file(int folder_fd, const char *name, int *fd_out, struct ty_error *err)
{
    int fd = openat(folder_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return fail_write(err, errno, "open the log");
    *fd_out = fd;
    return TY_OK;
}

/* Where the last writer stopped. */
static ty_status load_index(struct ty_log_writer *writer, struct ty_error *err)
{
    struct index_record last;
    ty_status status = ty_index_last(writer->index_fd, &writer->records, &last, err);
    if (status != TY_OK)
        return status;
    if (ftruncate(writer->index_fd, writer->records * INDEX_RECORD) < 0)
        return fail_write(err, errno, "cut the log's index");
    writer->attempt = last.attempt;
    writer->sealed = last.kind == INDEX_SEAL && last.offset == writer->end;
    if (last.offset <= writer->end)
        return TY_OK;
    /* A power cut took bytes that the index knows of. Readers may hold offsets beyond the end: keep
     * them true. */
    if (last.kind != INDEX_HOLE) { /* else a writer died just here */
        last.amount = capped(last.offset - writer->end);
        last.kind = INDEX_HOLE;
        status = write_record(writer, last, err);
    }
    if (status == TY_OK && ftruncate(writer->log_fd, last.offset) < 0)
        status = fail_write(err, errno, "extend the log");
    if (status == TY_OK)
        writer->end = last.offset;
    return status;
}

static ty_status open_files(struct ty_log_writer *writer, int folder_fd, const char *log_name,
                            const char *index_name, struct ty_error *err)
{
    struct stat stat;
    ty_status status = open_file(folder_fd, index_name, &writer->index_fd, err);
    if (status != TY_OK)
        return status;
    if (flock(writer->index_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return ty_fail_code(err, TY_CONFLICT, "log_in_use", "the log has another writer");
        return fail_write(err, errno, "lock the log");
    }
    status = open_file(folder_fd, log_name, &writer->log_fd, err);
    if (status != TY_OK)
        return status;
    if (fstat(writer->log_fd, &stat) < 0)
        return fail_write(err, errno, "look at the log");
    if (stat.st_size == 0 && fsync(folder_fd) < 0 && errno != EBADF && errno != EINVAL)
        return fail_write(err, errno, "store the log's folder");
    writer->end = stat.st_size;
    return load_index(writer, err);
}

ty_status ty_log_writer_open(int folder_fd, const char *replica, struct ty_log_writer **writer_out,
                             struct ty_error *err)
{
    char log_name[LOG_NAME];
    char index_name[LOG_NAME];
    if (!ty_log_names(replica, log_name, index_name))
        return ty_fail_code(err, TY_INVALID, "invalid_replica", "not a replica's name");
    struct ty_log_writer *writer = malloc(sizeof(*writer));
    if (!writer)
        return ty_fail(err, TY_NO_MEMORY, "open the log");
    *writer = (struct ty_log_writer){.log_fd = -1, .index_fd = -1, .last_mark_us = INT64_MIN};

    ty_status status = open_files(writer, folder_fd, log_name, index_name, err);
    if (status != TY_OK) {
        ty_log_writer_close(writer);
        return status;
    }
    *writer_out = writer;
    return TY_OK;
}

ty_status ty_log_writer_attempt(struct ty_log_writer *writer, int32_t attempt, int64_t wall_us,
                                struct ty_error *err)
{
    if (attempt <= writer->attempt)
        return ty_fail(err, TY_INVALID, "attempt %d does not follow attempt %d", attempt,
                       writer->attempt);
    ty_status status = note_gap(writer, wall_us, err); /* it belongs to the attempt before */
    if (status != TY_OK)
        return status;
    int32_t before = writer->attempt;
    writer->attempt = attempt;
    status = write_mark(writer, INDEX_ATTEMPT, wall_us, err);
    if (status != TY_OK) {
        writer->attempt = before;
        return status;
    }
    writer->sealed = false;
    writer->last_mark_us = wall_us; /* the attempt's record is a mark too */
    return TY_OK;
}

/* False when `wall_us` is within 100 ms of the last mark, on either side: clocks jump. */
static bool mark_is_due(const struct ty_log_writer *writer, int64_t wall_us)
{
    if (writer->last_mark_us == INT64_MIN)
        return true;
    int64_t apart;
    return __builtin_sub_overflow(wall_us, writer->last_mark_us, &apart) ||
           apart >= INDEX_MARK_US || apart <= -INDEX_MARK_US;
}

/* The bytes matter more than their time: a mark that cannot be written is due again at the next
 * append. */
static void mark_append(struct ty_log_writer *writer, int64_t wall_us)
{
    if (!mark_is_due(writer, wall_us) && !writer->sealed && writer->pending == 0)
        return;
    if (write_mark(writer, INDEX_TIME, wall_us, NULL) == TY_OK) {
        writer->last_mark_us = wall_us;
        writer->sealed = false;
    }
}

static void count_lost(struct ty_log_writer *writer, size_t len)
{
    if (writer->pending == 0)
        writer->pending_at = writer->end;
    writer->pending += (int64_t)len;
    writer->lost += (int64_t)len;
}

/* Write at the end, as far as it goes. */
static ty_status write_bytes(struct ty_log_writer *writer, const char *bytes, size_t len,
                             size_t *written_out, struct ty_error *err)
{
    size_t done = 0;
    ty_status status = TY_OK;
    while (done < len && status == TY_OK) {
        ssize_t written =
            pwrite(writer->log_fd, bytes + done, len - done, writer->end + (int64_t)done);
        if (written > 0)
            done += (size_t)written;
        else if (written == 0 || errno != EINTR)
            status = fail_write(err, written == 0 ? ENOSPC : errno, "write the log");
    }
    *written_out = done;
    return status;
}

void ty_log_writer_limit(struct ty_log_writer *writer, int64_t max_bytes)
{
    writer->max_bytes = max_bytes;
}

/* How many of `len` bytes the limit lets in. */
static size_t let_in(const struct ty_log_writer *writer, size_t len)
{
    int64_t room = writer->max_bytes - writer->end;
    if (writer->max_bytes == 0 || room >= (int64_t)len)
        return len;
    return room > 0 ? (size_t)room : 0;
}

ty_status ty_log_writer_append(struct ty_log_writer *writer, const void *bytes, size_t len,
                               int64_t wall_us, struct ty_error *err)
{
    if (len == 0)
        return TY_OK;
    size_t written = 0;
    size_t wanted = let_in(writer, len);
    mark_append(writer, wall_us);
    ty_status status = write_bytes(writer, bytes, wanted, &written, err);
    if (status == TY_OK && wanted < len)
        status = ty_fail_code(err, TY_STORAGE_FULL, "log_limit", "the log has reached its limit");
    writer->end += (int64_t)written;
    writer->dirty |= written > 0;
    if (status != TY_OK) {
        count_lost(writer, len - written);
        if (note_gap(writer, wall_us, NULL) != TY_OK)
            writer->last_mark_us = INT64_MIN; /* tried again at the next append */
    }
    return status;
}

int64_t ty_log_writer_end(const struct ty_log_writer *writer)
{
    return writer->end;
}

int64_t ty_log_writer_lost(const struct ty_log_writer *writer)
{
    return writer->lost;
}

ty_status ty_log_writer_sync(struct ty_log_writer *writer, struct ty_error *err)
{
    if (!writer->dirty)
        return TY_OK;
    /* The log first: an index on disk should not know of bytes that are not. */
    if (fdatasync(writer->log_fd) < 0 || fdatasync(writer->index_fd) < 0)
        return fail_write(err, errno, "store the log");
    writer->dirty = false;
    return TY_OK;
}

ty_status ty_log_writer_seal(struct ty_log_writer *writer, struct ty_error *err)
{
    if (writer->sealed)
        return ty_log_writer_sync(writer, err);
    int64_t now_us = ty_now_us(ty_clock_system());
    ty_status status = note_gap(writer, now_us, err);
    if (status == TY_OK)
        status = ty_log_writer_sync(writer, err); /* never sealed before all bytes are safe */
    if (status == TY_OK)
        status = write_mark(writer, INDEX_SEAL, now_us, err);
    if (status != TY_OK)
        return status;
    writer->sealed = true;
    return ty_log_writer_sync(writer, err);
}

void ty_log_writer_close(struct ty_log_writer *writer)
{
    if (!writer)
        return;
    if (writer->log_fd >= 0)
        close(writer->log_fd);
    if (writer->index_fd >= 0)
        close(writer->index_fd);
    free(writer);
}
