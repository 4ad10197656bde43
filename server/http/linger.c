#include "linger.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

void ty_linger_init(struct ty_linger *linger)
{
    pthread_mutex_init(&linger->lock, NULL);
    for (unsigned i = 0; i < TY_LINGER_SOCKETS; i++)
        linger->sockets[i].fd = -1;
}

void ty_linger_done(struct ty_linger *linger)
{
    for (unsigned i = 0; i < TY_LINGER_SOCKETS; i++)
        if (linger->sockets[i].fd >= 0)
            close(linger->sockets[i].fd);
    pthread_mutex_destroy(&linger->lock);
}

void ty_linger_add(struct ty_linger *linger, int fd, int64_t now_ms)
{
    pthread_mutex_lock(&linger->lock);
    for (unsigned i = 0; i < TY_LINGER_SOCKETS; i++) {
        if (linger->sockets[i].fd >= 0)
            continue;
        linger->sockets[i].fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        linger->sockets[i].since_ms = now_ms;
        linger->sockets[i].dropped = 0;
        break;
    }
    pthread_mutex_unlock(&linger->lock);
}

/* Read what is there. False when the client has ended or sent too much. */
static bool drop(int fd, uint64_t *dropped)
{
    char scratch[16384];
    ssize_t got;

    do {
        got = recv(fd, scratch, sizeof scratch, MSG_DONTWAIT);
        if (got > 0)
            *dropped += (uint64_t)got;
    } while (got > 0 && *dropped < TY_LINGER_BYTES);
    return got < 0 && *dropped < TY_LINGER_BYTES;
}

void ty_linger_tend(struct ty_linger *linger, int64_t now_ms)
{
    pthread_mutex_lock(&linger->lock);
    for (unsigned i = 0; i < TY_LINGER_SOCKETS; i++) {
        int fd = linger->sockets[i].fd;

        if (fd < 0)
            continue;
        if (now_ms - linger->sockets[i].since_ms > TY_LINGER_MS ||
            !drop(fd, &linger->sockets[i].dropped)) {
            close(fd);
            linger->sockets[i].fd = -1;
        }
    }
    pthread_mutex_unlock(&linger->lock);
}
