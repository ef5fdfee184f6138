//! The controller as it is, over a network, clocks and remotes that are simulated in virtual time.

use crate::simulated::{Fate, Setting, Sum, Truth, World, outcome, told};
use plumb_engine::Stop;
use plumb_engine::layer::RemoteLoad;
use plumb_remote::{Fleet, PlanFiles, RemoteError};

/// Has all of `setting` carry out one load; what came of it, and what was true.
fn run(setting: Setting) -> (Result<Vec<RemoteLoad>, RemoteError>, Sum, Truth, Fleet) {
    let (orders, world, truth) = World::new(setting);
    let mut fleet = Fleet::over(orders, world).expect("all answer");
    fleet.begin(&["net".into(), "ping".into()], PlanFiles::default());
    let mut sum = Sum::default();
    let loads = fleet.load(&mut sum, &Stop::new().expect("it can be asked"));
    let truth = std::mem::take(&mut *truth.lock().expect("nobody panicked"));
    (loads, sum, truth, fleet)
}

#[test]
fn ten_thousand_offsets_lie_within_their_uncertainty() {
    let mut cases = 0;
    for seed in 0..100 {
        let setting = Setting { remotes: 100, seed, delay_ns: 20_000_000, ..Setting::default() };
        let (orders, world, truth) = World::new(setting);
        let fleet = Fleet::over(orders, world).unwrap();
        let truth = truth.lock().unwrap();
        for (at, (_, offset)) in fleet.members().enumerate() {
            let true_ns = truth.ahead_ns(at, truth.now_ns);
            let off_ns = offset.ahead_ns.abs_diff(true_ns);
            assert!(off_ns <= offset.uncertainty_ns, "seed {seed}, r{at}: {true_ns}, {offset:?}");
            // it says something: a way takes at most 20 ms and what waits for others
            assert!(offset.uncertainty_ns < 25_000_000, "{offset:?}");
            cases += 1;
        }
    }
    assert_eq!(cases, 10_000);
}

#[test]
fn all_are_told_one_moment_within_what_is_known_of_their_clocks() {
    let (loads, _, truth, fleet) =
        run(Setting { remotes: 100, operations: 1, ..Setting::default() });
    assert_eq!(loads.unwrap().len(), 100);
    let starts: Vec<_> = truth.starts.iter().map(|it| it.unwrap()).collect();
    let uncertain = fleet.members().map(|(_, offset)| offset.uncertainty_ns).max().unwrap();
    let (first, last) = (starts.iter().map(|it| it.0).min(), starts.iter().map(|it| it.0).max());
    assert!(last.unwrap() - first.unwrap() <= 2 * uncertain, "{starts:?}");
    // and that moment had not passed when they heard of it
    assert!(starts.iter().all(|(due, began)| began - due < 2_000_000), "{starts:?}");
}

/// What so many remotes record.
fn is_put_together(remotes: usize) {
    let (loads, sum, truth, _) =
        run(Setting { remotes, seconds: 2, operations: 5, ..Setting::default() });
    let whole = truth.whole.expect("all are sound");
    assert_eq!(whole.operations() + whole.failures().total(), 10 * remotes as u64);
    let intervals = sum.recorder.expect("intervals came");
    assert_eq!(told(&intervals), told(&whole));
    let starts: Vec<u64> = sum.intervals.iter().map(|(start, _)| *start).collect();
    assert_eq!(starts, [0, 1_000_000_000]);
    let loads = loads.expect("nobody stopped them").into_iter().filter_map(|it| it.load);
    let outcomes = outcome(loads).expect("they can be put together");
    assert_eq!(told(&outcomes.recorder), told(&whole));
}

#[test]
fn what_two_hundred_record_is_what_is_put_together() {
    is_put_together(200);
}

#[test]
#[ignore = "takes ten seconds: five times as many remotes"]
fn what_a_thousand_record_is_what_is_put_together() {
    is_put_together(1_000);
}

