/* The floor of every HTTP figure: libmicrohttpd alone, its thread pool and epoll, one fixed body of
 * 700 bytes and the fewest header fields. Prints its port and serves until it is killed. */
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct MHD_Response *response;

static enum MHD_Result answer(void *cls, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_len, void **slot)
{
    static int seen;

    (void)cls, (void)url, (void)method, (void)version, (void)upload, (void)upload_len;
    if (*slot == NULL) { /* answering in the first call would close the connection */
        *slot = &seen;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, response);
}

int main(void)
{
    static char body[701];
    struct MHD_Daemon *daemon;

    memset(body, 'x', sizeof body - 1);
    response = MHD_create_response_from_buffer(sizeof body - 1, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Content-Type", "application/json");
    daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL,
                              MHD_OPTION_THREAD_POOL_SIZE, 2u, MHD_OPTION_CONNECTION_LIMIT, 10000u,
                              MHD_OPTION_END);
    if (!daemon)
        return 1;
    printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    pause();
    return 0;
}
