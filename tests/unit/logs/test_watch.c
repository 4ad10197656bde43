#include "place.h"

#include "trainyard/logs/archive.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

/* A follower that counts its wakes. */
struct follower {
    sem_t woken;
    atomic_int wakes;
    struct ty_log_watch *watch;
};

static void follower_wake(void *context)
{
    struct follower *follower = context;
    atomic_fetch_add(&follower->wakes, 1);
    sem_post(&follower->woken);
}

static void follower_init(struct follower *follower)
{
    sem_init(&follower->woken, 0, 0);
    atomic_init(&follower->wakes, 0);
    follower->watch = NULL;
}

/* Generous: it only bounds how long a failing test takes. */
static bool is_woken_within(struct follower *follower, int milliseconds)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += milliseconds % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    int result;
    do
        result = sem_timedwait(&follower->woken, &until);
    while (result < 0 && errno == EINTR);
    return result == 0;
}

static void pause_ms(int milliseconds)
{
    const struct timespec rest = {.tv_sec = milliseconds / 1000,
                                  .tv_nsec = milliseconds % 1000 * 1000000L};
    nanosleep(&rest, NULL);
}

static struct ty_log_watcher *make_watcher(void)
{
    struct ty_log_watcher *watcher = NULL;
    struct ty_error err = {0};
    if (ty_log_watcher_create(&watcher, &err) != TY_OK)
        fail_msg("%s", err.text);
    return watcher;
}

static void follow(struct ty_log_watcher *watcher, const struct place *place, const char *job,
                   const char *replica, struct follower *follower)
{
    char path[128];
    struct ty_error err = {0};
    snprintf(path, sizeof(path), "%s/%s", place->path, job);
    follower_init(follower);
    if (ty_log_watch_add(watcher, path, replica, follower_wake, follower, &follower->watch, &err) !=
        TY_OK)
        fail_msg("%s", err.text);
}

static void unfollow(struct follower *follower)
{
    ty_log_watch_remove(follower->watch);
    sem_destroy(&follower->woken);
}

/* Wait until the watcher has dealt with all that happened so far: a follower that is added is
 * called in a round that takes the kernel's events first, and when another one is called that round
 * is over. */
static void settle(struct ty_log_watcher *watcher, const struct place *place)
{
    for (int round = 0; round < 2; round++) {
        struct follower probe;
        follow(watcher, place, "probe", "master-0", &probe);
        assert_true(is_woken_within(&probe, 20000));
        unfollow(&probe);
    }
}

static void forget_wakes(struct ty_log_watcher *watcher, const struct place *place,
                         struct follower *follower)
{
    settle(watcher, place);
    while (sem_trywait(&follower->woken) == 0)
        continue;
    atomic_store(&follower->wakes, 0);
}

static void write_line(const struct place *place, const char *path)
{
    int fd = openat(place->fd, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "line\n", 5), 5);
    close(fd);
}

static void growth_and_seals_wake_the_replicas_followers_only(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    struct follower master;
    struct follower worker;
    place_folder(place, "job");
    follow(watcher, place, "job", "master-0", &master);
    follow(watcher, place, "job/", "worker-0", &worker);
    assert_true(is_woken_within(&master, 10000)); /* once, soon after it was added */
    assert_true(is_woken_within(&worker, 10000));
    forget_wakes(watcher, place, &master);
    forget_wakes(watcher, place, &worker);
    write_line(place, "job/master-0.log");
    assert_true(is_woken_within(&master, 10000));
    forget_wakes(watcher, place, &master);
    write_line(place, "job/master-0.idx");
    assert_true(is_woken_within(&master, 10000));
    write_line(place, "job/master-00.log"); /* others' files */
    write_line(place, "job/worker-0.txt");
    write_line(place, "job/worker-0");
    settle(watcher, place);
    assert_int_equal(atomic_load(&worker.wakes), 0);
    unfollow(&master);
    unfollow(&worker);
    ty_log_watcher_destroy(watcher);
    ty_log_watcher_destroy(NULL);
}

