/* Drives the local executor from standard input, one command a line, for the process tests:
 *
 *     apply FILE | stop JOB OBJECT | scale JOB OBJECT N | remove JOB OBJECT | check JOB OBJECT |
 * claim NAMESPACE NAME | describe | sleep MS | quit wait OBJECT            until the run is over
 * bench FILE COUNT FLIGHT
 * apply COUNT copies of the run ("@" in the file becomes the number), FLIGHT at once
 *
 * FILE: {"job_id","namespace","object","attempt","objects":[…]}. Every observation is a JSON line
 * on standard output, every answer too. End of input waits for nothing: runs go on. */
#include "trainyard/base/file.h"
#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"
#include "trainyard/executor/local.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>

enum { FILE_MAX = 64 * 1024 * 1024, JOBS_MAX = 4096 };

struct driver {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char over[JOBS_MAX][TY_ID_TEXT]; /* job ids whose run is over */
    int64_t over_ms[JOBS_MAX];
    size_t over_count;
    struct ty_executor *executor;
    bool quiet;
};

static const char *const kind_names[] = {[TY_SEEN_STARTING] = "starting",
                                         [TY_SEEN_RUNNING] = "running",
                                         [TY_SEEN_RESTARTING] = "restarting",
                                         [TY_SEEN_SUCCEEDED] = "succeeded",
                                         [TY_SEEN_FAILED] = "failed",
                                         [TY_SEEN_STOPPED] = "stopped",
                                         [TY_SEEN_GONE] = "gone"};

static void print_json(json_t *object)
{
    ty_auto_free char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    printf("%s\n", text ? text : "null");
    fflush(stdout);
}

static json_t *pack_replicas(const struct ty_replica *replicas, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        const struct ty_replica *item = &replicas[i];
        json_array_append_new(
            array, json_pack("{s:s, s:i, s:s, s:i, s:b, s:i, s:i}", "name", item->name, "phase",
                             (int)item->phase, "reason", item->reason, "restarts",
                             (int)item->restarts, "has_exit", item->has_exit, "code",
                             (int)item->exit_code, "signal", (int)item->exit_signal));
    }
    return array;
}

static void observe(void *context, const char *job_id, const struct ty_observation *seen,
                    const struct ty_replica *replicas, size_t replica_count)
{
    struct driver *driver = context;
    if (!driver->quiet)
        print_json(json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:b, s:i, s:i, s:s, s:o}", "job",
                             job_id, "kind", kind_names[seen->kind], "attempt", (int)seen->attempt,
                             "cause", ty_job_cause_name(seen->cause), "message", seen->message,
                             "restarts", (int)seen->restarts, "has_exit", seen->exit.known, "code",
                             (int)seen->exit.code, "signal", (int)seen->exit.signal, "replica",
                             seen->exit.replica, "replicas",
                             pack_replicas(replicas, replica_count)));
    if (seen->kind < TY_SEEN_SUCCEEDED)
        return;
    pthread_mutex_lock(&driver->lock);
    if (driver->over_count < JOBS_MAX) {
        driver->over_ms[driver->over_count] = ty_monotonic_ms(ty_clock_system());
        ty_str_copy(driver->over[driver->over_count++], TY_ID_TEXT, job_id);
    }
    pthread_cond_broadcast(&driver->changed);
    pthread_mutex_unlock(&driver->lock);
}

/* With the lock held: how many of the runs that are over have this id. */
static bool is_over(const struct driver *driver, const char *job_id, int64_t *ms_out)
{
    for (size_t i = 0; i < driver->over_count; i++) {
        if (ty_str_equal(driver->over[i], job_id)) {
            *ms_out = driver->over_ms[i];
            return true;
        }
    }
    return false;
}

static int64_t await(struct driver *driver, const char *job_id)
{
    int64_t ms = 0;
    pthread_mutex_lock(&driver->lock);
    while (!is_over(driver, job_id, &ms))
        pthread_cond_wait(&driver->changed, &driver->lock);
    pthread_mutex_unlock(&driver->lock);
    return ms;
}

