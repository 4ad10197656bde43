#include "place.h"

#include "trainyard/logs/files.h"

#include <pthread.h>
#include <time.h>

static void wait_until_settled(void)
{
    static const struct timespec rest = {.tv_nsec = 70 * 1000000L};
    nanosleep(&rest, NULL);
}

static int open_file(const struct place *place, const char *name, struct ty_file_stat *stat)
{
    int fd = -1;
    assert_int_equal(ty_file_open(place->fd, name, &fd, stat, NULL), TY_OK);
    return fd;
}

static struct ty_file_digests *make_digests(size_t capacity)
{
    struct ty_file_digests *digests = NULL;
    assert_int_equal(ty_file_digests_create(capacity, &digests, NULL), TY_OK);
    return digests;
}

static void a_digest_is_that_of_the_whole_content(void **state)
{
    static const size_t sizes[] = {0, 1, 262143, 262144, 262145, 1000000};
    struct place *place = *state;
    struct ty_file_digests *digests = make_digests(16);
    char *bytes = malloc(1000000);
    memset(bytes, 'q', 1000000);
    for (size_t at = 0; at < UNIT_COUNT(sizes); at++) {
        struct ty_file_stat stat;
        uint8_t expected[TY_SHA256];
        uint8_t sha256[TY_SHA256];
        place_write(place, "f", bytes, sizes[at]);
        ty_auto_fd fd = open_file(place, "f", &stat);
        assert_int_equal(ty_sha256(bytes, sizes[at], expected), TY_OK);
        assert_int_equal(ty_file_digest(digests, fd, &stat, sha256, NULL), TY_OK);
        assert_memory_equal(sha256, expected, TY_SHA256);
        assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    }
    free(bytes);
    ty_file_digests_destroy(digests);
    ty_file_digests_destroy(NULL);
}

static void a_settled_version_is_computed_once(void **state)
{
    struct place *place = *state;
    struct ty_file_digests *digests = make_digests(16);
    struct ty_file_stat stat;
    uint8_t first[TY_SHA256];
    uint8_t again[TY_SHA256] = {0};
    place_text(place, "f", "content");
    wait_until_settled();
    ty_auto_fd fd = open_file(place, "f", &stat);
    assert_false(ty_file_digest_known(digests, &stat, again));
    assert_int_equal(ty_file_digest(digests, fd, &stat, first, NULL), TY_OK);
    assert_true(ty_file_digest_known(digests, &stat, again));
    assert_memory_equal(first, again, TY_SHA256);
    /* not read again: a descriptor that cannot be read does as well */
    memset(again, 0, sizeof(again));
    assert_int_equal(ty_file_digest(digests, -1, &stat, again, NULL), TY_OK);
    assert_memory_equal(first, again, TY_SHA256);
    ty_file_digests_destroy(digests);
}

static void a_young_version_is_not_kept(void **state)
{
    struct place *place = *state;
    struct ty_file_digests *digests = make_digests(16);
    struct ty_file_stat stat;
    uint8_t sha256[TY_SHA256];
    place_text(place, "f", "content");
    ty_auto_fd fd = open_file(place, "f", &stat);
    assert_int_equal(ty_file_digest(digests, fd, &stat, sha256, NULL), TY_OK);
    assert_false(ty_file_digest_known(digests, &stat, sha256));
    ty_file_digests_destroy(digests);
}

/* Case 83: same name, same size, within one second, by rename and in place. */
static void every_new_content_has_a_new_tag(void **state)
{
    struct place *place = *state;
    struct ty_file_digests *digests = make_digests(16);
    char before[TY_FILE_ETAG] = "";
    for (int round = 0; round < 200; round++) {
        char content[16];
        char etag[TY_FILE_ETAG];
        struct ty_file_stat stat;
        uint8_t sha256[TY_SHA256];
        snprintf(content, sizeof(content), "content %06d", round);
        place_text(place, round % 2 ? "f" : "g", content);
        if (round % 2 == 0)
            assert_int_equal(renameat(place->fd, "g", place->fd, "f"), 0);
        ty_auto_fd fd = open_file(place, "f", &stat);
        assert_int_equal(ty_file_digest(digests, fd, &stat, sha256, NULL), TY_OK);
        ty_file_etag(sha256, etag);
        assert_string_not_equal(etag, before);
        memcpy(before, etag, sizeof(etag));
    }
    ty_file_digests_destroy(digests);
}

