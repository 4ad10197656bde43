/* Listening sockets. */
#ifndef TRAINYARD_HTTP_LISTEN_H
#define TRAINYARD_HTTP_LISTEN_H

#include "trainyard/base/error.h"

/* Bind and listen on "HOST:PORT" ("127.0.0.1:8080", "[::1]:0", "localhost:8080"). *fd_out is
 * non-blocking and the caller's, *port_out the port it got. TY_INVALID: the text cannot be read or
 * the host is unknown; TY_UNAVAILABLE: it cannot be bound. */
ty_status ty_listen(const char *text, int *fd_out, unsigned *port_out,
                    struct ty_error *err) TY_MUST_CHECK;

#endif