static json_t *load(const char *path, const char *number)
{
    ty_auto_buf text = {0};
    ty_auto_buf filled = {0};
    struct ty_error why;
    ty_buf_init(&text, FILE_MAX);
    ty_buf_init(&filled, FILE_MAX);
    if (ty_file_read(AT_FDCWD, path, &text, &why) != TY_OK)
        return NULL;
    for (size_t i = 0; i < text.len; i++) {
        if (number && text.data[i] == '@')
            ty_buf_adds(&filled, number);
        else
            ty_buf_addc(&filled, text.data[i]);
    }
    return json_loadb(filled.data, filled.len, 0, NULL);
}

static ty_status apply(struct driver *driver, const json_t *run, struct ty_error *err)
{
    if (!run)
        return ty_fail(err, TY_UNAVAILABLE, "the run cannot be read now");
    const struct ty_manifest manifest = {json_object_get(run, "objects")};
    const struct ty_run request = {
        .job_id = json_string_value(json_object_get(run, "job_id")),
        .namespace = json_string_value(json_object_get(run, "namespace")),
        .object_name = json_string_value(json_object_get(run, "object")),
        .attempt = (int32_t)json_integer_value(json_object_get(run, "attempt")),
        .manifest = &manifest};
    return driver->executor->ops->apply(driver->executor, &request, err);
}

static void answer(const char *command, ty_status status, const struct ty_error *err)
{
    print_json(json_pack("{s:s, s:s, s:s}", "answer", command, "status", ty_status_name(status),
                         "text", status == TY_OK ? "" : err->text));
}

static int compare(const void *a, const void *b)
{
    const int64_t *first = a;
    const int64_t *second = b;
    return (*first > *second) - (*first < *second);
}

/* Each run's time from apply to its terminal observation; prints the median and the rate. */
static void bench(struct driver *driver, const char *path, size_t count, size_t flight)
{
    static int64_t begun[JOBS_MAX];
    static char ids[JOBS_MAX][TY_ID_TEXT];
    static int64_t took[JOBS_MAX];
    driver->quiet = true;
    int64_t start = ty_monotonic_ms(ty_clock_system());
    for (size_t i = 0; i < count + flight; i++) {
        if (i >= flight)
            took[i - flight] = await(driver, ids[i - flight]) - begun[i - flight];
        if (i >= count)
            continue;
        char number[24];
        struct ty_error why;
        snprintf(number, sizeof number, "%zu", i);
        ty_auto_json run = load(path, number);
        ty_str_copy(ids[i], TY_ID_TEXT, json_string_value(json_object_get(run, "job_id")));
        begun[i] = ty_monotonic_ms(ty_clock_system());
        ty_status status = apply(driver, run, &why);
        if (status != TY_OK)
            answer("bench", status, &why);
    }
    int64_t all = ty_monotonic_ms(ty_clock_system()) - start;
    qsort(took, count, sizeof *took, compare);
    print_json(json_pack("{s:s, s:I, s:I, s:f}", "answer", "bench", "median_ms",
                         (json_int_t)took[count / 2], "p95_ms", (json_int_t)took[count * 95 / 100],
                         "per_second", (double)count * 1000.0 / (double)(all ? all : 1)));
    driver->quiet = false;
}

/* The next blank-separated word of *at, "" at the end. */
static const char *next_word(char **at)
{
    const char *word = *at + strspn(*at, " \n");
    char *end = *at + (word - *at) + strcspn(word, " \n");
    *at = end + (*end != '\0');
    *end = '\0';
    return word;
}

