//! Steps that the model does not follow.

use super::*;

/// A ladder of four places of exactly 50 ms and users who think for exactly 200 ms: nobody waits up to
/// 20 users, and no operation takes longer than another.
fn constant() -> Vec<Step> {
    let step = |users: f64| {
        let throughput_per_s = (users / 0.25).min(80.0);
        let mean_s = users / throughput_per_s - 0.2;
        Step {
            users,
            throughput_per_s,
            operations: 8.0 * throughput_per_s,
            mean_s,
            mean_half_s: Some(0.01 * mean_s),
            p95_s: mean_s,
            busy_cores: Some(0.05 + 0.001 * throughput_per_s),
            ..Step::default()
        }
    };
    [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0].map(step).into()
}

fn sized(users: u32, most_s: f64, think_s: Option<f64>) -> Sizing {
    let target = Some(Target { figure: Figure::Mean, most_s });
    let question = Question { users, think_s, target, seed: 5 };
    let setup = Setup { cores: 2, pool: Some(("places".into(), 4)), ..Setup::default() };
    size(Ladder::of(constant()).unwrap(), &setup, question).unwrap()
}

#[test]
fn steps_of_constant_times_that_the_model_misses_are_known() {
    let sizing = sized(20, 0.080, None);
    assert_eq!(sizing.refusals, Vec::<String>::new());
    let users: Vec<String> = sizing.apart.iter().map(|it| it.users.to_string()).collect();
    assert!(users.contains(&"20".into()) && !users.contains(&"4".into()), "{users:?}");
    let full = sizing.apart.iter().find(|it| it.users > 19.0).unwrap();
    assert!((full.mean_s.measured - 0.05).abs() < 1e-9 && full.mean_s.error > 0.3, "{full:?}");
    assert!(full.throughput_per_s.error.abs() < DISAGREE_MAX, "no refusal: {full:?}");
}

#[test]
fn a_step_that_kept_the_target_with_more_users_is_known() {
    let kept = |most_s, think_s| {
        let sizing = sized(16, most_s, think_s);
        sizing.kept_beyond().map(|step| step.users.to_string())
    };
    assert_eq!(kept(0.055, None).as_deref(), Some("20"));
    assert_eq!(kept(0.055, Some(0.25)).as_deref(), Some("20"), "who asked more often");
    assert_eq!(kept(0.055, Some(0.15)), None, "nobody asked as often");
    assert_eq!(kept(0.045, None), None, "no step kept it");
}

#[test]
fn an_ordinary_ladder_has_no_step_apart() {
    for truth in [truth(40, 0.05, 0.02), truth(4, 0.01, 0.09)] {
        let places = truth.resources()[0].places;
        let ladder = Ladder::of(measured(&truth, 1.0, &LADDER)).unwrap();
        let sizing = size(ladder, &setup(places), question(45, None)).unwrap();
        assert!(sizing.apart.is_empty(), "{:?}", sizing.apart);
        assert!(sizing.kept_beyond().is_none(), "{:?}", sizing.kept_beyond());
    }
}

#[test]
fn a_step_of_few_operations_is_not_apart_by_chance() {
    let mut steps = measured(&truth(40, 0.05, 0.02), 1.0, &LADDER);
    steps[0] = Step { operations: 40.0, mean_half_s: None, ..steps[0].clone() };
    let of = |mean_s: f64| PredictedStep {
        users: 1.0,
        throughput_per_s: Predicted::of(Bounded::around(1.0, 0.1), 1.0),
        mean_s: Predicted::of(Bounded::around(mean_s, 0.01 * mean_s), steps[0].mean_s),
        p95_s: Predicted::of(Bounded::around(1.0, 0.1), 1.0),
    };
    let missed = |share: f64| steps::is_missed(&steps[0], &of(share * steps[0].mean_s).mean_s);
    assert!(!missed(1.4) && missed(1.6), "1.96 / sqrt(40) is 31 %");
}
