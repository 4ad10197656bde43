/* cmocka with the headers it needs, in the order it needs them. */
#ifndef TRAINYARD_TESTS_SUPPORT_UNIT_H
#define TRAINYARD_TESTS_SUPPORT_UNIT_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#define UNIT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
