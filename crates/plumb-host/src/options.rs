//! What is watched, and how often.

use clap::Args;
use plumb_measure::{LinkSpeed, Span};
use plumb_procfs::Root;
use plumb_procfs::process::Wanted;

use crate::HostError;
use crate::monitor::MonitorPlan;
use crate::subject::Subject;

/// The shortest time between two samples.
pub(crate) const EVERY_LEAST: Span = Span::from_ns(10_000_000);

/// What is watched, and how often.
#[derive(Args, Clone, Debug)]
pub struct WatchedOptions {
    /// Time between two samples, at least 10ms
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub every: Span,

    /// Follow a process, by its number or by its name; repeatable
    ///
    /// All processes of that name are followed, also those that begin later.
    #[arg(long, value_name = "PID|NAME")]
    pub process: Vec<Wanted>,

    /// The speed of a link that its driver does not tell, or not truly, for example eth0=1Gbit; repeatable
    #[arg(long, value_name = "IFACE=RATE")]
    pub link: Vec<LinkSpeed>,

    /// Leave something out; a list
    #[arg(long, value_name = "SUBJECT,...", value_delimiter = ',')]
    pub without: Vec<Subject>,

    /// Look at all processes no more often than this; 0s: never
    ///
    /// Looking at a thousand processes costs a hundred times what everything else costs.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub top_every: Span,

    /// Read `proc` and `sys` below this folder instead
    #[arg(long, value_name = "DIR", hide = true)]
    pub root: Option<std::path::PathBuf>,
}

impl WatchedOptions {
    /// The plan of a monitor.
    ///
    /// # Errors
    /// [`HostError`] when the pace is too fast or a process is not there.
    pub fn plan(&self) -> Result<MonitorPlan, HostError> {
        if self.every < EVERY_LEAST {
            return Err(HostError::TooOften { every: self.every, least: EVERY_LEAST });
        }
        let root = self.root.as_deref().map_or_else(Root::of_this_machine, Root::below);
        for wanted in &self.process {
            match wanted {
                Wanted::Pid(pid) if !root.proc(&pid.to_string()).exists() => {
                    return Err(HostError::NoProcess(*pid));
                }
                Wanted::Pid(_) | Wanted::Name(_) => {}
            }
        }
        Ok(MonitorPlan {
            root,
            without: self.without.clone(),
            processes: self.process.clone(),
            links: self.link.clone(),
            top_every_ns: (self.top_every.ns() > 0).then(|| self.top_every.ns()),
            every_ns: Some(self.every.ns()),
        })
    }
}
