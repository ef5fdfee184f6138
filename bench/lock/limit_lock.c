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
#include "../net/limit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/epoll.h>

enum {
    EVENTS_MAX = 128,
    MESSAGE_BYTES = 64,
    KEY_BYTES = 48,
    BUFFER_BYTES = 64 << 10,
    DEPTH_MAX = BUFFER_BYTES / MESSAGE_BYTES,
    KEYS_PER_OWNER = 64,
    FIRST_SLOTS = 1 << 16,
};

enum op { LOCK = 1, UNLOCK, RELEASE_ALL };
enum status { DONE, HELD, NOT_HELD };

struct message {
    uint8_t op;      /* of a request */
    uint8_t status;  /* of a reply */
    uint16_t owner;
    uint32_t number; /* comes back as it was sent */
    uint64_t fence;  /* of a reply: counts grants; for RELEASE_ALL: locks released */
    uint8_t key[KEY_BYTES];
};
_Static_assert(sizeof(struct message) == MESSAGE_BYTES, "64 bytes");

static const double WARM_UP_SHARE = 0.1;
static const uint32_t BOTH_WAYS = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
static uint8_t shared[BUFFER_BYTES];

static void set_non_blocking(int fd)
{
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        die_errno("O_NONBLOCK");
}

static void watch(int poll, int fd, uint32_t events, void *owner)
{
    struct epoll_event event = { .events = events, .data.ptr = owner };
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0)
        die_errno("epoll_ctl");
}

/* ---- table: open addressing over entries that stay where they are ---- */

enum { NONE = 0 }; /* entry 0 is never used */

struct entry {
    uint8_t key[KEY_BYTES];
    uint32_t hash;
    uint16_t owner;
    uint16_t count;
    uint32_t earlier, later; /* of the same owner; `later` links free entries, too */
    uint64_t fence;
};

struct table {
    uint32_t *slots;
    uint32_t mask, used;
    struct entry *entries;
    uint32_t entries_end, entries_capacity, first_free;
    uint32_t first_of[UINT16_MAX + 1];
    uint64_t fence;
};

static struct table table;

