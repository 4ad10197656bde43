/* The happy path: GET, the bytes go to the part file and into the digest as they come, the digest
 * is compared with the gateway's, the part file gets its name.
 *
 * When the answer breaks off, the next one asks for the rest (Range) if the file is still the same
 * (If-Range with its ETag). The whole file instead of the rest means that it changed: the part is
 * emptied. Every file is read again for the digest only when the beginning came from an earlier
 * run of the client. */
#include "fetch.h"

#include "http.h"
#include "patience.h"
#include "progress.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { DIGEST_TEXT = 96 };

struct fetch {
    const struct cli *cli;
    const char *path;
    const char *target;
    char part[PATH_MAX];
    char tag_file[PATH_MAX];
    int fd;
    bool to_stream; /* standard output: what was written cannot be taken back */
    int64_t have;
    char etag[128];
    char digest[DIGEST_TEXT]; /* Repr-Digest of the whole file, "" = not told */
    struct ty_sha256_stream *hash;
    struct cli_progress progress;
    int failure; /* exit code of a failure on our side, after its message */
};

/* --- digests --- */

static ty_status restart_hash(struct fetch *fetch)
{
    ty_sha256_destroy(fetch->hash);
    fetch->hash = NULL;
    return ty_sha256_begin(&fetch->hash);
}

static bool hash_file(int fd, struct ty_sha256_stream *hash)
{
    enum { CHUNK = 256 * 1024 };
    ty_auto_free char *chunk = malloc(CHUNK);
    off_t at = 0;
    ssize_t got = -1;
    while (chunk && (got = pread(fd, chunk, CHUNK, at)) > 0) {
        ty_sha256_feed(hash, chunk, (size_t)got);
        at += got;
    }
    return chunk && got == 0;
}

/* As the gateway writes it: "sha-256=:…:". */
static bool finish_hash(struct fetch *fetch, char out[DIGEST_TEXT])
{
    uint8_t digest[TY_SHA256];
    char text[64];
    if (ty_sha256_finish(fetch->hash, digest) != TY_OK)
        return false;
    ty_base64(digest, sizeof digest, text);
    snprintf(out, DIGEST_TEXT, "sha-256=:%s:", text);
    return true;
}

/* --- the part file --- */

static int fail_file(const char *what, const char *name)
{
    cli_say("cannot %s %s: %s", what, name, strerror(errno));
    return EXIT_JOB_FAILED;
}

static void forget_part(struct fetch *fetch)
{
    unlink(fetch->part);
    unlink(fetch->tag_file);
}

/* Go on with what an earlier run left, if it says which file it belongs to. */
static int open_part(struct fetch *fetch)
{
    struct ty_error err;
    struct stat about;
    ty_auto_buf tag = {0};
    fetch->fd = open(fetch->part, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fetch->fd < 0)
        return fail_file("write", fetch->part);
    if (flock(fetch->fd, LOCK_EX | LOCK_NB) != 0) {
        cli_say("%s is being written by another download", fetch->part);
        return EXIT_REFUSED;
    }
    ty_buf_init(&tag, sizeof fetch->etag - 1);
    bool tagged = ty_file_read(AT_FDCWD, fetch->tag_file, &tag, &err) == TY_OK && tag.len > 0;
    if (fstat(fetch->fd, &about) != 0)
        return fail_file("read", fetch->part);
    if (tagged && about.st_size > 0 && hash_file(fetch->fd, fetch->hash)) {
        ty_str_copy(fetch->etag, sizeof fetch->etag, tag.data);
        fetch->have = about.st_size;
        return EXIT_DONE;
    }
    if (ftruncate(fetch->fd, 0) != 0)
        return fail_file("write", fetch->part);
    return restart_hash(fetch) == TY_OK ? EXIT_DONE : EXIT_JOB_FAILED;
}

static bool begin_anew(struct fetch *fetch)
{
    if (fetch->have > 0 && fetch->to_stream) {
        cli_say("the file changed while it was read");
        fetch->failure = EXIT_JOB_FAILED;
        return false;
    }
    fetch->have = 0;
    fetch->etag[0] = '\0';
    if ((!fetch->to_stream && ftruncate(fetch->fd, 0) != 0) || restart_hash(fetch) != TY_OK) {
        fetch->failure = fail_file("write", fetch->part);
        return false;
    }
    return true;
}

