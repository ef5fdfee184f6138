//! The generic netlink family over which the kernel tells the statistics of SMC.

use plumb_netlink::Family;
use plumb_netlink::smc::SmcCounters;
use plumb_procfs::fields::lines;
use plumb_procfs::{Root, State};

pub(super) const SMC: &[u8] = b"SMC_GEN_NETLINK\0";
const GET_LINK_GROUPS: u8 = 2;
const GET_STATISTICS: u8 = 7;
const GET_FALLBACKS: u8 = 8;

/// Asks the kernel for the statistics of SMC.
#[derive(Debug)]
pub(crate) struct Smc {
    family: Option<Family>,
    state: State,
}

impl Smc {
    /// Looks whether this kernel has SMC.
    pub(crate) fn new(root: &Root) -> Self {
        // asking for a family that is not there makes the kernel load its module, and whoever
        // looks on must change nothing
        let opened = match is_loaded(root) {
            true => Family::open(SMC),
            false => Ok(None),
        };
        let (family, state) = match opened {
            Ok(Some(family)) => (Some(family), State::Active),
            Ok(None) => (
                None,
                State::Unsupported(
                    "this kernel has no SMC, or it is not loaded (modprobe smc)".into(),
                ),
            ),
            Err(error) => (None, State::Failed(format!("cannot ask the kernel for SMC: {error}"))),
        };
        Self { family, state }
    }

    pub(crate) fn disabled() -> Self {
        Self { family: None, state: State::Disabled }
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Reads all counters; false when there are none.
    pub(crate) fn read(&mut self, counters: &mut SmcCounters) -> bool {
        let Some(family) = &mut self.family else {
            return false;
        };
        counters.clear();
        for command in [GET_STATISTICS, GET_FALLBACKS, GET_LINK_GROUPS] {
            if let Err(error) = family.dump(command, |datagram| counters.take(datagram)) {
                self.state = State::Failed(format!("the kernel does not tell of SMC: {error}"));
                self.family = None;
                return false;
            }
        }
        true
    }
}

/// Whether this kernel has SMC now. Looking changes nothing.
pub(super) fn is_loaded(root: &Root) -> bool {
    let protocols = std::fs::read(root.proc("net/protocols")).unwrap_or_default();
    lines(&protocols).any(|line| line.starts_with(b"SMC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_has_smc_or_says_that_it_has_not() {
        let mut smc = Smc::new(&Root::default());
        let mut counters = SmcCounters::default();
        assert_eq!(smc.read(&mut counters), smc.state().is_active(), "{}", smc.state());
    }
}