static void a_folder_that_comes_later_is_watched_then(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    struct follower follower;
    follow(watcher, place, "job//", "master-0", &follower);
    forget_wakes(watcher, place, &follower);
    place_folder(place, "other");
    write_line(place, "other/master-0.log");
    settle(watcher, place);
    assert_int_equal(atomic_load(&follower.wakes), 0);
    place_folder(place, "job");
    assert_true(is_woken_within(&follower, 10000));
    forget_wakes(watcher, place, &follower);
    write_line(place, "job/master-0.log");
    assert_true(is_woken_within(&follower, 10000));
    unfollow(&follower);
    ty_log_watcher_destroy(watcher);
}

/* The log is made in the same moment as its folder: its events are lost if only the folder's watch
 * could tell. */
static void a_log_made_together_with_its_folder_is_noticed(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    for (int round = 0; round < 100; round++) {
        char job[32];
        char log[64];
        struct follower follower;
        snprintf(job, sizeof(job), "job-%d", round);
        snprintf(log, sizeof(log), "%s/master-0.log", job);
        follow(watcher, place, job, "master-0", &follower);
        place_folder(place, job);
        write_line(place, log);
        struct stat stat = {0};
        bool seen = false;
        for (int wakes = 0; !seen && wakes < 10; wakes++) {
            assert_true(is_woken_within(&follower, 10000));
            seen = fstatat(place->fd, log, &stat, 0) == 0 && stat.st_size == 5;
        }
        assert_true(seen);
        unfollow(&follower);
    }
    ty_log_watcher_destroy(watcher);
}

static void a_folder_removed_and_made_again_goes_on(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    struct follower follower;
    place_folder(place, "job");
    follow(watcher, place, "job", "master-0", &follower);
    for (int held = 0; held < 2; held++) {
        /* While somebody has the folder open the kernel does not say that it is gone. */
        int fd = held ? openat(place->fd, "job", O_RDONLY | O_DIRECTORY) : -1;
        assert_int_equal(ty_tree_remove(place->fd, "job", NULL), TY_OK);
        settle(watcher, place);
        place_folder(place, "job");
        forget_wakes(watcher, place, &follower);
        write_line(place, "job/master-0.log");
        assert_true(is_woken_within(&follower, 10000));
        if (fd >= 0)
            close(fd);
    }
    /* moved away: what happens there is no longer ours */
    assert_int_equal(renameat(place->fd, "job", place->fd, "moved"), 0);
    forget_wakes(watcher, place, &follower);
    write_line(place, "moved/master-0.log");
    settle(watcher, place);
    assert_int_equal(atomic_load(&follower.wakes), 0);
    assert_int_equal(renameat(place->fd, "moved", place->fd, "job"), 0);
    assert_true(is_woken_within(&follower, 10000));
    forget_wakes(watcher, place, &follower);
    write_line(place, "job/master-0.log");
    assert_true(is_woken_within(&follower, 10000));
    unfollow(&follower);
    ty_log_watcher_destroy(watcher);
}

/* Even the parent may go: then it is looked for every second. */
static void a_parent_removed_and_made_again_goes_on(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    struct follower follower;
    place_folder(place, "logs");
    place_folder(place, "logs/job");
    follow(watcher, place, "logs/job", "master-0", &follower);
    assert_int_equal(ty_tree_remove(place->fd, "logs", NULL), TY_OK);
    forget_wakes(watcher, place, &follower);
    place_folder(place, "logs");
    place_folder(place, "logs/job");
    assert_true(is_woken_within(&follower, 20000));
    forget_wakes(watcher, place, &follower);
    write_line(place, "logs/job/master-0.log");
    assert_true(is_woken_within(&follower, 20000));
    unfollow(&follower);
    ty_log_watcher_destroy(watcher);
}

static void what_cannot_be_watched_is_said(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    struct follower follower;
    struct ty_error err = {0};
    char path[128];
    follower_init(&follower);
    snprintf(path, sizeof(path), "%s/no/job", place->path);
    assert_int_equal(ty_log_watch_add(watcher, path, "master-0", follower_wake, &follower,
                                      &follower.watch, &err),
                     TY_NOT_FOUND);
    assert_null(strstr(err.text, place->path));
    snprintf(path, sizeof(path), "%s/job", place->path);
    assert_int_equal(
        ty_log_watch_add(watcher, path, "../x", follower_wake, &follower, &follower.watch, &err),
        TY_NOT_FOUND);
    assert_null(follower.watch);
    ty_log_watch_remove(NULL);
    sem_destroy(&follower.woken);
    ty_log_watcher_destroy(watcher);
}

