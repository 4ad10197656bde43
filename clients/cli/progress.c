#include "progress.h"

#include "text.h"

#include "trainyard/base/clock.h"

#include <inttypes.h>
#include <stdio.h>

enum { EVERY_MS = 100 };

void cli_progress_begin(struct cli_progress *progress, const struct cli *cli, const char *label,
                        int64_t have)
{
    *progress = (struct cli_progress){
        .label = label,
        .shown = cli->progress,
        .total = -1,
        .began_ms = ty_monotonic_ms(ty_clock_system()),
        .began_at = have,
    };
}

static void show(struct cli_progress *progress, const char *line, const char *end)
{
    size_t width = cli_width(line);
    size_t blanks = progress->width > width ? progress->width - width : 0;
    fprintf(stderr, "\r%s%*s%s", line, (int)blanks, "", end);
    fflush(stderr);
    progress->width = width;
}

void cli_progress_tell(struct cli_progress *progress, int64_t have)
{
    char line[256];
    char done[SIZE_TEXT];
    char total[SIZE_TEXT];
    char speed[SIZE_TEXT];
    int64_t now_ms = ty_monotonic_ms(ty_clock_system());
    if (!progress->shown || now_ms - progress->told_ms < EVERY_MS)
        return;
    progress->told_ms = now_ms;
    int64_t spent_ms = now_ms - progress->began_ms;
    cli_size_text(have, done);
    cli_size_text((have - progress->began_at) * 1000 / (spent_ms > 0 ? spent_ms : 1), speed);
    if (progress->total > 0) {
        cli_size_text(progress->total, total);
        snprintf(line, sizeof line, "%.120s  %s of %s  %d%%  %s/s", progress->label, done, total,
                 (int)((double)have * 100 / (double)progress->total), speed);
    } else {
        snprintf(line, sizeof line, "%.120s  %s  %s/s", progress->label, done, speed);
    }
    show(progress, line, "");
}

void cli_progress_end(struct cli_progress *progress, int64_t have, bool whole)
{
    char line[256];
    char done[SIZE_TEXT];
    if (!progress->shown)
        return;
    cli_size_text(have, done);
    snprintf(line, sizeof line, "%.120s  %s", progress->label, done);
    show(progress, whole ? line : "", whole ? "\n" : "\r");
}
