//! What the kernel accounts to a process and to a thread.
#![allow(
    unsafe_code,
    reason = "no crate among the dependencies asks the kernel for the use of a thread"
)]

use std::mem::MaybeUninit;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_use_of_the_process_covers_that_of_the_thread() {
        let thread = of_thread();
        let process = of_process();
        assert!(process.user_ns + process.system_ns >= thread.user_ns + thread.system_ns);
        assert!(process.user_ns + process.system_ns > 0);
    }
}
