/* What keeps the runs of one machine apart on its one loopback network: an address for each
 * replica, a rendezvous port for each run, and the hosts file that names them.
 *
 * Reservations are abstract Unix sockets: unique in the network namespace whichever daemon or user
 * holds them, and the kernel drops them when the holder dies. PyTorch's store listens on the
 * wildcard address, so addresses of their own do not keep two runs' ports apart: each run takes its
 * own port, the asked one when it is free. */
#ifndef TRAINYARD_EXECUTOR_NETWORK_H
#define TRAINYARD_EXECUTOR_NETWORK_H

#include "trainyard/base/buf.h"

enum { TY_ADDRESS_TEXT = 16 };

struct ty_network {
    int block_fd; /* holds the address block */
    int port_fd;  /* holds the port */
    uint32_t block;
    uint16_t port;
};

/* Reserve a block of addresses (room for 250 replicas) and a port, `wanted` or one of the following
 * thousand. TY_LIMITED when none is left. On success release with ty_network_done. */
ty_status ty_network_reserve(const char *object, uint16_t wanted, struct ty_network *out,
                             struct ty_error *err) TY_MUST_CHECK;
void ty_network_done(struct ty_network *network);

/* The address of the replica at `place` in the plan, such as "127.64.3.1". */
void ty_network_address(const struct ty_network *network, size_t place, char out[TY_ADDRESS_TEXT]);

#endif
