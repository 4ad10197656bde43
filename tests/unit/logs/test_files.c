#include "place.h"

#include "trainyard/logs/files.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

static void paths_are_judged_by_the_rule(void **state)
{
    static const struct {
        const char *path;
        size_t len;
        ty_status status;
    } cases[] = {
        {"a",           1,  TY_OK     },
        {"a/b/c.pt",    8,  TY_OK     },
        {"a b+c%2F#?;", 11, TY_OK     }, /* names like any other */
        {"..\\x",       4,  TY_OK     },
        {"...",         3,  TY_OK     },
        {".hidden",     7,  TY_OK     },
        {"a\nb",        3,  TY_OK     },
        {"\xff\xfe",    2,  TY_OK     },
        {"",            0,  TY_INVALID},
        {"/",           1,  TY_INVALID},
        {"/etc/passwd", 11, TY_INVALID},
        {"a/",          2,  TY_INVALID},
        {"a//b",        4,  TY_INVALID},
        {".",           1,  TY_INVALID},
        {"..",          2,  TY_INVALID},
        {"../x",        4,  TY_INVALID},
        {"a/../x",      6,  TY_INVALID},
        {"a/./x",       5,  TY_INVALID},
        {"a/..",        4,  TY_INVALID},
        {"a\0b",        3,  TY_INVALID},
        {"a\0",         2,  TY_INVALID},
    };
    (void)state;
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        struct ty_error err = {0};
        assert_int_equal(ty_file_path_check(cases[at].path, cases[at].len, &err), cases[at].status);
        if (cases[at].status != TY_OK)
            assert_string_equal(err.code, "invalid_path");
    }
    char name[257];
    memset(name, 'n', sizeof(name));
    assert_int_equal(ty_file_path_check(name, 255, NULL), TY_OK);
    assert_int_equal(ty_file_path_check(name, 256, NULL), TY_INVALID);
}

static void segments_are_joined_and_a_slash_inside_one_is_refused(void **state)
{
    (void)state;
    ty_auto_buf path = {0};
    ty_buf_init(&path, TY_FILE_PATH_MAX);
    assert_int_equal(ty_file_path_add(&path, "a", 1, NULL), TY_OK);
    assert_int_equal(ty_file_path_add(&path, "a%2Fb.pt", 8, NULL), TY_OK);
    assert_string_equal(path.data, "a/a%2Fb.pt");
    static const struct {
        const char *segment;
        size_t len;
    } bad[] = {
        {"",       0},
        {".",      1},
        {"..",     2},
        {"a/b",    3},
        {"/",      1},
        {"x\0.pt", 5},
        {"../x",   4}
    };
    for (size_t at = 0; at < UNIT_COUNT(bad); at++)
        assert_int_equal(ty_file_path_add(&path, bad[at].segment, bad[at].len, NULL), TY_INVALID);
    assert_string_equal(path.data, "a/a%2Fb.pt");
    char name[255];
    memset(name, 'n', sizeof(name));
    ty_status status = TY_OK;
    for (int at = 0; at < 20 && status == TY_OK; at++)
        status = ty_file_path_add(&path, name, sizeof(name), NULL);
    assert_int_equal(status, TY_INVALID);
    assert_true(path.len <= TY_FILE_PATH_MAX);
}

static void encoded_paths_keep_every_byte(void **state)
{
    static const struct {
        const char *path, *url;
    } cases[] = {
        {"a/b-c.d_e~f9", "a/b-c.d_e~f9"         },
        {"a b.pt",       "a%20b.pt"             },
        {"a+b.pt",       "a%2Bb.pt"             },
        {"a%20b.pt",     "a%2520b.pt"           },
        {"a%2Fb.pt",     "a%252Fb.pt"           },
        {"a#b?c;d",      "a%23b%3Fc%3Bd"        },
        {"100%.pt",      "100%25.pt"            },
        {"a\nX-Evil: 1", "a%0AX-Evil%3A%201"    },
        {"a\"b\\c",      "a%22b%5Cc"            },
        {"\xff\xc3\xa9", "%FF%C3%A9"            },
        {"模型.pt",    "%E6%A8%A1%E5%9E%8B.pt"},
    };
    (void)state;
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        ty_auto_buf url = {0};
        ty_buf_init(&url, 1000);
        ty_file_path_encode(cases[at].path, strlen(cases[at].path), &url);
        assert_string_equal(url.data, cases[at].url);
    }
}

