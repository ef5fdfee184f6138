/* What the two limit programs share: arguments, clocks, sockets, the length
 * in front of a frame, and percentiles. Everything here runs before or after
 * the measured loop, except now_ns(), put_length() and get_length(). */
#ifndef LIMIT_H
#define LIMIT_H

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    HEADER_BYTES = 4,              /* big-endian length of the payload */
    PAYLOAD_BYTES_MAX = 16 << 20,  /* the largest frame an NI peer accepts */
    BACKLOG = 4096,
    TICK_AHEAD_NS = 1000000,       /* as far as plumb sets its timer ahead */
    NS_PER_S = 1000000000,
};

__attribute__((noreturn, format(printf, 1, 2)))
static inline void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

/* For a system call that failed: `what`, then the reason in errno. */
__attribute__((noreturn))
static inline void die_errno(const char *what)
{
    die("%s: %s", what, strerror(errno));
}

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t cpu_ns(void)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* With --hold-tick every wait keeps the tick of its processor, as that option of plumb does: by a
 * timer of the thread that is to go off before the tick, set again when half of it has passed. */
static bool hold_ticks;
static _Thread_local int tick_fd = -1;
static _Thread_local uint64_t tick_until_ns;

static inline void hold_tick(uint64_t ns)
{
    if (tick_until_ns >= ns + TICK_AHEAD_NS / 2)
        return;
    if (tick_fd < 0 && (tick_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) < 0)
        die_errno("timerfd_create");
    tick_until_ns = ns + TICK_AHEAD_NS;
    const struct itimerspec time = { .it_value = { .tv_sec = (time_t)(tick_until_ns / NS_PER_S),
                                                   .tv_nsec = (long)(tick_until_ns % NS_PER_S) } };
    if (timerfd_settime(tick_fd, TFD_TIMER_ABSTIME, &time, NULL) != 0)
        die_errno("timerfd_settime");
}

/* Stands before every wait. */
static inline void before_wait(void)
{
    if (hold_ticks)
        hold_tick(now_ns());
}

/* Takes --hold-tick away from the front of the arguments. */
static inline void take_hold_tick(int *argc, char ***argv)
{
    if (*argc < 2 || strcmp((*argv)[1], "--hold-tick") != 0)
        return;
    hold_ticks = true;
    (*argv)[1] = (*argv)[0];
    (*argc)--;
    (*argv)++;
}

static inline void put_length(uint8_t *frame, uint32_t payload_bytes)
{
    const uint32_t big_endian = htonl(payload_bytes);
    memcpy(frame, &big_endian, sizeof big_endian);
}

static inline uint32_t get_length(const uint8_t *frame)
{
    uint32_t big_endian;
    memcpy(&big_endian, frame, sizeof big_endian);
    return ntohl(big_endian);
}

static inline double number(const char *text, double low, double high, const char *what)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high))
        die("%s is '%s', expected a number from %g to %g", what, text, low, high);
    return value;
}

static inline void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        die("no memory for %zu bytes", bytes);
    return memory;
}

/* Touched here, so that no page fault falls into the measured loop. */
static inline void *allocate_touched(size_t bytes)
{
    return memset(allocate(bytes), 1, bytes);
}

static inline uint8_t *new_frame(uint32_t payload_bytes)
{
    uint8_t *frame = allocate(HEADER_BYTES + (size_t)payload_bytes);
    put_length(frame, payload_bytes);
    memset(frame + HEADER_BYTES, 'p', payload_bytes);
    return frame;
}

static inline struct addrinfo *resolve(const char *host, const char *port, int flags)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = flags };
    struct addrinfo *found;
    const int status = getaddrinfo(host, port, &hints, &found);
    if (status != 0)
        die("%s:%s: %s", host, port, gai_strerror(status));
    return found;
}

static inline void no_delay(int fd)
{
    const int on = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        die_errno("TCP_NODELAY");
}

static inline int connect_to(const char *host, const char *port)
{
    struct addrinfo *address = resolve(host, port, 0);
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, address->ai_addr, address->ai_addrlen) != 0)
        die("connect to %s:%s: %s", host, port, strerror(errno));
    freeaddrinfo(address);
    no_delay(fd);
    return fd;
}

/* The one line a script waits for; it carries the port when PORT was 0. */
static inline void announce(int fd)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        die_errno("getsockname");
    if (getnameinfo((struct sockaddr *)&address, bytes, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        die("getnameinfo failed");
    printf("listening on %s:%s\n", host, port);
    fflush(stdout);
}

static inline int listen_on(const char *host, const char *port, int type_flags)
{
    struct addrinfo *address = resolve(host, port, AI_PASSIVE);
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | type_flags, 0);
    const int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
        die_errno("socket");
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0)
        die("listen on %s:%s: %s", host, port, strerror(errno));
    freeaddrinfo(address);
    announce(fd);
    return fd;
}

/* The next connection; it sends at once. */
static inline int accept_one(int listener)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        die_errno("accept");
    no_delay(fd);
    return fd;
}

/* Round trips in nanoseconds, in the order they came until they are sorted.
 * 32 bits hold 4.29 s; anything longer is kept as that. */
struct samples {
    uint32_t *ns;
    size_t count;
    size_t capacity;
    uint64_t sum_ns;
};

static inline struct samples new_samples(double seconds, double per_s_max)
{
    const size_t capacity = (size_t)(seconds * per_s_max) + 1;
    return (struct samples){ .ns = allocate_touched(capacity * sizeof(uint32_t)),
                             .capacity = capacity };
}

static inline void add_sample(struct samples *s, uint64_t ns)
{
    s->sum_ns += ns;
    s->ns[s->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static inline int ascending(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static inline void sort_samples(struct samples *s)
{
    qsort(s->ns, s->count, sizeof *s->ns, ascending);
}

/* Nearest rank: the smallest sample that at least `percent` of all do not exceed. */
static inline uint32_t percentile(const struct samples *sorted, size_t percent)
{
    const size_t rank = (sorted->count * percent + 99) / 100;
    return sorted->ns[rank > 0 ? rank - 1 : 0];
}

/* Prints the figures of a client that had one message in flight, and sorts
 * its samples. */
static inline void report_round_trips(struct samples *samples, uint64_t elapsed_ns, uint64_t used_ns)
{
    const double count = (double)samples->count;
    sort_samples(samples);
    printf("{\"count\":%zu,\"p50_ns\":%u,\"p99_ns\":%u,\"mean_ns\":%.1f,\"per_s\":%.1f,"
           "\"cpu_ns_per_op\":%.1f}\n",
           samples->count, percentile(samples, 50), percentile(samples, 99),
           (double)samples->sum_ns / count, count * 1e9 / (double)elapsed_ns,
           (double)used_ns / count);
}

#endif
