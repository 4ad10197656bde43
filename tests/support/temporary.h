/* A fresh folder for one test. */
#ifndef TRAINYARD_TESTS_SUPPORT_TEMPORARY_H
#define TRAINYARD_TESTS_SUPPORT_TEMPORARY_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPORARY_PATH = 64 };

/* Make it, write its path and return an open descriptor (-1 on failure). Remove it by its path in
 * the end. */
static inline int temporary_open(char path[TEMPORARY_PATH])
{
    static const char pattern[] = "/tmp/trainyard-test-XXXXXX";

    memcpy(path, pattern, sizeof(pattern));
    if (!mkdtemp(path))
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

#endif
