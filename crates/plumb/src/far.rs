//! What the machine at the other end did while it was measured, as its `plumb host serve` tells.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use plumb_engine::options::HostOptions;
use plumb_host::{FarHost, FarRecorder};
use plumb_measure::{ResultRecord, Span};

use crate::witness;

/// A far machine that answers, before it is recorded.
pub(crate) struct FarWitness {
    host: FarHost,
}

/// A far machine that is recorded.
pub(crate) struct FarRecording {
    recorder: FarRecorder,
    name: String,
}

impl FarWitness {
    /// Asks the far machine what it is; `None` when none is wanted.
    ///
    /// # Errors
    /// When it does not answer: nothing has been measured yet, and nothing should be.
    pub(crate) fn reach(options: &HostOptions) -> anyhow::Result<Option<Self>> {
        let Some(address) = &options.far_host else {
            return Ok(None);
        };
        if options.host_interval.ns() == 0 {
            bail!("--far-host needs samples: leave --host-interval 0s out");
        }
        let host = FarHost::reach(address).context("cannot record the far host")?;
        Ok(Some(Self { host }))
    }

    /// What it is, for the record.
    pub(crate) fn facts(&self) -> plumb_measure::FarHost {
        let facts = &self.host.hello().facts;
        plumb_measure::FarHost {
            name: self.host.name().into(),
            address: self.host.address().into(),
            kernel: facts.system.join(" "),
            cpus: u64::from(facts.cpus_online),
            round_trip_ns: self.host.round_trip_ns(),
            clock_ahead_ns: self.host.clock_ahead_ns(),
            facts: witness::known(facts.clone()),
        }
    }

    /// Begins to record it every `every` into `folder`.
    ///
    /// # Errors
    /// When the files cannot be made.
    pub(crate) fn record(self, every: Span, folder: &Path) -> anyhow::Result<FarRecording> {
        let name = self.host.name().to_owned();
        Ok(FarRecording { recorder: FarRecorder::start(self.host, every, folder)?, name })
    }
}

impl FarRecording {
    /// Adds what it did while `result`, whose recorded part began at `began_ns`, was measured.
    /// `limit` is the share of all its processors that the hypervisor may take.
    pub(crate) fn testify(&self, result: &mut ResultRecord, began_ns: u64, limit: f64) {
        let usage = self.recorder.window(began_ns, began_ns + result.duration_ns);
        let mut validity = std::mem::take(&mut result.validity);
        if usage.samples > 0 {
            let far = witness::of_usage(&usage);
            validity = validity.with_far(&far, limit, &self.name);
            result.far = Some(far);
        }
        if let Some(cause) = self.recorder.lost() {
            validity = validity.without_far(&self.name, &cause);
        }
        result.validity = validity;
    }

    /// Ends the recording; the files that were written.
    pub(crate) fn stop(self) -> Vec<PathBuf> {
        self.recorder.stop()
    }
}
