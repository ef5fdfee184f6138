/* The limit of throughput: one epoll thread a side, any number of
 * connections, one message in flight on each.
 *
 *   limit_epoll server PORT [BIND [RESPONSE]]
 *   limit_epoll client HOST PORT SIZE CONNECTIONS SECONDS [RESPONSE]
 *
 * A message is an NI frame: a 4-byte big-endian length, then the payload. It
 * comes back as it went, or with RESPONSE it is answered by a frame of so many
 * bytes of payload, the same every time.
 * In the usual case a message costs one recv and one send on each side, and a
 * share of one epoll_wait. What keeps it there:
 * - sockets are registered once, edge-triggered, for both directions;
 * - a recv that returns less than it could hold has emptied the socket, and
 *   whatever comes later is a new edge, so it is not asked again;
 * - the reply is written straight after the read, and fits the socket;
 * - every connection is read into the same buffer, which stays in the cache;
 *   a connection has memory of its own only while a frame is cut in two. */
#define _GNU_SOURCE
#include "limit_epoll.h"

#include <stdbool.h>
#include <sys/resource.h>

enum {
    EVENTS_MAX = 128,
    SHARED_BYTES = 64 << 10,
};

static const double MESSAGES_PER_S_MAX = 2e6;

static uint8_t shared[SHARED_BYTES];

static void raise_file_limit(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        die_errno("getrlimit");
    files.rlim_cur = files.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &files) != 0)
        die_errno("setrlimit");
}

/* Bytes the socket took, 0 when it is full, -1 when the peer is gone. */
static ssize_t send_some(int fd, const uint8_t *bytes, size_t count)
{
    const ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);
    return sent < 0 && errno == EAGAIN ? 0 : sent;
}

/* ---- server ---- */

/* What answers a message; nothing while messages come back as they went. */
static struct {
    const uint8_t *frame;
    size_t bytes;
} reply;

/* Bytes from `first` up to `end` still belong to the connection: a frame not
 * yet whole, or replies the socket had no room for. */
struct pending {
    uint8_t *bytes;
    size_t first, end, capacity;
};

struct client {
    int fd;
    struct pending input, output;
};

static void keep(struct pending *pending, const uint8_t *bytes, size_t count)
{
    if (pending->end + count > pending->capacity) {
        pending->capacity = 2 * (pending->end + count);
        pending->bytes = realloc(pending->bytes, pending->capacity);
        if (pending->bytes == NULL)
            die("no memory for %zu bytes", pending->capacity);
    }
    memcpy(pending->bytes + pending->end, bytes, count);
    pending->end += count;
}

static bool is_empty(const struct pending *pending)
{
    return pending->first == pending->end;
}

static void clear(struct pending *pending)
{
    free(pending->bytes);
    *pending = (struct pending){ 0 };
}

/* Length of the whole frames at the start of `bytes`; -1 for a frame that no
 * NI peer would send. */
static ssize_t whole_frames(const uint8_t *bytes, size_t count)
{
    size_t whole = 0;
    while (count - whole >= HEADER_BYTES) {
        const size_t payload_bytes = get_length(bytes + whole);
        if (payload_bytes > PAYLOAD_BYTES_MAX)
            return -1;
        if (HEADER_BYTES + payload_bytes > count - whole)
            break;
        whole += HEADER_BYTES + payload_bytes;
    }
    return (ssize_t)whole;
}

/* Answers each of the whole frames in `bytes`. False when the peer is gone. */
static bool reply_to(struct client *client, const uint8_t *bytes, size_t whole)
{
    for (size_t at = 0; at < whole; at += HEADER_BYTES + get_length(bytes + at)) {
        ssize_t sent = 0;
        if (is_empty(&client->output))
            sent = send_some(client->fd, reply.frame, reply.bytes);
        if (sent < 0)
            return false;
        if ((size_t)sent < reply.bytes)
            keep(&client->output, reply.frame + sent, reply.bytes - (size_t)sent);
    }
    return true;
}

/* Returns the whole frames among `bytes`; the rest is kept in `input`, and
 * what the socket does not take in `output`. False when the peer is gone. */
