/* A connection's receiving side. Happy path: bytes arrive, the reader turns them into normal form,
 * the library goes on. Else the connection is refused: our problem document is written straight to
 * the socket (the library is reading, so it is not writing), the sending side is closed, and what
 * the client still sends is dropped for a second, since closing a socket with unread bytes would
 * reset it and could take the answer away from the client. */
#include "connection.h"

#include "reject.h"
#include "request_state.h"
#include "server_state.h"
#include "trainyard/base/str.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { REFUSED_MS = 1000, DRAIN_GRACE_MS = 500 };

static const struct ty_wire_fault verdict_faults[] = {
    [TY_VERDICT_REFUSED] = {"too_many_connections", NULL},
    [TY_VERDICT_HEAD_TIMEOUT] = {"header_timeout",       NULL},
    [TY_VERDICT_BODY_TIMEOUT] = {"body_timeout",         NULL},
};

/* Enter a phase. Only heads and bodies have deadlines, so only they need the time. The library does
 * not see a client's end that came in one go with the request before it: so an idle connection is
 * looked at once (tend_idle). */
static void set_phase(struct ty_connection *connection, ty_connection_phase phase)
{
    if (atomic_load_explicit(&connection->phase, memory_order_relaxed) == phase)
        return;
    if (phase != TY_CONNECTION_IDLE && phase != TY_CONNECTION_BUSY)
        atomic_store_explicit(&connection->since_ms, ty_server_now_ms(connection->server),
                              memory_order_relaxed);
    if (phase == TY_CONNECTION_IDLE)
        atomic_store_explicit(&connection->unchecked, true, memory_order_relaxed);
    atomic_store_explicit(&connection->phase, phase, memory_order_release);
}

/* What the connection waits for, now that bytes arrived or a message was completed. */
static void update_phase(struct ty_connection *connection)
{
    if (connection->reader.phase == TY_READ_BODY || connection->reader.phase == TY_READ_CHUNK)
        set_phase(connection, TY_CONNECTION_BODY);
    else if (connection->pending)
        set_phase(connection, TY_CONNECTION_BUSY);
    else if (connection->reader.phase == TY_READ_HEAD)
        set_phase(connection, TY_CONNECTION_HEAD);
    else
        set_phase(connection, TY_CONNECTION_IDLE);
}

/* ---- limits on connections ---- */

static void write_remote(struct ty_connection *connection)
{
    struct sockaddr_storage address = {0};
    socklen_t len = sizeof address;
    const void *bytes = NULL;

    ty_str_copy(connection->remote, sizeof connection->remote, "unknown");
    if (getpeername(connection->fd, (struct sockaddr *)&address, &len) != 0)
        return;
    if (address.ss_family == AF_INET)
        bytes = &((struct sockaddr_in *)&address)->sin_addr;
    else if (address.ss_family == AF_INET6)
        bytes = &((struct sockaddr_in6 *)&address)->sin6_addr;
    if (bytes)
        inet_ntop(address.ss_family, bytes, connection->remote, sizeof connection->remote);
}

/* One more connection of this address. Under the server's lock. False: no memory. */
static bool count_address(struct ty_http_server *server, const char *remote, unsigned *count_out)
{
    unsigned *count = ty_map_get(server->addresses, remote);

    if (!count) {
        count = calloc(1, sizeof *count);
        if (!count)
            return false;
        if (ty_map_put(server->addresses, remote, count)) {
            free(count);
            return false;
        }
    }
    *count_out = ++*count;
    return true;
}

static void uncount_address(struct ty_http_server *server, const char *remote)
{
    unsigned *count = ty_map_get(server->addresses, remote);

    if (count && --*count == 0)
        ty_map_remove(server->addresses, remote);
}

/* Enter the server's list; a connection over a limit is in it too, to be answered and to be seen.
 */