static uint32_t hash_of(const uint8_t *key)
{
    uint64_t words[KEY_BYTES / 8], hash = 0x9e3779b97f4a7c15u;
    memcpy(words, key, sizeof words);
    for (size_t i = 0; i < KEY_BYTES / 8; i++) {
        hash = (hash ^ words[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

/* The slot that holds `key`, or the free one where it belongs. */
static uint32_t slot_of(const uint8_t *key, uint32_t hash)
{
    uint32_t slot = hash & table.mask;
    for (; table.slots[slot] != NONE; slot = (slot + 1) & table.mask) {
        const struct entry *entry = &table.entries[table.slots[slot]];
        if (entry->hash == hash && memcmp(entry->key, key, KEY_BYTES) == 0)
            break;
    }
    return slot;
}

static void set_slots(uint32_t count)
{
    free(table.slots);
    table.slots = calloc(count, sizeof *table.slots);
    if (table.slots == NULL)
        die("no memory for %u slots", count);
    table.mask = count - 1;
}

static void grow(void)
{
    const uint32_t *old = table.slots;
    const uint32_t old_count = table.mask + 1;
    table.slots = NULL;
    set_slots(2 * old_count);
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i] == NONE)
            continue;
        uint32_t slot = table.entries[old[i]].hash & table.mask;
        while (table.slots[slot] != NONE)
            slot = (slot + 1) & table.mask;
        table.slots[slot] = old[i];
    }
    free((void *)old);
}

static uint32_t new_entry(void)
{
    const uint32_t reused = table.first_free;
    if (reused != NONE) {
        table.first_free = table.entries[reused].later;
        return reused;
    }
    if (table.entries_end == table.entries_capacity) {
        table.entries_capacity *= 2;
        table.entries = realloc(table.entries, table.entries_capacity * sizeof *table.entries);
        if (table.entries == NULL)
            die("no memory for %u locks", table.entries_capacity);
    }
    return table.entries_end++;
}

static void insert(uint32_t slot, const struct message *request, uint32_t hash)
{
    const uint32_t index = new_entry();
    struct entry *entry = &table.entries[index];
    const uint32_t second = table.first_of[request->owner];
    *entry = (struct entry){ .hash = hash, .owner = request->owner, .count = 1,
                             .later = second, .fence = ++table.fence };
    memcpy(entry->key, request->key, KEY_BYTES);
    if (second != NONE)
        table.entries[second].earlier = index;
    table.first_of[request->owner] = index;
    table.slots[slot] = index;
    if (++table.used * 2 > table.mask)
        grow();
}

/* Whatever stands behind a freed slot and could not be found across it moves up. */
static void free_slot(uint32_t slot)
{
    uint32_t gap = slot;
    for (uint32_t next = (gap + 1) & table.mask; table.slots[next] != NONE;
         next = (next + 1) & table.mask) {
        const uint32_t home = table.entries[table.slots[next]].hash & table.mask;
        if (((next - home) & table.mask) >= ((next - gap) & table.mask)) {
            table.slots[gap] = table.slots[next];
            gap = next;
        }
    }
    table.slots[gap] = NONE;
}

static void remove_at(uint32_t slot)
{
    const uint32_t index = table.slots[slot];
    struct entry *entry = &table.entries[index];
    free_slot(slot);
    if (entry->earlier != NONE)
        table.entries[entry->earlier].later = entry->later;
    else
        table.first_of[entry->owner] = entry->later;
    if (entry->later != NONE)
        table.entries[entry->later].earlier = entry->earlier;
    entry->later = table.first_free;
    table.first_free = index;
    table.used--;
}

static enum status lock(const struct message *request, uint64_t *fence)
{
    const uint32_t hash = hash_of(request->key);
    const uint32_t slot = slot_of(request->key, hash);
    if (table.slots[slot] == NONE) {
        insert(slot, request, hash);
        *fence = table.fence;
        return DONE;
    }
    struct entry *entry = &table.entries[table.slots[slot]];
    *fence = entry->fence;
    if (entry->owner != request->owner)
        return HELD;
    entry->count++;
    return DONE;
}

static enum status unlock(const struct message *request)
{
    const uint32_t slot = slot_of(request->key, hash_of(request->key));
    if (table.slots[slot] == NONE)
        return NOT_HELD;
    struct entry *entry = &table.entries[table.slots[slot]];
    if (entry->owner != request->owner)
        return HELD;
    if (--entry->count == 0)
        remove_at(slot);
    return DONE;
}

static uint64_t release_all(uint16_t owner)
{
    uint64_t released = 0;
    while (table.first_of[owner] != NONE) {
        const struct entry *entry = &table.entries[table.first_of[owner]];
        remove_at(slot_of(entry->key, entry->hash));
        released++;
    }
    return released;
}

static void serve_message(struct message *m)
{
    switch (m->op) {
    case LOCK: m->status = (uint8_t)lock(m, &m->fence); break;
    case UNLOCK: m->status = (uint8_t)unlock(m); break;
    case RELEASE_ALL: m->fence = release_all(m->owner); m->status = DONE; break;
    default: die("a request of kind %u", m->op);
    }
}

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
    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        struct client *client = allocate(sizeof *client);
        *client = (struct client){ .fd = fd };
        no_delay(fd);
        watch(poll, fd, BOTH_WAYS, client);
    }
    if (errno != EAGAIN && errno != ECONNABORTED)
        die_errno("accept");
}

static void new_table(void)
{
    table.entries_capacity = FIRST_SLOTS;
    table.entries = allocate(table.entries_capacity * sizeof *table.entries);
    table.entries_end = NONE + 1;
    set_slots(FIRST_SLOTS);
}

static void serve_one_by_one(const char *port, const char *host)
{
    new_table();
    const int listener = listen_on(host, port, 0);
    for (;;) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            die_errno("accept");
        no_delay(fd);
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
