/* What the limit programs share that wait in epoll for many connections. */
#ifndef LIMIT_EPOLL_H
#define LIMIT_EPOLL_H

#include "limit.h"

#include <fcntl.h>
#include <sys/epoll.h>

static const double WARM_UP_SHARE = 0.1;
static const uint32_t BOTH_WAYS = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

static inline void set_non_blocking(int fd)
{
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0)
        die_errno("O_NONBLOCK");
}

static inline void watch(int poll, int fd, uint32_t events, void *owner)
{
    struct epoll_event event = { .events = events, .data.ptr = owner };
    if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) != 0)
        die_errno("epoll_ctl");
}

/* The next connection that waits, or -1 when none does. */
static inline int accept_next(int listener)
{
    const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        no_delay(fd);
    else if (errno != EAGAIN && errno != ECONNABORTED)
        die_errno("accept");
    return fd;
}

#endif