static bool answer(struct client *client, const uint8_t *bytes, size_t count, ssize_t *whole)
{
    *whole = whole_frames(bytes, count);
    if (*whole <= 0)
        return *whole == 0;
    if (reply.bytes > 0)
        return reply_to(client, bytes, (size_t)*whole);
    const ssize_t sent = send_some(client->fd, bytes, (size_t)*whole);
    if (sent >= 0 && sent < *whole)
        keep(&client->output, bytes + sent, (size_t)(*whole - sent));
    return sent >= 0;
}

static bool take_fresh(struct client *client, size_t count)
{
    ssize_t whole;
    if (!answer(client, shared, count, &whole))
        return false;
    if ((size_t)whole < count)
        keep(&client->input, shared + whole, count - (size_t)whole);
    return true;
}

static bool take_more(struct client *client, size_t count)
{
    struct pending *input = &client->input;
    ssize_t whole;
    keep(input, shared, count);
    if (!answer(client, input->bytes, input->end, &whole))
        return false;
    input->end -= (size_t)whole;
    if (is_empty(input))
        clear(input);
    else if (whole > 0)
        memmove(input->bytes, input->bytes + whole, input->end);
    return true;
}

/* True when nothing is left to send, or the socket is full and will say when
 * it is not; false when the peer is gone. */
static bool flush(struct client *client)
{
    struct pending *output = &client->output;
    const ssize_t sent = send_some(client->fd, output->bytes + output->first,
                                   output->end - output->first);
    if (sent < 0)
        return false;
    output->first += (size_t)sent;
    if (is_empty(output))
        clear(output);
    return true;
}

/* False when the connection is over. */
static bool on_client(struct client *client, uint32_t events)
{
    if (!is_empty(&client->output) && !flush(client))
        return false;
    while (is_empty(&client->output)) {
        const ssize_t got = recv(client->fd, shared, sizeof shared, 0);
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        const bool fresh = is_empty(&client->input);
        if (!(fresh ? take_fresh(client, (size_t)got) : take_more(client, (size_t)got)))
            return false;
        /* A close seen with this edge makes no other: read on to the end. */
        if ((size_t)got < sizeof shared && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0)
            break;
    }
    return true;
}

static void drop_client(struct client *client)
{
    close(client->fd);
    clear(&client->input);
    clear(&client->output);
    free(client);
}

static void accept_clients(int poll, int listener)
{
    int fd;
    while ((fd = accept_next(listener)) >= 0) {
        struct client *client = allocate(sizeof *client);
        *client = (struct client){ .fd = fd };
        watch(poll, fd, BOTH_WAYS, client);
    }
}

static void serve(const char *port, const char *host)
{
    raise_file_limit();
    const int listener = listen_on(host, port, SOCK_NONBLOCK);
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    watch(poll, listener, EPOLLIN, NULL);

    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        const int ready = epoll_wait(poll, events, EVENTS_MAX, -1);
        if (ready < 0 && errno != EINTR)
            die_errno("epoll_wait");
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            if (client == NULL)
                accept_clients(poll, listener);
            else if (!on_client(client, events[i].events))
                drop_client(client);
        }
    }
}

/* ---- client ---- */

struct connection {
    int fd;
    uint32_t unsent;   /* bytes of the request still to be written */
    uint32_t unread;   /* bytes of the reply still to come */
    uint64_t sent_ns;
};

struct run {
    const uint8_t *frame;
    uint32_t frame_bytes;
    uint32_t reply_bytes;
    uint32_t done;
    struct samples samples;
    bool recording;
    uint64_t now_ns;   /* the one clock reading of the latest message */
};

static void write_request(const struct run *run, struct connection *c)
{
    const ssize_t sent = send_some(c->fd, run->frame + run->frame_bytes - c->unsent, c->unsent);
    if (sent < 0)
        die_errno("send");
    c->unsent -= (uint32_t)sent;
}

static void start_request(const struct run *run, struct connection *c)
{
    c->unsent = run->frame_bytes;
    c->unread = run->reply_bytes;
    c->sent_ns = run->now_ns;
    write_request(run, c);
}

/* The reading that ends one message starts the next on that connection. */
static void finish_request(struct run *run, struct connection *c)
{
    run->now_ns = now_ns();
    if (run->recording && run->samples.count < run->samples.capacity)
        add_sample(&run->samples, run->now_ns - c->sent_ns);
    run->done++;
    start_request(run, c);
}

