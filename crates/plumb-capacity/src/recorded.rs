//! What another instrument recorded of the machine under test while a ladder was climbed: nmon, or
//! the CSV of Windows.

mod clock;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use plumb_measure::{ResultRecord, RunRecord};
use plumb_nmon::{BusyRule, Moment, Nmon, Options, Recording, Stamp, Trouble, Window};
use serde::Serialize;

pub(crate) use clock::ClockOffset;

use clock::RecordingClock;

/// How far two clocks and whole seconds may put a snapshot beside its step, seconds.
const SLACK_S: i64 = 1;
const HALF_AN_HOUR_S: i64 = 1_800;
const SECOND_NS: u64 = 1_000_000_000;
/// Snapshots that a step has at least.
const SNAPSHOTS_MIN: usize = 2;

/// A recording of the machine under test.
#[derive(Debug, Serialize)]
pub(crate) struct Recorded {
    /// The file.
    pub(crate) file: PathBuf,
    /// The machine, as the file names it.
    pub(crate) machine: String,
    /// The program that recorded.
    recorder: String,
    #[serde(flatten)]
    clock: RecordingClock,
    /// Its processors.
    pub(crate) cores: u32,
    #[serde(skip)]
    ends: [Stamp; 2],
    #[serde(skip)]
    interval_s: i64,
}

/// What the machine under test did during one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StepUse {
    /// Processors that were busy.
    pub(crate) busy_cores: f64,
    /// Memory in use, bytes; absent where it was not recorded.
    pub(crate) memory_bytes: Option<f64>,
    /// The load generator ran on another machine.
    pub(crate) elsewhere: bool,
}

impl Recorded {
    /// Looks into `file`. `clock` says how far its clock is ahead of UTC; without it the file says
    /// so, or it is taken for the clock of this machine. `cores` are its processors, where the file
    /// does not name them.
    pub(crate) fn open(
        file: &Path,
        clock: Option<ClockOffset>,
        cores: Option<u32>,
    ) -> anyhow::Result<Self> {
        Self::open_in(TimeZone::system(), file, clock, cores)
    }

    fn open_in(
        zone: TimeZone,
        file: &Path,
        clock: Option<ClockOffset>,
        cores: Option<u32>,
    ) -> anyhow::Result<Self> {
        let shown = file.display();
        let (recording, troubles) = only(file, &Options::default())?;
        let facts = &recording.facts;
        let ends = recording.timeline.ends();
        let ends = ends.with_context(|| format!("{shown} has no snapshot with its time"))?;
        let cores = cores.map_or_else(|| processors(file, &recording), Ok)?;
        ensure!(
            recording.busy_pct().is_some(),
            "{shown} does not say how busy the processors were: record CPU_ALL, or of Windows \
             \"\\Processor(_Total)\\% Processor Time\""
        );
        Ok(Self {
            file: file.to_owned(),
            machine: facts.host().unwrap_or("a machine without a name").to_owned(),
            recorder: facts.recorder().unwrap_or_else(|| "an unknown program".to_owned()),
            clock: RecordingClock::of(clock, (&recording, &troubles), ends, zone)?,
            cores,
            ends,
            interval_s: recording.timeline.interval_s().map_or(1, i64::from),
        })
    }

    /// What is said of it.
    pub(crate) fn words(&self) -> String {
        let Self { machine, recorder, clock, .. } = self;
        format!(
            "How busy {machine} was, and how full its memory, is what {recorder} recorded in {}; its \
             clock is taken as {clock}.",
            self.file.display()
        )
    }

    /// What it did while `result` of `record` was measured.
    pub(crate) fn during(
        &self,
        record: &RunRecord,
        result: &ResultRecord,
    ) -> anyhow::Result<StepUse> {
        let step_s = self.step_s(record, result)?;
        let (busy_cores, memory_bytes) = self.used(step_s, &result.name())?;
        Ok(StepUse { busy_cores, memory_bytes, elsewhere: self.is_elsewhere(record) })
    }

