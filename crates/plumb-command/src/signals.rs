//! Ctrl-C, SIGTERM and SIGHUP: the work is told to stop, and leaves what it has.

use std::fs;
use std::num::NonZeroI32;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use plumb_engine::Stop;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// A request to stop that the first signal makes. A second Ctrl-C or SIGTERM ends the process at once.
///
/// # Errors
/// When no descriptor is left, or the kernel takes no handler.
pub fn stop() -> anyhow::Result<Stop> {
    let stop = Stop::new().context("no descriptors are left")?;
    // a terminal that closes is no first Ctrl-C: whoever started this one may send SIGTERM behind it
    let again = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // in this order: the first delivery must find the flag still unset
        flag::register_conditional_shutdown(signal, 130, Arc::clone(&again))
            .and_then(|_| flag::register(signal, Arc::clone(&again)))
            .context("cannot listen for Ctrl-C")?;
    }
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

/// Ends, as if somebody had sent SIGTERM, with the process that [`STARTER`] names, if that is the one
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
