#include "listen.h"

#include "trainyard/base/scope.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

enum { BACKLOG = 4096, HOST_MAX = 256 };

/* "host:port" or "[v6]:port" into its two parts. */
static bool split(const char *text, char host[HOST_MAX], const char **port_out)
{
    const char *colon = strrchr(text, ':');
    const char *start = text;
    size_t len;

    if (!colon || colon == text || !colon[1])
        return false;
    len = (size_t)(colon - text);
    if (*text == '[') {
        if (len < 3 || text[len - 1] != ']')
            return false;
        start++;
        len -= 2;
    } else if (memchr(text, ':', len)) {
        return false; /* an IPv6 address without brackets */
    }
    if (len >= HOST_MAX)
        return false;
    memcpy(host, start, len);
    host[len] = '\0';
    *port_out = colon + 1;
    return true;
}

static ty_status bind_to(const struct addrinfo *address, const char *text, int *fd_out,
                         struct ty_error *err)
{
    ty_auto_fd fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int one = 1;

    if (fd < 0)
        return ty_fail(err, TY_UNAVAILABLE, "no socket to listen on %s", text);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (address->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0)
        return ty_fail(err, TY_UNAVAILABLE, "cannot listen on %s: %s", text,
                       errno == EADDRINUSE ? "the port is taken"
                       : errno == EACCES   ? "not permitted"
                                           : "no such address here");
    if (listen(fd, BACKLOG) != 0)
        return ty_fail(err, TY_UNAVAILABLE, "cannot listen on %s", text);
    *fd_out = ty_steal_fd(&fd);
    return TY_OK;
}

static unsigned port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    socklen_t len = sizeof address;

    if (getsockname(fd, &address.any, &len) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET ? address.v4.sin_port : address.v6.sin6_port);
}

ty_status ty_listen(const char *text, int *fd_out, unsigned *port_out, struct ty_error *err)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *address = NULL;
    char host[HOST_MAX];
    const char *port;
    int64_t number;
    ty_status status;
    int fd = -1;

    if (!split(text, host, &port) || ty_str_to_int(port, 0, 65535, &number))
        return ty_fail(err, TY_INVALID, "%s is not HOST:PORT", text);
    if (getaddrinfo(host, port, &hints, &address) != 0)
        return ty_fail(err, TY_INVALID, "%s names no address", text);
    status = bind_to(address, text, &fd, err);
    freeaddrinfo(address);
    if (status)
        return status;
    *fd_out = fd;
    *port_out = port_of(fd);
    return TY_OK;
}
