//! What the kernel accounts to a process, a thread and a socket.
#![allow(
    unsafe_code,
    reason = "no crate among the dependencies asks the kernel for the use of a thread or for TCP_INFO"
)]

use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd as _};

use plumb_wire::extension::Cpu;

/// Processor time of this process, all its threads together: exact in the sum to a microsecond; how
/// it splits is by clock ticks.
pub(crate) fn of_process() -> Cpu {
    used(libc::RUSAGE_SELF)
}

/// Processor time of the calling thread, as exact.
pub(crate) fn of_thread() -> Cpu {
    used(libc::RUSAGE_THREAD)
}

fn used(who: libc::c_int) -> Cpu {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes one `rusage` to where the pointer leads. All zeros are one, too.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| {
        let part = |n: i64| u64::try_from(n).unwrap_or(0);
        part(time.tv_sec) * 1_000_000_000 + part(time.tv_usec) * 1_000
    };
    Cpu { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }
}

/// Segments that a TCP socket has sent again so far; `None` for a socket of another kind.
pub(crate) fn retransmits(socket: impl AsFd) -> Option<u64> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = libc::socklen_t::try_from(mem::size_of::<libc::tcp_info>()).ok()?;
    let needed = mem::offset_of!(libc::tcp_info, tcpi_total_retrans) + mem::size_of::<u32>();
    // SAFETY: the kernel writes at most `length` bytes to where the pointer leads, and says in
    // `length` how many. What it does not write stays zero, of which the structure may consist.
    let (result, info) = unsafe {
        let result = libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        );
        (result, info.assume_init())
    };
    (result == 0 && usize::try_from(length).is_ok_and(|written| written >= needed))
        .then(|| u64::from(info.tcpi_total_retrans))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_use_of_the_process_covers_that_of_the_thread() {
        let thread = of_thread();
        let process = of_process();
        assert!(process.user_ns + process.system_ns >= thread.user_ns + thread.system_ns);
        assert!(process.user_ns + process.system_ns > 0);
    }

    #[test]
    fn only_tcp_sends_again() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!(retransmits(&stream), Some(0));
        assert_eq!(retransmits(&UnixStream::pair().unwrap().0), None);
    }
}
