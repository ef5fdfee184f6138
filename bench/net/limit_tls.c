/* The limit of one round trip over TLS: OpenSSL on blocking sockets, one
 * SSL_write and, when the whole record is there, one recv a message.
 *
 *   limit_tls server PORT CERT KEY [BIND]
 *   limit_tls client HOST PORT SIZE SECONDS
 *
 * TLS 1.3 with AES-128 in GCM, and nothing else. A message is an NI frame: a
 * 4-byte big-endian length, then the payload. Read-ahead is on: without it
 * OpenSSL receives the head of each record apart. The client believes any
 * certificate, which costs nothing a message. */
#define _GNU_SOURCE
#include "limit.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>

static const double WARM_UP_SHARE = 0.1;
static const double ROUND_TRIPS_PER_S_MAX = 1e6;

enum { READ_AHEAD_BYTES = 64 << 10 };

__attribute__((noreturn))
static void die_ssl(const char *what)
{
    char reason[256];
    ERR_error_string_n(ERR_get_error(), reason, sizeof reason);
    die("%s: %s", what, reason);
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
    SSL_CTX *context = SSL_CTX_new(method);
    if (context == NULL || !SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION)
        || !SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256"))
        die_ssl("context");
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD_BYTES);
    return context;
}

static SSL *new_session(SSL_CTX *context, int fd)
{
    SSL *session = SSL_new(context);
    if (session == NULL || !SSL_set_fd(session, fd))
        die_ssl("session");
    return session;
}

/* Bytes of the frame now whole in `buffer`, 0 when the peer is gone. */
static size_t receive_frame(SSL *session, uint8_t *buffer, size_t capacity)
{
    size_t held = 0, frame_bytes = HEADER_BYTES;
    while (held < frame_bytes) {
        const int got = SSL_read(session, buffer + held, (int)(capacity - held));
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
    SSL *session = argument;
    const size_t capacity = HEADER_BYTES + PAYLOAD_BYTES_MAX + 1;
    uint8_t *buffer = allocate(capacity);
    size_t frame_bytes;
    if (SSL_accept(session) == 1)
        while ((frame_bytes = receive_frame(session, buffer, capacity)) > 0)
            if (SSL_write(session, buffer, (int)frame_bytes) <= 0)
                break;
    free(buffer);
    close(SSL_get_fd(session));
    SSL_free(session);
    return NULL;
}

static void serve(const char *port, const char *cert, const char *key, const char *host)
{
    SSL_CTX *context = new_context(TLS_server_method());
    if (SSL_CTX_use_certificate_file(context, cert, SSL_FILETYPE_PEM) != 1
        || SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
        die_ssl("certificate");
    const int listener = listen_on(host, port, 0);
    for (;;) {
        const int fd = accept_one(listener);
        pthread_t thread;
        if (pthread_create(&thread, NULL, echo, new_session(context, fd)) != 0)
            die("pthread_create");
        pthread_detach(thread);
    }
}

/* ---- client: one connection, one message in flight ---- */

struct link {
    SSL *session;
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
        if (SSL_write(link->session, link->frame, (int)link->frame_bytes) <= 0)
            die_ssl("write");
        if (receive_frame(link->session, link->buffer, link->buffer_bytes) != link->frame_bytes)
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
        .session = new_session(new_context(TLS_client_method()), connect_to(host, port)),
        .frame = new_frame(payload_bytes),
        .frame_bytes = frame_bytes,
        .buffer = allocate_touched(2 * frame_bytes),
        .buffer_bytes = 2 * frame_bytes,
    };
    if (SSL_connect(link.session) != 1)
        die_ssl("handshake");
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
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "server") == 0) {
        serve(argv[2], argv[3], argv[4], argc == 6 ? argv[5] : "127.0.0.1");
    } else if (argc == 6 && strcmp(argv[1], "client") == 0) {
        ping(argv[2], argv[3], (uint32_t)number(argv[4], 0, PAYLOAD_BYTES_MAX, "SIZE"),
             number(argv[5], 0.01, 3600, "SECONDS"));
    } else {
        fputs("usage: limit_tls server PORT CERT KEY [BIND]\n"
              "       limit_tls client HOST PORT SIZE SECONDS\n", stderr);
        return 2;
    }
    return 0;
}