static void do_line(struct driver *driver, char *line)
{
    struct ty_error why;
    char *at = line;
    const char *command = next_word(&at);
    const char *first = next_word(&at);
    const char *second = next_word(&at);
    long third = strtol(next_word(&at), NULL, 10);
    const struct ty_run_ref ref = {first, "ns", second, third > 0 ? (int32_t)third : 1};
    const struct ty_run_ref attempt_one = {first, "ns", second, 1};
    struct ty_executor *executor = driver->executor;
    if (ty_str_equal(command, "apply")) {
        ty_auto_json run = load(first, NULL);
        answer(command, apply(driver, run, &why), &why);
    } else if (ty_str_equal(command, "stop")) {
        answer(command, executor->ops->stop(executor, &ref, &why), &why);
    } else if (ty_str_equal(command, "scale")) {
        ty_status status = executor->ops->scale(executor, &attempt_one, (int32_t)third, &why);
        answer(command, status, &why);
    } else if (ty_str_equal(command, "remove")) {
        answer(command, executor->ops->remove(executor, &ref, &why), &why);
    } else if (ty_str_equal(command, "check")) {
        answer(command, executor->ops->check(executor, &ref, &why), &why);
    } else if (ty_str_equal(command, "claim")) {
        answer(command, executor->ops->create_claim(executor, first, second, &why), &why);
    } else if (ty_str_equal(command, "describe")) {
        json_t *object = NULL;
        if (executor->ops->describe(executor, &object, &why) == TY_OK)
            print_json(json_pack("{s:s, s:o}", "answer", command, "object", object));
    } else if (ty_str_equal(command, "wait")) {
        await(driver, first);
        answer(command, TY_OK, &why);
    } else if (ty_str_equal(command, "sleep")) {
        usleep((useconds_t)(strtol(first, NULL, 10) * 1000));
    } else if (ty_str_equal(command, "bench")) {
        bench(driver, first, (size_t)strtol(second, NULL, 10), (size_t)third);
    }
}

static bool read_option(struct ty_local_options *options, const char *name, const char *value)
{
    if (ty_str_equal(name, "--data"))
        options->data_folder = value;
    else if (ty_str_equal(name, "--supervisor"))
        options->supervisor_path = value;
    else if (ty_str_equal(name, "--backoff"))
        options->backoff_base_ms = strtol(value, NULL, 10);
    else if (ty_str_equal(name, "--grace"))
        options->grace_ms = strtol(value, NULL, 10);
    else if (ty_str_equal(name, "--gpus"))
        options->gpus = (int32_t)strtol(value, NULL, 10);
    else if (ty_str_equal(name, "--sandbox"))
        options->sandbox = ty_str_equal(value, "plain")   ? TY_LOCAL_PLAIN
                           : ty_str_equal(value, "bwrap") ? TY_LOCAL_BWRAP
                                                          : TY_LOCAL_AUTO;
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    const struct ty_log log = {ty_clock_system(), STDERR_FILENO, TY_LOG_WARNING, "text"};
    struct ty_local_image image = {NULL, NULL};
    struct ty_local_options options = {
        .clock = ty_clock_system(), .log = &log, .gpus = -1, .grace_ms = -1, .images = &image};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (ty_str_equal(argv[i], "--image")) { /* PATTERN=ROOT */
            char *equals = strchr(argv[i + 1], '=');
            if (!equals)
                return 2;
            *equals = '\0';
            image = (struct ty_local_image){argv[i + 1], equals + 1};
            options.image_count = 1;
        } else if (!read_option(&options, argv[i], argv[i + 1])) {
            return 2;
        }
    }
    ty_auto_free struct driver *driver = calloc(1, sizeof *driver);
    if (!driver)
        return 1;
    pthread_mutex_init(&driver->lock, NULL);
    pthread_cond_init(&driver->changed, NULL);
    struct ty_error why;
    struct ty_executor *executor = NULL;
    ty_status status = ty_local_create(&options, &executor, &why);
    driver->executor = executor;
    if (status != TY_OK || !executor ||
        executor->ops->start(executor, observe, driver, &why) != TY_OK) {
        fprintf(stderr, "local_run: %s\n", why.text);
        return 1;
    }
    char line[2048];
    while (fgets(line, sizeof line, stdin) && strncmp(line, "quit", 4) != 0)
        do_line(driver, line);
    executor->ops->destroy(executor);
    return 0;
}