static void a_busy_log_wakes_at_most_every_ten_milliseconds_in_the_long_run(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    struct follower follower;
    struct timespec begin;
    struct timespec end;
    place_folder(place, "job");
    follow(watcher, place, "job", "master-0", &follower);
    forget_wakes(watcher, place, &follower);
    int fd = openat(place->fd, "job/master-0.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int at = 0; at < 20000; at++)
        assert_int_equal(write(fd, "line\n", 5), 5);
    settle(watcher, place);
    clock_gettime(CLOCK_MONOTONIC, &end);
    close(fd);
    int64_t elapsed_ms =
        (int64_t)(end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000;
    assert_in_range(atomic_load(&follower.wakes), 1, elapsed_ms / 10 + 10); /* a burst */
    unfollow(&follower);
    ty_log_watcher_destroy(watcher);
}

static void a_thousand_followers_share_one_log(void **state)
{
    enum { MANY = 1000 };
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    static struct follower followers[MANY];
    place_folder(place, "job");
    for (int at = 0; at < MANY; at++)
        follow(watcher, place, "job", "master-0", &followers[at]);
    for (int at = 0; at < MANY; at++)
        assert_true(is_woken_within(&followers[at], 10000));
    settle(watcher, place);
    for (int at = 0; at < MANY; at++)
        while (sem_trywait(&followers[at].woken) == 0)
            continue;
    write_line(place, "job/master-0.log");
    for (int at = 0; at < MANY; at++)
        assert_true(is_woken_within(&followers[at], 10000));
    for (int at = 0; at < MANY; at += 2)
        unfollow(&followers[at]);
    for (int at = 1; at < MANY; at += 2)
        unfollow(&followers[at]);
    ty_log_watcher_destroy(watcher);
}

static void many_jobs_come_and_go(void **state)
{
    enum { JOBS = 600 };
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    static struct follower followers[JOBS];
    char name[64];
    for (int at = 0; at < JOBS; at++) {
        snprintf(name, sizeof(name), "job-%d", at);
        if (at % 2)
            place_folder(place, name);
        follow(watcher, place, name, "worker-0", &followers[at]);
    }
    for (int at = 0; at < JOBS; at += 2) {
        snprintf(name, sizeof(name), "job-%d", at);
        place_folder(place, name);
    }
    settle(watcher, place);
    for (int at = 0; at < JOBS; at++) {
        while (sem_trywait(&followers[at].woken) == 0)
            continue;
        snprintf(name, sizeof(name), "job-%d/worker-0.log", at);
        write_line(place, name);
    }
    for (int at = 0; at < JOBS; at++)
        assert_true(is_woken_within(&followers[at], 10000));
    for (int at = 0; at < JOBS; at++)
        unfollow(&followers[at]);
    ty_log_watcher_destroy(watcher);
}

/* Adds and removes followers of other jobs until told to stop: the kernel is asked for the shared
 * parent's watch all the time. */
struct restless {
    const struct place *place;
    struct ty_log_watcher *watcher;
    atomic_bool stop;
};

static void *be_restless(void *context)
{
    struct restless *restless = context;
    while (!atomic_load(&restless->stop)) {
        struct follower follower;
        follow(restless->watcher, restless->place, "elsewhere", "master-0", &follower);
        unfollow(&follower);
    }
    return NULL;
}

static void followers_that_come_and_go_cost_the_others_no_event(void **state)
{
    enum { BATCH = 200, BATCHES = 10 };
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    struct restless restless = {.place = place, .watcher = watcher};
    static struct follower followers[BATCH];
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, be_restless, &restless), 0);
    for (int batch = 0; batch < BATCHES; batch++) {
        char name[64];
        for (int at = 0; at < BATCH; at++) {
            snprintf(name, sizeof(name), "job-%d-%d", batch, at);
            follow(watcher, place, name, "master-0", &followers[at]);
        }
        for (int at = 0; at < BATCH; at++) /* the call that each add brings */
            assert_true(is_woken_within(&followers[at], 20000));
        for (int at = 0; at < BATCH; at++) {
            snprintf(name, sizeof(name), "job-%d-%d", batch, at);
            place_folder(place, name);
        }
        for (int at = 0; at < BATCH; at++)
            assert_true(is_woken_within(&followers[at], 20000));
        for (int at = 0; at < BATCH; at++)
            unfollow(&followers[at]);
    }
    atomic_store(&restless.stop, true);
    pthread_join(thread, NULL);
    ty_log_watcher_destroy(watcher);
}

