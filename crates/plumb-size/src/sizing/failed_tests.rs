//! Ladders that end where operations failed.

use super::*;
use crate::ladder::Step;
use crate::landscape::{Element, Servers, Station};
use crate::model::CORES;
use crate::what_if::{changes, what_if};

/// A ladder of a landscape whose eight processors are full with 88 users, the last step of which failed.
fn sized(users: u32, failed: f64) -> Sizing {
    let cores = Station {
        name: CORES.into(),
        servers: Servers::Shared(8),
        service_s: 0.1,
        variation: 1.0,
        background: 0.0,
    };
    let landscape = Landscape { elements: vec![Element::Station(cores)] };
    let solved = Analysis::of(&landscape, 1.0, 60).unwrap();
    let step = |users: usize| {
        let point = solved.at(users);
        Step {
            users: count(users),
            throughput_per_s: point.throughput_per_s,
            mean_s: point.mean_s,
            p95_s: point.p95_s,
            busy_cores: Some(0.1 * point.throughput_per_s),
            ..Step::default()
        }
    };
    let ladder = Ladder::of([2, 5, 10, 15, 20].map(step).into()).unwrap();
    let what = "5 answers of 528 had a status that was not expected (5 with 503)".to_owned();
    let ladder = ladder.with_failed([FailedStep { users: failed, what }]);
    let setup = Setup { cores: 8, ..Setup::default() };
    let target = Some(Target { figure: Figure::Mean, most_s: 1.0 });
    size(ladder, &setup, Question { users, think_s: None, target, seed: 5 }).unwrap()
}

#[test]
fn users_with_whom_operations_failed_have_no_answer() {
    for users in [30, 31, 80] {
        let refusals = sized(users, 30.0).refusals;
        let [only] = &refusals[..] else { panic!("{users}: {refusals:?}") };
        assert!(only.starts_with("with 30 users 5 answers of 528 had"), "{only}");
        assert!(only.contains(&format!("what {users} users get; find what fails")), "{only}");
    }
}

#[test]
fn nothing_is_said_beyond_users_with_whom_operations_failed() {
    let sizing = sized(25, 30.0);
    assert_eq!(sizing.refusals, Vec::<String>::new());
    let within = sizing.answer.as_ref().unwrap().users_within.unwrap();
    assert!((within.value - 29.0).abs() < 1e-9 && sizing.users_max() < 30.0, "{within:?}");
    assert!(sizing.curve.iter().all(|point| point.users < 30), "{:?}", sizing.curve.last());
    assert!(sizing.knee.users.value > 80.0 && sizing.knee.behind_failures, "{:?}", sizing.knee);
    let farther = sized(25, 200.0);
    assert!((farther.users_max() - 40.0).abs() < 1e-6 && !farther.knee.behind_failures);
}

#[test]
fn a_change_of_load_knows_what_failed_when_as_much_was_asked() {
    let sizing = sized(25, 30.0);
    let failed = |text: &str| {
        let found = what_if(&sizing, changes(text).unwrap()).unwrap();
        found.failed.map(|step| step.users.to_string())
    };
    assert_eq!(failed("users=29"), None);
    assert_eq!(failed("users=30").as_deref(), Some("30"));
    assert_eq!(failed("users=30, think=9s"), None, "who ask less often");
    assert_eq!(failed("arrivals=20/s"), None);
    assert_eq!(failed("arrivals=30/s").as_deref(), Some("30"), "less than twice what was measured");
}
