/* The least that a client with one connection costs: one send and one recv a request, on a blocking
 * socket that stays open.
 *
 *   limit_http [--hold-tick] PORT REQUEST SECONDS
 *
 * Sends REQUEST, which holds every byte of it, again and again to PORT of 127.0.0.1. The first
 * answer says how long all of them are; the others are counted, and neither read nor judged. */
#define _GNU_SOURCE
#include "../net/limit.h"

enum { ANSWER_BYTES = 64 << 10 };

static char answer[ANSWER_BYTES];

static size_t receive_some(int fd, size_t held)
{
    before_wait();
    const ssize_t count = recv(fd, answer + held, sizeof answer - 1 - held, 0);
    if (count <= 0)
        die("the server has closed, or an answer is too long");
    return held + (size_t)count;
}

/* Bytes of the answer to the first request, its head included. */
static size_t learn_length(int fd)
{
    static const char name[] = "Content-Length: ";
    for (size_t held = 0, whole = 0;;) {
        held = receive_some(fd, held);
        answer[held] = '\0';
        const char *end = strstr(answer, "\r\n\r\n");
        if (whole == 0 && end != NULL) {
            const char *length = strstr(answer, name);
            if (strncmp(answer, "HTTP/1.1 200 ", 13) != 0 || length == NULL || length > end)
                die("no answer of a known length: %s", answer);
            whole = (size_t)(end - answer) + 4 + strtoul(length + strlen(name), NULL, 10);
        }
        if (whole > 0 && held >= whole) {
            if (held > whole)
                die("more came than one answer");
            return whole;
        }
    }
}

static void ask(int fd, const char *request, size_t bytes)
{
    if (send(fd, request, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        die_errno("send");
}

int main(int argc, char **argv)
{
    take_hold_tick(&argc, &argv);
    if (argc != 4)
        die("limit_http [--hold-tick] PORT REQUEST SECONDS");
    const char *request = argv[2];
    const size_t bytes = strlen(request);
    const uint64_t end_ns = now_ns() + (uint64_t)(number(argv[3], 0.1, 3600, "SECONDS") * 1e9);
    const int fd = connect_to("127.0.0.1", argv[1]);
    ask(fd, request, bytes);
    const size_t whole = learn_length(fd);
    while (now_ns() < end_ns) {
        ask(fd, request, bytes);
        size_t held = 0;
        while (held < whole)
            held = receive_some(fd, held);
        if (held > whole)
            die("an answer of another length");
    }
    return 0;
}