/* --- removal against calls --- */

struct slow {
    struct ty_log_watch *watch;
    sem_t entered;
    sem_t removed; /* posted by the callback when it removed itself */
    atomic_bool inside;
    atomic_bool dead;
    atomic_bool called_when_dead;
};

static void slow_wake(void *context)
{
    struct slow *slow = context;
    if (atomic_load(&slow->dead))
        atomic_store(&slow->called_when_dead, true);
    atomic_store(&slow->inside, true);
    sem_post(&slow->entered);
    pause_ms(30);
    atomic_store(&slow->inside, false);
}

static void a_removal_waits_for_a_call_under_way(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    char path[128];
    place_folder(place, "job");
    snprintf(path, sizeof(path), "%s/job", place->path);
    for (int round = 0; round < 10; round++) {
        struct slow slow = {0};
        sem_init(&slow.entered, 0, 0);
        assert_int_equal(
            ty_log_watch_add(watcher, path, "master-0", slow_wake, &slow, &slow.watch, NULL),
            TY_OK);
        sem_wait(&slow.entered);
        ty_log_watch_remove(slow.watch);
        assert_false(atomic_load(&slow.inside));
        atomic_store(&slow.dead, true);
        write_line(place, "job/master-0.log");
        settle(watcher, place);
        assert_false(atomic_load(&slow.called_when_dead));
        sem_destroy(&slow.entered);
    }
    ty_log_watcher_destroy(watcher);
}

static void remove_self(void *context)
{
    struct slow *slow = context;
    ty_log_watch_remove(slow->watch);
    sem_post(&slow->removed);
}

static void a_follower_may_remove_itself_when_woken(void **state)
{
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    char path[128];
    snprintf(path, sizeof(path), "%s/job", place->path);
    for (int round = 0; round < 50; round++) {
        struct slow slow = {0};
        sem_init(&slow.removed, 0, 0);
        assert_int_equal(
            ty_log_watch_add(watcher, path, "master-0", remove_self, &slow, &slow.watch, NULL),
            TY_OK);
        sem_wait(&slow.removed);
        sem_destroy(&slow.removed);
    }
    ty_log_watcher_destroy(watcher);
}

/* --- the whole of it: a writer, and followers in several threads that must see every byte --- */

struct tail {
    const struct place *place;
    struct ty_log_watcher *watcher;
    int64_t read;
    uint32_t sum;
    ty_status status;
};

static uint32_t add_bytes(uint32_t sum, const unsigned char *bytes, size_t len)
{
    for (size_t at = 0; at < len; at++)
        sum = sum * 31 + bytes[at];
    return sum;
}

/* Read what is there; true when the log is sealed and read to its end. */
static bool read_on(struct tail *tail, struct ty_log_reader *reader)
{
    unsigned char chunk[16384];
    struct ty_log_extent extent;
    tail->status = ty_log_extent(reader, 0, &extent, NULL);
    while (tail->status == TY_OK && tail->read < extent.end) {
        size_t len = 0;
        tail->status = ty_log_read(reader, tail->read, chunk, sizeof(chunk), &len, NULL);
        tail->sum = add_bytes(tail->sum, chunk, len);
        tail->read += (int64_t)len;
    }
    return tail->status != TY_OK || (extent.sealed && tail->read == extent.end);
}

static void *follow_to_the_end(void *context)
{
    struct tail *tail = context;
    struct follower follower;
    struct ty_log_reader *reader = NULL;
    follow(tail->watcher, tail->place, "job", "master-0", &follower);
    for (bool done = false; !done;) {
        if (!is_woken_within(&follower, 20000)) {
            tail->status = TY_UNAVAILABLE;
            break;
        }
        int fd = -1;
        if (!reader && ty_folder_open(tail->place->fd, "job", false, &fd, NULL) == TY_OK) {
            (void)!ty_log_reader_open(fd, "master-0", &reader, NULL);
            close(fd);
        }
        done = reader && read_on(tail, reader);
    }
    ty_log_reader_close(reader);
    unfollow(&follower);
    return NULL;
}

