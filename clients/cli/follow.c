/* Following one job: its log on standard output, its changes of state on standard error.
 *
 * Three threads. The caller's copies the log until it ends. One watches the record by long polls
 * and prints each change of state but the last, which the caller prints after the last line of the
 * log. One waits for Ctrl-C, says how to cancel the job, and ends the process: the job goes on. */
#include "http.h"
#include "log_reader.h"
#include "output.h"
#include "text.h"
#include "watch.h"

#include "trainyard/base/thread.h"

#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

enum { POLL_S = 20 };

struct follower {
    const struct cli *cli;
    const char *id;
    int64_t sequence; /* of the last change printed, -1 = none; the watcher's until it is joined */
    int64_t position; /* in the queue, as last printed */
    int result;       /* of the watcher */
    _Atomic bool stop;
};

/* --- changes of state --- */

static void print_change(const struct follower *follower, const json_t *change)
{
    char to[64];
    char message[1024];
    char cause[64];
    cli_text(change, "to", to, sizeof to);
    cli_text(change, "message", message, sizeof message);
    cli_text(change, "cause", cause, sizeof cause);
    const char *color = cli_color(follower->cli->error_color, to);
    bool has_words = !ty_str_equal(message, "-");
    cli_say("%s%s%s%s%s (%s)", color ? color : "", to, color ? "\033[0m" : "",
            has_words ? ": " : "", has_words ? message : "", cause);
}

/* Print what was not printed yet, up to the job's last change unless `last` as well. */
static void print_changes(struct follower *follower, bool last)
{
    ty_auto_json page = NULL;
    ty_auto_buf path = {0};
    size_t index;
    json_t *change;
    ty_buf_init(&path, 4096);
    cli_job_path(&path, follower->id, "/transitions?limit=500");
    struct http_request request = {.method = "GET", .path = path.data, .quiet = true};
    if (http_json(follower->cli, &request, &page) != EXIT_DONE)
        return;
    json_array_foreach(json_object_get(page, "items"), index, change)
    {
        int64_t sequence = json_integer_value(json_object_get(change, "sequence"));
        ty_auto_json job = json_pack("{s:O?}", "state", json_object_get(change, "to"));
        if (sequence <= follower->sequence || (!last && cli_job_terminal(job)))
            continue;
        print_change(follower, change);
        follower->sequence = sequence;
    }
}

static void print_position(struct follower *follower, const json_t *job)
{
    int64_t position = json_integer_value(json_object_get(job, "queue_position"));
    if (position > 0 && position != follower->position)
        cli_say("number %" PRId64 " in the queue", position);
    follower->position = position;
}

static void *watch_job(void *context)
{
    struct follower *follower = context;
    struct cli_watch watch;
    bool changed;
    int code = EXIT_DONE;
    cli_watch_init(&watch, follower->cli, follower->id);
    while (code == EXIT_DONE && !atomic_load(&follower->stop) &&
           !(watch.job && cli_job_terminal(watch.job))) {
        code = cli_watch_next(&watch, POLL_S, &changed);
        if (code == EXIT_DONE && changed) {
            print_changes(follower, false);
            print_position(follower, watch.job);
        }
    }
    follower->result = code == EXIT_DONE ? cli_job_result(watch.job) : code;
    cli_watch_done(&watch);
    return NULL;
}

/* --- Ctrl-C --- */

struct interrupt {
    const char *id;
    sigset_t signals;
    sigset_t before;
    pthread_t thread;
    bool waits;
};

static void *wait_for_interrupt(void *context)
{
    struct interrupt *interrupt = context;
    int signal_number = 0;
    sigwait(&interrupt->signals, &signal_number);
    if (signal_number != SIGINT)
        return NULL;
    cli_say("%s goes on; cancel it with: trainyard cancel %s", interrupt->id, interrupt->id);
    _exit(EXIT_INTERRUPTED); /* the other threads are in the middle of calls */
}

/* Who ignores Ctrl-C, as a shell does for what it runs in the background, goes on ignoring it. */
static void begin_interrupt(struct interrupt *interrupt, const char *id)
{
    struct sigaction action;
    struct ty_error err;
    *interrupt = (struct interrupt){.id = id};
    if (sigaction(SIGINT, NULL, &action) != 0 || action.sa_handler == SIG_IGN)
        return;
    sigemptyset(&interrupt->signals);
    sigaddset(&interrupt->signals, SIGINT);
    sigaddset(&interrupt->signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &interrupt->signals, &interrupt->before);
    interrupt->waits = ty_thread_start(&interrupt->thread, "interrupt", wait_for_interrupt,
                                       interrupt, &err) == TY_OK;
}

static void end_interrupt(struct interrupt *interrupt)
{
    if (!interrupt->waits)
        return;
    pthread_kill(interrupt->thread, SIGUSR1);
    pthread_join(interrupt->thread, NULL);
    pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
}

/* --- together --- */

int cli_follow(struct cli *cli, const char *id, const char *replica)
{
    struct follower follower = {.cli = cli, .id = id, .sequence = -1};
    struct cli_log log = {.cli = cli,
                          .id = id,
                          .replica = replica,
                          .tail = -1,
                          .next = -1,
                          .follow = true,
                          .fd = STDOUT_FILENO};
    struct interrupt interrupt;
    struct ty_error err;
    pthread_t watcher;
    begin_interrupt(&interrupt, id);
    cli_say("following %s", id);
    if (ty_thread_start(&watcher, "watcher", watch_job, &follower, &err) != TY_OK) {
        cli_say("%s", err.text);
        end_interrupt(&interrupt);
        return EXIT_JOB_FAILED;
    }
    int code = cli_log_read(&log);
    /* Without its log the job's end is still worth waiting for, unless nobody listens any more. */
    atomic_store(&follower.stop, log.broken);
    pthread_join(watcher, NULL);
    print_changes(&follower, true);
    end_interrupt(&interrupt);
    return log.broken ? code : follower.result;
}
