//! A measurement that remotes drive: its points one after the other, and what they make together.

use plumb_engine::layer::{JobError, RemoteLoad, Spread, SpreadParts, SpreadPoint, Watch};
use plumb_engine::{LoadResult, Stop, client_figures, client_overlap, part_record, result_record};
use plumb_measure::{PartRecord, ResultRecord, Row, ScenarioFigures, Validity};

/// Whoever has loads driven by remotes, and keeps what comes of them.
pub trait Conductor: Watch {
    /// Has the load of `point` driven.
    ///
    /// # Errors
    /// When one of the remotes could not begin.
    fn drive(&mut self, point: &SpreadPoint, stop: &Stop) -> Result<Vec<RemoteLoad>, JobError>;
}

/// Has all points of `job` measured, until `stop` is asked: a load that had not begun by then has no result.
///
/// # Errors
/// When a load could not begin, or a result could not be kept.
pub fn lead(
    job: &mut dyn Spread,
    conductor: &mut dyn Conductor,
    stop: &Stop,
) -> Result<(), JobError> {
    conductor.rows(&job.rows());
    for (number, point) in job.points().into_iter().enumerate() {
        if stop.asked() {
            break;
        }
        job.before(number, stop);
        let remotes = match conductor.drive(&point, stop) {
            Ok(remotes) if !stop.asked() || remotes.iter().any(|it| it.load.is_some()) => remotes,
            Ok(_) => break,
            Err(_) if stop.asked() => break,
            Err(error) => return Err(error),
        };
        let (result, began_ns) = together(job, (number, point), remotes, conductor)?;
        conductor.result(result, began_ns)?;
    }
    Ok(())
}

/// The result of a point, and when its recorded part began.
fn together(
    job: &mut dyn Spread,
    (number, point): (usize, SpreadPoint),
    mut remotes: Vec<RemoteLoad>,
    conductor: &mut dyn Conductor,
) -> Result<(ResultRecord, u64), JobError> {
    let loads: Vec<_> = remotes.iter_mut().filter_map(|remote| remote.load.take()).collect();
    let whole = whole(&loads, &remotes)?;
    let results: Vec<_> = remotes.iter().filter_map(|remote| remote.result.as_ref()).collect();
    let mut result = result_record(&point.plan, point.labels, point.lengths, &whole);
    result.clients = client_figures(&loads);
    result.overlap = client_overlap(&loads, None);
    result.batches = None; // operations of several clients have no common order
    result.driver.threads = results.iter().map(|part| part.driver.threads).sum();
    if let Some(first) = results.first() {
        let (rows, groups) = (whole.recorder.rows(), whole.recorder.groups());
        result.parts = named_like(&first.parts, rows, &whole);
        result.groups = named_like(&first.groups, groups, &whole);
        result.driver.name.clone_from(&first.driver.name);
        result.driver.wait.clone_from(&first.driver.wait);
    }
    result.scenarios = users_together(&results);
    let lost = remotes.iter().filter(|remote| remote.lost.is_some()).count();
    let parts = SpreadParts { loads: &loads, results: &results, whole: &whole, lost };
    job.conclude(number, &mut result, &parts);
    judged_by(&mut result, &remotes);
    if let Some(transport) = whole.transports.first() {
        conductor.reached(transport.clone());
    }
    Ok((result, whole.began_ns))
}

/// All `loads` as one.
fn whole(loads: &[LoadResult<()>], remotes: &[RemoteLoad]) -> Result<LoadResult<()>, JobError> {
    let Some((first, others)) = loads.split_first() else {
        let lost: Vec<String> = remotes.iter().map(words_of_loss).collect();
        return Err(format!("all remotes were lost: {}", lost.join("; ")).into());
    };
    let mut whole = first.clone();
    for load in others {
        whole.merge(load.clone())?;
    }
    Ok(whole)
}

