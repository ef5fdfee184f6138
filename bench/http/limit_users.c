/* The least that the users of flights.jmx cost a client that only waits, sends and receives.
 *
 *   limit_users [--hold-tick] PORT USERS THINK_MS DETAILS SECONDS
 *
 * A thread for each user, on a connection of its own: it asks for the list, and then for each of
 * the DETAILS after a pause between nothing and THINK_MS. Receiving blocks. Ends after SECONDS.
 *
 * It reads no list, judges no answer and measures nothing. */
#define _GNU_SOURCE
#include "../net/limit.h"

#include <pthread.h>

enum {
    REQUEST_BYTES = 256,
    ANSWER_BYTES = 64 << 10,
    USERS_MAX = 256,
    NS_PER_MS = 1000000,
};

static const char *port;
static unsigned think_ns, details;
static uint64_t end_ns;

static size_t content_length(const char *head)
{
    static const char name[] = "Content-Length: ";
    const char *at = strstr(head, name);
    if (at == NULL)
        die("an answer without a length: %s", head);
    return strtoul(at + strlen(name), NULL, 10);
}

/* Receives one answer whole. */
static void receive(int fd, char *answer)
{
    size_t held = 0, length = 0;
    while (length == 0 || held < length) {
        before_wait();
        ssize_t count = recv(fd, answer + held, ANSWER_BYTES - 1 - held, 0);
        if (count <= 0)
            die("the server has closed, or an answer is too long");
        held += (size_t)count;
        answer[held] = '\0';
        const char *content = length == 0 ? strstr(answer, "\r\n\r\n") : NULL;
        if (content != NULL)
            length = (size_t)(content - answer) + 4 + content_length(answer);
    }
}

static void ask(int fd, const char *path, char *answer)
{
    char request[REQUEST_BYTES];
    int length = snprintf(request, sizeof request,
                          "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nAccept: application/json\r\n\r\n",
                          path, port);
    if (send(fd, request, (size_t)length, MSG_NOSIGNAL) != length)
        die_errno("send");
    receive(fd, answer);
}

static void *user(void *seed_of)
{
    unsigned seed = (unsigned)(uintptr_t)seed_of;
    char path[64], *answer = allocate(ANSWER_BYTES);
    int fd = connect_to("127.0.0.1", port);
    while (now_ns() < end_ns) {
        ask(fd, "/flights.json", answer);
        for (unsigned detail = 0; detail < details && now_ns() < end_ns; detail++) {
            if (think_ns > 0) {
                struct timespec pause = { .tv_nsec = rand_r(&seed) % think_ns };
                nanosleep(&pause, NULL);
            }
            snprintf(path, sizeof path, "/flight-%04u.json", detail);
            ask(fd, path, answer);
        }
    }
    close(fd);
    free(answer);
    return NULL;
}

int main(int argc, char **argv)
{
    take_hold_tick(&argc, &argv);
    if (argc != 6)
        die("limit_users [--hold-tick] PORT USERS THINK_MS DETAILS SECONDS");
    port = argv[1];
    unsigned users = (unsigned)number(argv[2], 1, USERS_MAX, "USERS");
    think_ns = (unsigned)(number(argv[3], 0, 999, "THINK_MS") * NS_PER_MS);
    details = (unsigned)number(argv[4], 1, 9999, "DETAILS");
    end_ns = now_ns() + (uint64_t)(number(argv[5], 0.1, 3600, "SECONDS") * 1e9);
    pthread_t threads[USERS_MAX];
    for (uintptr_t each = 0; each < users; each++)
        if (pthread_create(&threads[each], NULL, user, (void *)each) != 0)
            die("no thread for user %zu", (size_t)each);
    for (unsigned each = 0; each < users; each++)
        pthread_join(threads[each], NULL);
    return 0;
}
