//! What the machine at the other end did while it was measured, as its `plumb host serve` tells.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use plumb_engine::Stop;
use plumb_engine::options::HostOptions;
use plumb_host::{FarHost, FarRecorder, HostFacts};
use plumb_measure::{ForeignLimit, ResultRecord, Span};

use crate::host_record;

/// A far machine that answers, before it is recorded.
pub(crate) struct FarHostWatch {
    host: FarHost,
}

/// A far machine that is recorded.
pub(crate) struct FarRecording {
    recorder: FarRecorder,
    name: String,
    facts: HostFacts,
}

impl FarHostWatch {
    /// Asks the far machine what it is; `None` when none is wanted.
    ///
    /// # Errors
    /// When it does not answer, or `stop` is asked before: nothing has been measured yet, and nothing should be.
    pub(crate) fn reach(options: &HostOptions, stop: &Stop) -> anyhow::Result<Option<Self>> {
        let Some(address) = &options.far_host else {
            return Ok(None);
        };
        if options.host_interval.ns() == 0 {
            bail!("--far-host needs samples: leave --host-interval 0s out");
        }
        let address = address.clone();
        let reached = stop.unless_asked(move || FarHost::reach(&address))?;
        let host = reached.context("cannot record the far host")?;
        Ok(Some(Self { host }))
    }

    /// What it is, for the record.
    pub(crate) fn facts(&self) -> plumb_measure::FarHost {
        let hello = self.host.hello();
        let facts = &hello.facts;
        let mut known = host_record::known(facts.clone());
        if !hello.not_watched.is_empty() {
            known.insert("not watched".into(), hello.not_watched.join("; "));
        }
        plumb_measure::FarHost {
            name: self.host.name().into(),
            address: self.host.address().into(),
            kernel: plain(&facts.system.join(" ")),
            cpus: u64::from(facts.cpus_online),
            round_trip_ns: self.host.round_trip_ns(),
            clock_ahead_ns: self.host.clock_ahead_ns(),
            facts: known.iter().map(|(name, value)| (plain(name), plain(value))).collect(),
        }
    }

    /// Begins to record it every `every` into `folder`.
    ///
    /// # Errors
    /// When the files cannot be made.
    pub(crate) fn record(self, every: Span, folder: &Path) -> anyhow::Result<FarRecording> {
        let name = self.host.name().to_owned();
        let facts = self.host.hello().facts.clone();
        Ok(FarRecording { recorder: FarRecorder::start(self.host, every, folder)?, name, facts })
    }
}

/// Words of another machine, which cannot steer a terminal.
fn plain(words: &str) -> String {
    words.replace(char::is_control, " ")
}

impl FarRecording {
    /// Adds what it did while `result`, whose recorded part began at `began_ns`, was measured.
    /// `limit` is how much of its processors the hypervisor may take.
    pub(crate) fn testify(&self, result: &mut ResultRecord, began_ns: u64, limit: ForeignLimit) {
        let usage = self.recorder.window(began_ns, began_ns + result.duration_ns);
        let mut validity = std::mem::take(&mut result.validity);
        if usage.samples > 0 {
            let far = host_record::of_usage(&usage, &self.facts);
            validity = validity.with_far(&far, limit, &self.name);
            result.far = Some(far);
        }
        if let Some(cause) = self.recorder.gap(began_ns, began_ns + result.duration_ns) {
            validity =
                validity.without_far(&self.name, &cause, usage.covered_ns, result.duration_ns);
        }
        result.validity = validity;
    }

    /// Ends the recording; the files that were written.
    pub(crate) fn stop(self) -> Vec<PathBuf> {
        self.recorder.stop()
    }
}