/* The tag is kept beside the part before the first byte is. */
static bool keep_tag(struct fetch *fetch, const char *etag)
{
    struct ty_error err;
    if (ty_str_equal(fetch->etag, etag))
        return true;
    ty_str_copy(fetch->etag, sizeof fetch->etag, etag);
    if (fetch->to_stream || etag[0] == '\0' || ty_str_starts(etag, "W/"))
        return true;
    if (ty_file_write(AT_FDCWD, fetch->tag_file, etag, strlen(etag), 0600, &err) == TY_OK)
        return true;
    cli_say("cannot write %s: %s", fetch->tag_file, err.text);
    fetch->failure = EXIT_JOB_FAILED;
    return false;
}

/* --- the answer --- */

/* Before the first byte of an answer: does it go on where we are? */
static bool accept_answer(struct fetch *fetch, const struct http_answer *answer)
{
    bool goes_on = answer->status == 206 && answer->range_start == fetch->have &&
                   ty_str_equal(answer->etag, fetch->etag);
    if (!goes_on && answer->status == 206) {
        cli_say("the gateway sent another part than the one asked for");
        fetch->failure = EXIT_UNAVAILABLE;
        return false;
    }
    if (!goes_on && fetch->have > 0 && !begin_anew(fetch))
        return false;
    ty_str_copy(fetch->digest, sizeof fetch->digest, answer->digest);
    fetch->progress.total = goes_on ? answer->total : answer->length;
    return keep_tag(fetch, answer->etag);
}

struct receiver {
    struct fetch *fetch;
    bool accepted;
};

static bool take_bytes(void *context, const struct http_answer *answer, const char *bytes,
                       size_t len)
{
    struct receiver *receiver = context;
    struct fetch *fetch = receiver->fetch;
    struct ty_error err;
    if (!receiver->accepted && !accept_answer(fetch, answer))
        return false;
    receiver->accepted = true;
    if (!fetch->to_stream && lseek(fetch->fd, (off_t)fetch->have, SEEK_SET) < 0) {
        fetch->failure = fail_file("write", fetch->part);
        return false;
    }
    if (ty_write_all(fetch->fd, bytes, len, &err) != TY_OK) {
        cli_say("cannot write %s: %s", fetch->target, err.text);
        fetch->failure = EXIT_JOB_FAILED;
        return false;
    }
    ty_sha256_feed(fetch->hash, bytes, len);
    fetch->have += (int64_t)len;
    cli_progress_tell(&fetch->progress, fetch->have);
    return true;
}

static int get_rest(struct fetch *fetch, struct http_answer *answer, bool *complete_out)
{
    char range[48];
    struct receiver receiver = {.fetch = fetch};
    bool resumes = fetch->have > 0 && fetch->etag[0] == '"';
    snprintf(range, sizeof range, "bytes=%" PRId64 "-", fetch->have);
    struct http_request request = {
        .method = "GET",
        .path = fetch->path,
        .accept = "*/*",
        .range = resumes ? range : NULL,
        .if_range = resumes ? fetch->etag : NULL,
        .timeout_s = -1,
        .quiet = true,
    };
    int code = http_stream(fetch->cli, &request, take_bytes, &receiver, answer, complete_out);
    /* An empty file has no bytes that would have brought its head. */
    if (*complete_out && !receiver.accepted && !accept_answer(fetch, answer))
        *complete_out = false;
    ty_buf_done(&answer->body);
    return fetch->failure ? fetch->failure : code;
}

/* Everything was there already: a range behind the end is 416, with the size. */
static bool is_whole(const struct fetch *fetch, const struct http_answer *answer)
{
    return answer->status == 416 && answer->total == fetch->have;
}

static int give_up(const struct fetch *fetch)
{
    if (fetch->have > 0)
        cli_say("%s broke off at byte %" PRId64 "%s", fetch->target, fetch->have,
                fetch->to_stream ? "" : "; the same command goes on from there");
    return EXIT_UNAVAILABLE;
}