#[test]
fn who_is_lost_late_or_lies_is_named_and_the_others_go_on() {
    let told_of = [
        (Fate::Sound, None),
        (Fate::Crashes, Some("the connection has ended")),
        (Fate::Hangs, Some("not been heard of for 5 s")),
        (Fate::Garbage, Some("not a message")),
        (Fate::Endless, Some("a message of more than")),
        (Fate::Repeats, Some("out of order")),
        (Fate::Future, Some("not over yet")),
        (Fate::OtherPlan, Some("cannot be put together")),
        (Fate::Late, None),
        (Fate::Sound, None),
    ];
    let fates = told_of.map(|(fate, _)| fate).to_vec();
    let setting = Setting { remotes: fates.len(), seconds: 12, fates, ..Setting::default() };
    let (loads, sum, truth, mut fleet) = run(setting);
    let loads = loads.unwrap();
    for (load, (fate, cause)) in loads.iter().zip(told_of) {
        match (&load.lost, cause) {
            (None, None) => assert!(load.result.is_some() && load.load.is_some(), "{fate:?}"),
            (Some(lost), Some(cause)) => assert!(lost.contains(cause), "{fate:?}: {lost}"),
            other => panic!("{fate:?}: {other:?}"),
        }
    }
    // each interval comes once, and in order, with all that was told of it
    let starts: Vec<u64> = sum.intervals.iter().map(|(start, _)| start / 1_000_000_000).collect();
    assert_eq!(starts, (0..12).collect::<Vec<_>>());
    let of = |fate: Fate| loads[told_of.iter().position(|it| it.0 == fate).unwrap()].load.as_ref();
    assert_eq!(of(Fate::Crashes).unwrap().intervals.len(), 2);
    assert_eq!(of(Fate::Future).unwrap().intervals.len(), 1);
    assert!(of(Fate::OtherPlan).is_none());
    // the late one begins when it hears of it, and its beginning says so
    let (due, began) = truth.starts[8].unwrap();
    assert!(began - due > 2_500_000_000, "{due} {began}");
    let behind = of(Fate::Late).unwrap().began_ns - of(Fate::Sound).unwrap().began_ns;
    assert!(behind > 2_400_000_000, "{behind}");
    let records = fleet.end(&Stop::new().expect("a stop"), |_, _| {});
    let there = records.iter().filter(|part| part.record.is_some()).count();
    assert_eq!(there, 3);
}

#[test]
fn nobody_is_lost_for_what_was_said_while_the_controller_did_something_else() {
    let (orders, world, truth) = World::new(Setting { remotes: 20, ..Setting::default() });
    let mut fleet = Fleet::over(orders, world).unwrap();
    fleet.begin(&["net".into(), "ping".into()], PlanFiles::default());
    truth.lock().unwrap().now_ns += 60_000_000_000;
    let loads = fleet.load(&mut Sum::default(), &Stop::new().unwrap()).unwrap();
    assert!(loads.iter().all(|load| load.lost.is_none()), "{loads:?}");
}

#[test]
fn what_is_of_another_run_is_not_taken() {
    let fates = vec![Fate::OtherRun];
    let (orders, world, _) =
        World::new(Setting { remotes: 2, seconds: 8, fates, ..Setting::default() });
    let mut fleet = Fleet::over(orders, world).unwrap();
    fleet.begin(&["net".into()], PlanFiles::default());
    // it is there, and tells nothing of this run: whoever waits for it stops the run, and it goes
    let mut sum = StopAfter { stop: Stop::new().unwrap().into(), ticks: 0 };
    let stop = std::sync::Arc::clone(&sum.stop);
    let loads = fleet.load(&mut sum, &stop).unwrap();
    assert_eq!(loads[0].lost.as_deref(), Some("it did not stop"));
    assert!(loads[0].load.is_none());
    assert!(loads[1].lost.is_none());
    assert_eq!(loads[1].load.as_ref().unwrap().intervals.len(), 8);
}

/// Asks for the end when ten seconds have passed.
#[derive(Debug)]
struct StopAfter {
    stop: std::sync::Arc<Stop>,
    ticks: u32,
}

impl plumb_engine::Sampler for StopAfter {
    fn tick(&mut self) {
        self.ticks += 1;
        if self.ticks == 10 {
            self.stop.ask();
        }
    }

    fn interval(&mut self, _: &plumb_engine::IntervalRecords) {}
}
