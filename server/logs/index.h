/* The index beside a replica's log: `<replica>.idx`, fixed-size records that say where attempts
 * begin, when bytes arrived, what is missing and that nothing follows.
 *
 * One record is 32 bytes, little-endian:
 *    0  u16  magic "TL"
 *    2  u8   kind
 *    3  u8   version, 1
 *    4  i32  attempt that was running, 0 before the first
 *    8  i64  offset into the log
 *   16  i64  wall clock, microseconds since 1970
 *   24  u32  amount (gap, hole: bytes; at most 4,294,967,295), else 0
 *   28  u32  CRC-32 of the 28 bytes before
 *
 * Attempts and offsets never fall from one record to the next, so both are found by halving. A
 * record is written with one pwrite and 32 divides a page: a writer that dies leaves whole records
 * and at most one torn one at the end, which its CRC betrays. Readers leave out what does not
 * check; the next writer cuts a bad end off.
 *
 * A mark is written before the bytes it stands for, so no byte is ever without one; an attempt's
 * record may therefore stand at the end of the log. At most one time mark is written per 100 ms. */
#ifndef TY_LOGS_INDEX_H
#define TY_LOGS_INDEX_H

#include "trainyard/base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum { INDEX_RECORD = 32, INDEX_MARK_US = 100000 };

typedef enum {
    INDEX_ATTEMPT = 1, /* `attempt` begins at `offset` */
    INDEX_TIME = 2,    /* the byte at `offset` arrived at `wall_us` */
    INDEX_GAP = 3,     /* `amount` bytes could not be stored, from `offset` on */
    INDEX_SEAL = 4,    /* nothing follows `offset` */
    INDEX_HOLE = 5     /* the `amount` bytes before `offset` were lost by a power cut: now NUL */
} index_kind;

struct index_record {
    index_kind kind;
    int32_t attempt;
    int64_t offset;
    int64_t wall_us;
    uint32_t amount;
};

void ty_index_encode(const struct index_record *record, uint8_t out[INDEX_RECORD]);

/* False when the bytes are no record; *record_out is untouched then. */
bool ty_index_decode(const uint8_t bytes[INDEX_RECORD], struct index_record *record_out);

/* How many whole records `fd` holds up to and including the last one that checks, and that one; a
 * record of kind INDEX_TIME and zeros when there is none. TY_UNAVAILABLE. */
ty_status ty_index_last(int fd, int64_t *count_out, struct index_record *last_out,
                        struct ty_error *err) TY_MUST_CHECK;

/* Record number `at` (0…), or the nearest one after it that checks; *at_out says which.
 * TY_NOT_FOUND when none is left before `count`, TY_UNAVAILABLE. */
ty_status ty_index_get(int fd, int64_t at, int64_t count, struct index_record *record_out,
                       int64_t *at_out, struct ty_error *err) TY_MUST_CHECK;

/* Call `visit` for each record that checks, in order, until it returns false. TY_UNAVAILABLE. */
typedef bool index_visit(const struct index_record *record, void *context);
ty_status ty_index_each(int fd, int64_t count, index_visit *visit, void *context,
                        struct ty_error *err) TY_MUST_CHECK;

/* The number of the first record for which `reached(record, target)` holds; `count` when there is
 * none. `reached` must be false on a beginning of the file and true on the rest. */
typedef bool index_reached(const struct index_record *record, int64_t target);
ty_status ty_index_find(int fd, int64_t count, index_reached *reached, int64_t target,
                        int64_t *at_out, struct ty_error *err) TY_MUST_CHECK;

/* Conditions for ty_index_find. */
index_reached ty_index_at_attempt; /* attempt >= target */
index_reached ty_index_at_offset;  /* offset >= target */

/* Names of the two files of a replica; false when `replica` is no DNS-1123 label. */
enum { LOG_NAME = 72 };
bool ty_log_names(const char *replica, char log_out[LOG_NAME], char index_out[LOG_NAME]);

#endif