static bool enter(struct ty_connection *connection)
{
    struct ty_http_server *server = connection->server;
    unsigned of_address = 0;
    bool entered;
    bool over;

    pthread_mutex_lock(&server->lock);
    entered = count_address(server, connection->remote, &of_address);
    if (entered) {
        connection->next = server->connections;
        if (connection->next)
            connection->next->prev = connection;
        server->connections = connection;
        server->connection_count++;
        over = server->connection_count > server->limits.connections ||
               of_address > server->limits.connections_per_address;
        if (over) {
            atomic_store(&connection->verdict, TY_VERDICT_REFUSED);
            atomic_fetch_add(&server->refused, 1);
        }
    }
    pthread_mutex_unlock(&server->lock);
    return entered;
}

struct ty_connection *ty_connection_open(struct ty_http_server *server,
                                         struct MHD_Connection *library)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(library, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ty_connection *connection = info ? calloc(1, sizeof *connection) : NULL;
    uint64_t seed;

    if (!connection)
        return NULL;
    connection->server = server;
    connection->library = library;
    connection->fd = info->connect_fd;
    ty_reader_init(&connection->reader, &server->reader_limits);
    server->random->fill(server->random->context, &seed, sizeof seed);
    connection->random = ty_random_seeded(&connection->seed, seed);
    atomic_store(&connection->since_ms, ty_server_now_ms(server));
    ty_id_make(&connection->random, ty_now_us(server->clock), "req_", connection->id);
    write_remote(connection);
    atomic_fetch_add(&server->accepted, 1);
    if (!ty_socket_enter(connection->fd, connection)) {
        free(connection);
        return NULL;
    }
    if (!enter(connection)) {
        ty_socket_leave(connection->fd);
        free(connection);
        return NULL;
    }
    return connection;
}

void ty_connection_close(struct ty_connection *connection)
{
    struct ty_http_server *server = connection->server;

    ty_socket_leave(connection->fd);
    if (connection->answered_early)
        ty_linger_add(&server->linger, connection->fd, ty_server_now_ms(server));
    pthread_mutex_lock(&server->lock);
    if (connection->prev)
        connection->prev->next = connection->next;
    else
        server->connections = connection->next;
    if (connection->next)
        connection->next->prev = connection->prev;
    server->connection_count--;
    uncount_address(server, connection->remote);
    pthread_cond_broadcast(&server->closed);
    pthread_mutex_unlock(&server->lock);
    ty_reader_done(&connection->reader);
    ty_request_free(connection->request);
    free(connection);
}

/* ---- refusing ---- */

