/* Every module of this room that takes memory, with each allocation failing in turn. */
#include "place.h"

#include "oom.h"
#include "trainyard/logs/archive.h"
#include "trainyard/logs/files.h"
#include "trainyard/logs/frame.h"

static void write_and_read(void *context)
{
    const struct place *place = context;
    struct ty_log_writer *writer = NULL;
    struct ty_log_reader *reader = NULL;
    struct ty_log_extent extent = {0};
    int64_t offset;
    ty_status status = ty_log_writer_open(place->fd, "m", &writer, NULL);
    ty_oom_expect(status);
    if (status == TY_OK)
        ty_oom_expect(ty_log_writer_append(writer, "a\nb\n", 4, 1, NULL));
    ty_log_writer_close(writer);
    status = ty_log_reader_open(place->fd, "m", &reader, NULL);
    if (status == TY_OK) {
        ty_oom_expect(ty_log_extent(reader, 0, &extent, NULL));
        ty_oom_expect(ty_log_tail(reader, &extent, 1, &offset, NULL));
    }
    ty_log_reader_close(reader);
}

static void list_files(void *context)
{
    const struct place *place = context;
    const struct ty_file_query query = {.folder = "saved", .limit = 40};
    struct ty_file_usage usage;
    ty_auto_file_list list = {0};
    ty_auto_file_list surplus = {0};
    ty_auto_checkpoint_list checkpoints = {0};
    ty_oom_expect(ty_files_list(place->fd, &query, &list, NULL));
    ty_oom_expect(ty_checkpoints_list(place->fd, &query, &checkpoints, NULL));
    ty_oom_expect(ty_checkpoints_surplus(place->fd, "saved", 2, INT64_MAX, &surplus, NULL));
    ty_oom_expect(ty_files_usage(place->fd, &usage, NULL));
    ty_oom_pause();
    if (!ty_oom_failed()) {
        assert_int_equal(list.count, 40);
        assert_string_equal(checkpoints.latest, "saved/ckpt-99.pt");
        assert_int_equal(surplus.count, 98);
    }
    ty_oom_resume();
}

/* Cut off at any allocation, it removes nothing but surplus. */
static void prune_files(void *context)
{
    const struct place *place = context;
    size_t removed = 0;
    ty_oom_expect(ty_checkpoints_prune(place->fd, "saved", 200, INT64_MAX, NULL, &removed, NULL));
    assert_int_equal(removed, 0);
}

static void digest_file(void *context)
{
    const struct place *place = context;
    struct ty_file_digests *digests = NULL;
    struct ty_file_stat stat;
    uint8_t sha256[TY_SHA256];
    int fd = -1;
    ty_status status = ty_file_open(place->fd, "saved/ckpt-1.pt", &fd, &stat, NULL);
    ty_oom_expect(status);
    status = ty_file_digests_create(100, &digests, NULL);
    ty_oom_expect(status);
    if (status == TY_OK && fd >= 0)
        ty_oom_expect(ty_file_digest(digests, fd, &stat, sha256, NULL));
    ty_file_digests_destroy(digests);
    close(fd);
}

static void ignore(void *context)
{
    (void)context;
}

static void watch_log(void *context)
{
    const struct place *place = context;
    struct ty_log_watcher *watcher = NULL;
    struct ty_log_watch *watches[3] = {0};
    static const char *const replicas[] = {"m", "m", "w"};
    ty_status status = ty_log_watcher_create(&watcher, NULL);
    ty_oom_expect(status);
    for (size_t at = 0; status == TY_OK && at < UNIT_COUNT(replicas); at++) {
        status =
            ty_log_watch_add(watcher, place->path, replicas[at], ignore, NULL, &watches[at], NULL);
        ty_oom_expect(status);
    }
    for (size_t at = 0; at < UNIT_COUNT(replicas); at++)
        ty_log_watch_remove(watches[at]);
    ty_log_watcher_destroy(watcher);
}

static void write_frames(void *context)
{
    const struct ty_frame frame = {.next = 400, .bytes = context, .len = 400};
    ty_auto_buf out = {0};
    ty_buf_init(&out, 100000);
    ty_frame_event(&frame, "m", &out);
    ty_oom_expect(ty_buf_check(&out, "frame", NULL));
}

static void memory_may_run_out_anywhere(void **state)
{
    struct place *place = *state;
    char text[400] = {0};
    place_folder(place, "saved");
    for (int at = 0; at < 100; at++) {
        char path[64];
        snprintf(path, sizeof(path), "saved/ckpt-%d.pt", at);
        place_text(place, path, "x");
        place_time(place, path, 100 + at);
    }
    assert_true(ty_oom_sweep(write_and_read, place) > 4);
    assert_true(ty_oom_sweep(list_files, place) > 200);
    assert_true(ty_oom_sweep(prune_files, place) > 4);
    assert_true(ty_oom_sweep(digest_file, place) > 4);
    assert_true(ty_oom_sweep(watch_log, place) > 8);
    assert_true(ty_oom_sweep(write_frames, text) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