/* --- listing --- */

static void assert_paths(const struct ty_file_list *list, const char *const *paths, size_t count)
{
    assert_int_equal(list->count, count);
    for (size_t at = 0; at < count; at++) {
        assert_string_equal(list->items[at].path, paths[at]);
        assert_int_equal(list->items[at].path_len, strlen(paths[at]));
    }
}

static void make_tree(const struct place *place)
{
    place_folder(place, "a");
    place_folder(place, "a/deep");
    place_folder(place, "empty");
    place_text(place, "a/x", "12345");
    place_text(place, "a/deep/y", "1");
    place_text(place, "a-b", "1");
    place_text(place, "a.txt", "1");
    place_text(place, "b", "");
}

static const char *const tree_paths[] = {"a",   "a/deep", "a/deep/y", "a/x",
                                         "a-b", "a.txt",  "b",        "empty"};

static void a_listing_is_whole_and_in_path_order(void **state)
{
    struct place *place = *state;
    make_tree(place);
    ty_auto_file_list list = {0};
    const struct ty_file_query query = {.limit = 100};
    assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
    assert_paths(&list, tree_paths, UNIT_COUNT(tree_paths));
    assert_false(list.more);
    assert_false(list.partial);
    assert_int_equal(list.items[0].stat.kind, TY_FILE_FOLDER);
    assert_int_equal(list.items[3].stat.kind, TY_FILE_REGULAR);
    assert_int_equal(list.items[3].stat.size, 5);
}

static void pages_of_any_size_give_the_whole_once(void **state)
{
    struct place *place = *state;
    make_tree(place);
    for (size_t limit = 1; limit <= 9; limit++) {
        char after[64] = "";
        size_t seen = 0;
        for (bool more = true; more;) {
            ty_auto_file_list list = {0};
            const struct ty_file_query query = {.limit = limit, .after = *after ? after : NULL};
            assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
            assert_true(list.count > 0 && list.count <= limit);
            for (size_t at = 0; at < list.count; at++)
                assert_string_equal(list.items[at].path, tree_paths[seen++]);
            snprintf(after, sizeof(after), "%s", list.items[list.count - 1].path);
            more = list.more;
        }
        assert_int_equal(seen, UNIT_COUNT(tree_paths));
    }
}

static void a_page_goes_on_after_a_name_that_is_gone(void **state)
{
    struct place *place = *state;
    make_tree(place);
    static const struct {
        const char *after;
        const char *next;
    } cases[] = {
        {"a/gone/z",  "a/x"  },
        {"a/deep/zz", "a/x"  },
        {"a,",        "a-b"  },
        {"0",         "a"    },
        {"b/x",       "empty"}
    };
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        ty_auto_file_list list = {0};
        const struct ty_file_query query = {.limit = 1, .after = cases[at].after};
        assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
        assert_paths(&list, &cases[at].next, 1);
    }
    ty_auto_file_list list = {0};
    const struct ty_file_query query = {.limit = 1, .after = "empty"};
    assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
    assert_int_equal(list.count, 0);
    assert_false(list.more);
}

static void a_folder_below_is_listed_with_paths_from_the_root(void **state)
{
    struct place *place = *state;
    make_tree(place);
    static const char *const files[] = {"a/deep/y", "a/x"};
    ty_auto_file_list list = {0};
    struct ty_file_query query = {.folder = "a", .limit = 10, .files_only = true};
    assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
    assert_paths(&list, files, 2);
    ty_file_list_done(&list);
    query.after = "a/deep/y";
    assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
    assert_paths(&list, files + 1, 1);
}