/* Read and drop what is there. Returns what the library should be told: nothing yet, or the end. */
static ssize_t linger(struct ty_connection *connection)
{
    char scratch[4096];
    ssize_t got;

    do {
        got = ty_socket_receive(connection->fd, scratch, sizeof scratch);
        if (got > 0)
            connection->dropped += (uint64_t)got;
    } while (got > 0 && connection->dropped < TY_LINGER_BYTES);
    if (got == 0 && connection->receive_shut)
        got = -1; /* we shut it: the tender ends this */
    else if (got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        return 0;
    errno = EAGAIN;
    return got;
}

static void observe(struct ty_connection *connection, const struct ty_problem_kind *kind,
                    const char *request_id)
{
    struct ty_http_server *server = connection->server;
    struct ty_http_observation seen = {
        .method = TY_METHOD_COUNT,
        .status = kind->status,
        .request_id = request_id,
        .remote = connection->remote,
        .path = "",
    };

    if (connection->pending && connection->request)
        ty_request_refused(connection->request,
                           kind->status); /* it will be observed as that request */
    else if (server->options.hooks.observe)
        server->options.hooks.observe(server->options.hooks.context, &seen);
}

static ssize_t refuse(struct ty_connection *connection, struct ty_wire_fault fault)
{
    struct ty_http_server *server = connection->server;
    const struct ty_problem_kind *kind = ty_problem_find(fault.code);
    int64_t wall_us = ty_now_us(server->clock);
    char id[TY_ID_TEXT];
    ty_auto_buf answer = {0};

    if (!kind)
        kind = ty_problem_of_status(TY_INTERNAL);
    if (atomic_load(&connection->verdict) != TY_VERDICT_REFUSED)
        atomic_fetch_add(&server->bad_heads, 1);
    ty_id_make(&connection->random, wall_us, "req_", id);
    ty_buf_init(&answer, 8192);
    ty_reject_write(&answer, kind, fault.detail, id, wall_us,
                    connection->reader.fault_on_head_method);
    if (!answer.failed)
        (void)!send(connection->fd, answer.data, answer.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(connection->fd, SHUT_WR);
    observe(connection, kind, id);
    set_phase(connection, TY_CONNECTION_OVER);
    return linger(connection);
}

/* ---- receiving ---- */

/* Have the library told again that there is something to read: it took a short receive for an empty
 * socket. Setting the low-water mark makes the kernel look again (tcp_set_rcvlowat). */
static void renotify(const struct ty_connection *connection)
{
    int one = 1;

    (void)!setsockopt(connection->fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof one);
}

/* Whether the next `len` bytes belong to a body, so that they need no room before them. */
static bool inside_body(const struct ty_reader *reader, size_t len)
{
    bool body = reader->phase == TY_READ_BODY ||
                (reader->phase == TY_READ_CHUNK && reader->chunk == TY_CHUNK_DATA);

    return body && reader->left >= len;
}

/* Outside of bodies little is read at a time: what a client pipelines stays in the library's memory
 * while it needs the rest of it for the head of an answer. */
enum { AT_ONCE = 4096 };

/* One receive and its normal form. *out_len is its length, *drained whether the socket gave less
 * than was asked. */
static ssize_t receive_once(struct ty_connection *connection, char *buf, size_t len,
                            size_t *out_len, bool *drained)
{
    struct ty_reader *reader = &connection->reader;
    bool body = inside_body(reader, len);
    size_t reserve = body ? 0 : TY_READER_RESERVE;
    size_t wanted = body || len - reserve < AT_ONCE ? len - reserve : AT_ONCE;
    unsigned before = reader->requests;
    ssize_t got = ty_socket_receive(connection->fd, buf + reserve, wanted);

    if (got <= 0)
        return got;
    *out_len = ty_reader_feed(reader, buf + reserve, (size_t)got, buf);
    *drained = (size_t)got < wanted;
    connection->pending += reader->requests - before;
    if (reader->requests !=
        before) { /* a new message: its body, if it has one, starts its own time */
        atomic_store_explicit(&connection->phase, TY_CONNECTION_BUSY, memory_order_relaxed);
        atomic_store_explicit(&connection->received, 0, memory_order_relaxed);
    }
    if (reader->phase == TY_READ_BODY || reader->phase == TY_READ_CHUNK)
        atomic_fetch_add_explicit(&connection->received, (uint64_t)got, memory_order_relaxed);
    update_phase(connection);
    return got;
}

static ssize_t receive(struct ty_connection *connection, char *buf, size_t len)
{
    size_t out_len = 0;
    bool drained;

    while (out_len == 0) {
        ssize_t got;

        if (connection->reader.phase == TY_READ_FAULT)
            return refuse(connection, connection->reader.fault);
        /* Also after a short receive, which only seems to have emptied the socket: the end may be
         * there. */
        got = receive_once(connection, buf, len, &out_len, &drained);
        if (got <= 0)
            return got;
    }
    if (connection->reader.phase == TY_READ_FAULT) {
        /* What came before the fault goes its way first; then the library must ask again. */
        connection->receive_shut = true;
        shutdown(connection->fd, SHUT_RD);
    } else if ((!drained && out_len < len) || connection->reader.phase == TY_READ_BODY ||
               connection->reader.phase == TY_READ_CHUNK) {
        renotify(connection);
    }
    return (ssize_t)out_len;
}

ssize_t ty_connection_receive(struct ty_connection *connection, char *buf, size_t len)
{
    ty_connection_verdict verdict;

    if (atomic_load_explicit(&connection->phase, memory_order_relaxed) == TY_CONNECTION_OVER)
        return linger(connection);
    verdict = atomic_load(&connection->verdict);
    if (verdict)
        return refuse(connection, verdict_faults[verdict]);
    if (connection->doom.code)
        return refuse(connection, connection->doom);
    if (len <= 2 * TY_READER_RESERVE) { /* the library's buffer is never this full; see server.c */
        errno = ENOMEM;
        return -1;
    }
    return receive(connection, buf, len);
}

void ty_connection_completed(struct ty_connection *connection)
{
    if (connection->pending)
        connection->pending--;
    if (atomic_load_explicit(&connection->phase, memory_order_relaxed) != TY_CONNECTION_OVER)
        update_phase(connection);
}

/* ---- deadlines (the tender's thread) ---- */

/* Make the HTTP thread look at the verdict: the end of the stream wakes it. */
static void condemn(struct ty_connection *connection, ty_connection_verdict verdict)
{
    ty_connection_verdict none = TY_VERDICT_NONE;

    if (atomic_compare_exchange_strong(&connection->verdict, &none, verdict))
        shutdown(connection->fd, SHUT_RD);
}

/* Whether the client ended its side and left nothing unread. */
static bool has_ended(int fd)
{
    struct pollfd check = {.fd = fd, .events = POLLRDHUP};
    int unread = 0;

    return poll(&check, 1, 0) == 1 && ioctl(fd, FIONREAD, &unread) == 0 && !unread;
}

static void tend_idle(struct ty_connection *connection, int64_t waited_ms)
{
    struct ty_http_server *server = connection->server;
    int unread = 0;

    if (atomic_load(&connection->verdict) == TY_VERDICT_REFUSED) {
        if (waited_ms > REFUSED_MS)
            shutdown(connection->fd, SHUT_RDWR);
    } else if (atomic_load(&server->draining)) {
        int64_t drained_ms = ty_server_now_ms(server) - atomic_load(&server->drain_began_ms);

        if (drained_ms > DRAIN_GRACE_MS && ioctl(connection->fd, FIONREAD, &unread) == 0 && !unread)
            shutdown(connection->fd, SHUT_RDWR);
    } else if (atomic_exchange_explicit(&connection->unchecked, false, memory_order_relaxed) &&
               has_ended(connection->fd)) {
        shutdown(connection->fd, SHUT_RD); /* an answer on its way is not harmed */
    }
}

void ty_connection_tend(struct ty_connection *connection, int64_t now_ms)
{
    const struct ty_http_limits *limits = &connection->server->limits;
    ty_connection_phase phase = atomic_load_explicit(&connection->phase, memory_order_acquire);
    int64_t waited_ms = now_ms - atomic_load_explicit(&connection->since_ms, memory_order_relaxed);
    int64_t received = (int64_t)atomic_load_explicit(&connection->received, memory_order_relaxed);

    switch (phase) {
    case TY_CONNECTION_IDLE:
        tend_idle(connection, waited_ms);
        break;
    case TY_CONNECTION_HEAD:
        if (waited_ms > limits->header_ms)
            condemn(connection, TY_VERDICT_HEAD_TIMEOUT);
        break;
    case TY_CONNECTION_BODY:
        if (waited_ms > limits->body_ms + received / limits->body_rate * 1000)
            condemn(connection, TY_VERDICT_BODY_TIMEOUT);
        break;
    case TY_CONNECTION_BUSY:
        break;
    case TY_CONNECTION_OVER:
        if (waited_ms > TY_LINGER_MS)
            shutdown(connection->fd, SHUT_RDWR);
        break;
    }
}
