/* The log archive against its floor, in one run:
 *   log_relay FOLDER [MEGABYTES]
 * 1. relay: a pipe read in 64 KiB and appended through the archive, against the raw loop,
 * alternating; medians.
 * 2. fan-out: 1,000 readers of one log through the archive, against as many raw preads of the same
 * ranges.
 * 3. live: from the append of a line to a follower that was woken and has read it. */
#include "log_pipe.h"

#include "trainyard/logs/archive.h"

#include <semaphore.h>
#include <stdint.h>

enum { ROUNDS = 5, READERS = 1000, LINES = 500 };

static void must(ty_status status, const struct ty_error *err)
{
    if (status == TY_OK)
        return;
    fprintf(stderr, "log_relay: %s\n", err->text);
    exit(1);
}

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double at_part(double *values, size_t count, double part)
{
    qsort(values, count, sizeof(*values), compare_doubles);
    return values[(size_t)(part * (double)(count - 1))];
}

static void remove_log(int folder_fd)
{
    (void)unlinkat(folder_fd, "relay.log", 0);
    (void)unlinkat(folder_fd, "relay.idx", 0);
}

static double run_relay(int folder_fd, size_t total, size_t step)
{
    static char chunk[LOG_CHUNK];
    struct ty_log_writer *writer = NULL;
    struct ty_error err;
    pid_t child;
    remove_log(folder_fd);
    must(ty_log_writer_open(folder_fd, "relay", &writer, &err), &err);
    double begin = seconds_now();
    int fd = start_producer(total, step, &child);
    ssize_t len;
    while ((len = read(fd, chunk, sizeof(chunk))) > 0)
        must(ty_log_writer_append(writer, chunk, (size_t)len, ty_now_us(ty_clock_system()), &err),
             &err);
    double elapsed = seconds_now() - begin;
    end_producer(fd, child);
    ty_log_writer_close(writer);
    return (double)total / elapsed;
}

static void bench_relay(const char *folder, int folder_fd, size_t total)
{
    static const size_t steps[] = {128, 4096, LOG_CHUNK};
    char path[4096];
    snprintf(path, sizeof(path), "%s/floor.log", folder);
    for (size_t at = 0; at < sizeof(steps) / sizeof(*steps); at++) {
        double floors[ROUNDS];
        double relays[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            floors[round] = run_floor(path, total, steps[at]);
            relays[round] = run_relay(folder_fd, total, steps[at]);
        }
        double floor_rate = at_part(floors, ROUNDS, 0.5);
        double relay_rate = at_part(relays, ROUNDS, 0.5);
        printf("relay    writes of %5zu bytes  %8.1f MB/s  floor %8.1f MB/s  ratio %.2f\n",
               steps[at], relay_rate / 1e6, floor_rate / 1e6, relay_rate / floor_rate);
    }
    unlink(path);
}

/* Each reader reads each chunk of the log once, chunk after chunk, as followers of a live log do.
 */
static void bench_fan_out(int folder_fd)
{
    static char chunk[LOG_CHUNK];
    struct ty_log_reader *reader = NULL;
    struct ty_log_extent extent;
    struct ty_error err;
    size_t len;
    int64_t end = 16 * LOG_CHUNK;
    run_relay(folder_fd, (size_t)end, LOG_CHUNK);
    int fd = openat(folder_fd, "relay.log", O_RDONLY | O_CLOEXEC);
    must(ty_log_reader_open(folder_fd, "relay", &reader, &err), &err);
    double floors[ROUNDS];
    double relays[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double begin = seconds_now();
        for (int64_t at = 0; at < end; at += LOG_CHUNK)
            for (int each = 0; each < READERS; each++)
                if (pread(fd, chunk, sizeof(chunk), at) != LOG_CHUNK)
                    stop("pread");
        double middle = seconds_now();
        for (int64_t at = 0; at < end; at += LOG_CHUNK)
            for (int each = 0; each < READERS; each++) {
                must(ty_log_extent(reader, 0, &extent, &err), &err);
                must(ty_log_read(reader, at, chunk, sizeof(chunk), &len, &err), &err);
            }
        floors[round] = middle - begin;
        relays[round] = seconds_now() - middle;
    }
    printf("fan-out  %d readers           %8.3f s     floor %8.3f s     cost  %.2f\n", READERS,
           at_part(relays, ROUNDS, 0.5), at_part(floors, ROUNDS, 0.5),
           at_part(relays, ROUNDS, 0.5) / at_part(floors, ROUNDS, 0.5));
    ty_log_reader_close(reader);
    close(fd);
}

static void wake(void *context)
{
    sem_post(context);
}

/* Read until `end` is there, sleeping in between; returns when the last byte was read. */
static double read_until(struct ty_log_reader *reader, sem_t *woken, int64_t end)
{
    static char chunk[LOG_CHUNK];
    static int64_t at;
    struct ty_error err;
    while (at < end) {
        size_t len = 0;
        if (sem_wait(woken) < 0)
            continue;
        must(ty_log_read(reader, at, chunk, sizeof(chunk), &len, &err), &err);
        at += (int64_t)len;
    }
    return seconds_now();
}

/* Lines at odd moments: 1 to 30 ms apart, so that some fall into the watcher's rest. */
static void bench_live(const char *folder, int folder_fd)
{
    static double delays[LINES];
    struct ty_log_watcher *watcher = NULL;
    struct ty_log_watch *watch = NULL;
    struct ty_log_writer *writer = NULL;
    struct ty_log_reader *reader = NULL;
    struct ty_error err;
    sem_t woken;
    uint32_t seed = 1;
    sem_init(&woken, 0, 0);
    remove_log(folder_fd);
    must(ty_log_writer_open(folder_fd, "relay", &writer, &err), &err);
    must(ty_log_writer_attempt(writer, 1, 1, &err), &err);
    must(ty_log_reader_open(folder_fd, "relay", &reader, &err), &err);
    must(ty_log_watcher_create(&watcher, &err), &err);
    must(ty_log_watch_add(watcher, folder, "relay", wake, &woken, &watch, &err), &err);
    for (int at = 0; at < LINES; at++) {
        seed = seed * 1664525U + 1013904223U;
        const struct timespec rest = {.tv_nsec = 1000000L + (long)((seed >> 8) % 29000000)};
        nanosleep(&rest, NULL);
        double begin = seconds_now();
        must(ty_log_writer_append(writer, "loss 0.123\n", 11, ty_now_us(ty_clock_system()), &err),
             &err);
        delays[at] = read_until(reader, &woken, ty_log_writer_end(writer)) - begin;
    }
    printf("live     write to follower     p50 %.2f ms  p99 %.2f ms  max %.2f ms\n",
           at_part(delays, LINES, 0.5) * 1e3, at_part(delays, LINES, 0.99) * 1e3,
           at_part(delays, LINES, 1) * 1e3);
    ty_log_watch_remove(watch);
    ty_log_watcher_destroy(watcher);
    ty_log_reader_close(reader);
    ty_log_writer_close(writer);
    sem_destroy(&woken);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: log_relay FOLDER [MEGABYTES]\n");
        return 2;
    }
    size_t total = (argc > 2 ? strtoul(argv[2], NULL, 10) : 256) << 20;
    int folder_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_fd < 0)
        stop(argv[1]);
    bench_relay(argv[1], folder_fd, total);
    bench_fan_out(folder_fd);
    bench_live(argv[1], folder_fd);
    remove_log(folder_fd);
    close(folder_fd);
    return 0;
}