static void an_etag_is_quoted_base64url(void **state)
{
    static const uint8_t sha256[TY_SHA256] = {0xFB, 0xFF, 0xFE};
    char etag[TY_FILE_ETAG];
    (void)state;
    ty_file_etag(sha256, etag);
    assert_string_equal(etag, "\"-__-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"");
    assert_int_equal(strlen(etag), TY_FILE_ETAG - 1);
}

static void a_file_written_meanwhile_has_no_tag(void **state)
{
    struct place *place = *state;
    struct ty_file_digests *digests = make_digests(16);
    struct ty_file_stat stat;
    struct ty_error err = {0};
    uint8_t sha256[TY_SHA256];
    static const uint8_t untouched[TY_SHA256] = {0};
    static const char *const contents[] = {"longer than before", "s", ""};
    for (size_t at = 0; at < UNIT_COUNT(contents); at++) {
        place_text(place, "f", "content");
        ty_auto_fd fd = open_file(place, "f", &stat);
        place_text(place, "f", contents[at]);
        memset(sha256, 0, sizeof(sha256));
        assert_int_equal(ty_file_digest(digests, fd, &stat, sha256, &err), TY_CONFLICT);
        assert_string_equal(err.code, "file_changing");
        assert_memory_equal(sha256, untouched, TY_SHA256);
        assert_false(ty_file_digest_known(digests, &stat, sha256));
    }
    ty_file_digests_destroy(digests);
}

static void a_read_error_is_told(void **state)
{
    struct place *place = *state;
    struct ty_file_digests *digests = make_digests(0);
    const struct ty_file_stat stat = {.size = 10};
    struct ty_error err = {0};
    uint8_t sha256[TY_SHA256];
    assert_int_equal(ty_file_digest(digests, place->fd, &stat, sha256, &err), TY_UNAVAILABLE);
    assert_null(strstr(err.text, place->path));
    ty_file_digests_destroy(digests);
}

static void the_cache_stays_within_its_bound_and_forgets_the_unused(void **state)
{
    enum { FILES = 64 };
    struct place *place = *state;
    struct ty_file_digests *digests = make_digests(8); /* one set */
    struct ty_file_stat stats[FILES];
    uint8_t sha256[TY_SHA256];
    char name[16];
    for (int at = 0; at < FILES; at++) {
        snprintf(name, sizeof(name), "f%d", at);
        place_text(place, name, name);
    }
    wait_until_settled();
    int known = 0;
    for (int at = 0; at < FILES; at++) {
        snprintf(name, sizeof(name), "f%d", at);
        ty_auto_fd fd = open_file(place, name, &stats[at]);
        assert_int_equal(ty_file_digest(digests, fd, &stats[at], sha256, NULL), TY_OK);
        assert_true(ty_file_digest_known(digests, &stats[0], sha256)); /* used all the time */
    }
    for (int at = 0; at < FILES; at++)
        known += ty_file_digest_known(digests, &stats[at], sha256);
    assert_int_equal(known, 8);
    ty_file_digests_destroy(digests);
}

struct asker {
    struct ty_file_digests *digests;
    const struct place *place;
    pthread_barrier_t *barrier;
    uint8_t sha256[TY_SHA256];
    ty_status status;
};

static void *ask(void *context)
{
    struct asker *asker = context;
    struct ty_file_stat stat;
    int fd = -1;
    asker->status = ty_file_open(asker->place->fd, "f", &fd, &stat, NULL);
    pthread_barrier_wait(asker->barrier);
    if (asker->status == TY_OK)
        asker->status = ty_file_digest(asker->digests, fd, &stat, asker->sha256, NULL);
    close(fd);
    return NULL;
}

static void many_threads_may_ask_for_one_file(void **state)
{
    enum { THREADS = 8, ROUNDS = 20, SIZE = 3000000 };
    struct place *place = *state;
    char *bytes = malloc(SIZE);
    memset(bytes, 'z', SIZE);
    for (int round = 0; round < ROUNDS; round++) {
        struct ty_file_digests *digests = make_digests(16);
        struct asker askers[THREADS];
        pthread_t threads[THREADS];
        pthread_barrier_t barrier;
        uint8_t expected[TY_SHA256];
        bytes[round] = (char)round;
        place_write(place, "f", bytes, SIZE);
        assert_int_equal(ty_sha256(bytes, SIZE, expected), TY_OK);
        pthread_barrier_init(&barrier, NULL, THREADS);
        for (int at = 0; at < THREADS; at++) {
            askers[at] = (struct asker){.digests = digests, .place = place, .barrier = &barrier};
            assert_int_equal(pthread_create(&threads[at], NULL, ask, &askers[at]), 0);
        }
        for (int at = 0; at < THREADS; at++)
            pthread_join(threads[at], NULL);
        for (int at = 0; at < THREADS; at++) {
            assert_int_equal(askers[at].status, TY_OK);
            assert_memory_equal(askers[at].sha256, expected, TY_SHA256);
        }
        pthread_barrier_destroy(&barrier);
        ty_file_digests_destroy(digests);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_digest_is_that_of_the_whole_content),
        PLACE_TEST(a_settled_version_is_computed_once),
        PLACE_TEST(a_young_version_is_not_kept),
        PLACE_TEST(every_new_content_has_a_new_tag),
        cmocka_unit_test(an_etag_is_quoted_base64url),
        PLACE_TEST(a_file_written_meanwhile_has_no_tag),
        PLACE_TEST(a_read_error_is_told),
        PLACE_TEST(the_cache_stays_within_its_bound_and_forgets_the_unused),
        PLACE_TEST(many_threads_may_ask_for_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
