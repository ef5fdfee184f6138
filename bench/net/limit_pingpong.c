/* The limit of one round trip: what plain C does with two system calls a
 * message on each side, one send and one recv, on blocking sockets.
 *
 *   limit_pingpong [--hold-tick] server PORT [BIND]
 *   limit_pingpong [--hold-tick] client HOST PORT SIZE SECONDS
 *
 * What is sent, and when, is in limit_ping.h. */
#define _GNU_SOURCE
#include "limit.h"

typedef int connection;

static void send_frame(connection fd, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0)
            die_errno("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

static bool send_whole(connection fd, const uint8_t *bytes, size_t count)
{
    return send(fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count;
}

static ssize_t receive_some(connection fd, uint8_t *buffer, size_t room)
{
    before_wait();
    return recv(fd, buffer, room, 0);
}

#include "limit_ping.h"

static void *echo(void *argument)
{
    const int fd = (int)(intptr_t)argument;
    echo_all(fd);
    close(fd);
    return NULL;
}

static void serve(const char *port, const char *host)
{
    const int listener = listen_on(host, port, 0);
    for (;;)
        start_thread(echo, (void *)(intptr_t)accept_one(listener));
}

int main(int argc, char **argv)
{
    take_hold_tick(&argc, &argv);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "server") == 0) {
        serve(argv[2], argc == 4 ? argv[3] : "127.0.0.1");
    } else if (argc == 6 && strcmp(argv[1], "client") == 0) {
        ping(connect_to(argv[2], argv[3]), payload_bytes(argv[4]), duration_s(argv[5]));
    } else {
        fputs("usage: limit_pingpong [--hold-tick] server PORT [BIND]\n"
              "       limit_pingpong [--hold-tick] client HOST PORT SIZE SECONDS\n", stderr);
        return 2;
    }
    return 0;
}
