/* The limit of one round trip over TLS: OpenSSL on blocking sockets, one
 * SSL_write and, when the whole record is there, one recv a message.
 *
 *   limit_tls server PORT CERT KEY [BIND]
 *   limit_tls client HOST PORT SIZE SECONDS
 *
 * TLS 1.3 with AES-128 in GCM, and nothing else. Read-ahead is on: without it
 * OpenSSL receives the head of each record apart. The client believes any
 * certificate, which costs nothing a message. What is sent, and when, is in
 * limit_ping.h. */
#define _GNU_SOURCE
#include "limit.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <signal.h>

typedef SSL *connection;

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

static bool send_whole(connection session, const uint8_t *bytes, size_t count)
{
    return SSL_write(session, bytes, (int)count) > 0;
}

static void send_frame(connection session, const uint8_t *bytes, size_t count)
{
    if (!send_whole(session, bytes, count))
        die_ssl("write");
}

static ssize_t receive_some(connection session, uint8_t *buffer, size_t room)
{
    return SSL_read(session, buffer, (int)room);
}

#include "limit_ping.h"

static void *echo(void *argument)
{
    SSL *session = argument;
    if (SSL_accept(session) == 1)
        echo_all(session);
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
    for (;;)
        start_thread(echo, new_session(context, accept_one(listener)));
}

static SSL *shaken(const char *host, const char *port)
{
    SSL *session = new_session(new_context(TLS_client_method()), connect_to(host, port));
    if (SSL_connect(session) != 1)
        die_ssl("handshake");
    return session;
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    if ((argc == 5 || argc == 6) && strcmp(argv[1], "server") == 0) {
        serve(argv[2], argv[3], argv[4], argc == 6 ? argv[5] : "127.0.0.1");
    } else if (argc == 6 && strcmp(argv[1], "client") == 0) {
        ping(shaken(argv[2], argv[3]), payload_bytes(argv[4]), duration_s(argv[5]));
    } else {
        fputs("usage: limit_tls server PORT CERT KEY [BIND]\n"
              "       limit_tls client HOST PORT SIZE SECONDS\n", stderr);
        return 2;
    }
    return 0;
}