static int get_all(struct fetch *fetch)
{
    struct cli_patience patience = {0};
    for (;;) {
        struct http_answer answer;
        bool complete = false;
        int64_t before = fetch->have;
        int code = get_rest(fetch, &answer, &complete);
        if (complete || is_whole(fetch, &answer))
            return EXIT_DONE;
        if (answer.status == 416 && fetch->have > 0) {
            if (!begin_anew(fetch))
                return fetch->failure;
            continue;
        }
        if (fetch->failure || code != EXIT_UNAVAILABLE || !http_is_passing(answer.status))
            return code;
        if (fetch->have != before)
            cli_patience_heard(&patience);
        if (!cli_patience_pause(&patience, fetch->cli, answer.retry_after, INT64_MAX))
            return give_up(fetch);
    }
}

/* --- the whole --- */

/* What the gateway says of the file, without its bytes. */
static int ask_head(const struct fetch *fetch, struct http_answer *answer)
{
    struct http_request request = {.method = "HEAD", .path = fetch->path, .accept = "*/*"};
    int code = http_call(fetch->cli, &request, answer);
    ty_buf_done(&answer->body);
    return code;
}

static bool digest_holds(struct fetch *fetch)
{
    char digest[DIGEST_TEXT];
    struct http_answer answer;
    if (fetch->digest[0] == '\0' && ask_head(fetch, &answer) == EXIT_DONE &&
        ty_str_equal(answer.etag, fetch->etag))
        ty_str_copy(fetch->digest, sizeof fetch->digest, answer.digest);
    if (!ty_str_starts(fetch->digest, "sha-256="))
        return true; /* none is told: the length was right */
    return finish_hash(fetch, digest) && ty_str_equal(digest, fetch->digest);
}

static int name_file(struct fetch *fetch)
{
    if (fsync(fetch->fd) != 0)
        return fail_file("write", fetch->part);
    if (rename(fetch->part, fetch->target) != 0)
        return fail_file("rename", fetch->part);
    unlink(fetch->tag_file);
    return EXIT_DONE;
}

/* Whether the target holds the file already. */
static bool is_there(struct fetch *fetch)
{
    struct stat about;
    struct http_answer answer;
    char digest[DIGEST_TEXT];
    ty_auto_fd fd = open(fetch->target, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &about) != 0 || !S_ISREG(about.st_mode) ||
        ask_head(fetch, &answer) != EXIT_DONE || answer.length != about.st_size ||
        answer.digest[0] == '\0')
        return false;
    bool same = hash_file(fd, fetch->hash) && finish_hash(fetch, digest) &&
                ty_str_equal(digest, answer.digest);
    return restart_hash(fetch) == TY_OK && same;
}

static int run_fetch(struct fetch *fetch, const char *label)
{
    int code = fetch->to_stream ? EXIT_DONE : open_part(fetch);
    if (code != EXIT_DONE)
        return code;
    cli_progress_begin(&fetch->progress, fetch->cli, label, fetch->have);
    code = get_all(fetch);
    if (code == EXIT_DONE && !digest_holds(fetch)) {
        cli_progress_end(&fetch->progress, fetch->have, false);
        cli_say("%s arrived damaged: its SHA-256 is not the gateway's", label);
        if (!fetch->to_stream)
            forget_part(fetch);
        return EXIT_JOB_FAILED;
    }
    if (code == EXIT_DONE && !fetch->to_stream)
        code = name_file(fetch);
    else if (!fetch->to_stream && fetch->have == 0)
        forget_part(fetch);
    cli_progress_end(&fetch->progress, fetch->have, code == EXIT_DONE);
    return code;
}

int cli_fetch(const struct cli *cli, const char *path, const char *target, const char *label)
{
    struct fetch fetch = {
        .cli = cli,
        .path = path,
        .target = target,
        .fd = STDOUT_FILENO,
        .to_stream = ty_str_equal(target, "-"),
    };
    int part = snprintf(fetch.part, sizeof fetch.part, "%s.part", target);
    int tag = snprintf(fetch.tag_file, sizeof fetch.tag_file, "%s.part.etag", target);
    if (part < 0 || tag < 0 || (size_t)tag >= sizeof fetch.tag_file)
        return cli_misuse("the file's name is too long");
    if (ty_sha256_begin(&fetch.hash) != TY_OK)
        return EXIT_JOB_FAILED;
    int code = !fetch.to_stream && is_there(&fetch) ? EXIT_DONE : run_fetch(&fetch, label);
    if (!fetch.to_stream && fetch.fd != STDOUT_FILENO && fetch.fd >= 0)
        close(fetch.fd);
    ty_sha256_destroy(fetch.hash);
    return code;
}
