//! The measurements, one after the other; each outcome is written down as it comes.

use plumb_checkup::{Checkup, CheckupOutcome, CheckupPart, PartRole};
use plumb_command::exit;
use plumb_db::DbError;
use plumb_diagnostics::checkup;
use plumb_engine::layer::JobError;
use plumb_engine::{EngineError, Stop};
use plumb_flow::FlowError;
use plumb_folder::CheckFolder;
use plumb_host::{IdleOptions, idle_cost};
use plumb_http::HttpError;
use plumb_lock::LockError;
use plumb_measure::{FailureKind, FindingKind, RemoteSelector, Scope, Share, Status};
use plumb_net::NetError;

use super::advice;
use crate::job::{into_folder, measurement, with_further};
use crate::measure::{Run, measure};
use crate::metrics::Receivers;
use crate::remote::{MEASURED_ON, measure_there};

/// Measurements in a row that meet foreign load before the rest is given up: what follows could not
/// be used either.
const SPOILED_MAX: usize = 3;

/// Who measures the parts, and where their runs and their figures go.
struct Way<'a> {
    remote: Option<&'a RemoteSelector>,
    folder: &'a CheckFolder,
    receivers: &'a Receivers,
    stop: &'a Stop,
}

/// When this side acknowledges what has come of an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Acknowledging {
    /// When the kernel does.
    AsUsual,
    /// At once: a server that waits for it answers sooner.
    AtOnce,
}

/// Measures every part of `checkup` and judges the layers. On a machine that is busy with other
/// work it gives up early.
///
/// # Errors
/// When the folder cannot be written; `checkup` then holds what was measured, and says so. A part that
/// cannot be measured is what a checkup is there to find.
pub(super) fn carry_out(
    checkup: &mut Checkup,
    remote: Option<&RemoteSelector>,
    folder: &CheckFolder,
    receivers: &Receivers,
    stop: &Stop,
) -> anyhow::Result<()> {
    let measured = all_parts(checkup, &Way { remote, folder, receivers, stop });
    checkup.status = ended(checkup, measured.as_ref().err(), stop);
    measured.and(keep(checkup, folder))
}

/// Measures one part after the other, until there is a reason to give up.
fn all_parts(checkup: &mut Checkup, way: &Way<'_>) -> anyhow::Result<()> {
    let Way { folder, stop, .. } = *way;
    let mut spoiled = 0;
    for number in 0..checkup.parts.len() {
        if stop.asked() || spoiled == SPOILED_MAX {
            break;
        }
        let (mut outcome, mut unkept) = attempt(checkup, number, Acknowledging::AsUsual, way)?;
        if stop.asked() {
            break; // half a part is none
        }
        let is_yardstick = checkup.parts[number].role == PartRole::Yardstick;
        if is_yardstick && outcome.may_wait_for_acknowledgements() {
            let (at_once, unkept_at_once) = attempt(checkup, number, Acknowledging::AtOnce, way)?;
            unkept = unkept.or(unkept_at_once);
            if !stop.asked() {
                outcome.compare_acknowledged(&at_once);
            }
        }
        spoiled = if meets_others(&outcome) { spoiled + 1 } else { 0 };
        checkup.parts[number].outcome = Some(outcome);
        unkept.map_or(Ok(()), Err).and(keep(checkup, folder))?;
    }
    Ok(())
}

/// Has `checkup`, where it is complete, say what idle processors cost this machine, of which others may
/// have `limit` meanwhile.
///
/// # Errors
/// When the folder cannot be written.
pub(super) fn idle(
    checkup: &mut Checkup,
    folder: &CheckFolder,
    limit: Share,
    stop: &Stop,
) -> anyhow::Result<()> {
    if checkup.status != Status::Complete {
        return Ok(());
    }
    match idle_cost(&IdleOptions::usual(limit), stop) {
        Ok(cost) => checkup.idle = cost,
        Err(error) => checkup.troubles.push(format!("what idle processors cost: {error}")),
    }
    keep(checkup, folder)
}

/// True when other processes took what the measurement needed.
fn meets_others(outcome: &CheckupOutcome) -> bool {
    let mut reasons = outcome.validity.reasons.iter();
    reasons.any(|it| it.kind == FindingKind::ForeignLoad && it.scope == Scope::Everything)
}

/// How a checkup ended whose measurements are over, because of `trouble` with its folder if there was any.
fn ended(checkup: &mut Checkup, trouble: Option<&anyhow::Error>, stop: &Stop) -> Status {
    let open = checkup.parts.iter().filter(|part| part.outcome.is_none()).count();
    match (stop.asked(), open, trouble) {
        (true, ..) => Status::Interrupted,
        (false, 0, _) => Status::Complete,
        (false, open, Some(trouble)) => {
            checkup.troubles.push(format!("given up with {open} parts to measure: {trouble:#}"));
            Status::Broken
        }
        (false, open, None) => {
            checkup.troubles.push(format!(
                "given up: {SPOILED_MAX} measurements in a row met other work on {}, so the {open} \
                 that were left were not made",
                checkup.who_asks()
            ));
            Status::Broken
        }
    }
}

