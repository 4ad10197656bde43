/* One walk over everything beneath a folder, in path order, within bounds; the base of listing,
 * usage and checkpoints. */
#ifndef TY_LOGS_WALK_H
#define TY_LOGS_WALK_H

#include "trainyard/logs/files.h"

struct stat;

/* Called for each entry; `path` is NUL-ended and valid for the call. False ends the walk. */
typedef bool walk_visit(const char *path, size_t path_len, const struct stat *stat, void *context);

struct walk_request {
    const char *folder; /* beneath the root; NULL or "" = the root */
    const char *after;  /* only what sorts after this path; NULL = everything */
    size_t
        batch; /* names of one folder to sort at a time: about what the visitor wants, at least 1 */
    walk_visit *visit;
    void *context;
};

/* Errors as ty_files_list. *partial_out: a bound was met or something could not be read. A visitor
 * that ends the walk ends it with TY_OK. */
ty_status ty_walk(int root_fd, const struct walk_request *request, bool *partial_out,
                  struct ty_error *err) TY_MUST_CHECK;

void ty_file_stat_from(const struct stat *stat, struct ty_file_stat *out);

#endif
