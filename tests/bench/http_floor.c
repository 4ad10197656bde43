/* The floor of every HTTP figure: libmicrohttpd alone, its thread pool and epoll, one fixed body of
 * 700 bytes or one file, and the fewest header fields.
 *
 *     http_floor PORT [file FILE | database FILE]
 *
 * Port 0 takes any; the port is printed. A database is opened and one page of it read before the
 * port is open, as the least that any server with a database does. Serves until it is killed. */
#include <fcntl.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static struct MHD_Response *respond_fixed(void)
{
    static char body[701];
    memset(body, 'x', sizeof body - 1);
    return MHD_create_response_from_buffer(sizeof body - 1, body, MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *respond_file(const char *path)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) < 0) {
        perror(path);
        exit(1);
    }
    return MHD_create_response_from_fd64((uint64_t)about.st_size, fd);
}

static void open_database(const char *path)
{
    sqlite3 *db;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_exec(db, "SELECT row FROM jobs ORDER BY row DESC LIMIT 1", NULL, NULL, NULL) !=
            SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", path, sqlite3_errmsg(db));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct MHD_Daemon *daemon;
    const char *kind = argc == 4 ? argv[2] : "";

    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: http_floor PORT [file FILE | database FILE]\n");
        return 2;
    }
    if (strcmp(kind, "database") == 0)
        open_database(argv[3]);
    response = strcmp(kind, "file") == 0 ? respond_file(argv[3]) : respond_fixed();
    MHD_add_response_header(response, "Content-Type", "application/json");
    daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)strtoul(argv[1], NULL, 10),
                              NULL, NULL, answer, NULL, MHD_OPTION_THREAD_POOL_SIZE, 2u,
                              MHD_OPTION_CONNECTION_LIMIT, 10000u, MHD_OPTION_END);
    if (!daemon)
        return 1;
    printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    pause();
    return 0;
}
