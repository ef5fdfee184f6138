//! Ctrl-C and SIGTERM: the work is told to stop, and leaves what it has.

use anyhow::Context as _;
use plumb_engine::Stop;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// A request to stop that the first signal makes. The second ends the process at once.
pub(crate) fn stop() -> anyhow::Result<Stop> {
    let stop = Stop::new().context("no descriptors are left")?;
    for signal in [SIGINT, SIGTERM] {
        // the order matters: the first delivery must find the flag still unset, and whoever is
        // woken must find it set
        flag::register_conditional_shutdown(signal, 130, stop.flag())
            .and_then(|_| flag::register(signal, stop.flag()))
            .and_then(|_| pipe::register(signal, stop.waker()?))
            .context("cannot listen for Ctrl-C")?;
    }
    Ok(stop)
}