static void what_cannot_be_listed_is_said_and_nothing_is_touched(void **state)
{
    static const struct {
        struct ty_file_query query;
        ty_status status;
    } cases[] = {
        {{.folder = "nope", .limit = 1},               TY_NOT_FOUND},
        {{.folder = "b", .limit = 1},                  TY_NOT_FOUND}, /* a file */
        {{.folder = "link", .limit = 1},               TY_NOT_FOUND},
        {{.folder = "../x", .limit = 1},               TY_INVALID  },
        {{.folder = "/", .limit = 1},                  TY_INVALID  },
        {{.limit = 0},                                 TY_INVALID  },
        {{.limit = TY_FILE_LIST_MAX + 1},              TY_INVALID  },
        {{.limit = 1, .after = "a//b"},                TY_INVALID  },
        {{.folder = "a", .limit = 1, .after = "b/x"},  TY_INVALID  },
        {{.folder = "a", .limit = 1, .after = "ab/x"}, TY_INVALID  },
    };
    struct place *place = *state;
    make_tree(place);
    assert_int_equal(symlinkat("a", place->fd, "link"), 0);
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        struct ty_file_list list = {.count = 77};
        struct ty_error err = {0};
        assert_int_equal(ty_files_list(place->fd, &cases[at].query, &list, &err), cases[at].status);
        assert_int_equal(list.count, 77);
        assert_null(strstr(err.text, place->path));
    }
}

/* Case 79: a pipe, a socket, a device, links, and names of every kind; nothing waits and nothing
 * leaves. */
static void make_zoo(const struct place *place)
{
    char socket_path[128];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    place_folder(place, "model.pt");
    place_text(place, "plain", "p");
    assert_int_equal(mkfifoat(place->fd, "pipe", 0666), 0);
    snprintf(socket_path, sizeof(socket_path), "%s/socket", place->path);
    memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd);
    assert_int_equal(symlinkat("/dev/zero", place->fd, "zero"), 0);
    assert_int_equal(symlinkat("/etc/passwd", place->fd, "outside"), 0);
    assert_int_equal(symlinkat("../../../../../../etc/passwd", place->fd, "up"), 0);
    assert_int_equal(symlinkat("plain", place->fd, "inside"), 0);
    assert_int_equal(symlinkat("loop", place->fd, "loop"), 0);
    assert_int_equal(symlinkat("/", place->fd, "root"), 0);
    place_text(place, "secret", "s");
    assert_int_equal(fchmodat(place->fd, "secret", 0, 0), 0);
}

static void kinds_are_shown_and_links_not_followed(void **state)
{
    static const struct {
        const char *path;
        ty_file_kind kind;
    } expected[] = {
        {"inside",   TY_FILE_LINK   },
        {"loop",     TY_FILE_LINK   },
        {"model.pt", TY_FILE_FOLDER },
        {"outside",  TY_FILE_LINK   },
        {"pipe",     TY_FILE_OTHER  },
        {"plain",    TY_FILE_REGULAR},
        {"root",     TY_FILE_LINK   },
        {"secret",   TY_FILE_REGULAR},
        {"socket",   TY_FILE_OTHER  },
        {"up",       TY_FILE_LINK   },
        {"zero",     TY_FILE_LINK   },
    };
    struct place *place = *state;
    make_zoo(place);
    ty_auto_file_list list = {0};
    const struct ty_file_query query = {.limit = 100};
    assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
    assert_int_equal(list.count, UNIT_COUNT(expected));
    for (size_t at = 0; at < UNIT_COUNT(expected); at++) {
        assert_string_equal(list.items[at].path, expected[at].path);
        assert_int_equal(list.items[at].stat.kind, expected[at].kind);
    }
    assert_string_equal(ty_file_kind_name(TY_FILE_REGULAR), "file");
    assert_string_equal(ty_file_kind_name(TY_FILE_FOLDER), "folder");
    assert_string_equal(ty_file_kind_name(TY_FILE_LINK), "link");
    assert_string_equal(ty_file_kind_name(TY_FILE_OTHER), "other");
}

/* A folder and a link to a folder outside change places all the time. */
struct juggler {
    int fd;
    atomic_bool stop;
};

static void *juggle(void *context)
{
    struct juggler *juggler = context;
    while (!atomic_load(&juggler->stop))
        (void)renameat2(juggler->fd, "d", juggler->fd, "l", RENAME_EXCHANGE);
    return NULL;
}

