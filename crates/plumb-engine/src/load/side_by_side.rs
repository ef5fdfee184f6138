//! Several loads at the same time, each with records of its own.

use std::thread;

use plumb_link::Link;

use super::{Crew, LoadResult, Stage, drive_crews, looks_first};
use crate::gate::StartLine;
use crate::plan::LoadPlan;
use crate::protocol::Protocol;
use crate::{Endpoint, EngineError};

/// Drives a load for each of `plans` against the endpoint of `stage`, as [`run`](super::run) does one.
/// All begin together, once every connection of all of them stands; who looks on looks at the first.
///
/// # Errors
/// As [`run`](super::run). Where one of them cannot begin none does.
pub fn run_side_by_side<P, L>(
    plans: &[LoadPlan],
    stage: &mut Stage<'_>,
    labels: usize,
    protocol: impl Fn() -> P + Sync,
    link: impl Fn() -> L + Sync,
) -> Result<Vec<LoadResult<P>>, EngineError>
where
    P: Protocol + Send,
    L: Link,
{
    let looked_first = usize::from(looks_first::<P>(stage));
    let all = plans.iter().map(|plan| plan.threads.get() + looked_first).sum();
    let line = &StartLine::new(all, stage.gate);
    let (protocol, link) = (|_: usize| protocol(), |_: u16, _: u32, _: &Endpoint| link());
    let (protocol, link) = (&protocol, &link);
    let drive = move |plan: &LoadPlan, stage: &mut Stage<'_>| {
        let crew = [Crew { plan, user_schedule: None }];
        let driven = drive_crews(&crew, stage, &[], labels.into(), protocol, link, Some(line));
        if driven.is_err() {
            line.abort();
        }
        driven
    };
    let Some((first, others)) = plans.split_first() else { return Ok(Vec::new()) };
    let (endpoint, stop, gate) = (stage.endpoint, stage.stop, stage.gate);
    thread::scope(|scope| {
        let others: Vec<_> = others
            .iter()
            .map(|plan| {
                let run =
                    move || drive(plan, &mut Stage { endpoint, stop, samplers: &mut [], gate });
                scope.spawn(run)
            })
            .collect();
        let first = drive(first, stage);
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    })
}

#[cfg(test)]
mod tests {
    use plumb_link::Plain;
    use plumb_measure::Span;
    use plumb_socket::Stop;

    use super::*;
    use crate::null::Null;

    /// As many round trips as `counts` say, each load on the processors named beside.
    fn drive(counts: &[(u64, &[usize])]) -> Result<Vec<u64>, EngineError> {
        let plans: Vec<LoadPlan> = counts
            .iter()
            .map(|(count, pin)| LoadPlan {
                pin: pin.to_vec(),
                ..LoadPlan::lone(*count, Span::from_ms(1_000))
            })
            .collect();
        let stop = Stop::new().unwrap();
        let mut stage =
            Stage { endpoint: &Endpoint::Own, stop: &stop, samplers: &mut [], gate: None };
        let loads =
            run_side_by_side(&plans, &mut stage, 1, || Null(*b"to and fro"), Plain::default)?;
        Ok(loads.iter().map(|load| load.recorder.rows()[0].service.count()).collect())
    }

    #[test]
    fn loads_side_by_side_count_what_each_of_them_did() {
        assert_eq!(drive(&[(500, &[]), (700, &[]), (900, &[])]).unwrap(), [500, 700, 900]);
        assert!(drive(&[]).unwrap().is_empty());
    }

    #[test]
    fn one_that_cannot_begin_sends_the_others_home() {
        let no_processor = &[1 << 20];
        for loads in
            [[(u64::MAX, &[][..]), (1, no_processor)], [(1, no_processor), (u64::MAX, &[])]]
        {
            assert!(drive(&loads).is_err());
        }
    }
}
