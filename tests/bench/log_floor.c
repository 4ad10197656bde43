/* The floor of the log figures: a pipe read in 64 KiB and appended to one file, nothing else.
 *   log_floor FOLDER [MEGABYTES]   prints megabytes a second for each size of the producer's writes
 */
#include "log_pipe.h"

int main(int argc, char **argv)
{
    static const size_t steps[] = {128, 4096, LOG_CHUNK};
    if (argc < 2) {
        fprintf(stderr, "usage: log_floor FOLDER [MEGABYTES]\n");
        return 2;
    }
    size_t total = (argc > 2 ? strtoul(argv[2], NULL, 10) : 256) << 20;
    char path[4096];
    snprintf(path, sizeof(path), "%s/floor.log", argv[1]);
    for (size_t at = 0; at < sizeof(steps) / sizeof(*steps); at++)
        printf("floor  writes of %5zu bytes  %8.1f MB/s\n", steps[at],
               run_floor(path, total, steps[at]) / 1e6);
    unlink(path);
    return 0;
}
