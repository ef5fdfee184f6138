//! A measurement that one remote carries out as a whole, and whose run is kept here.

use std::fs;

use anyhow::{Context as _, bail};
use plumb_engine::Stop;
use plumb_engine::clock;
use plumb_engine::layer::Measure;
use plumb_measure::RemoteSelector;
use plumb_remote::{Fleet, Nats, PlanFiles};
use plumb_wire::secret;
use serde_json::json;

use super::drivers::without_own;
use super::{target, told};
use crate::measure::{Run, open_folder};

/// The option of a plan that names the remote on which the measurement ran.
pub(crate) const MEASURED_ON: &str = "measured-on";

/// Has the only remote of `selector` carry out the measurement `job` of `words`.
///
/// # Errors
/// When there is not one remote, it cannot measure, or its run cannot be kept.
pub(crate) fn measure_there(
    selector: &RemoteSelector,
    job: &mut dyn Measure,
    words: &[String],
    stop: &Stop,
) -> anyhow::Result<Run> {
    let RemoteSelector::Nats { url, of } = selector else {
        bail!("a measurement of this machine needs no remote");
    };
    if job.remotes().is_some() {
        bail!("--remotes: a remote that measures alone has none of its own");
    }
    let files = PlanFiles::read(&job.files())?;
    let mut fleet =
        Fleet::nats(&Nats::connect(&target::of_controller(url.as_deref())?, stop)?, of)?;
    let names: Vec<String> = fleet.members().map(|(hello, _)| hello.name.clone()).collect();
    let [name] = &names[..] else {
        bail!("{} answer to that: name one remote", names.join(", "));
    };
    let outline = job.outline();
    let folder = open_folder(job.output(), &outline, clock::wall_ns())?;
    fleet.begin_alone(&without_own(words), files);
    let followed = fleet.follow(stop, told);
    let part = fleet.end(stop, told).pop();
    let Some((mut record, files)) = part.and_then(|part| Some((part.record?, part.files))) else {
        folder.discard();
        followed?;
        bail!("{name} has handed over no record");
    };
    record.plan.command = secret::masked_words(&[&["plumb".to_owned()], words].concat());
    record.plan.options.insert(MEASURED_ON.into(), json!(name));
    let mut unkept = None;
    for (name, bytes) in files {
        let path = folder.path().join(name);
        let written = fs::write(&path, bytes);
        let written = written.with_context(|| format!("cannot write {}", path.display()));
        unkept = unkept.or(written.err());
    }
    Ok(Run::keep(record, folder, unkept))
}
