/* Index records: encode, decode, count, find. Wall clocks may jump, so times are never searched by
 * halving alone. */
#include "index.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/str.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x4C54, VERSION = 1, BODY = 28, BLOCK_RECORDS = 128 };

static void put_u16(uint8_t *at, uint16_t value)
{
    value = htole16(value);
    memcpy(at, &value, sizeof(value));
}

static void put_u32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof(value));
}

static void put_u64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof(value));
}

static uint16_t get_u16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof(value));
    return le16toh(value);
}

static uint32_t get_u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

static uint64_t get_u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return le64toh(value);
}

void ty_index_encode(const struct index_record *record, uint8_t out[INDEX_RECORD])
{
    put_u16(out, MAGIC);
    out[2] = (uint8_t)record->kind;
    out[3] = VERSION;
    put_u32(out + 4, (uint32_t)record->attempt);
    put_u64(out + 8, (uint64_t)record->offset);
    put_u64(out + 16, (uint64_t)record->wall_us);
    put_u32(out + 24, record->amount);
    put_u32(out + BODY, ty_crc32(out, BODY));
}

bool ty_index_decode(const uint8_t bytes[INDEX_RECORD], struct index_record *record_out)
{
    uint8_t kind = bytes[2];
    if (get_u16(bytes) != MAGIC || bytes[3] != VERSION || kind < INDEX_ATTEMPT || kind > INDEX_HOLE)
        return false;
    if (get_u32(bytes + BODY) != ty_crc32(bytes, BODY))
        return false;
    struct index_record record = {
        .kind = (index_kind)kind,
        .attempt = (int32_t)get_u32(bytes + 4),
        .offset = (int64_t)get_u64(bytes + 8),
        .wall_us = (int64_t)get_u64(bytes + 16),
        .amount = get_u32(bytes + 24),
    };
    if (record.attempt < 0 || record.offset < 0)
        return false;
    *record_out = record;
    return true;
}

/* Read up to `max` bytes at `at`; short only at the end of the file. */
static ty_status read_block(int fd, int64_t at, uint8_t *out, size_t max, size_t *len_out,
                            struct ty_error *err)
{
    size_t len = 0;
    while (len < max) {
        ssize_t got = pread(fd, out + len, max - len, at + (int64_t)len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ty_fail(err, TY_UNAVAILABLE, "read the log's index: %s", strerrordesc_np(errno));
        if (got == 0)
            break;
        len += (size_t)got;
    }
    *len_out = len;
    return TY_OK;
}

/* Look for the last record that checks among those before *count, from the end in blocks: the first
 * block is one record, which nearly always is it. */
static ty_status find_last(int fd, int64_t *count, struct index_record *last, struct ty_error *err)
{
    int64_t step = 1;
    while (*count > 0) {
        uint8_t block[BLOCK_RECORDS * INDEX_RECORD];
        int64_t first = *count > step ? *count - step : 0;
        size_t len;
        ty_status status = read_block(fd, first * INDEX_RECORD, block,
                                      (size_t)(*count - first) * INDEX_RECORD, &len, err);
        if (status != TY_OK)
            return status;
        for (*count = first + (int64_t)(len / INDEX_RECORD); *count > first; --*count)
            if (ty_index_decode(block + (size_t)(*count - first - 1) * INDEX_RECORD, last))
                return TY_OK;
        step = BLOCK_RECORDS;
    }
    return TY_OK;
}

ty_status ty_index_last(int fd, int64_t *count_out, struct index_record *last_out,
                        struct ty_error *err)
{
    struct index_record last = {.kind = INDEX_TIME};
    struct stat stat;
    if (fstat(fd, &stat) < 0)
        return ty_fail(err, TY_UNAVAILABLE, "look at the log's index: %s", strerrordesc_np(errno));
    int64_t count = stat.st_size / INDEX_RECORD;
    ty_status status = find_last(fd, &count, &last, err);
    if (status != TY_OK)
        return status;
    *count_out = count;
    *last_out = last;
    return TY_OK;
}

ty_status ty_index_get(int fd, int64_t at, int64_t count, struct index_record *record_out,
                       int64_t *at_out, struct ty_error *err)
{
    for (; at < count; at++) {
        uint8_t bytes[INDEX_RECORD];
        size_t len;
        ty_status status = read_block(fd, at * INDEX_RECORD, bytes, sizeof(bytes), &len, err);
        if (status != TY_OK)
            return status;
        if (len == sizeof(bytes) && ty_index_decode(bytes, record_out)) {
            *at_out = at;
            return TY_OK;
        }
    }
    return ty_fail(err, TY_NOT_FOUND, "no such record in the log's index");
}

ty_status ty_index_each(int fd, int64_t count, index_visit *visit, void *context,
                        struct ty_error *err)
{
    for (int64_t first = 0; first < count; first += BLOCK_RECORDS) {
        uint8_t block[BLOCK_RECORDS * INDEX_RECORD];
        int64_t many = count - first < BLOCK_RECORDS ? count - first : BLOCK_RECORDS;
        size_t len;
        ty_status status =
            read_block(fd, first * INDEX_RECORD, block, (size_t)many * INDEX_RECORD, &len, err);
        if (status != TY_OK)
            return status;
        for (size_t at = 0; at + INDEX_RECORD <= len; at += INDEX_RECORD) {
            struct index_record record;
            if (ty_index_decode(block + at, &record) && !visit(&record, context))
                return TY_OK;
        }
    }
    return TY_OK;
}

ty_status ty_index_find(int fd, int64_t count, index_reached *reached, int64_t target,
                        int64_t *at_out, struct ty_error *err)
{
    int64_t low = 0;
    int64_t high = count; /* reached at `high` or beyond the end; not reached before `low` */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        struct index_record record;
        int64_t found;
        ty_status status = ty_index_get(fd, middle, high, &record, &found, err);
        if (status == TY_NOT_FOUND || (status == TY_OK && reached(&record, target)))
            high = middle; /* a bad record counts as the one after it */
        else if (status == TY_OK)
            low = found + 1;
        else
            return status;
    }
    *at_out = high;
    return TY_OK;
}

bool ty_index_at_attempt(const struct index_record *record, int64_t target)
{
    return record->attempt >= target;
}

bool ty_index_at_offset(const struct index_record *record, int64_t target)
{
    return record->offset >= target;
}

bool ty_log_names(const char *replica, char log_out[LOG_NAME], char index_out[LOG_NAME])
{
    if (!ty_dns1123_label(replica))
        return false;
    snprintf(log_out, LOG_NAME, "%s.log", replica);
    snprintf(index_out, LOG_NAME, "%s.idx", replica);
    return true;
}
