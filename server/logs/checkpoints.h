/* Which of two checkpoints is the newer one. */
#ifndef TY_LOGS_CHECKPOINTS_H
#define TY_LOGS_CHECKPOINTS_H

#include "trainyard/logs/files.h"

/* By time, then by name with numbers as numbers. */
bool checkpoint_newer(const struct ty_file_stat *stat, const char *path,
                      const struct ty_file_stat *than_stat, const char *than_path);

#endif
