/* The limit of one round trip: what plain C does with two system calls a
 * message on each side, one send and one recv, on blocking sockets.
 *
 *   limit_pingpong [--hold-tick] server PORT [BIND]
 *   limit_pingpong [--hold-tick] client HOST PORT SIZE SECONDS
 *
 * A message is an NI frame: a 4-byte big-endian length, then the payload.
 * The server stores a message whole before it returns it. Both buffers are
 * larger than the frame, so that one recv is enough whenever the kernel has
 * the whole frame; a longer frame takes as many as it needs. */
#define _GNU_SOURCE
#include "limit.h"

#include <pthread.h>

static const double WARM_UP_SHARE = 0.1;
static const double ROUND_TRIPS_PER_S_MAX = 1e6;

static void send_all(int fd, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0)
            die_errno("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

/* Bytes of the frame now whole in `buffer`, 0 when the peer is gone. A peer
 * that sends ahead of the reply is not in a ping-pong, and ends it too. */
static size_t receive_frame(int fd, uint8_t *buffer, size_t capacity)
{
    size_t held = 0, frame_bytes = HEADER_BYTES;
    while (held < frame_bytes) {
        before_wait();
        const ssize_t got = recv(fd, buffer + held, capacity - held, 0);
        if (got <= 0)
            return 0;
        held += (size_t)got;
        if (held >= HEADER_BYTES)
            frame_bytes = HEADER_BYTES + (size_t)get_length(buffer);
        if (frame_bytes >= capacity)
            return 0;
    }
    return held == frame_bytes ? held : 0;
}

/* ---- server: a thread for each connection ---- */

static void *echo(void *argument)
{
    const int fd = (int)(intptr_t)argument;
    const size_t capacity = HEADER_BYTES + PAYLOAD_BYTES_MAX + 1;
    uint8_t *buffer = allocate(capacity);
    size_t frame_bytes;
    while ((frame_bytes = receive_frame(fd, buffer, capacity)) > 0)
        if (send(fd, buffer, frame_bytes, MSG_NOSIGNAL) != (ssize_t)frame_bytes)
            break;
    free(buffer);
    close(fd);
    return NULL;
}

static void serve(const char *port, const char *host)
{
    const int listener = listen_on(host, port, 0);
    for (;;) {
        const int fd = accept_one(listener);
        pthread_t thread;
        if (pthread_create(&thread, NULL, echo, (void *)(intptr_t)fd) != 0)
            die("pthread_create");
        pthread_detach(thread);
    }
}

/* ---- client: one connection, one message in flight ---- */

struct link {
    int fd;
    const uint8_t *frame;
    size_t frame_bytes;
    uint8_t *buffer;
    size_t buffer_bytes;
};

/* Runs round trips until the clock passes `end_ns`; keeps them in `samples`
 * unless it is NULL. */
static void ping_until(const struct link *link, uint64_t end_ns, struct samples *samples)
{
    for (;;) {
        const uint64_t sent_ns = now_ns();
        send_all(link->fd, link->frame, link->frame_bytes);
        if (receive_frame(link->fd, link->buffer, link->buffer_bytes) != link->frame_bytes)
            die("the reply was cut short or of another length");
        const uint64_t whole_ns = now_ns();
        if (samples != NULL)
            add_sample(samples, whole_ns - sent_ns);
        if (whole_ns >= end_ns || (samples != NULL && samples->count == samples->capacity))
            return;
    }
}

static void ping(const char *host, const char *port, uint32_t payload_bytes, double seconds)
{
    const size_t frame_bytes = HEADER_BYTES + (size_t)payload_bytes;
    const struct link link = {
        .fd = connect_to(host, port),
        .frame = new_frame(payload_bytes),
        .frame_bytes = frame_bytes,
        .buffer = allocate_touched(2 * frame_bytes),
        .buffer_bytes = 2 * frame_bytes,
    };
    struct samples samples = new_samples(seconds, ROUND_TRIPS_PER_S_MAX);
    const uint64_t total_ns = (uint64_t)(seconds * 1e9);
    const uint64_t warm_up_ns = (uint64_t)(seconds * WARM_UP_SHARE * 1e9);

    const uint64_t start_ns = now_ns();
    ping_until(&link, start_ns + warm_up_ns, NULL);
    const uint64_t first_ns = now_ns(), first_cpu_ns = cpu_ns();
    ping_until(&link, start_ns + total_ns, &samples);
    const uint64_t last_ns = now_ns(), last_cpu_ns = cpu_ns();
    report_round_trips(&samples, last_ns - first_ns, last_cpu_ns - first_cpu_ns);
}

int main(int argc, char **argv)
{
    take_hold_tick(&argc, &argv);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "server") == 0) {
        serve(argv[2], argc == 4 ? argv[3] : "127.0.0.1");
    } else if (argc == 6 && strcmp(argv[1], "client") == 0) {
        ping(argv[2], argv[3], (uint32_t)number(argv[4], 0, PAYLOAD_BYTES_MAX, "SIZE"),
             number(argv[5], 0.01, 3600, "SECONDS"));
    } else {
        fputs("usage: limit_pingpong [--hold-tick] server PORT [BIND]\n"
              "       limit_pingpong [--hold-tick] client HOST PORT SIZE SECONDS\n", stderr);
        return 2;
    }
    return 0;
}
