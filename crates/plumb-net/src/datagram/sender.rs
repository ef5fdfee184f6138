//! Sending a stream of datagrams at a pace. The same on both sides.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plumb_engine::Stop;
use plumb_engine::clock::MonotonicClock;
use plumb_measure::Clock as _;
use plumb_wire::datagram::{Head, Kind, Sending};
use rustix::io::Errno;

use crate::account;

/// Who is further behind than this does not make up for it: what would go out at once then is a load
/// that nobody asked for.
const BEHIND_MAX_NS: u64 = 10_000_000;

/// How often it is looked whether somebody still wants what is to be sent.
const LOOK_NS: u64 = 1_000_000_000;

/// What a sender has done so far, for whoever looks on.
#[derive(Debug, Default)]
pub(crate) struct SendGauge {
    sent: AtomicU64,
    unsent: AtomicU64,
    cpu_ns: AtomicU64,
    over: AtomicBool,
}

impl SendGauge {
    /// Datagrams that the kernel took.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Acquire)
    }

    /// Datagrams that the kernel had no room for.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent.load(Ordering::Relaxed)
    }

    /// Processor time that it took, once it is over, nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(Ordering::Relaxed)
    }

    /// Nothing more is sent: the counts stay.
    pub(crate) fn over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// Sends what `sending` says under `token`, until its time is over, `stop` is asked or it is not
/// `wanted` any more at a moment; `send` hands over one datagram. The error is what ended it early.
pub(crate) fn send_paced(
    sending: Sending,
    token: u64,
    gauge: &SendGauge,
    until: (&Stop, impl Fn(u64) -> bool),
    send: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let ended = send_all(sending, token, gauge, until, send);
    let cpu = account::of_thread();
    gauge.cpu_ns.store(cpu.user_ns + cpu.system_ns, Ordering::Relaxed);
    gauge.over.store(true, Ordering::Release);
    ended
}

fn send_all(
    sending: Sending,
    token: u64,
    gauge: &SendGauge,
    (stop, wanted): (&Stop, impl Fn(u64) -> bool),
    mut send: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut head = Head { kind: Kind::Data, token, number: 0, stamp: 0 };
    let mut datagram = head.filled(usize::try_from(sending.bytes).unwrap_or(0));
    let mut due = MonotonicClock.now_ns();
    let until = due.saturating_add(sending.length_ns);
    while !stop.asked() {
        let now = MonotonicClock.now_ns();
        if now >= until {
            break;
        }
        if !wanted(now) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if due > now {
            stop.wait_until(due.min(until).min(now.saturating_add(LOOK_NS)))?;
            continue;
        }
        // whoever asks may name any time in between
        due = due.max(now.saturating_sub(BEHIND_MAX_NS)).saturating_add(sending.every_ns);
        head.stamp = now;
        head.write(&mut datagram);
        match send(&datagram) {
            Ok(()) => {
                head.number += 1;
                gauge.sent.store(head.number, Ordering::Release);
            }
            Err(error) if has_no_room(&error) => {
                gauge.unsent.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// True of what passes by itself.
fn has_no_room(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOBUFS | Errno::AGAIN | Errno::INTR))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_is_due_in_years_is_waited_for_only_as_long_as_somebody_wants_it() {
        for every_ns in [1 << 62, u64::MAX] {
            let sending = Sending { bytes: 100, every_ns, length_ns: u64::MAX };
            let (gauge, stop) = (SendGauge::default(), Stop::new().unwrap());
            let handed = Cell::new(0);
            let send = |_: &[u8]| {
                handed.set(handed.get() + 1);
                Ok(())
            };
            // wanted when the first has gone, and not any more when it is looked again
            let asked = Cell::new(0);
            let wanted = |_| {
                asked.set(asked.get() + 1);
                asked.get() < 3
            };
            let ended = send_paced(sending, 7, &gauge, (&stop, wanted), send).unwrap_err();
            assert_eq!(ended.kind(), io::ErrorKind::TimedOut);
            assert_eq!((handed.get(), gauge.sent(), gauge.over()), (1, 1, true));
        }
    }
}
