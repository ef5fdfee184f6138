/* The least that an honest client with one connection costs: one send and one recv a request, on a
 * blocking socket that stays open; every answer read and judged, and its time recorded.
 *
 *   limit_http [--hold-tick] [--bare] PORT REQUEST SECONDS
 *
 * Sends REQUEST, which holds every byte of it, again and again to PORT of 127.0.0.1. Of each
 * answer the status, the length and the connection's fate are known: a head equal to the last one
 * is compared, any other parsed. The clock is read before each send and behind each answer, and
 * the time between counted in a histogram. The seconds' figures are printed at the end.
 *
 * With --bare the first answer says how long all of them are; the others are counted, and neither
 * read, judged nor timed: no client can say anything for less. */
#define _GNU_SOURCE
#include <strings.h>

#include "../net/limit.h"

enum {
    ANSWER_BYTES = 64 << 10,
    EXACT_BITS = 10,                     /* a bucket is at most a 512th of its values wide */
    HALF = 1 << (EXACT_BITS - 1),
    BUCKETS = HALF * (64 - EXACT_BITS + 2),
};

/* What a head says. */
struct head {
    size_t bytes;    /* of the head itself, its empty line included */
    uint64_t body;   /* bytes behind it */
    unsigned status;
    bool keeps;      /* the connection stays open */
};

/* A head that was parsed, and its bytes. */
struct memo {
    struct head head;
    char bytes[ANSWER_BYTES];
};

/* Times in nanoseconds, in buckets whose width grows with them. */
struct times {
    uint64_t count, sum_ns, min_ns, max_ns;
    uint64_t buckets[BUCKETS];
};

static char answer[ANSWER_BYTES];
static struct memo memo;
static struct times times = { .min_ns = UINT64_MAX };

static size_t bucket_of(uint64_t ns)
{
    if (ns < 2 * HALF)
        return ns;
    const unsigned shift = 64 - EXACT_BITS - (unsigned)__builtin_clzll(ns);
    return shift * HALF + (ns >> shift);
}

static uint64_t lowest_of(size_t bucket)
{
    if (bucket < 2 * HALF)
        return bucket;
    const size_t shift = bucket / HALF - 1;
    return (uint64_t)(bucket % HALF + HALF) << shift;
}

static void record(uint64_t ns)
{
    times.buckets[bucket_of(ns)]++;
    times.count++;
    times.sum_ns += ns;
    times.min_ns = ns < times.min_ns ? ns : times.min_ns;
    times.max_ns = ns > times.max_ns ? ns : times.max_ns;
}

static uint64_t quantile(uint64_t percent)
{
    const uint64_t rank = (times.count * percent + 99) / 100;
    uint64_t seen = 0;
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        if ((seen += times.buckets[bucket]) >= rank)
            return lowest_of(bucket);
    return times.max_ns;
}

static void report(void)
{
    printf("{\"count\":%lu,\"mean_ns\":%.1f,\"min_ns\":%lu,\"p50_ns\":%lu,\"p99_ns\":%lu,"
           "\"max_ns\":%lu}\n",
           times.count, (double)times.sum_ns / (double)times.count, times.min_ns, quantile(50),
           quantile(99), times.max_ns);
}

static size_t receive_some(int fd, size_t held)
{
    before_wait();
    const ssize_t count = recv(fd, answer + held, sizeof answer - 1 - held, 0);
    if (count <= 0)
        die("the server has closed, or an answer is too long");
    return held + (size_t)count;
}

/* The value of a line of the head that begins with `name`, a colon included; NULL when it is
 * another line. */
static const char *value_of(const char *line, const char *name)
{
    const size_t bytes = strlen(name);
    if (strncasecmp(line, name, bytes) != 0)
        return NULL;
    return line + bytes + strspn(line + bytes, " \t");
}

