//! What this machine tells of itself without being watched.

use plumb_engine::clock::{self, MonotonicClock};
use plumb_measure::HostFacts;

use crate::host_record;

/// The facts of this machine, for a load pinned to `pin`.
pub(crate) fn facts(pin: &[usize]) -> HostFacts {
    let system = rustix::system::uname();
    let words = [system.sysname(), system.release(), system.machine()];
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    HostFacts {
        name: system.nodename().to_string_lossy().into_owned(),
        kernel: words.join(" "),
        cpus: std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64),
        placement: placement(pin),
        clock: "CLOCK_MONOTONIC".into(),
        clock_read_ns: clock::read_cost_ns(&MonotonicClock),
        facts: host_record::facts(),
    }
}

/// Where the load may run: as asked for, or as whoever started us allowed.
fn placement(pin: &[usize]) -> String {
    if !pin.is_empty() {
        return format!("pinned to processor {}", list(pin));
    }
    match rustix::thread::sched_getaffinity(None) {
        Ok(allowed) => {
            let cpus: Vec<usize> =
                (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
            match cpus.as_slice() {
                [only] => format!("pinned to processor {only}"),
                _ => format!("not pinned, free to move over processors {}", list(&cpus)),
            }
        }
        Err(_) => "not pinned".into(),
    }
}

fn list(cpus: &[usize]) -> String {
    match cpus {
        [first, .., last] if last - first + 1 == cpus.len() && cpus.len() > 2 => {
            format!("{first}-{last}")
        }
        _ => cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}
