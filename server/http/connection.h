/* One client connection: its reader, its deadlines, and the answers given without the library's
 * help. */
#ifndef TRAINYARD_HTTP_CONNECTION_H
#define TRAINYARD_HTTP_CONNECTION_H

#include "reader.h"
#include "trainyard/base/id.h"
#include "trainyard/http/server.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <sys/types.h>

struct MHD_Connection;

/* What a connection waits for; the tender judges each by its own deadline. */
typedef enum {
    TY_CONNECTION_IDLE, /* for a request: the library's own time-out */
    TY_CONNECTION_HEAD, /* for the rest of a head */
    TY_CONNECTION_BODY, /* for the rest of a body */
    TY_CONNECTION_BUSY, /* for us, or for the client to take its answer */
    TY_CONNECTION_OVER  /* refused: what still comes is read and dropped, so that the answer is not
                           lost to a reset */
} ty_connection_phase;

/* What the tender decided; the HTTP thread acts on it in the next receive. */
typedef enum {
    TY_VERDICT_NONE,
    TY_VERDICT_REFUSED, /* over a connection limit, decided when it came */
    TY_VERDICT_HEAD_TIMEOUT,
    TY_VERDICT_BODY_TIMEOUT
} ty_connection_verdict;

struct ty_connection {
    struct ty_http_server *server;
    struct MHD_Connection *library;
    struct ty_connection *prev; /* the server's list, under its lock */
    struct ty_connection *next;
    int fd;
    char remote[INET6_ADDRSTRLEN];
    char id[TY_ID_TEXT]; /* "req_…": the start of its requests' ids */

    /* the HTTP thread's alone */
    struct ty_reader reader;
    struct ty_seeded seed;
    struct ty_random random;
    struct ty_request *request; /* the one being served, or kept for the next */
    unsigned pending;           /* messages given to the library and not completed */
    bool receive_shut; /* we shut the receiving side, so its end says nothing about the client */
    struct ty_wire_fault doom; /* the dispatcher wants the connection refused at the next receive */
    bool answered_early;       /* a reply left before the body was read */
    uint64_t dropped;          /* bytes read and dropped since it was refused */

    /* shared with the tender */
    _Atomic ty_connection_phase phase;
    _Atomic ty_connection_verdict verdict;
    _Atomic int64_t since_ms;  /* when the phase began */
    _Atomic uint64_t received; /* bytes of the body being read */
    atomic_bool
        unchecked; /* it became idle and nobody has looked yet whether the client is still there */
    atomic_uint entered; /* the request whose handler runs on the HTTP thread; 0: none */

    /* the tender's alone */
    unsigned seen_entered;
    int64_t seen_ms;
};

/* Set up the connection that `library` names and enter it in the server's list and limits; NULL: no
 * memory. */
struct ty_connection *ty_connection_open(struct ty_http_server *server,
                                         struct MHD_Connection *library);
void ty_connection_close(struct ty_connection *connection);

/* What recv(2) is for the library: bytes in normal form. As recv: -1 with errno, 0 at the end. */
ssize_t ty_connection_receive(struct ty_connection *connection, char *buf, size_t len);

/* The library completed one message: the deadline of what follows begins. */
void ty_connection_completed(struct ty_connection *connection);

/* Judge the deadlines; under the server's lock, any thread. */
void ty_connection_tend(struct ty_connection *connection, int64_t now_ms);

/* The connections by their descriptors (socket.c). */
bool ty_socket_enter(int fd,
                     struct ty_connection *connection); /* false: the descriptor is too high */
void ty_socket_leave(int fd);
ssize_t ty_socket_receive(int fd, void *buf,
                          size_t len); /* the system's recv, without the detour */

#endif