/// What the last of `rows` have recorded, called as `named`.
fn named_like(named: &[PartRecord], rows: &[Row], whole: &LoadResult<()>) -> Vec<PartRecord> {
    let Some(first) = rows.len().checked_sub(named.len()) else { return Vec::new() };
    let both = named.iter().zip(&rows[first..]);
    let part = |(named, row): (&PartRecord, &Row)| PartRecord {
        labels: named.labels.clone(),
        steps: named.steps.clone(),
        first_hit: named.first_hit,
        ..part_record(named.name.clone(), row, whole)
    };
    both.map(part).collect()
}

/// The users of each scenario, those of all remotes together. How long they took to begin is each
/// remote's own.
fn users_together(results: &[&ResultRecord]) -> Vec<ScenarioFigures> {
    let mut all: Vec<ScenarioFigures> = Vec::new();
    for figures in results.iter().flat_map(|result| &result.scenarios) {
        match all.iter_mut().find(|known| known.name == figures.name) {
            Some(known) => known.add(figures),
            None => all.push(ScenarioFigures { start_up_ns: None, ..figures.clone() }),
        }
    }
    all
}

/// Adds to `result` what each remote says of its own part, and which of them were lost.
fn judged_by(result: &mut ResultRecord, remotes: &[RemoteLoad]) {
    let own = std::mem::take(&mut result.validity);
    let named = remotes
        .iter()
        .filter_map(|remote| Some((remote.name.as_str(), &remote.result.as_ref()?.validity)));
    let mut validity = Validity::of_all(std::iter::once(("", &own)).chain(named));
    for remote in remotes.iter().filter(|remote| remote.lost.is_some()) {
        validity = validity.cut_short_by(&words_of_loss(remote));
    }
    result.validity = validity;
}

fn words_of_loss(remote: &RemoteLoad) -> String {
    format!("{}: {}", remote.name, remote.lost.as_deref().unwrap_or("nothing is known of it"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plumb_engine::layer::SpreadParts;
    use plumb_engine::{Lengths, LoadPlan, Sampler};
    use plumb_measure::{Floor, Span, Transport};

    use super::*;

    struct TwoPoints;

    impl Spread for TwoPoints {
        fn points(&self) -> Vec<SpreadPoint> {
            let (labels, plan) = (BTreeMap::new(), LoadPlan::lone(1, Span::from_ms(1)));
            let point = SpreadPoint { labels, plan, lengths: Lengths::Same };
            vec![point.clone(), point]
        }

        fn conclude(&mut self, _: usize, _: &mut ResultRecord, _: &SpreadParts<'_>) {
            unreachable!("nothing was measured");
        }
    }

    /// Its remotes do not begin; somebody asks it to stop meanwhile, if it is `stopped`.
    struct Idle {
        stopped: bool,
        refuses: bool,
    }

    impl Watch for Idle {
        fn floor(&mut self, _: Floor) {}

        fn reached(&mut self, _: Transport) {}

        fn server(&mut self, _: String) {}

        fn point(&mut self, _: &BTreeMap<String, String>) -> &mut dyn Sampler {
            unreachable!("nobody looks on")
        }

        fn result(&mut self, _: ResultRecord, _: u64) -> Result<(), JobError> {
            unreachable!("nothing was measured")
        }
    }

    impl Conductor for Idle {
        fn drive(&mut self, _: &SpreadPoint, stop: &Stop) -> Result<Vec<RemoteLoad>, JobError> {
            if self.stopped {
                stop.ask();
            }
            if self.refuses {
                return Err("r1: it was told to end".into());
            }
            let lost = Some("it has ended".to_owned());
            let (name, load, started_ns, result) = ("r1".to_owned(), None, None, None);
            Ok(vec![RemoteLoad { name, load, started_ns, result, lost }])
        }
    }

    #[test]
    fn who_is_stopped_before_anybody_has_begun_has_lost_nobody() {
        let led = |stopped, refuses| {
            let stop = Stop::new().unwrap();
            lead(&mut TwoPoints, &mut Idle { stopped, refuses }, &stop).map_err(|it| it.to_string())
        };
        assert_eq!(led(true, false), Ok(()));
        assert_eq!(led(true, true), Ok(()));
        assert_eq!(led(false, false), Err("all remotes were lost: r1: it has ended".into()));
        assert_eq!(led(false, true), Err("r1: it was told to end".into()));
    }
}