static void on_connection(struct run *run, struct connection *c)
{
    if (c->unsent > 0)
        write_request(run, c);
    for (;;) {
        const ssize_t got = recv(c->fd, shared, sizeof shared, 0);
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0 || (size_t)got > c->unread)
            die("the server closed the connection or sent too much");
        if (c->unread == run->reply_bytes && got >= HEADER_BYTES
            && get_length(shared) != run->reply_bytes - HEADER_BYTES)
            die("the reply is of another length");
        c->unread -= (uint32_t)got;
        if (c->unread == 0) {
            finish_request(run, c);
            return;
        }
        if ((size_t)got < sizeof shared)
            return;
    }
}

static void exchange_until(struct run *run, int poll, uint64_t end_ns)
{
    struct epoll_event events[EVENTS_MAX];
    while (run->now_ns < end_ns) {
        const int ready = epoll_wait(poll, events, EVENTS_MAX, -1);
        if (ready < 0 && errno != EINTR)
            die_errno("epoll_wait");
        for (int i = 0; i < ready; i++)
            on_connection(run, events[i].data.ptr);
    }
}

static void open_connections(int poll, const char *host, const char *port,
                             struct connection *connections, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        connections[i].fd = connect_to(host, port);
        set_non_blocking(connections[i].fd);
        watch(poll, connections[i].fd, BOTH_WAYS, &connections[i]);
    }
}

static void report(struct run *run, uint64_t elapsed_ns, uint64_t used_ns)
{
    const double count = (double)run->done;
    sort_samples(&run->samples);
    printf("{\"count\":%u,\"per_s\":%.1f,\"p50_ns\":%u,\"cpu_ns_per_op\":%.1f}\n", run->done,
           count * 1e9 / (double)elapsed_ns, percentile(&run->samples, 50),
           (double)used_ns / count);
}

static void load(const char *host, const char *port, uint32_t payload_bytes,
                 uint32_t response_bytes, uint32_t connection_count, double seconds)
{
    raise_file_limit();
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *connections = allocate_touched(connection_count * sizeof *connections);
    struct run run = {
        .frame = new_frame(payload_bytes),
        .frame_bytes = HEADER_BYTES + payload_bytes,
        .reply_bytes = HEADER_BYTES + response_bytes,
        .samples = new_samples(seconds, MESSAGES_PER_S_MAX),
    };
    open_connections(poll, host, port, connections, connection_count);

    const uint64_t start_ns = run.now_ns = now_ns();
    for (uint32_t i = 0; i < connection_count; i++)
        start_request(&run, &connections[i]);
    exchange_until(&run, poll, start_ns + (uint64_t)(seconds * WARM_UP_SHARE * 1e9));

    run.recording = true;
    run.done = 0;
    const uint64_t first_ns = now_ns(), first_cpu_ns = cpu_ns();
    exchange_until(&run, poll, start_ns + (uint64_t)(seconds * 1e9));
    const uint64_t last_ns = now_ns(), last_cpu_ns = cpu_ns();
    report(&run, last_ns - first_ns, last_cpu_ns - first_cpu_ns);
}

static uint32_t payload(const char *text, const char *name)
{
    return (uint32_t)number(text, 0, PAYLOAD_BYTES_MAX, name);
}

int main(int argc, char **argv)
{
    if (argc >= 3 && argc <= 5 && strcmp(argv[1], "server") == 0) {
        if (argc == 5) {
            const uint32_t response = payload(argv[4], "RESPONSE");
            reply.frame = new_frame(response);
            reply.bytes = HEADER_BYTES + response;
        }
        serve(argv[2], argc >= 4 ? argv[3] : "127.0.0.1");
    } else if ((argc == 7 || argc == 8) && strcmp(argv[1], "client") == 0) {
        const uint32_t size = payload(argv[4], "SIZE");
        load(argv[2], argv[3], size, argc == 8 ? payload(argv[7], "RESPONSE") : size,
             (uint32_t)number(argv[5], 1, 100000, "CONNECTIONS"),
             number(argv[6], 0.01, 3600, "SECONDS"));
    } else {
        fputs("usage: limit_epoll server PORT [BIND [RESPONSE]]\n"
              "       limit_epoll client HOST PORT SIZE CONNECTIONS SECONDS [RESPONSE]\n", stderr);
        return 2;
    }
    return 0;
}