static void followers_in_threads_see_every_byte(void **state)
{
    enum { THREADS = 6, LINES = 3000 };
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    struct tail tails[THREADS];
    pthread_t threads[THREADS];
    struct ty_log_writer *writer = NULL;
    uint32_t sum = 0;
    int fd = -1;
    for (int at = 0; at < THREADS; at++) {
        tails[at] = (struct tail){.place = place, .watcher = watcher};
        assert_int_equal(pthread_create(&threads[at], NULL, follow_to_the_end, &tails[at]), 0);
    }
    pause_ms(20);
    assert_int_equal(ty_folder_open(place->fd, "job", true, &fd, NULL), TY_OK);
    assert_int_equal(ty_log_writer_open(fd, "master-0", &writer, NULL), TY_OK);
    assert_int_equal(ty_log_writer_attempt(writer, 1, 1, NULL), TY_OK);
    for (int at = 0; at < LINES; at++) {
        char line[64];
        int len = snprintf(line, sizeof(line), "line number %d\n", at);
        sum = add_bytes(sum, (const unsigned char *)line, (size_t)len);
        assert_int_equal(ty_log_writer_append(writer, line, (size_t)len, at * 10000, NULL), TY_OK);
        if (at % 500 == 0)
            pause_ms(15);
    }
    assert_int_equal(ty_log_writer_seal(writer, NULL), TY_OK);
    for (int at = 0; at < THREADS; at++) {
        pthread_join(threads[at], NULL);
        assert_int_equal(tails[at].status, TY_OK);
        assert_int_equal(tails[at].read, ty_log_writer_end(writer));
        assert_int_equal(tails[at].sum, sum);
    }
    ty_log_writer_close(writer);
    close(fd);
    ty_log_watcher_destroy(watcher);
}

/* Several threads add and remove while a log grows: nothing is lost or called late (the sanitizers
 * look on). */
struct churn {
    const struct place *place;
    struct ty_log_watcher *watcher;
    int number;
};

static void *churn(void *context)
{
    const struct churn *mine = context;
    for (int round = 0; round < 60; round++) {
        struct follower follower;
        char job[32];
        snprintf(job, sizeof(job), "job-%d", (mine->number + round) % 3);
        follow(mine->watcher, mine->place, job, round % 2 ? "master-0" : "worker-0", &follower);
        if (round % 3 == 0)
            (void)is_woken_within(&follower, 5);
        unfollow(&follower);
    }
    return NULL;
}

static void threads_may_add_and_remove_at_will(void **state)
{
    enum { THREADS = 4 };
    struct place *place = *state;
    struct ty_log_watcher *watcher = make_watcher();
    pthread_t threads[THREADS];
    struct churn churns[THREADS];
    for (int at = 0; at < THREADS; at++) {
        churns[at] = (struct churn){.place = place, .watcher = watcher, .number = at};
        assert_int_equal(pthread_create(&threads[at], NULL, churn, &churns[at]), 0);
    }
    for (int round = 0; round < 40; round++) {
        char path[64];
        snprintf(path, sizeof(path), "job-%d", round % 3);
        if (mkdirat(place->fd, path, 0755) < 0)
            assert_int_equal(ty_tree_remove(place->fd, path, NULL), TY_OK);
        else
            write_line(place,
                       (snprintf(path, sizeof(path), "job-%d/master-0.log", round % 3), path));
        pause_ms(2);
    }
    for (int at = 0; at < THREADS; at++)
        pthread_join(threads[at], NULL);
    ty_log_watcher_destroy(watcher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(growth_and_seals_wake_the_replicas_followers_only),
        PLACE_TEST(a_folder_that_comes_later_is_watched_then),
        PLACE_TEST(a_log_made_together_with_its_folder_is_noticed),
        PLACE_TEST(a_folder_removed_and_made_again_goes_on),
        PLACE_TEST(a_parent_removed_and_made_again_goes_on),
        PLACE_TEST(what_cannot_be_watched_is_said),
        PLACE_TEST(a_busy_log_wakes_at_most_every_ten_milliseconds_in_the_long_run),
        PLACE_TEST(a_thousand_followers_share_one_log),
        PLACE_TEST(many_jobs_come_and_go),
        PLACE_TEST(followers_that_come_and_go_cost_the_others_no_event),
        PLACE_TEST(a_removal_waits_for_a_call_under_way),
        PLACE_TEST(a_follower_may_remove_itself_when_woken),
        PLACE_TEST(followers_in_threads_see_every_byte),
        PLACE_TEST(threads_may_add_and_remove_at_will),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
