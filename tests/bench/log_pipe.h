/* What the two log benchmarks share: a child that fills a pipe as fast as it can, as a training
 * script would, and the clock. */
#ifndef TESTS_BENCH_LOG_PIPE_H
#define TESTS_BENCH_LOG_PIPE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOG_CHUNK = 65536 };

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline void stop(const char *what)
{
    perror(what);
    exit(1);
}

/* Start a child that writes `total` bytes of 80-byte lines, `step` at a time; returns the end to
 * read from. */
static inline int start_producer(size_t total, size_t step, pid_t *child_out)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        stop("pipe");
    pid_t child = fork();
    if (child < 0)
        stop("fork");
    if (child == 0) {
        static char lines[LOG_CHUNK];
        for (size_t at = 0; at < sizeof(lines); at++)
            lines[at] = at % 80 == 79 ? '\n' : (char)('a' + at % 26);
        for (size_t sent = 0; sent < total;) {
            ssize_t written = write(ends[1], lines, step < total - sent ? step : total - sent);
            if (written < 0 && errno != EINTR)
                _exit(1);
            sent += written > 0 ? (size_t)written : 0;
        }
        _exit(0);
    }
    close(ends[1]);
    (void)fcntl(ends[0], F_SETPIPE_SZ,
                1 << 20); /* as large for both: the pipe is not what is measured */
    *child_out = child;
    return ends[0];
}

static inline void end_producer(int fd, pid_t child)
{
    int status;
    close(fd);
    if (waitpid(child, &status, 0) != child || status != 0)
        stop("producer");
}

/* The floor: read 64 KiB, append once. Returns bytes a second. */
static inline double run_floor(const char *path, size_t total, size_t step)
{
    static char chunk[LOG_CHUNK];
    pid_t child;
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        stop(path);
    double begin = seconds_now();
    int fd = start_producer(total, step, &child);
    ssize_t len;
    while ((len = read(fd, chunk, sizeof(chunk))) > 0)
        if (write(file, chunk, (size_t)len) != len)
            stop("write");
    double elapsed = seconds_now() - begin;
    end_producer(fd, child);
    close(file);
    return (double)total / elapsed;
}

#endif