/// Judges what there is, and writes it down.
///
/// # Errors
/// When the folder cannot be written.
pub(super) fn keep(checkup: &mut Checkup, folder: &CheckFolder) -> anyhow::Result<()> {
    checkup.judge();
    folder.write_checkup(checkup)?;
    folder.write_report(&checkup::html(checkup))?;
    Ok(())
}

/// Measures one part, and says why its run could not be kept, if that is so; the first record of a remote
/// says on which machine.
fn attempt(
    checkup: &mut Checkup,
    number: usize,
    acknowledging: Acknowledging,
    &Way { remote, folder, receivers, stop }: &Way<'_>,
) -> anyhow::Result<(CheckupOutcome, Option<anyhow::Error>)> {
    let part = checkup.parts[number].clone();
    let (tried, option) = match acknowledging {
        Acknowledging::AsUsual => ("", None),
        Acknowledging::AtOnce => ("-acknowledged-at-once", Some("--quick-ack".to_owned())),
    };
    let name = format!("{:02}-{}{tried}", number + 1, name(&part));
    let (shown, path) = folder.part(&name)?;
    let further: Vec<String> = option.into_iter().chain([into_folder(&path)?]).collect();
    let words = with_further(&part.words, &further);
    let title = format!("{}, {} s left: ", part.server, checkup.left_ns() / 1_000_000_000);
    let measured = measurement(&words).and_then(|mut job| {
        if let Some(remote) = remote {
            return measure_there(remote, job.as_mut(), &words, stop);
        }
        let command: Vec<String> = std::iter::once("plumb".to_owned()).chain(words).collect();
        measure(job.as_mut(), &command, &title, receivers, stop)
    });
    Ok(match measured {
        Ok(Run { record, unkept, .. }) => {
            if checkup.host.is_none() {
                let name = record.plan.options.get(MEASURED_ON).and_then(|name| name.as_str());
                checkup.remote = name.map(str::to_owned).or(checkup.remote.take());
                checkup.host = Some(record.host.clone());
            }
            let mut outcome = CheckupOutcome::of(&record, shown);
            advice::of_handshakes(&mut outcome.validity.reasons);
            (outcome, unkept)
        }
        Err(error) => {
            let not_offered = part.role == PartRole::WhereOffered && is_another_server(&error);
            let none = CheckupOutcome::none(advice::for_a_file(&one_line(&error)));
            (CheckupOutcome { not_offered, unconnected: unconnected(&error), ..none }, None)
        }
    })
}

/// Letters of a folder's name at most, behind its number.
const NAME_MAX: usize = 48;

/// The name of the folder of a part, in letters that every file system takes.
fn name(part: &CheckupPart) -> String {
    let words = format!("{} {}", part.operation, part.how);
    let sound = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let joined = sound.collect::<Vec<_>>().join("-");
    joined.chars().take(NAME_MAX).collect::<String>().trim_end_matches('-').to_owned()
}

/// True when the server answered, and is not one of ours.
fn is_another_server(error: &anyhow::Error) -> bool {
    let net = error.downcast_ref::<JobError>().and_then(|job| job.downcast_ref());
    matches!(net, Some(NetError::Talk { .. }))
}

/// Why no connection was made, where nobody took one: that is the server's, and no limit of this side.
fn unconnected(error: &anyhow::Error) -> Option<FailureKind> {
    match of_engine(error.downcast_ref::<JobError>()?)? {
        EngineError::Connect { kind, .. } => {
            let nobody = [FailureKind::ConnectRefused, FailureKind::ConnectTimedOut];
            nobody.contains(kind).then_some(*kind)
        }
        _ => None,
    }
}

/// The error of the engine that a layer passes on.
fn of_engine(job: &JobError) -> Option<&EngineError> {
    if let Some(NetError::Engine(error)) = job.downcast_ref() {
        return Some(error);
    }
    if let Some(LockError::Engine(error)) = job.downcast_ref() {
        return Some(error);
    }
    if let Some(HttpError::Engine(error)) = job.downcast_ref() {
        return Some(error);
    }
    if let Some(FlowError::Engine(error)) = job.downcast_ref() {
        return Some(error);
    }
    if let Some(DbError::Engine(error)) = job.downcast_ref() {
        return Some(error);
    }
    job.downcast_ref()
}

fn one_line(error: &anyhow::Error) -> String {
    let text = exit::said(error);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
