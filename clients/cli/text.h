/* Values as text for people. */
#ifndef TRAINYARD_CLI_TEXT_H
#define TRAINYARD_CLI_TEXT_H

#include "cli.h"

/* A member ("a.b" goes inside) as text: times without fractions, lists joined, null and "" as "-",
 * control characters as "?". Returns `out`. */
const char *cli_text(const json_t *object, const char *member, char *out, size_t size);

/* How many columns a text takes: code points, not bytes. */
size_t cli_width(const char *text);

/* Cut a text in a buffer of `size` bytes to `width` columns, the last of which is then "…"; 0 =
 * never cut. */
void cli_shorten(char *text, size_t size, size_t width);

/* "512 B", "1.5 KiB", "12 MiB". */
enum { SIZE_TEXT = 16 };
void cli_size_text(int64_t bytes, char out[SIZE_TEXT]);

/* "42s", "3m12s", "2h05m", "3d04h". */
enum { DURATION_TEXT = 32 };
void cli_duration_text(int64_t seconds, char out[DURATION_TEXT]);

/* Put "?" for control characters, which would move the cursor of whoever reads them, and cut off
 * an unfinished UTF-8 sequence at the end. */
void cli_make_printable(char *text);

#endif
