/* The columns of tables of jobs. */
#ifndef TRAINYARD_CLI_JOBS_H
#define TRAINYARD_CLI_JOBS_H

#include "output.h"

extern const struct cli_column job_columns[];

#endif
