/* What stands in the data folder beside the database: the lock that keeps a second process out, and
 * the key. */
#include "inside.h"
#include "trainyard/base/failpoint.h"
#include "trainyard/base/file.h"
#include "trainyard/base/random.h"
#include "trainyard/base/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static const char lock_name[] = "trainyard.lock";
static const char key_name[] = "store.key";
static const char database_name[] = "trainyard.db";

/* How often, and how many times, a lock whose daemon is gone is tried again: two seconds in all. */
enum { LOCK_PAUSE_NS = 10 * 1000 * 1000, LOCK_TRIES = 200 };

/* The process named in the lock file, as its digits; empty if none is. */
static void read_holder(int fd, char text[24])
{
    ssize_t got = pread(fd, text, 23, 0);
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static bool holder_is_gone(int fd)
{
    char text[24];
    read_holder(fd, text);
    long pid = strtol(text, NULL, 10);
    return pid > 0 && pid <= INT_MAX && kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

/* A child that a daemon had forked shares its lock until its exec, and so may hold it for a moment
 * after the daemon itself was killed. That is waited for; a daemon that lives is not. */
static int lock_or_errno(int fd)
{
    for (int tries = 0;; tries++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        int why = errno;
        if (why != EWOULDBLOCK || tries == LOCK_TRIES || !holder_is_gone(fd))
            return why;
        nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
    }
}

static ty_status fail_taken(int fd, struct ty_error *err)
{
    char text[24];
    read_holder(fd, text);
    return ty_fail_code(err, TY_CONFLICT, "folder_in_use",
                        "another trainyardd%s%s has this data folder open",
                        text[0] ? ", process " : "", text);
}

static ty_status take_lock(int folder_fd, int *fd_out, struct ty_error *err)
{
    ty_auto_fd fd = openat(folder_fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return ty_fail_errno(err, errno, "the data folder cannot be written: lock file");
    int why = lock_or_errno(fd);
    if (why == EWOULDBLOCK)
        return fail_taken(fd, err);
    if (why != 0)
        return ty_fail_errno(err, why, "lock the data folder");
    /* For people only; the lock is what counts. */
    if (ftruncate(fd, 0) == 0)
        (void)!dprintf(fd, "%ld\n", (long)getpid());
    *fd_out = ty_steal_fd(&fd);
    return TY_OK;
}

static ty_status load_key(int folder_fd, unsigned char key[TY_STORE_KEY], struct ty_error *err)
{
    ty_auto_buf bytes = {0};
    ty_buf_init(&bytes, 4096);
    ty_status status = ty_file_read(folder_fd, key_name, &bytes, err);
    if (status == TY_NOT_FOUND) {
        unsigned char fresh[TY_STORE_KEY];
        const struct ty_random *random = ty_random_system();
        random->fill(random->context, fresh, sizeof(fresh));
        ty_failpoint("store.before_key");
        status = ty_file_write(folder_fd, key_name, fresh, sizeof(fresh), 0600, err);
        ty_failpoint("store.after_key");
        if (status == TY_OK)
            memcpy(key, fresh, sizeof(fresh));
        ty_wipe(fresh, sizeof(fresh));
    } else if (status == TY_OK && bytes.len != TY_STORE_KEY) {
        status = ty_fail(err, TY_CORRUPT, "store.key is damaged: it must have %d bytes, not %zu",
                         TY_STORE_KEY, bytes.len);
    } else if (status == TY_OK) {
        memcpy(key, bytes.data, TY_STORE_KEY);
    }
    if (bytes.data)
        ty_wipe(bytes.data, bytes.len);
    return status;
}

/* Made before SQLite opens it, so that it (and with it the log) is nobody else's to read from the
 * first byte on. */
static ty_status make_database_file(int folder_fd, struct ty_error *err)
{
    ty_auto_fd fd =
        openat(folder_fd, database_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST)
        return ty_fail_errno(err, errno, "make the database file");
    return TY_OK;
}

ty_status ty_folder_claim(struct ty_store *store, const char *folder, struct ty_error *err)
{
    if (store->vfs) {
        static const unsigned char fixed[TY_STORE_KEY] = "the simulation needs no secrets";
        memcpy(store->key, fixed, sizeof(fixed));
        return TY_OK;
    }
    ty_auto_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ty_fail_errno(err, errno, "open the data folder");
    ty_status status = take_lock(fd, &store->lock_fd, err);
    if (status == TY_OK)
        status = load_key(fd, store->key, err);
    if (status == TY_OK)
        status = make_database_file(fd, err);
    return status;
}
