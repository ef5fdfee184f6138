//! The kernel's own texts, read as they are: counters since the start of the machine, in the
//! kernel's units. One file each; no parser does I/O, allocates once its storage has grown, or
//! panics.

mod diskstats;
mod interrupts;
mod loadavg;
mod meminfo;
mod net_dev;
mod pressure;
mod snmp;
mod softirqs;
mod softnet;
mod stat;
mod vmstat;

pub use diskstats::{Disk, DiskKind, Diskstats};
pub use interrupts::{Interrupt, Interrupts};
pub use loadavg::{FileNr, Loadavg};
pub use meminfo::Meminfo;
pub use net_dev::{Interface, InterfaceKind, NetDev};
pub use pressure::Pressure;
pub use snmp::{Netstat, Snmp};
pub use softirqs::{SOFTIRQS, Softirqs};
pub use softnet::{Softnet, SoftnetLine};
pub use stat::{CpuTicks, Stat, Ticks};
pub use vmstat::Vmstat;

/// Why a text is not what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has no {0}, which every kernel known here writes")]
pub struct Unreadable(pub &'static str);

/// The counters of one file of the kernel.
pub trait Counters: Default {
    /// Takes the figures of `text` in place of those it holds.
    ///
    /// # Errors
    /// [`Unreadable`] when the text is of another form; what is held is then of no use.
    fn parse(&mut self, text: &[u8]) -> Result<(), Unreadable>;
}

#[cfg(test)]
pub(crate) fn parsed<T: Counters>(text: &str) -> T {
    let mut counters = T::default();
    counters.parse(text.as_bytes()).expect("a text that is well formed");
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn survives<T: Counters>(bytes: &[u8]) {
        let mut counters = T::default();
        let _ = counters.parse(bytes);
        let _ = counters.parse(bytes); // into storage that was used
    }

    fn all_survive(bytes: &[u8]) {
        survives::<Stat>(bytes);
        survives::<Loadavg>(bytes);
        survives::<FileNr>(bytes);
        survives::<Meminfo>(bytes);
        survives::<Vmstat>(bytes);
        survives::<Diskstats>(bytes);
        survives::<NetDev>(bytes);
        survives::<Snmp>(bytes);
        survives::<Netstat>(bytes);
        survives::<Softirqs>(bytes);
        survives::<Softnet>(bytes);
        survives::<Interrupts>(bytes);
        survives::<Pressure>(bytes);
    }

    proptest! {
        #[test]
        fn no_bytes_make_a_parser_panic(bytes: Vec<u8>) {
            all_survive(&bytes);
        }

        #[test]
        fn nor_do_words_of_the_kernel_in_any_order(
            words in proptest::collection::vec(
                prop_oneof![
                    Just("cpu"), Just("cpu0"), Just("cpu4294967296"), Just("intr"), Just("\n"),
                    Just("Tcp:"), Just("TcpExt:"), Just("eth0:"), Just("NET_RX:"), Just("CPU0"),
                    Just("24:"), Just("some"), Just("total="), Just("total=7"), Just("1/2"),
                    Just("18446744073709551615"), Just("-1"), Just("0"), Just(":"), Just("kB"),
                ],
                0..60,
            )
        ) {
            all_survive(words.join(" ").as_bytes());
        }
    }
}
