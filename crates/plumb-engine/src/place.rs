//! Where a thread runs: on which processor, and in which network namespace.

use std::fs::File;
use std::num::NonZeroU64;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use rustix::thread::{
    CpuSet, LinkNameSpaceType, move_into_link_name_space, sched_setaffinity,
    set_current_timer_slack,
};

use crate::EngineError;
use crate::plan::LoadPlan;

/// Where `ip netns` keeps the namespaces that it names.
const NAMED: &str = "/run/netns";

/// Where one thread runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadContext<'a> {
    /// The processor; `None`: wherever the kernel puts it.
    pub cpu: Option<usize>,
    /// The network namespace, by its name or path; `None`: that of the program.
    pub netns: Option<&'a str>,
}

impl<'a> ThreadContext<'a> {
    /// The place that `plan` gives to its thread `number`.
    #[must_use]
    pub fn of(plan: &'a LoadPlan, number: usize) -> Self {
        let turn = |many: usize| number % many.max(1);
        Self {
            cpu: plan.pin.get(turn(plan.pin.len())).copied(),
            netns: plan.netns.get(turn(plan.netns.len())).map(String::as_str),
        }
    }

    /// Puts the calling thread there, and asks for timers without slack.
    ///
    /// # Errors
    /// [`EngineError::Plan`] when this machine has no such place, or the thread may not use it.
    pub fn settle(self) -> Result<(), EngineError> {
        // a kernel that refuses leaves the usual slack of 50 us, which the scheduling lag will show
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        if let Some(name) = self.netns {
            enter(name).map_err(|cause| {
                let text = "cannot enter the network namespace";
                let remedy = "`ip netns` lists those there are; root may enter them";
                EngineError::Plan(format!("{text} {name}: {cause}; {remedy}"))
            })?;
        }
        let Some(cpu) = self.cpu else { return Ok(()) };
        run_on(cpu).map_err(|cause| {
            EngineError::Plan(format!(
                "cannot run on processor {cpu}: {cause}; choose another with --pin"
            ))
        })
    }
}

fn enter(name: &str) -> std::io::Result<()> {
    let path = if name.contains('/') { PathBuf::from(name) } else { Path::new(NAMED).join(name) };
    let namespace = File::open(path)?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

fn run_on(cpu: usize) -> Result<(), String> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(format!("there are none above {}", CpuSet::MAX_CPU - 1));
    }
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_not_there_is_named() {
        let nowhere =
            ThreadContext { netns: Some("no-such-namespace"), ..ThreadContext::default() };
        let error = nowhere.settle().unwrap_err().to_string();
        assert!(error.contains("no-such-namespace") && error.contains("ip netns"), "{error}");
        let error =
            ThreadContext { cpu: Some(1 << 20), netns: None }.settle().unwrap_err().to_string();
        assert!(error.contains("choose another with --pin"), "{error}");
    }
}
