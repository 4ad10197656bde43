/* Real numbers as text that JSON, YAML 1.1 and YAML 1.2 all read back as the same real number. */
#ifndef TRAINYARD_SERVER_BASE_REAL_H
#define TRAINYARD_SERVER_BASE_REAL_H

enum { TY_REAL_TEXT = 40 };

/* The shortest of 15, 16 or 17 significant digits that reads back exactly; always with a '.'.
 * `value` is finite. */
void ty_real_text(double value, char out[TY_REAL_TEXT]);

#endif