    /// Processors that were busy, and memory in use, from one second of its clock to another, which are
    /// those of the step of `name`.
    fn used(&self, (from_s, to_s): (i64, i64), name: &str) -> anyhow::Result<(f64, Option<f64>)> {
        let twice = || {
            format!(
                "the clock of {} was turned back and showed the times of the step of {name} twice: \
                 measure it at another hour",
                self.machine
            )
        };
        // whole seconds within a short step may end before they begin, by two at most
        ensure!(from_s <= to_s + 2, twice());
        let [first, last] = &self.ends;
        if from_s + SLACK_S < first.local_s - i64::from(first.seconds)
            || last.local_s + SLACK_S < to_s
        {
            bail!(
                "the step of {name} went from {} to {} by the clock of {}, taken as {}, its recording \
                 from {} to {}: give --recording-clock, such as +01:00, or the recording \
                 of these steps",
                shown(from_s),
                shown(to_s),
                self.machine,
                self.clock,
                shown(first.local_s),
                shown(last.local_s),
            );
        }
        let from = Some(moment(from_s - SLACK_S)?);
        let window = Window { from, to: Some(moment(to_s + SLACK_S)?), whole: true };
        let few = |found: usize| {
            format!(
                "{} has {found} snapshots within the step of {name}, {} s apart: {SNAPSHOTS_MIN} are \
                 needed; record more often, or measure each step for longer",
                self.file.display(),
                self.interval_s,
            )
        };
        let recording = only(&self.file, &Options { window, ..Options::default() });
        let (recording, _) = recording.with_context(|| few(0))?;
        let stamps = recording.timeline.stamps();
        ensure!(stamps.len() >= SNAPSHOTS_MIN, few(stamps.len()));
        ensure!(!stamps.windows(2).any(|pair| is_again(pair[0], pair[1])), twice());
        let of_cores = recording.cores_busy().and_then(|busy| busy.stat.average());
        let of_share = || {
            let share = recording.busy_pct()?.average()?;
            Some(share / 100.0 * f64::from(self.cores))
        };
        let busy_cores = of_cores.or_else(of_share).with_context(|| few(0))?;
        let memory_bytes = recording.memory_used_mb().map(|mb| mb * 1_048_576.0);
        Ok((busy_cores, memory_bytes))
    }

    /// True when the load generator ran on another machine.
    pub(crate) fn is_elsewhere(&self, record: &RunRecord) -> bool {
        let short = |name: &str| name.split('.').next().unwrap_or(name).to_lowercase();
        short(&self.machine) != short(&record.host.name)
    }

    /// When a step began and ended, seconds by the clock of the recording: whole ones that lie within
    /// it, wherever in its second the run began.
    fn step_s(&self, record: &RunRecord, result: &ResultRecord) -> anyhow::Result<(i64, i64)> {
        let (Some(first), Some(last)) = (result.intervals.first(), result.intervals.last()) else {
            bail!("the step of {} does not say when it ran", result.name());
        };
        let started: Timestamp =
            record.started.parse().context("the run does not say when it began")?;
        let ended_ns = last.start_ns.saturating_add(last.duration_ns);
        let (from_s, to_s) = whole_seconds(first.start_ns, ended_ns)?;
        let began_s = started.as_second();
        Ok((self.clock.showed_s(began_s + from_s)?, self.clock.showed_s(began_s + to_s)?))
    }
}

/// True where the clock shows the times up to `before`, or this one, once more from `behind` on, as it does
/// when summer time ends. One that is set right goes back by a moment, from one snapshot to the next.
fn is_again(before: Stamp, behind: Stamp) -> bool {
    let back_s = before.local_s - behind.local_s;
    back_s > HALF_AN_HOUR_S || back_s >= 0 && behind.id - before.id > 1
}

/// The whole seconds that lie within a step from one nanosecond of its run to another, counted from the
/// whole second in which the run began.
fn whole_seconds(from_ns: u64, to_ns: u64) -> anyhow::Result<(i64, i64)> {
    let from_s = 1 + i64::try_from(from_ns.div_ceil(SECOND_NS))?;
    Ok((from_s, i64::try_from(to_ns / SECOND_NS)?))
}

/// The processors that a recording counts, where nobody says how many there are.
fn processors(file: &Path, recording: &Recording) -> anyhow::Result<u32> {
    let shown = file.display();
    let shared = recording.cores_busy().is_some_and(|it| it.rule == BusyRule::SharedPartition);
    let found = recording.processors();
    if let Some(most) = recording.capped_at().filter(|most| found.is_none_or(|it| *most < it)) {
        bail!(
            "{shown} is of a partition that is capped at {most} processors: give --cores N, as many as \
             it gets (whole ones: of a part of one cut off, the answer errs to the safe side)"
        );
    }
    let what =
        if shared { "processors, not threads, its partition has" } else { "processors there are" };
    let found =
        found.with_context(|| format!("{shown} does not say how many {what}: give --cores N"))?;
    #[expect(clippy::cast_possible_truncation, reason = "far below 2^32 processors")]
    #[expect(clippy::cast_sign_loss, reason = "processors of a recording are more than none")]
    Ok(found.round().max(1.0) as u32)
}

/// The only recording of a file, and what was wrong with that.
fn only(file: &Path, options: &Options) -> anyhow::Result<(Recording, Vec<Trouble>)> {
    let Nmon { recordings, troubles } = plumb_nmon::open(file, options)?;
    let found = recordings.len();
    let only = <[Recording; 1]>::try_from(recordings);
    let [only] = only.ok().with_context(|| {
        format!(
            "{} holds {found} recordings: one of the machine under test is needed",
            file.display()
        )
    })?;
    Ok((only, troubles.list().to_vec()))
}

fn moment(local_s: i64) -> anyhow::Result<Moment> {
    Ok(Moment::At(civil(local_s).context("a step far outside of any calendar")?))
}

fn civil(local_s: i64) -> Option<DateTime> {
    Some(TimeZone::UTC.to_datetime(Timestamp::from_second(local_s).ok()?))
}

fn shown(local_s: i64) -> String {
    civil(local_s).map_or_else(|| "?".to_owned(), |at| at.to_string())
}

#[cfg(test)]
mod tests;
