/* What the limits of one round trip share: a server with a thread for each
 * connection, and a client with one connection and one message in flight.
 *
 * A message is an NI frame: a 4-byte big-endian length, then the payload. The
 * server stores a message whole before it returns it. Both buffers are larger
 * than the frame, so that one receive is enough whenever the kernel has the
 * whole frame; a longer frame takes as many as it needs.
 *
 * Whoever includes this has defined `connection`, and what is done with one:
 * send_whole(), which fails when the peer is gone, send_frame(), which ends
 * the program then, and receive_some(). */
#ifndef LIMIT_PING_H
#define LIMIT_PING_H

#include <pthread.h>

static const double WARM_UP_SHARE = 0.1;
static const double ROUND_TRIPS_PER_S_MAX = 1e6;

/* Bytes of the frame now whole in `buffer`, 0 when the peer is gone. A peer
 * that sends ahead of the reply is not in a ping-pong, and ends it too. */
static inline size_t receive_frame(connection peer, uint8_t *buffer, size_t capacity)
{
    size_t held = 0, frame_bytes = HEADER_BYTES;
    while (held < frame_bytes) {
        const ssize_t got = receive_some(peer, buffer + held, capacity - held);
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

/* Returns every message of `peer` until it is gone. */
static inline void echo_all(connection peer)
{
    const size_t capacity = HEADER_BYTES + PAYLOAD_BYTES_MAX + 1;
    uint8_t *buffer = allocate(capacity);
    size_t frame_bytes;
    while ((frame_bytes = receive_frame(peer, buffer, capacity)) > 0)
        if (!send_whole(peer, buffer, frame_bytes))
            break;
    free(buffer);
}

/* Runs `echo` with `argument` on a thread of its own. */
static inline void start_thread(void *(*echo)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, echo, argument) != 0)
        die("pthread_create");
    pthread_detach(thread);
}

/* ---- client ---- */

struct link {
    connection connection;
    const uint8_t *frame;
    size_t frame_bytes;
    uint8_t *buffer;
    size_t buffer_bytes;
};

/* Runs round trips until the clock passes `end_ns`; keeps them in `samples`
 * unless it is NULL. */
static inline void ping_until(const struct link *link, uint64_t end_ns, struct samples *samples)
{
    for (;;) {
        const uint64_t sent_ns = now_ns();
        send_frame(link->connection, link->frame, link->frame_bytes);
        if (receive_frame(link->connection, link->buffer, link->buffer_bytes) != link->frame_bytes)
            die("the reply was cut short or of another length");
        const uint64_t whole_ns = now_ns();
        if (samples != NULL)
            add_sample(samples, whole_ns - sent_ns);
        if (whole_ns >= end_ns || (samples != NULL && samples->count == samples->capacity))
            return;
    }
}

/* SIZE of the command line. */
static inline uint32_t payload_bytes(const char *text)
{
    return (uint32_t)number(text, 0, PAYLOAD_BYTES_MAX, "SIZE");
}

/* SECONDS of the command line. */
static inline double duration_s(const char *text)
{
    return number(text, 0.01, 3600, "SECONDS");
}

/* Measures round trips over `peer` for so many seconds, and reports them. */
static inline void ping(connection peer, uint32_t payload, double seconds)
{
    const size_t frame_bytes = HEADER_BYTES + (size_t)payload;
    const struct link link = {
        .connection = peer,
        .frame = new_frame(payload),
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

#endif
