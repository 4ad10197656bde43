/* Holding values against compiled schemas. */
#ifndef TRAINYARD_SERVER_CONTRACT_CHECK_H
#define TRAINYARD_SERVER_CONTRACT_CHECK_H

#include "contract/schema.h"

#include "trainyard/base/faults.h"

/* One value: of a JSON tree, or read from the text of a parameter. */
struct ty_value {
    uint32_t type;    /* one TYPE_ bit */
    bool boolean;     /* TYPE_BOOLEAN */
    const char *text; /* TYPE_STRING, well-formed UTF-8 */
    size_t len;
    json_int_t integer; /* TYPE_INTEGER */
    double real;        /* TYPE_INTEGER and TYPE_NUMBER */
    const json_t *json; /* TYPE_ARRAY and TYPE_OBJECT */
};

struct ty_value ty_value_of(const json_t *json);

/* One check at work, on one thread. `faults` NULL: only whether it holds, up to the first fault. */
struct ty_check {
    struct ty_faults *faults;
    ty_fault_place kind;
    const char *name; /* of the parameter or header; unused for bodies */
    struct ty_matcher matcher;
    int depth;
    bool no_memory; /* the result cannot be trusted */
};

void ty_check_init(struct ty_check *check, struct ty_faults *faults);
void ty_check_done(struct ty_check *check);

/* Whether the value keeps to the schema; every fault is noted where it is found. */
bool ty_check_value(struct ty_check *check, const struct ty_schema *schema,
                    const struct ty_value *value, const struct ty_place *place);

/* Note one fault at `place` (bodies) or for the parameter at work. Always false. */
bool ty_check_fail(struct ty_check *check, const struct ty_place *place, const char *code,
                   const char *format, ...) TY_PRINTF(4, 5);

/* Whether a count of `unit` keeps to its limits; `few` and `many` are the codes of the faults. */
struct ty_count_limits {
    const struct ty_count *least;
    const struct ty_count *most;
    const char *few; /* "too_few_items" */
    const char *many;
    const char *unit; /* "items" */
};
bool ty_check_count(struct ty_check *check, const struct ty_count_limits *limits, size_t count,
                    const struct ty_place *place);

/* "a string or an integer": the names of some types, for people. */
enum { TY_TYPES_TEXT = 96 };
void ty_types_text(uint32_t types, char out[TY_TYPES_TEXT]);

/* --- one group of keywords each, from their own files --- */
bool ty_check_object(struct ty_check *check, const struct ty_schema *schema, const json_t *object,
                     const struct ty_place *place);
bool ty_check_combined(struct ty_check *check, const struct ty_schema *schema,
                       const struct ty_value *value, const struct ty_place *place);

#endif
