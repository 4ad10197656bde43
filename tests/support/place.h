/* A temporary folder as a cmocka fixture: *state is a struct place. */
#ifndef TRAINYARD_TESTS_SUPPORT_PLACE_H
#define TRAINYARD_TESTS_SUPPORT_PLACE_H

#include "unit.h"

#include "temporary.h"
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"

#include <stdio.h>
#include <sys/stat.h>

struct place {
    char path[TEMPORARY_PATH];
    int fd;
};

static inline int place_make(void **state)
{
    struct place *place = malloc(sizeof(*place));
    if (!place)
        return -1;
    place->fd = temporary_open(place->path);
    *state = place;
    return place->fd < 0 ? -1 : 0;
}

static inline int place_remove(void **state)
{
    struct place *place = *state;
    struct ty_error err = {0};
    close(place->fd);
    ty_status status = ty_tree_remove(AT_FDCWD, place->path, &err);
    bool gone = faccessat(AT_FDCWD, place->path, F_OK, 0) != 0;
    free(place);
    return status == TY_OK && gone ? 0 : -1;
}

/* Put `len` bytes into a file beneath the place, replacing it. */
static inline void place_write(const struct place *place, const char *name, const void *bytes,
                               size_t len)
{
    int fd = openat(place->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, len), (ssize_t)len);
    close(fd);
}

static inline void place_text(const struct place *place, const char *name, const char *text)
{
    place_write(place, name, text, strlen(text));
}

static inline void place_folder(const struct place *place, const char *name)
{
    assert_int_equal(mkdirat(place->fd, name, 0755), 0);
}

/* Set the time of last change of content. */
static inline void place_time(const struct place *place, const char *name, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(place->fd, name, times, AT_SYMLINK_NOFOLLOW), 0);
}

#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, place_make, place_remove)

#endif
