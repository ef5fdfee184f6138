//! Ctrl-C, SIGTERM and SIGHUP: the work is told to stop, and leaves what it has.

use std::fs;
use std::num::NonZeroI32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::Context as _;
use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level, low_level::pipe};

/// How long behind the first Ctrl-C or SIGTERM another one is the order to end at once: whoever gives it
/// has seen that the first did not end the process. A program that passes a signal on to its child and to
/// its group, as `timeout` does, sends it twice within milliseconds, and means one request.
const AGAIN_NS: u64 = 500_000_000;

/// A request to stop that the first signal makes. Another Ctrl-C or SIGTERM half a second or more behind the
/// first ends the process at once.
///
/// # Errors
/// When no descriptor is left, or the kernel takes no handler.
pub fn stop() -> anyhow::Result<Stop> {
    let stop = Stop::new().context("no descriptors are left")?;
    end_at_once_when_asked_again().context("cannot listen for Ctrl-C")?;
    // a terminal that closes sends SIGHUP, and the shell in it sends another: that is one request
    let hangup = Some(SIGHUP).filter(|signal| !is_ignored(*signal));
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        // in this order: whoever is woken must find the flag set
        flag::register(signal, stop.flag())
            .and_then(|_| pipe::register(signal, stop.waker()?))
            .context("cannot listen for signals")?;
    }
    Ok(stop)
}

/// Ends the process at another Ctrl-C or SIGTERM, long behind the first. A terminal that closes is no
/// first one: whoever started this process may send SIGTERM behind it.
#[expect(unsafe_code, reason = "no safe function has a handler that asks when a signal came")]
fn end_at_once_when_asked_again() -> std::io::Result<()> {
    let first = Arc::new(FirstRequest::default());
    for signal in [SIGINT, SIGTERM] {
        let first = Arc::clone(&first);
        let heard = move || {
            if first.is_long_before(MonotonicClock.now_ns()) {
                low_level::exit(130);
            }
        };
        // SAFETY: what the handler does may be done in one: it reads the clock, exchanges an atomic number,
        // and ends the process without running anything else.
        unsafe { low_level::register(signal, heard) }?;
    }
    Ok(())
}

/// When somebody first asked to stop, by the monotonic clock; 0: nobody has.
#[derive(Debug, Default)]
struct FirstRequest(AtomicU64);

impl FirstRequest {
    /// True when a request at `now_ns` is not that of whoever made the first; without one it is the
    /// first.
    fn is_long_before(&self, now_ns: u64) -> bool {
        let first = self.0.compare_exchange(0, now_ns, Ordering::Relaxed, Ordering::Relaxed);
        first.is_err_and(|first_ns| now_ns.saturating_sub(first_ns) >= AGAIN_NS)
    }
}

/// True when whoever started this process has it ignore `signal`, as `nohup` does, or nobody knows.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Names the process with which a server that it started for a while ends, however that ends.
pub const PARENT: &str = "PLUMB_PARENT";

/// Names the process that started a command for somebody else, who may be gone with it.
const STARTER: &str = "PLUMB_STARTER";

/// Ends, as if somebody had sent SIGTERM, with the process that `STARTER` names, if that is the one
/// that started this one: what this one starts inherits the name, and is not meant.
///
/// # Errors
/// When the kernel does not take the request.
pub fn end_with_starter() -> anyhow::Result<()> {
    let named = std::env::var(STARTER).ok().and_then(|number| number.parse::<i32>().ok());
    if named.is_some() && getppid().map(Pid::as_raw_nonzero).map(NonZeroI32::get) == named {
        set_parent_process_death_signal(Some(Signal::TERM))
            .context("cannot end with the parent")?;
    }
    Ok(())
}

/// Asks `stop` when the process that [`PARENT`] names is gone, if there is one.
///
/// # Errors
/// When the kernel does not take the request.
pub fn end_with_parent(stop: &Stop) -> anyhow::Result<()> {
    let Some(parent) = std::env::var(PARENT).ok().and_then(|number| number.parse::<i32>().ok())
    else {
        return Ok(());
    };
    // as if somebody had sent SIGTERM
    set_parent_process_death_signal(Some(Signal::TERM)).context("cannot end with the parent")?;
    if getppid().map(Pid::as_raw_nonzero).map(NonZeroI32::get) != Some(parent) {
        stop.ask(); // it went in between
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_long_after_the_first_request_is_another() {
        let first = FirstRequest::default();
        let begun = 7_000 * AGAIN_NS;
        let again = [0, 200_000, AGAIN_NS - 1, AGAIN_NS, 9 * AGAIN_NS];
        let found = again.map(|behind| first.is_long_before(begun + behind));
        assert_eq!(found, [false, false, false, true, true]);
    }
}
