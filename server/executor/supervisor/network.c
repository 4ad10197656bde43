#include "executor/supervisor/network.h"

#include "trainyard/base/digest.h"
#include "trainyard/base/scope.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* 127.64.0.0/10 in blocks of 256: low addresses stay free for people. */
enum { BLOCKS = 64 * 256, FIRST_OCTET = 64, PORT_TRIES = 1000 };

static int reserve_name(const char *kind, uint32_t number)
{
    ty_auto_fd fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int len = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "trainyard-%s-%u", kind,
                       number);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
    if (bind(fd, (struct sockaddr *)&address, size) != 0)
        return -1;
    return ty_steal_fd(&fd);
}

/* Whether nothing listens on the port now. Without SO_REUSEADDR a port in TIME_WAIT counts as
 * taken, which is what a server that does not set the option would find. */
static bool port_free(uint16_t port)
{
    ty_auto_fd fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        return bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    }
    ty_auto_fd fd4 = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    return fd4 >= 0 && bind(fd4, (struct sockaddr *)&address, sizeof address) == 0;
}

static bool reserve_port(uint16_t wanted, struct ty_network *out)
{
    for (uint32_t i = 0; i < PORT_TRIES; i++) {
        uint32_t port = wanted + i;
        if (port > UINT16_MAX)
            return false;
        int fd = reserve_name("port", port);
        if (fd >= 0 && port_free((uint16_t)port)) {
            out->port = (uint16_t)port;
            out->port_fd = fd;
            return true;
        }
        if (fd >= 0)
            close(fd);
    }
    return false;
}

static bool reserve_block(const char *object, struct ty_network *out)
{
    uint32_t first = ty_crc32(object, strlen(object));
    for (uint32_t i = 0; i < BLOCKS; i++) {
        uint32_t block = (first + i) % BLOCKS;
        int fd = reserve_name("block", block);
        if (fd >= 0) {
            out->block = block;
            out->block_fd = fd;
            return true;
        }
    }
    return false;
}

ty_status ty_network_reserve(const char *object, uint16_t wanted, struct ty_network *out,
                             struct ty_error *err)
{
    struct ty_network network = {.block_fd = -1, .port_fd = -1};
    if (!reserve_block(object, &network))
        return ty_fail(err, TY_LIMITED, "no free block of loopback addresses");
    if (!reserve_port(wanted, &network)) {
        ty_network_done(&network);
        return ty_fail(err, TY_LIMITED, "no free port from %u on", (unsigned)wanted);
    }
    *out = network;
    return TY_OK;
}

void ty_network_done(struct ty_network *network)
{
    if (network->block_fd >= 0)
        close(network->block_fd);
    if (network->port_fd >= 0)
        close(network->port_fd);
    network->block_fd = network->port_fd = -1;
}

void ty_network_address(const struct ty_network *network, size_t place, char out[TY_ADDRESS_TEXT])
{
    snprintf(out, TY_ADDRESS_TEXT, "127.%u.%u.%u", FIRST_OCTET + network->block / 256 % 64,
             network->block % 256, (unsigned)(place + 1) % 256);
}