/* The lines of a head from `line` to its `end`. */
static void parse_lines(const char *line, const char *end, struct head *head)
{
    bool known = false;
    while (line < end) {
        const char *value;
        if ((value = value_of(line, "Content-Length:")) != NULL) {
            char *rest;
            head->body = strtoull(value, &rest, 10);
            if (known || rest == value || *rest != '\r')
                die("a length that cannot be read: %s", line);
            known = true;
        } else if (value_of(line, "Transfer-Encoding:") != NULL) {
            die("no answer of a known length");
        } else if ((value = value_of(line, "Connection:")) != NULL) {
            head->keeps = strncasecmp(value, "close", 5) != 0;
        }
        line = strstr(line, "\r\n") + 2;
    }
    if (!known)
        die("no answer of a known length");
}

/* Reads the head at the start of the `held` bytes of the answer; false while it is incomplete. */
static bool parse_head(size_t held)
{
    answer[held] = '\0';
    const char *end = strstr(answer, "\r\n\r\n");
    if (end == NULL)
        return false;
    struct head head = { .bytes = (size_t)(end - answer) + 4, .keeps = true };
    if (sscanf(answer, "HTTP/1.1 %3u ", &head.status) != 1)
        die("no answer of HTTP/1.1: %s", answer);
    parse_lines(strstr(answer, "\r\n") + 2, end, &head);
    memo.head = head;
    memcpy(memo.bytes, answer, head.bytes);
    return true;
}

/* True once the memo has the head of the `held` bytes: the same bytes mean the same. */
static bool read_head(size_t held)
{
    const size_t known = memo.head.bytes;
    if (known > 0 && held >= known && memcmp(answer, memo.bytes, known) == 0)
        return true;
    return parse_head(held);
}

/* Receives one answer, whole and as it should be; its bytes. */
static size_t receive_answer(int fd)
{
    size_t held = 0;
    for (bool known = false;;) {
        held = receive_some(fd, held);
        if (!known && !(known = read_head(held)))
            continue;
        const uint64_t whole = memo.head.bytes + memo.head.body;
        if (held > whole)
            die("more came than one answer");
        if (held == whole)
            break;
    }
    if (memo.head.status != 200 || !memo.head.keeps)
        die("an answer of status %u, or the last one", memo.head.status);
    return held;
}

static void ask(int fd, const char *request, size_t bytes)
{
    if (send(fd, request, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        die_errno("send");
}

/* Until `end_ns`, judged and recorded. */
static void ask_and_judge(int fd, const char *request, size_t bytes, uint64_t end_ns)
{
    for (uint64_t sent_ns = now_ns(); sent_ns < end_ns; sent_ns = now_ns()) {
        ask(fd, request, bytes);
        receive_answer(fd);
        record(now_ns() - sent_ns);
    }
    report();
}

/* Until `end_ns`, counted only. */
static void ask_and_count(int fd, const char *request, size_t bytes, uint64_t end_ns)
{
    ask(fd, request, bytes);
    const size_t whole = receive_answer(fd);
    while (now_ns() < end_ns) {
        ask(fd, request, bytes);
        size_t held = 0;
        while (held < whole)
            held = receive_some(fd, held);
        if (held > whole)
            die("an answer of another length");
    }
}

/* Takes --bare away from the front of the arguments. */
static bool take_bare(int *argc, char ***argv)
{
    if (*argc < 2 || strcmp((*argv)[1], "--bare") != 0)
        return false;
    (*argc)--;
    (*argv)++;
    return true;
}

int main(int argc, char **argv)
{
    take_hold_tick(&argc, &argv);
    const bool bare = take_bare(&argc, &argv);
    if (argc != 4)
        die("limit_http [--hold-tick] [--bare] PORT REQUEST SECONDS");
    const char *request = argv[2];
    const size_t bytes = strlen(request);
    const uint64_t end_ns = now_ns() + (uint64_t)(number(argv[3], 0.1, 3600, "SECONDS") * 1e9);
    const int fd = connect_to("127.0.0.1", argv[1]);
    (bare ? ask_and_count : ask_and_judge)(fd, request, bytes, end_ns);
    return 0;
}
