/* The limit of a lock server: one epoll thread a side, fixed messages of 64
 * bytes, a hash table of locks with owners and counters. One client with one
 * request under way waits by a receive that blocks on both sides, as plumb does.
 *
 *   limit_lock [--hold-tick] server PORT [BIND]
 *   limit_lock [--hold-tick] lone-server PORT [BIND]
 *   limit_lock [--hold-tick] pairs HOST PORT CONNECTIONS DEPTH SECONDS
 *   limit_lock [--hold-tick] fill HOST PORT OWNERS LOCKS DEPTH
 *
 * `lone-server` serves one client after the other and blocks in its receive.
 * `pairs` takes and releases locks of its own, DEPTH requests under way on
 * each connection; a pair is one lock and its release. `fill` creates LOCKS
 * locks for each of OWNERS, a connection an owner, and then asks for all of
 * them to be released at once. Each prints one JSON object.
 *
 * It knows exclusive locks that their owner may take again, and nothing else:
 * no modes, no patterns, no limits, no journal. */
#define _GNU_SOURCE
#include "../net/limit_epoll.h"
#include "limit_table.h"

#include <stdbool.h>

enum {
    EVENTS_MAX = 128,
    BUFFER_BYTES = 64 << 10,
    DEPTH_MAX = BUFFER_BYTES / MESSAGE_BYTES,
    KEYS_PER_OWNER = 64,
};

static uint8_t shared[BUFFER_BYTES];

/* ---- server ---- */

/* At most DEPTH_MAX messages are under way, so a reply always fits the buffer. */
struct client {
    int fd;
    uint32_t kept;                /* bytes of a message cut in two */
    uint32_t unsent_first, unsent_end;
    uint8_t input[MESSAGE_BYTES];
    uint8_t *unsent;
};

static bool send_all(struct client *client, const uint8_t *bytes, size_t count)
{
    const ssize_t sent = send(client->fd, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN)
        return false;
    const size_t taken = sent < 0 ? 0 : (size_t)sent;
    if (taken == count)
        return true;
    if (client->unsent == NULL)
        client->unsent = allocate(BUFFER_BYTES);
    memmove(client->unsent, bytes + taken, count - taken);
    client->unsent_first = 0;
    client->unsent_end = (uint32_t)(count - taken);
    return true;
}

/* False when the connection is over. */
static bool on_client(struct client *client, uint32_t events)
{
    if (client->unsent_end > client->unsent_first) {
        const uint32_t first = client->unsent_first, count = client->unsent_end - first;
        client->unsent_first = client->unsent_end = 0;
        if (!send_all(client, client->unsent + first, count))
            return false;
    }
    while (client->unsent_end == client->unsent_first) {
        memcpy(shared, client->input, client->kept);
        const ssize_t got = recv(client->fd, shared + client->kept, sizeof shared - client->kept, 0);
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        const bool full = (size_t)got == sizeof shared - client->kept;
        const size_t count = client->kept + (size_t)got, whole = count - count % MESSAGE_BYTES;
        for (size_t at = 0; at < whole; at += MESSAGE_BYTES)
            serve_message((struct message *)(shared + at));
        client->kept = (uint32_t)(count - whole);
        memcpy(client->input, shared + whole, client->kept);
        if (whole > 0 && !send_all(client, shared, whole))
            return false;
        if (!full && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) == 0)
            break;
    }
    return true;
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

static void serve_one_by_one(const char *port, const char *host)
{
    new_table();
    const int listener = listen_on(host, port, 0);
    for (;;) {
        const int fd = accept_one(listener);
        struct client client = { .fd = fd };
        do
            before_wait();
        while (on_client(&client, 0));
        close(fd);
        free(client.unsent);
    }
}

static void serve(const char *port, const char *host)
{
    new_table();
    const int listener = listen_on(host, port, SOCK_NONBLOCK);
    const int poll = epoll_create1(EPOLL_CLOEXEC);
    watch(poll, listener, EPOLLIN, NULL);

    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        before_wait();
        const int ready = epoll_wait(poll, events, EVENTS_MAX, -1);
        if (ready < 0 && errno != EINTR)
            die_errno("epoll_wait");
        for (int i = 0; i < ready; i++) {
            struct client *client = events[i].data.ptr;
            if (client == NULL) {
                accept_clients(poll, listener);
            } else if (!on_client(client, events[i].events)) {
                close(client->fd);
                free(client->unsent);
                free(client);
            }
        }
    }
}

