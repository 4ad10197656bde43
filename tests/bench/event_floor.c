/* The floor of the events' fan-out: write() the same bytes to every connection in a loop, nothing
 * else.
 *   event_floor CONNECTIONS EVENTS BYTES
 * prints its port, takes so many connections and a line on standard input, then writes. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int listen_anywhere(unsigned *port_out)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, 4096) != 0 || getsockname(fd, (struct sockaddr *)&address, &len) != 0)
        return -1;
    *port_out = ntohs(address.sin_port);
    return fd;
}

static int write_whole(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t wrote = write(fd, bytes, len);
        if (wrote <= 0)
            return -1;
        bytes += wrote;
        len -= (size_t)wrote;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: event_floor CONNECTIONS EVENTS BYTES\n");
        return 2;
    }
    size_t count = strtoul(argv[1], NULL, 10);
    size_t events = strtoul(argv[2], NULL, 10);
    size_t len = strtoul(argv[3], NULL, 10);
    unsigned port = 0;
    int listener = listen_anywhere(&port);
    int *connections = calloc(count, sizeof *connections);
    char *bytes = malloc(len);
    if (listener < 0 || !connections || !bytes)
        return 1;
    memset(bytes, 'x', len);
    printf("%u\n", port);
    fflush(stdout);
    for (size_t i = 0; i < count; i++)
        if ((connections[i] = accept(listener, NULL, NULL)) < 0)
            return 1;
    (void)getchar();
    for (size_t event = 0; event < events; event++)
        for (size_t i = 0; i < count; i++)
            if (write_whole(connections[i], bytes, len) != 0)
                return 1;
    return 0;
}
