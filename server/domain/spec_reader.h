/* Reading checked JSON into structs by tables of fields: every fault is noted with its pointer and
 * reading goes on; running out of memory is remembered and asked for once, at the end. */
#ifndef TRAINYARD_DOMAIN_SPEC_READER_H
#define TRAINYARD_DOMAIN_SPEC_READER_H

#include "trainyard/base/faults.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ty_spec_reader {
    struct ty_faults *faults;
    bool no_memory;
    size_t at_len;
    char at[512]; /* RFC 6901 pointer of the value being read */
};

void ty_spec_reader_init(struct ty_spec_reader *reader, struct ty_faults *faults);

/* Go one token deeper; give the result to ty_spec_leave. */
size_t ty_spec_enter(struct ty_spec_reader *reader, const char *token);
size_t ty_spec_enter_index(struct ty_spec_reader *reader, size_t index);
void ty_spec_leave(struct ty_spec_reader *reader, size_t mark);

/* Note a fault here, or at a member of what is here. */
void ty_spec_fault(struct ty_spec_reader *reader, const char *code, const char *format, ...)
    TY_PRINTF(3, 4);
void ty_spec_fault_in(struct ty_spec_reader *reader, const char *token, const char *code,
                      const char *format, ...) TY_PRINTF(4, 5);

/* The same fault at the same place is noted once however often it is found. */
void ty_spec_fault_once(struct ty_spec_reader *reader, const char *code, const char *format, ...)
    TY_PRINTF(3, 4);

/* Memory for the result; NULL (remembered) when there is none, and for count 0 or NULL text. */
void *ty_spec_alloc(struct ty_spec_reader *reader, size_t count, size_t size);
char *ty_spec_dup(struct ty_spec_reader *reader, const char *text);
char *ty_spec_format(struct ty_spec_reader *reader, const char *format, ...) TY_PRINTF(2, 3);

typedef enum {
    TY_FIELD_TEXT,     /* char *: a copy, owned by the struct */
    TY_FIELD_BORROWED, /* const char *: lives as long as the JSON */
    TY_FIELD_INT32,
    TY_FIELD_INT64,
    TY_FIELD_BOOL,
    TY_FIELD_CHOICE, /* an enum that counts from 0: the index in `choices` */
    TY_FIELD_JSON    /* const json_t *: read later; lives as long as the JSON */
} ty_field_kind;

struct ty_field {
    const char *name;
    ty_field_kind kind;
    size_t offset;
    int64_t min; /* numbers: range; texts: length in bytes */
    int64_t max;
    const char *const *choices; /* ends with NULL */
};

/* Read the members of an object into `target` by its fields; members that are absent leave their
 * place as it is. Anything but an object and unknown members are faults. */
void ty_spec_read_fields(struct ty_spec_reader *reader, const json_t *object,
                         const struct ty_field *fields, size_t count, void *target);

/* The text of a JSON string without NUL, or NULL and a fault. */
const char *ty_spec_text(struct ty_spec_reader *reader, const json_t *value);

/* Whether `value` is an array; else a fault. */
bool ty_spec_is_array(struct ty_spec_reader *reader, const json_t *value);

/* Fill one item of an array from its JSON; what it leaves unset stays zero. */
typedef void ty_spec_read_item(struct ty_spec_reader *reader, const json_t *value, void *item);

/* An array of at most `max` items of `size` bytes, each read by `read` at its own pointer; NULL and
 * count 0 when there is none. Owned by the caller, items that had faults included. */
void *ty_spec_read_items(struct ty_spec_reader *reader, const json_t *array, size_t max,
                         size_t size, ty_spec_read_item *read, size_t *count_out);

#endif
