#include "place.h"

#include "trainyard/logs/archive.h"

#include <time.h>

static struct ty_log_reader *make_log(const struct place *place, const void *bytes, size_t len)
{
    struct ty_log_reader *reader = NULL;
    (void)unlinkat(place->fd, "m.idx", 0);
    place_write(place, "m.log", bytes, len);
    assert_int_equal(ty_log_reader_open(place->fd, "m", &reader, NULL), TY_OK);
    return reader;
}

static void the_last_lines_begin_where_they_should(void **state)
{
    static const struct {
        const char *text;
        int64_t lines;
        int64_t offset;
    } cases[] = {
        {"a\nbb\nccc\n",  0,         9},
        {"a\nbb\nccc\n",  1,         5},
        {"a\nbb\nccc\n",  2,         2},
        {"a\nbb\nccc\n",  3,         0},
        {"a\nbb\nccc\n",  5,         0},
        {"a\nbb\nccc\n",  INT64_MAX, 0},
        {"a\nbb\nccc",    0,         8},
        {"a\nbb\nccc",    1,         5}, /* an unfinished last line is one */
        {"a\nbb\nccc",    2,         2},
        {"\n",            1,         0},
        {"\n\n\n",        1,         2},
        {"\n\n\n",        2,         1},
        {"x",             1,         0},
        {"a\r\nb\r\nc",   2,         3},
        {"a\n1\r2\r3\nb", 2,         2}, /* redraws belong to their line */
    };
    struct place *place = *state;
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        struct ty_log_reader *reader = make_log(place, cases[at].text, strlen(cases[at].text));
        struct ty_log_extent extent;
        int64_t offset = -1;
        assert_int_equal(ty_log_extent(reader, 0, &extent, NULL), TY_OK);
        assert_int_equal(ty_log_tail(reader, &extent, cases[at].lines, &offset, NULL), TY_OK);
        assert_int_equal(offset, cases[at].offset);
        offset = -7;
        assert_int_equal(ty_log_tail(reader, &extent, -1, &offset, NULL), TY_INVALID);
        assert_int_equal(offset, -7);
        ty_log_reader_close(reader);
    }
}

static void a_tail_never_leaves_its_extent(void **state)
{
    struct place *place = *state;
    struct ty_log_reader *reader = make_log(place, "a\nb\nc\nd\ne\n", 10);
    const struct ty_log_extent middle = {.start = 2, .end = 6};
    const struct ty_log_extent none = {.start = 4, .end = 4};
    int64_t offset = -1;
    assert_int_equal(ty_log_tail(reader, &middle, 1, &offset, NULL), TY_OK);
    assert_int_equal(offset, 4);
    assert_int_equal(ty_log_tail(reader, &middle, 9, &offset, NULL), TY_OK);
    assert_int_equal(offset, 2);
    assert_int_equal(ty_log_tail(reader, &none, 3, &offset, NULL), TY_OK);
    assert_int_equal(offset, 4);
    ty_log_reader_close(reader);
}

/* Against counting forwards, with lines that end around the borders of the blocks read. */
static void blocks_do_not_show(void **state)
{
    enum { BLOCK = 65536, SIZE = 3 * BLOCK + 17 };
    static const size_t ends[] = {
        1,         BLOCK - 1,        BLOCK,        BLOCK + 1, 2 * BLOCK - 1,
        2 * BLOCK, SIZE - BLOCK - 1, SIZE - BLOCK, SIZE - 2,  SIZE - 1};
    struct place *place = *state;
    char *bytes = malloc(SIZE);
    for (unsigned which = 0; which < 1U << UNIT_COUNT(ends); which += 3) {
        memset(bytes, 'x', SIZE);
        int64_t starts[UNIT_COUNT(ends) + 2] = {0};
        size_t count = 1;
        for (size_t at = 0; at < UNIT_COUNT(ends); at++)
            if (which & (1U << at))
                bytes[ends[at]] = '\n';
        for (size_t at = 0; at + 1 < SIZE; at++)
            if (bytes[at] == '\n')
                starts[count++] = (int64_t)at + 1;
        struct ty_log_reader *reader = make_log(place, bytes, SIZE);
        const struct ty_log_extent extent = {.end = SIZE};
        for (size_t lines = 1; lines <= count + 1; lines++) {
            int64_t offset = -1;
            assert_int_equal(ty_log_tail(reader, &extent, (int64_t)lines, &offset, NULL), TY_OK);
            assert_int_equal(offset, lines <= count ? starts[count - lines] : 0);
        }
        ty_log_reader_close(reader);
    }
    free(bytes);
}

/* Not a bound on the time, which depends on the machine, but on what is read: the count of bytes
 * the process read. */
static int64_t bytes_read(void)
{
    char line[64];
    int64_t value = -1;
    FILE *file = fopen("/proc/self/io", "r");
    if (!file)
        return -1;
    if (fgets(line, sizeof(line), file) && strncmp(line, "rchar: ", 7) == 0)
        value = strtoll(line + 7, NULL, 10);
    fclose(file);
    return value;
}

static void the_tail_of_a_large_log_reads_its_end_only(void **state)
{
    enum { LINE = 64, SIZE = 50 * 1024 * 1024 };
    struct place *place = *state;
    char *bytes = malloc(SIZE);
    memset(bytes, '.', SIZE);
    for (size_t at = LINE - 1; at < SIZE; at += LINE)
        bytes[at] = '\n';
    struct ty_log_reader *reader = make_log(place, bytes, SIZE);
    free(bytes);
    const struct ty_log_extent extent = {.end = SIZE};
    int64_t offset = -1;
    int64_t before = bytes_read();
    assert_int_equal(ty_log_tail(reader, &extent, 1000, &offset, NULL), TY_OK);
    int64_t after = bytes_read();
    assert_int_equal(offset, SIZE - 1000 * LINE);
    if (before >= 0)
        assert_in_range(after - before, 1000 * LINE, 4 * 65536);
    ty_log_reader_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(the_last_lines_begin_where_they_should),
        PLACE_TEST(a_tail_never_leaves_its_extent),
        PLACE_TEST(blocks_do_not_show),
        PLACE_TEST(the_tail_of_a_large_log_reads_its_end_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
