/* The detours of recv(2) and sendfile(2).
 *
 * libmicrohttpd has no place for a filter between a socket and its parser, so the linker makes one:
 * this program is linked with --wrap=recv against the library's archive, and its calls of recv
 * arrive here. Descriptors that are not HTTP connections pass through. The library reads a
 * connection on one thread only, and enters it before the first receive, so a slot needs no more
 * than atomic loads and stores.
 *
 * The table is the one mutable global below `app`: recv has no argument that could carry it. */
#include "connection.h"

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

enum { DESCRIPTORS = 65536 };

static _Atomic(struct ty_connection *) by_descriptor[DESCRIPTORS];

/* Names the linker makes. */
ssize_t __real_sendfile64(int out, int in, off64_t *offset,
                          size_t count); /* NOLINT(bugprone-reserved-identifier) */
ssize_t __wrap_sendfile64(int out, int in, off64_t *offset,
                          size_t count); /* NOLINT(bugprone-reserved-identifier) */
ssize_t __real_recv(int fd, void *buf, size_t len,
                    int flags); /* NOLINT(bugprone-reserved-identifier) */
ssize_t __wrap_recv(int fd, void *buf, size_t len,
                    int flags); /* NOLINT(bugprone-reserved-identifier) */

/* NULL for a descriptor that is none of ours. */
static struct ty_connection *find(int fd)
{
    return fd >= 0 && fd < DESCRIPTORS
               ? atomic_load_explicit(&by_descriptor[fd], memory_order_acquire)
               : NULL;
}

bool ty_socket_enter(int fd, struct ty_connection *connection)
{
    if (fd < 0 || fd >= DESCRIPTORS)
        return false;
    atomic_store_explicit(&by_descriptor[fd], connection, memory_order_release);
    return true;
}

void ty_socket_leave(int fd)
{
    if (fd >= 0 && fd < DESCRIPTORS)
        atomic_store_explicit(&by_descriptor[fd], NULL, memory_order_release);
}

ssize_t ty_socket_receive(int fd, void *buf, size_t len)
{
    return __real_recv(fd, buf, len, 0);
}

ssize_t __wrap_recv(int fd, void *buf, size_t len, int flags)
{
    struct ty_connection *connection = find(fd);

    if (!connection)
        return __real_recv(fd, buf, len, flags);
    return ty_connection_receive(connection, buf, len);
}

/* Whether nothing of the file is left beyond `offset`. */
static bool has_ended(int in, off64_t offset)
{
    struct stat now;

    return fstat(in, &now) == 0 && offset >= now.st_size;
}

/* A file that became shorter than its answer promised has no more bytes to send. The library would
 * take a short send for a full socket and wait for an event that never comes: shutting the socket
 * is that event, and nobody takes the part for the whole. */
ssize_t __wrap_sendfile64(int out, int in, off64_t *offset, size_t count)
{
    ssize_t sent = __real_sendfile64(out, in, offset, count);

    if (sent < 0 || (size_t)sent == count || !find(out) || !has_ended(in, *offset))
        return sent;
    shutdown(out, SHUT_RDWR);
    if (sent > 0)
        return sent;
    errno = EBADF;
    return -1;
}
