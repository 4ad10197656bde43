/* The catalogue's rows, for http/problem.h. */
#ifndef TRAINYARD_HTTP_PROBLEM_KINDS_H
#define TRAINYARD_HTTP_PROBLEM_KINDS_H

#include "trainyard/http/problem.h"

extern const struct ty_problem_kind ty_problem_table[];
extern const size_t ty_problem_table_count;

#endif
