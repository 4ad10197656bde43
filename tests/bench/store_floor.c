/* Durable submits and pages of the store against their floor: the same rows written by raw SQLite
 * group commit.
 *
 *     store_floor [jobs-to-preload | cpu] [folder]
 *
 * Floor and product alternate in one run (A/B, 5 rounds, medians). Numbers of one machine at one
 * time are good for ratios only. */
#include "commit_floor.h"

#include "trainyard/base/clock.h"
#include "trainyard/base/file.h"
#include "trainyard/store/jobs.h"
#include "trainyard/store/tenants.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum { ROUNDS = 5, BATCH = 20000, PAGE = 50, PAGES = 2000 };

/* Of this thread: the number that other programs on the machine disturb least. */
static double cpu(void)
{
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

/* --- the product --- */

struct product {
    struct ty_store *store;
    int64_t tenant;
    int64_t made;
    char body[SPEC + 1];
};

struct submit {
    struct ty_write write;
    struct ty_job_insert insert;
    char id[TY_ID_TEXT];
    char object_name[TY_OBJECT_NAME];
    _Atomic int *left;
};

static ty_status apply(struct ty_writer *writer, struct ty_write *write, struct ty_error *err)
{
    static const struct ty_quota quota = {-1, 100000000, -1, -1};
    return ty_jobs_insert(writer, &((struct submit *)write)->insert, &quota, err);
}

static void done(struct ty_write *write, ty_status status, const struct ty_error *err)
{
    if (status != TY_OK)
        die("insert", err->text);
    atomic_fetch_sub(((struct submit *)write)->left, 1);
}

static void fill(struct product *product, struct submit *submit, const char *labels)
{
    int64_t number = ++product->made;
    (void)snprintf(submit->id, sizeof(submit->id), "job_%026lld", (long long)number);
    name_object(number, submit->object_name);
    submit->write = (struct ty_write){.apply = apply, .done = done};
    submit->insert = (struct ty_job_insert){
        .record = {.tenant = product->tenant,
                   .id = submit->id,
                   .name = "mnist",
                   .object_name = submit->object_name,
                   .namespace = "default",
                   .image = "pytorch/pytorch:2.0.0",
                   .labels = labels,
                   .executor = "local",
                   .replicas = 1,
                   .gpus = 1,
                   .keep_seconds = -1,
                   .created_at = ty_now_us(ty_clock_system()),
                   .status = {.state = TY_JOB_QUEUED, .cause = TY_CAUSE_SUBMITTED, .sequence = 1}},
        .spec = product->body,
        .spec_len = SPEC
    };
}

/* `clients` writes are in flight at a time, as that many waiting clients would keep them. */
static double submit_many(struct product *product, int count, int clients, const char *labels)
{
    struct submit *submits = calloc((size_t)clients, sizeof(*submits));
    _Atomic int *left = calloc((size_t)clients, sizeof(*left));
    double start = now();
    for (int i = 0; i < count; i++) {
        int slot = i % clients;
        struct ty_error err;
        while (atomic_load(&left[slot]) != 0)
            sched_yield();
        fill(product, &submits[slot], labels);
        submits[slot].left = &left[slot];
        atomic_store(&left[slot], 1);
        while (ty_store_write(product->store, &submits[slot].write, &err) != TY_OK)
            sched_yield();
    }
    for (int slot = 0; slot < clients; slot++)
        while (atomic_load(&left[slot]) != 0)
            sched_yield();
    double seconds = now() - start;
    free(submits);
    free(left);
    return (double)count / seconds;
}

static bool note_tenant(void *context, const struct ty_tenant_record *tenant)
{
    *(int64_t *)context = tenant->row;
    return true;
}

static void product_open(struct product *product, const char *folder, bool threaded)
{
    struct ty_error err;
    struct ty_reader *reader;
    memset(product->body, 'x', SPEC);
    struct ty_store_options options = {
        .folder = folder, .clock = ty_clock_system(), .threaded = threaded};
    if (ty_store_open(&options, &product->store, &err) != TY_OK)
        die("open", err.text);
    if (ty_reader_open(product->store, &reader, &err) != TY_OK ||
        ty_tenants_get(reader, TY_TENANT_DEFAULT, note_tenant, &product->tenant, &err) != TY_OK)
        die("reader", err.text);
    ty_reader_close(reader);
}

/* --- pages --- */

static bool note_last(void *context, const struct ty_job_record *record)
{
    *(int64_t *)context = record->row;
    return true;
}

/* CPU time of one page in microseconds, each from the same place. */
static double pages_at(struct ty_reader *reader, struct ty_job_query query, int count)
{
    double start = cpu();
    for (int i = 0; i < count; i++) {
        struct ty_error err;
        int64_t last = 0;
        if (ty_jobs_list(reader, &query, note_last, &last, &err) != TY_OK)
            die("list", err.text);
    }
    return (cpu() - start) * 1e6 / (double)count;
}

static void compare_pages(struct product *product)
{
    struct ty_error err;
    struct ty_reader *reader;
    double near[ROUNDS];
    double far[ROUNDS];
    double labelled[ROUNDS];
    int64_t middle = product->made > 1000000 ? product->made - 1000000 + 51 : product->made / 2;
    struct ty_job_query first = {.tenant = product->tenant, .limit = PAGE};
    struct ty_job_query deep = {.tenant = product->tenant, .limit = PAGE, .after_row = middle};
    struct ty_job_query label = first;
    label.labels[0].key = "team";
    label.labels[0].value = "rare";
    label.labels_count = 1;
    if (ty_reader_open(product->store, &reader, &err) != TY_OK)
        die("reader", err.text);
    (void)pages_at(reader, first, PAGES / 10);
    (void)pages_at(reader, deep, PAGES / 10);
    for (int round = 0; round < ROUNDS; round++) {
        near[round] = pages_at(reader, first, PAGES);
        far[round] = pages_at(reader, deep, PAGES);
        labelled[round] = pages_at(reader, label, PAGES);
    }
    double page_1 = median(near, ROUNDS);
    double page_far = median(far, ROUNDS);
    printf("CPU of one page of %d among %lld jobs: page 1 %.0f us, far page (beyond row %lld) %.0f "
           "us, ratio %.2f; by a rare label %.0f us\n",
           PAGE, (long long)product->made, page_1, (long long)middle, page_far, page_far / page_1,
           median(labelled, ROUNDS));
    ty_reader_close(reader);
}

static void compare_submits(struct product *product, struct floor *floor, int clients)
{
    double raw[ROUNDS];
    double ours[ROUNDS];
    int count = clients == 1 ? BATCH / 10 : BATCH;
    for (int round = 0; round < ROUNDS; round++) {
        raw[round] = floor_many(floor, count, clients);
        ours[round] = submit_many(product, count, clients, "{}");
    }
    double best = median(raw, ROUNDS);
    double got = median(ours, ROUNDS);
    printf("durable submits, %3d in flight: raw group commit %.0f/s, ty_jobs_insert %.0f/s, ratio "
           "%.2f\n",
           clients, best, got, got / best);
}

/* The same work on one thread: CPU time for each job, without waiting for the disk. */
static void compare_cpu(struct floor *floor, const char *folder, int group)
{
    char own[600];
    struct ty_error err;
    struct product product = {0};
    double raw[ROUNDS];
    double ours[ROUNDS];
    struct submit *submits = calloc((size_t)group, sizeof(*submits));
    _Atomic int left = 0;
    (void)snprintf(own, sizeof(own), "%s/cpu", folder);
    if (ty_folder_make(own, &err) != TY_OK)
        die("folder", err.text);
    product_open(&product, own, false);
    for (int round = 0; round < ROUNDS; round++) {
        double start = cpu();
        (void)floor_many(floor, BATCH, group);
        raw[round] = (cpu() - start) * 1e6 / BATCH;
        start = cpu();
        for (int i = 0; i < BATCH; i += group) {
            for (int slot = 0; slot < group; slot++) {
                fill(&product, &submits[slot], "{}");
                submits[slot].left = &left;
                if (ty_store_write(product.store, &submits[slot].write, &err) != TY_OK)
                    die("write", err.text);
            }
            ty_store_drain(product.store);
        }
        ours[round] = (cpu() - start) * 1e6 / BATCH;
    }
    double floor_us = median(raw, ROUNDS);
    double our_us = median(ours, ROUNDS);
    printf("CPU of one submit in groups of %d: raw %.1f us, ty_jobs_insert %.1f us, ratio %.2f\n",
           group, floor_us, our_us, floor_us / our_us);
    ty_store_close(product.store);
    free(submits);
}

int main(int argc, char **argv)
{
    static const int in_flight[] = {1, 16, 64, 128};
    char folder[512] = "/tmp/trainyard-floor-XXXXXX";
    struct product product = {0};
    struct floor floor = {0};
    struct ty_error err;
    bool only_cpu = argc > 1 && strcmp(argv[1], "cpu") == 0;
    int preload = argc > 1 && !only_cpu ? (int)strtol(argv[1], NULL, 10) : 0;
    if (argc > 2)
        (void)snprintf(folder, sizeof(folder), "%s/trainyard-floor-XXXXXX", argv[2]);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (!mkdtemp(folder))
        die("folder", folder);
    product_open(&product, folder, true);
    floor_open(&floor, folder);
    (void)submit_many(&product, 100, 10, "{\"team\":\"rare\"}");
    if (preload > 0) {
        double rate = submit_many(&product, preload, 1000, "{\"team\":\"common\"}");
        printf("preload of %d jobs with a label: %.0f/s\n", preload, rate);
        (void)floor_many(&floor, preload, 128);
    }
    compare_cpu(&floor, folder, 64);
    for (size_t i = 0; i < sizeof(in_flight) / sizeof(in_flight[0]) && !only_cpu; i++)
        compare_submits(&product, &floor, in_flight[i]);
    if (only_cpu)
        (void)submit_many(&product, BATCH, 128, "{}");
    compare_pages(&product);
    double start = now();
    ty_store_close(product.store);
    double closed = now();
    product_open(&product, folder, true);
    printf("close %.1f ms, open %.1f ms\n", (closed - start) * 1e3, (now() - closed) * 1e3);
    ty_store_close(product.store);
    sqlite3_close_v2(floor.db);
    if (ty_tree_remove(AT_FDCWD, folder, &err) != TY_OK)
        die("clean up", err.text);
    return 0;
}
