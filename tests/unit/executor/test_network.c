#include "unit.h"

#include "executor/supervisor/network.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

static void two_runs_never_share_an_address_or_a_port(void **state)
{
    struct ty_network first;
    struct ty_network second;
    struct ty_error err;
    char a[TY_ADDRESS_TEXT];
    char b[TY_ADDRESS_TEXT];
    (void)state;
    assert_int_equal(ty_network_reserve("same-name", 24567, &first, &err), TY_OK);
    assert_int_equal(ty_network_reserve("same-name", 24567, &second, &err), TY_OK);
    assert_int_not_equal(first.port, second.port);
    for (size_t i = 0; i < 250; i++) {
        for (size_t j = 0; j < 250; j += 83) {
            ty_network_address(&first, i, a);
            ty_network_address(&second, j, b);
            assert_string_not_equal(a, b);
        }
    }
    uint32_t block = first.block;
    ty_network_done(&first);
    assert_int_equal(ty_network_reserve("same-name", 24567, &first, &err), TY_OK);
    assert_int_equal(first.block, block);
    ty_network_done(&first);
    ty_network_done(&second);
    ty_network_done(&second);
}

static void a_port_somebody_listens_on_is_passed_over(void **state)
{
    struct ty_network network;
    struct ty_error err;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    uint16_t taken = ntohs(address.sin_port);
    if (taken < UINT16_MAX - 1000) {
        assert_int_equal(ty_network_reserve("x", taken, &network, &err), TY_OK);
        assert_true(network.port > taken);
        ty_network_done(&network);
    }
    close(fd);
}

static void addresses_are_loopback_and_distinct(void **state)
{
    const struct ty_network network = {.block = 64 * 256 - 1};
    char text[TY_ADDRESS_TEXT];
    (void)state;
    ty_network_address(&network, 0, text);
    assert_string_equal(text, "127.127.255.1");
    ty_network_address(&network, 249, text);
    assert_string_equal(text, "127.127.255.250");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_runs_never_share_an_address_or_a_port),
        cmocka_unit_test(a_port_somebody_listens_on_is_passed_over),
        cmocka_unit_test(addresses_are_loopback_and_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