/* ---- client ---- */

struct connection {
    int fd;
    uint16_t owner;
    uint32_t sent, answered; /* requests since the start */
    uint32_t to_send;        /* how many there are to be; UINT32_MAX: no end */
    uint32_t kept;           /* bytes of a reply cut in two */
    uint8_t input[MESSAGE_BYTES];
};

struct load {
    int poll;
    struct connection *connections;
    uint32_t depth;
    bool fills;
    bool lone;       /* one request under way on one connection: its receive blocks */
    uint64_t answered;
};

/* `pairs`: lock, then unlock, of one key after the other; `fill`: a new key each time. */
static void write_request(const struct load *load, const struct connection *c, struct message *m)
{
    const uint32_t number = c->sent;
    const uint32_t key = load->fills ? number : number / 2 % KEYS_PER_OWNER;
    *m = (struct message){ .op = load->fills || number % 2 == 0 ? LOCK : UNLOCK,
                           .owner = c->owner, .number = number };
    memset(m->key, '0', sizeof m->key);
    memcpy(m->key, "VBAK800", 7);
    memcpy(m->key + 8, &c->owner, sizeof c->owner);
    memcpy(m->key + 16, &key, sizeof key);
}

static void send_requests(const struct load *load, struct connection *c)
{
    uint8_t out[BUFFER_BYTES];
    size_t bytes = 0;
    while (c->sent - c->answered < load->depth && c->sent < c->to_send) {
        write_request(load, c, (struct message *)(out + bytes));
        c->sent++;
        bytes += MESSAGE_BYTES;
    }
    if (bytes > 0 && send(c->fd, out, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        die("a request did not fit the socket");
}

static void take_replies(struct load *load, struct connection *c)
{
    memcpy(shared, c->input, c->kept);
    const ssize_t got = recv(c->fd, shared + c->kept, sizeof shared - c->kept, 0);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        die("the server closed the connection");
    const size_t count = c->kept + (size_t)got, whole = count - count % MESSAGE_BYTES;
    for (size_t at = 0; at < whole; at += MESSAGE_BYTES) {
        const struct message *m = (const struct message *)(shared + at);
        if (m->status != DONE || m->number != c->answered)
            die("request %u was answered with status %u as %u", c->answered, m->status, m->number);
        c->answered++;
        load->answered++;
    }
    c->kept = (uint32_t)(count - whole);
    memcpy(c->input, shared + whole, c->kept);
    send_requests(load, c);
}

static void exchange(struct load *load, uint64_t end_ns, uint64_t until_answered)
{
    struct epoll_event events[EVENTS_MAX];
    while (load->answered < until_answered && (end_ns == UINT64_MAX || now_ns() < end_ns)) {
        if (load->lone) {
            before_wait();
            take_replies(load, load->connections);
            continue;
        }
        before_wait();
        const int ready = epoll_wait(load->poll, events, EVENTS_MAX, -1);
        if (ready < 0 && errno != EINTR)
            die_errno("epoll_wait");
        for (int i = 0; i < ready; i++)
            take_replies(load, events[i].data.ptr);
    }
}

static struct connection *open_connections(const struct load *load, const char *host,
                                           const char *port, uint32_t count, uint32_t to_send)
{
    struct connection *connections = allocate_touched(count * sizeof *connections);
    for (uint32_t i = 0; i < count; i++) {
        connections[i] = (struct connection){ .fd = connect_to(host, port), .to_send = to_send,
                                              .owner = (uint16_t)i };
        if (load->lone)
            continue;
        set_non_blocking(connections[i].fd);
        watch(load->poll, connections[i].fd, BOTH_WAYS, &connections[i]);
    }
    return connections;
}

static void pairs(const char *host, const char *port, uint32_t count, uint32_t depth, double seconds)
{
    struct load load = { .poll = epoll_create1(EPOLL_CLOEXEC), .depth = depth,
                         .lone = count == 1 && depth == 1 };
    struct connection *connections = open_connections(&load, host, port, count, UINT32_MAX);
    load.connections = connections;
    const uint64_t start_ns = now_ns();
    for (uint32_t i = 0; i < count; i++)
        send_requests(&load, &connections[i]);
    exchange(&load, start_ns + (uint64_t)(seconds * WARM_UP_SHARE * 1e9), UINT64_MAX);

    load.answered = 0;
    const uint64_t first_ns = now_ns(), first_cpu_ns = cpu_ns();
    exchange(&load, start_ns + (uint64_t)(seconds * 1e9), UINT64_MAX);
    const double elapsed_s = (double)(now_ns() - first_ns) / 1e9;
    const double cpu = (double)(cpu_ns() - first_cpu_ns);
    printf("{\"pairs\":%llu,\"per_s\":%.1f,\"cpu_ns_per_op\":%.1f}\n",
           (unsigned long long)(load.answered / 2), (double)load.answered / 2 / elapsed_s,
           cpu / (double)load.answered);
}

static void release(const struct connection *c, uint32_t expected)
{
    struct message m = { .op = RELEASE_ALL, .owner = c->owner };
    if (fcntl(c->fd, F_SETFL, 0) != 0 || send(c->fd, &m, sizeof m, MSG_NOSIGNAL) != sizeof m
        || recv(c->fd, &m, sizeof m, MSG_WAITALL) != sizeof m)
        die_errno("release");
    if (m.fence != expected)
        die("owner %u: %llu locks released, %u expected", c->owner,
            (unsigned long long)m.fence, expected);
}

static void fill(const char *host, const char *port, uint32_t owners, uint32_t locks, uint32_t depth)
{
    struct load load = { .poll = epoll_create1(EPOLL_CLOEXEC), .depth = depth, .fills = true };
    struct connection *connections = open_connections(&load, host, port, owners, locks);
    const uint64_t start_ns = now_ns();
    for (uint32_t i = 0; i < owners; i++)
        send_requests(&load, &connections[i]);
    exchange(&load, UINT64_MAX, (uint64_t)owners * locks);
    const uint64_t filled_ns = now_ns();
    for (uint32_t i = 0; i < owners; i++)
        release(&connections[i], locks);
    printf("{\"locks\":%llu,\"create_s\":%.4f,\"release_s\":%.4f}\n",
           (unsigned long long)owners * locks, (double)(filled_ns - start_ns) / 1e9,
           (double)(now_ns() - filled_ns) / 1e9);
}

int main(int argc, char **argv)
{
    take_hold_tick(&argc, &argv);
    const char *verb = argc > 1 ? argv[1] : "";
    if ((argc == 3 || argc == 4) && strcmp(verb, "server") == 0) {
        serve(argv[2], argc == 4 ? argv[3] : "127.0.0.1");
    } else if ((argc == 3 || argc == 4) && strcmp(verb, "lone-server") == 0) {
        serve_one_by_one(argv[2], argc == 4 ? argv[3] : "127.0.0.1");
    } else if (argc == 7 && strcmp(verb, "pairs") == 0) {
        pairs(argv[2], argv[3], (uint32_t)number(argv[4], 1, 10000, "CONNECTIONS"),
              (uint32_t)number(argv[5], 1, DEPTH_MAX / 4, "DEPTH"),
              number(argv[6], 0.01, 3600, "SECONDS"));
    } else if (argc == 7 && strcmp(verb, "fill") == 0) {
        fill(argv[2], argv[3], (uint32_t)number(argv[4], 1, UINT16_MAX, "OWNERS"),
             (uint32_t)number(argv[5], 1, 1e7, "LOCKS"),
             (uint32_t)number(argv[6], 1, DEPTH_MAX / 4, "DEPTH"));
    } else {
        fputs("usage: limit_lock [--hold-tick] server PORT [BIND]\n"
              "       limit_lock [--hold-tick] lone-server PORT [BIND]\n"
              "       limit_lock [--hold-tick] pairs HOST PORT CONNECTIONS DEPTH SECONDS\n"
              "       limit_lock [--hold-tick] fill HOST PORT OWNERS LOCKS DEPTH\n", stderr);
        return 2;
    }
    return 0;
}