static void a_folder_exchanged_for_a_link_leads_nowhere(void **state)
{
    struct place *place = *state;
    struct juggler juggler = {0};
    pthread_t thread;
    place_folder(place, "outside");
    place_text(place, "outside/leak", "x");
    place_folder(place, "root");
    place_folder(place, "root/d");
    place_text(place, "root/d/own", "x");
    ty_auto_fd root = openat(place->fd, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(symlinkat("../outside", root, "l"), 0);
    juggler.fd = root;
    assert_int_equal(pthread_create(&thread, NULL, juggle, &juggler), 0);
    bool leaked = false;
    for (int round = 0; round < 10000 && !leaked; round++) {
        ty_auto_file_list list = {0};
        struct ty_file_stat stat;
        int fd = -1;
        const struct ty_file_query query = {.limit = 100};
        if (ty_files_list(root, &query, &list, NULL) != TY_OK)
            continue;
        for (size_t at = 0; at < list.count; at++)
            leaked |= strstr(list.items[at].path, "leak") != NULL;
        if (ty_file_open(root, "d/leak", &fd, &stat, NULL) == TY_OK) {
            leaked = true;
            close(fd);
        }
    }
    atomic_store(&juggler.stop, true);
    pthread_join(thread, NULL);
    assert_false(leaked);
}

static void only_regular_files_beneath_the_root_are_opened(void **state)
{
    static const struct {
        const char *path;
        ty_status status;
        const char *code;
    } cases[] = {
        {"plain",             TY_OK,        ""            },
        {"inside",            TY_OK,        ""            }, /* a link that stays */
        {"model.pt",          TY_NOT_FOUND, "not_a_file"  },
        {"pipe",              TY_NOT_FOUND, "not_a_file"  },
        {"socket",            TY_NOT_FOUND, "not_a_file"  },
        {"zero",              TY_NOT_FOUND, ""            },
        {"outside",           TY_NOT_FOUND, ""            },
        {"up",                TY_NOT_FOUND, ""            },
        {"loop",              TY_NOT_FOUND, ""            },
        {"root/etc/passwd",   TY_NOT_FOUND, ""            },
        {"plain/x",           TY_NOT_FOUND, ""            },
        {"nope",              TY_NOT_FOUND, ""            },
        {"../plain",          TY_INVALID,   "invalid_path"},
        {"/etc/passwd",       TY_INVALID,   "invalid_path"},
        {"model.pt/../plain", TY_INVALID,   "invalid_path"},
        {"",                  TY_INVALID,   "invalid_path"},
    };
    struct place *place = *state;
    make_zoo(place);
    for (size_t at = 0; at < UNIT_COUNT(cases); at++) {
        struct ty_file_stat stat = {.size = -77};
        struct ty_error err = {0};
        int fd = -77;
        assert_int_equal(ty_file_open(place->fd, cases[at].path, &fd, &stat, &err),
                         cases[at].status);
        if (cases[at].status == TY_OK) {
            assert_int_equal(stat.size, 1);
            assert_int_equal(stat.kind, TY_FILE_REGULAR);
            close(fd);
            continue;
        }
        assert_int_equal(fd, -77);
        assert_int_equal(stat.size, -77);
        assert_string_equal(err.code, cases[at].code);
        assert_null(strstr(err.text, place->path));
        assert_null(strstr(err.text, "passwd"));
    }
}

static void a_device_in_the_folder_is_not_opened(void **state)
{
    struct place *place = *state;
    struct ty_file_stat stat;
    struct ty_error err = {0};
    int fd;
    if (mknodat(place->fd, "null", S_IFCHR | 0666, makedev(1, 3)) < 0)
        skip(); /* only root may make one */
    assert_int_equal(ty_file_open(place->fd, "null", &fd, &stat, &err), TY_NOT_FOUND);
    assert_string_equal(err.code, "not_a_file");
}

/* Root may read everything: for a moment be someone else. False when that is not possible. */
static bool become_ordinary(void)
{
    return geteuid() != 0 || seteuid(65534) == 0;
}

static void become_oneself(void)
{
    if (getuid() == 0)
        assert_int_equal(seteuid(0), 0);
}

static void without_permission_a_file_is_forbidden_and_a_folder_shown_but_not_entered(void **state)
{
    struct place *place = *state;
    struct ty_file_stat stat;
    struct ty_error err = {0};
    int fd = -77;
    ty_auto_file_list list = {0};
    const struct ty_file_query shut = {.folder = "shut", .limit = 1};
    const struct ty_file_query all = {.limit = 100};
    make_zoo(place);
    place_folder(place, "shut");
    assert_int_equal(fchmodat(place->fd, "shut", 0, 0), 0);
    assert_int_equal(fchmod(place->fd, 0755), 0);
    if (!become_ordinary())
        skip();
    ty_status file = ty_file_open(place->fd, "secret", &fd, &stat, &err);
    ty_status folder = ty_files_list(place->fd, &shut, &list, NULL);
    ty_status whole = ty_files_list(place->fd, &all, &list, NULL);
    become_oneself();
    assert_int_equal(fchmodat(place->fd, "shut", 0700, 0), 0);
    assert_int_equal(file, TY_FORBIDDEN);
    assert_string_equal(err.code, "file_not_readable");
    assert_int_equal(fd, -77);
    assert_int_equal(folder, TY_FORBIDDEN);
    assert_int_equal(whole, TY_OK);
    assert_true(list.partial);
    assert_int_equal(list.count, 12);
}

static void hostile_names_are_listed_and_open(void **state)
{
    static const char *const names[] = {
        "模型-最终.pt", "\xC3\xA9.pt", "e\xCC\x81.pt", "a\"b.pt", "a\nX-Evil: 1.pt",
        "a\\b.pt",      "\xFF\xFE.pt", "a b.pt",       "a+b.pt",  "a%20b.pt",
        "a%2Fb.pt",     "a#b.pt",      "a?b.pt",       "a;b.pt",  "100%.pt",
        "..\\x",        "-rf"};
    struct place *place = *state;
    char longest[256];
    memset(longest, 'n', 255);
    longest[255] = '\0';
    for (size_t at = 0; at < UNIT_COUNT(names); at++)
        place_text(place, names[at], names[at]);
    place_text(place, longest, longest);
    ty_auto_file_list list = {0};
    const struct ty_file_query query = {.limit = 100};
    assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
    assert_int_equal(list.count, UNIT_COUNT(names) + 1);
    assert_false(list.partial);
    for (size_t at = 0; at < list.count; at++) {
        struct ty_file_stat stat;
        char content[256] = {0};
        int fd;
        assert_int_equal(ty_file_open(place->fd, list.items[at].path, &fd, &stat, NULL), TY_OK);
        assert_int_equal(read(fd, content, sizeof(content)), stat.size);
        assert_memory_equal(content, list.items[at].path, (size_t)stat.size);
        close(fd);
    }
}

static void folders_that_are_too_deep_are_shown_but_not_entered(void **state)
{
    struct place *place = *state;
    char path[1024] = "d";
    for (int depth = 0; depth < TY_FILE_DEPTH_MAX + 5; depth++) {
        place_folder(place, path);
        memcpy(path + strlen(path), "/d", 3);
    }
    ty_auto_file_list list = {0};
    const struct ty_file_query query = {.limit = 100};
    assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
    assert_int_equal(list.count, TY_FILE_DEPTH_MAX + 1);
    assert_true(list.partial);
    assert_false(list.more);
}

static void a_wide_folder_is_paged_within_a_pages_memory(void **state)
{
    enum { WIDE = 3000 };
    struct place *place = *state;
    char name[32];
    for (int at = 0; at < WIDE; at++) {
        snprintf(name, sizeof(name), "f%05d", (at * 7919) % WIDE);
        int fd = openat(place->fd, name, O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        close(fd);
        if (at % 10 == 0) { /* folders between them, which a listing of files leaves out */
            snprintf(name, sizeof(name), "f%05d+", at);
            place_folder(place, name);
        }
    }
    char after[32] = "";
    int seen = 0;
    for (bool more = true; more;) {
        ty_auto_file_list list = {0};
        const struct ty_file_query query = {
            .limit = 7, .after = *after ? after : NULL, .files_only = true};
        assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
        for (size_t at = 0; at < list.count; at++) {
            snprintf(name, sizeof(name), "f%05d", seen++);
            assert_string_equal(list.items[at].path, name);
        }
        snprintf(after, sizeof(after), "%s", list.items[list.count - 1].path);
        more = list.more;
    }
    assert_int_equal(seen, WIDE);
}

/* A folder is read in portions of a page's size; one that ends in the file just shown must not show
 * it again. */
static void portions_of_a_folder_do_not_overlap(void **state)
{
    struct place *place = *state;
    char name[16];
    for (int after = 0; after < 12; after++) {
        snprintf(name, sizeof(name), "z%02d", after);
        place_folder(place, name);
    }
    place_text(place, "m", "the only file, among folders");
    for (int before = 0; before < 12; before++) {
        for (size_t limit = 1; limit <= 4; limit++) {
            ty_auto_file_list list = {0};
            const struct ty_file_query query = {.limit = limit, .files_only = true};
            assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
            assert_int_equal(list.count, 1);
            assert_false(list.more);
        }
        snprintf(name, sizeof(name), "a%02d", before);
        place_folder(place, name);
    }
}

static void usage_counts_blocks_and_files_without_following_links(void **state)
{
    struct place *place = *state;
    static char block[100000];
    struct ty_file_usage usage = {0};
    make_tree(place);
    place_write(place, "a/big", block, sizeof(block));
    assert_int_equal(symlinkat("/usr", place->fd, "usr"), 0);
    assert_int_equal(ty_files_usage(place->fd, &usage, NULL), TY_OK);
    assert_int_equal(usage.files, 6);
    assert_in_range(usage.bytes, sizeof(block), 1000000);
    assert_false(usage.partial);
}

static void odd_times_are_kept_within_what_can_be_said(void **state)
{
    struct place *place = *state;
    place_text(place, "old", "x");
    place_text(place, "far", "x");
    place_time(place, "old", INT64_MIN / 4);
    place_time(place, "far", INT64_MAX / 4);
    ty_auto_file_list list = {0};
    const struct ty_file_query query = {.limit = 10};
    assert_int_equal(ty_files_list(place->fd, &query, &list, NULL), TY_OK);
    assert_int_equal(list.count, 2);
    for (size_t at = 0; at < 2; at++)
        assert_true(list.items[at].stat.modified_us >= -62135596800000000 &&
                    list.items[at].stat.modified_us <= 253402300799999999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_judged_by_the_rule),
        cmocka_unit_test(segments_are_joined_and_a_slash_inside_one_is_refused),
        cmocka_unit_test(encoded_paths_keep_every_byte),
        PLACE_TEST(a_listing_is_whole_and_in_path_order),
        PLACE_TEST(pages_of_any_size_give_the_whole_once),
        PLACE_TEST(a_page_goes_on_after_a_name_that_is_gone),
        PLACE_TEST(a_folder_below_is_listed_with_paths_from_the_root),
        PLACE_TEST(what_cannot_be_listed_is_said_and_nothing_is_touched),
        PLACE_TEST(kinds_are_shown_and_links_not_followed),
        PLACE_TEST(a_folder_exchanged_for_a_link_leads_nowhere),
        PLACE_TEST(only_regular_files_beneath_the_root_are_opened),
        PLACE_TEST(a_device_in_the_folder_is_not_opened),
        PLACE_TEST(without_permission_a_file_is_forbidden_and_a_folder_shown_but_not_entered),
        PLACE_TEST(hostile_names_are_listed_and_open),
        PLACE_TEST(folders_that_are_too_deep_are_shown_but_not_entered),
        PLACE_TEST(a_wide_folder_is_paged_within_a_pages_memory),
        PLACE_TEST(portions_of_a_folder_do_not_overlap),
        PLACE_TEST(usage_counts_blocks_and_files_without_following_links),
        PLACE_TEST(odd_times_are_kept_within_what_can_be_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
