/* Public ids: a prefix and 26 lower-case Crockford base32 digits, 48 bits of milliseconds then 80
 * random bits (the layout of ULID), so that ids sort by time and cannot be guessed. */
#ifndef TRAINYARD_BASE_ID_H
#define TRAINYARD_BASE_ID_H

#include "trainyard/base/random.h"

#include <stdbool.h>

enum { TY_ID_TEXT = 40 }; /* room for any id with its NUL */

/* Write `prefix` ("job_", at most 12 bytes) and the 26 digits. */
void ty_id_make(const struct ty_random *random, int64_t wall_us, const char *prefix,
                char out[TY_ID_TEXT]);

/* Whether `text` is `prefix` and 26 digits of the alphabet within 128 bits; no id of ours fails
 * this. */
bool ty_id_valid(const char *prefix, const char *text);

enum { TY_ID_SHORT = 9 }; /* 8 digits with their NUL */

/* A short, DNS-safe name made of a valid id: three digits of its time (32 ms a step, round after 17
 * minutes) and its last five random ones. Short names made one after another lie close together, so
 * that an index of them is written in few places however many there are. */
void ty_id_short(const char *id, char out[TY_ID_SHORT]);

#endif
