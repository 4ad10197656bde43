/* Sockets that outlive their connection for a moment.
 *
 * When a request is answered before its body was read, the library closes the socket with unread
 * bytes in it, and the reset that follows can take the answer away from a client that is still
 * writing. So a copy of the descriptor stays here: what comes is read and dropped until the client
 * ends, a second has passed or it sent too much. */
#ifndef TRAINYARD_HTTP_LINGER_H
#define TRAINYARD_HTTP_LINGER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { TY_LINGER_SOCKETS = 64, TY_LINGER_MS = 1000, TY_LINGER_BYTES = 1024 * 1024 };

struct ty_linger {
    pthread_mutex_t lock;
    struct {
        int fd; /* -1: free */
        int64_t since_ms;
        uint64_t dropped;
    } sockets[TY_LINGER_SOCKETS];
};

void ty_linger_init(struct ty_linger *linger);
void ty_linger_done(struct ty_linger *linger); /* closes what is left */

/* Keep a copy of `fd`; nothing happens when all places are taken. */
void ty_linger_add(struct ty_linger *linger, int fd, int64_t now_ms);

/* Read and drop; close what is over. */
void ty_linger_tend(struct ty_linger *linger, int64_t now_ms);

#endif
