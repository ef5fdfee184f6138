mod apart;
mod doubtful;
mod memory;

use super::*;
use crate::analysis::Tail;
use crate::ladder::Step;
use crate::landscape::{Element, Pool, Servers, Station};
use crate::model::CORES;
use crate::simulation::{Load, Patience, Plan};

fn station(name: &str, servers: Servers, service_s: f64) -> Element {
    let name = name.into();
    Element::Station(Station { name, servers, service_s, variation: 1.0, background: 0.0 })
}

/// A landscape with two processors, a pool and a database that waits, as a server would run it.
fn truth(pool: u32, work_s: f64, wait_s: f64) -> Landscape {
    let inside = vec![
        station(CORES, Servers::Shared(2), work_s),
        station("database wait", Servers::Delay, wait_s),
    ];
    let pool = Pool { name: "work-processes".into(), size: pool, queue: None, inside };
    Landscape { elements: vec![Element::Pool(pool)] }
}

/// Steps as a load would have measured them, simulated.
fn measured(truth: &Landscape, think_s: f64, users: &[u32]) -> Vec<Step> {
    let step = |users: &u32| {
        let plan = Plan {
            landscape: truth.clone(),
            load: Load::Closed { users: *users, think_s, variation: 1.0 },
            for_s: 4_000.0,
            warm_up_s: 400.0,
            patience: Patience::default(),
            sessions: None,
            bursts: None,
            seed: u64::from(*users),
        };
        let found = plan.simulate().unwrap();
        let (x, r) = (found.throughput_per_s.unwrap().value, found.mean_s.unwrap().value);
        let share = |name: &str| found.resources.iter().find(|it| it.name == name).unwrap().share;
        let pool = truth.resources()[0].clone();
        let held_s = share(&pool.name) * f64::from(pool.places) / x;
        Step {
            users: f64::from(*users),
            throughput_per_s: x,
            mean_s: r,
            mean_half_s: Some(0.002 * r),
            p95_s: found.p95_s.unwrap().value,
            busy_cores: Some(2.0 * share(CORES) + 0.02),
            memory_bytes: Some(1e9 + 2e6 * f64::from(*users)),
            parts: vec![("queue".into(), (r - held_s).max(0.0)), ("database".into(), held_s)],
            ..Step::default()
        }
    };
    users.iter().map(step).collect()
}

fn setup(pool: u32) -> Setup {
    Setup {
        cores: 2,
        pool: Some(("work-processes".into(), pool)),
        servers: Vec::new(),
        ..Setup::default()
    }
}

fn question(users: u32, think_s: Option<f64>) -> Question {
    let target = Some(Target { figure: Figure::P95, most_s: 1.0 });
    Question { users, think_s, target, seed: 5 }
}

const LADDER: [u32; 7] = [1, 5, 10, 20, 30, 40, 60];

#[test]
fn a_landscape_bound_by_its_processors_is_understood() {
    let truth = truth(40, 0.05, 0.02);
    let ladder = Ladder::of(measured(&truth, 1.0, &LADDER)).unwrap();
    let sizing = size(ladder, &setup(40), question(45, None)).unwrap();
    assert_eq!(sizing.knee.bottleneck, CORES);
    assert!((sizing.knee.users.value / truth.knee_users(1.0).unwrap() - 1.0).abs() < 0.05);
    assert!(
        sizing.knee.shown && sizing.knee.explained && sizing.refusals.is_empty(),
        "{:?}",
        sizing.refusals
    );
    let held_out = sizing.held_out.unwrap();
    assert!(held_out.throughput_per_s.error.abs() < 0.05, "{held_out:?}");
    assert!(held_out.p95_s.error.abs() < 0.25, "{held_out:?}");
    let exact = Analysis::of(&truth, 1.0, 45).unwrap().at(45);
    let answer = sizing.answer.unwrap();
    assert!((answer.throughput_per_s.value / exact.throughput_per_s - 1.0).abs() < 0.03);
    assert!((answer.mean_s.value / exact.mean_s - 1.0).abs() < 0.10, "{answer:?} {exact:?}");
    let memory = answer.memory_bytes.unwrap();
    assert!((memory.value / (1e9 + 2e6 * 45.0) - 1.0).abs() < 1e-6);
    assert_eq!(answer.upgrades[0].bottleneck, CORES);
    // 40 places of 70 ms each are 571 a second, 2 processors of 50 ms 40, and 4 of them 80
    let enlarged = answer.upgrades[1].enlarged.as_ref().unwrap();
    assert_eq!((enlarged.name.as_str(), enlarged.from, enlarged.to), (CORES, 2, 4));
    assert!(answer.upgrades[1].last && answer.upgrades.len() == 2, "{:?}", answer.upgrades);
    let most = &answer.sensitivity[0];
    assert!(most.change() > 0.0 && most.users_less != Some(most.users), "{most:?}");
}

#[test]
fn a_landscape_bound_by_its_pool_is_understood() {
    let truth = truth(4, 0.01, 0.09);
    let ladder = Ladder::of(measured(&truth, 1.0, &LADDER)).unwrap();
    let sizing = size(ladder, &setup(4), question(70, None)).unwrap();
    assert_eq!(sizing.knee.bottleneck, "work-processes");
    assert!((sizing.knee.users.value / truth.knee_users(1.0).unwrap() - 1.0).abs() < 0.05);
    assert_eq!(sizing.refusals, Vec::<String>::new());
    let answer = sizing.answer.unwrap();
    let needs = answer.needs.unwrap();
    let pool = needs.iter().find(|need| need.name == "work-processes").unwrap();
    let p95_s = |places: u32| {
        let mut larger = truth.clone();
        larger.resize("work-processes", places);
        measured(&larger, 1.0, &[70])[0].p95_s
    };
    assert!(pool.places.holds(5.0) && p95_s(4) > 1.0 && p95_s(5) <= 1.0, "{needs:?}");
    assert!(answer.p95_s.value > 1.0, "four are too few: {:?}", answer.p95_s);
}

#[test]
fn each_bottleneck_is_enlarged_just_enough_for_the_next() {
    // 4 places of 100 ms are 40 a second, 2 processors of 15 ms 133
    let truth = truth(4, 0.015, 0.085);
    let ladder = Ladder::of(measured(&truth, 1.0, &LADDER)).unwrap();
    let answer = size(ladder, &setup(4), question(60, None)).unwrap().answer.unwrap();
    let [first, second] = &answer.upgrades[..] else { panic!("{:?}", answer.upgrades) };
    assert_eq!((first.bottleneck.as_str(), &first.enlarged), ("work-processes", &None));
    let knee = truth.knee_users(1.0).unwrap();
    assert!((first.knee_users.unwrap().value / knee - 1.0).abs() < 0.05, "{first:?}");
    // 8 places are still less than the processors can do: the end of what may be said
    let enlarged = second.enlarged.as_ref().unwrap();
    assert_eq!((enlarged.from, enlarged.to, second.last), (4, 8, true));
    assert!((second.knee_users.unwrap().value / (2.0 * knee) - 1.0).abs() < 0.05, "{second:?}");

    // 4 places of 50 ms are 80 a second, 2 processors of 20 ms 100: with 6 places these are next
    let truth = self::truth(4, 0.020, 0.030);
    let ladder = Ladder::of(measured(&truth, 1.0, &[1, 5, 10, 20, 40, 80, 120])).unwrap();
    let answer = size(ladder, &setup(4), question(100, None)).unwrap().answer.unwrap();
    let next = &answer.upgrades[1];
    let enlarged = next.enlarged.as_ref().unwrap();
    assert_eq!(next.bottleneck, CORES, "{next:?}");
    assert!(enlarged.from == 4 && (5..=6).contains(&enlarged.to), "{enlarged:?}");
}

#[test]
fn a_figure_that_limits_nothing_changes_nothing_and_the_bottleneck_most() {
    let truth = truth(40, 0.05, 0.02);
    let ladder = Ladder::of(measured(&truth, 1.0, &LADDER)).unwrap();
    let sized = size(ladder, &setup(40), question(45, None)).unwrap();
    let answer = sized.answer.as_ref().unwrap();
    let of = |name: &str| answer.sensitivity.iter().find(|it| it.name == name).unwrap();
    let work = of(CORES);
    assert!(work.users_less > Some(work.users) && work.users_more < Some(work.users), "{work:?}");
    assert!(of("target").users_more > Some(work.users), "{:?}", of("target"));
    assert!(of("think time").users_more > Some(work.users));
    assert!(work.change() >= of("waiting").change(), "{:?}", answer.sensitivity);
    let order = answer.sensitivity.windows(2).all(|two| two[0].change() >= two[1].change());
    assert!(order, "{:?}", answer.sensitivity);
    // the curve is the model, and its ends are one user and twice the range
    assert_eq!((sized.curve[0].users, sized.curve.last().unwrap().users), (1, 120));
    let falls = |two: &[CurvePoint]| {
        two[1].throughput_per_s.value < two[0].throughput_per_s.value * 0.999_999
    };
    assert!(!sized.curve.windows(2).any(falls), "{:?}", sized.curve);
}

#[test]
fn a_pool_that_nobody_named_is_asked_for() {
    let ladder = Ladder::of(measured(&truth(4, 0.01, 0.09), 1.0, &LADDER)).unwrap();
    let unnamed = Setup { cores: 2, ..Setup::default() };
    let error = size(ladder.clone(), &unnamed, question(50, None)).unwrap_err();
    assert!(matches!(error, SizingError::Model(ModelError::PoolUnknown { .. })), "{error}");
    let no_account = ladder.steps().iter().map(|step| Step { parts: Vec::new(), ..step.clone() });
    let ladder = Ladder::of(no_account.collect()).unwrap();
    let sizing = size(ladder, &unnamed, question(50, None)).unwrap();
    assert!(sizing.answer.is_none(), "nobody knows what limits it");
    assert!(sizing.refusals[0].contains("not measured"), "{:?}", sizing.refusals);
    assert!(!sizing.knee.explained, "nor where it is full");
}

#[test]
fn twice_the_range_is_the_end() {
    let ladder = Ladder::of(measured(&truth(40, 0.05, 0.02), 1.0, &LADDER)).unwrap();
    let sizing = size(ladder.clone(), &setup(40), question(200, None)).unwrap();
    assert!(sizing.answer.is_none());
    assert!(
        sizing.refusals.iter().any(|it| it.contains("measure up to at least 100")),
        "{sizing:?}"
    );
    // the same users who think ten times as long ask less than was measured
    let sizing = size(ladder, &setup(40), question(200, Some(10.0))).unwrap();
    let answer = sizing.answer.expect("within the range");
    assert!(answer.throughput_per_s.value < 200.0 / 10.0);
    assert!(answer.memory_bytes.is_none(), "200 sessions are more than twice what was seen");
}

#[test]
fn a_ladder_without_a_knee_says_so() {
    let ladder = Ladder::of(measured(&truth(40, 0.05, 0.02), 1.0, &[1, 2, 4, 6, 8])).unwrap();
    let sizing = size(ladder, &setup(40), question(10, None)).unwrap();
    assert!(!sizing.knee.shown);
}

/// Steps as the exact network has them, of a machine on which other work has one of the four
/// processors all the time: three are left, 10 ms an operation, a second of thoughts.
fn beside_other_work(users: &[u32]) -> Vec<Step> {
    let three = Landscape { elements: vec![station(CORES, Servers::Shared(3), 0.010)] };
    let solved = Analysis::of(&three, 1.0, 600).unwrap();
    let step = |users: &u32| {
        let point = solved.at(*users as usize);
        Step {
            users: f64::from(*users),
            throughput_per_s: point.throughput_per_s,
            mean_s: point.mean_s,
            mean_half_s: Some(0.0),
            p95_s: point.p95_s,
            busy_cores: Some(1.0 + 0.010 * point.throughput_per_s),
            ..Step::default()
        }
    };
    users.iter().map(step).collect()
}

#[test]
fn what_runs_without_any_load_is_left_to_nobody() {
    let setup = Setup { cores: 4, ..Setup::default() };
    let of = |ladder: &[u32], users, most_s| {
        let target = Some(Target { figure: Figure::Mean, most_s });
        let question = Question { users, think_s: None, target, seed: 5 };
        let ladder = Ladder::of(beside_other_work(ladder)).unwrap();
        size(ladder, &setup, question).unwrap()
    };
    let three = Landscape { elements: vec![station(CORES, Servers::Shared(3), 0.010)] };
    let exact = Analysis::of(&three, 1.0, 600).unwrap();
    // a ladder far below the knee, and one beyond it
    for ladder in [&[1, 20, 50, 80, 110][..], &[1, 100, 200, 300, 400]] {
        let sizing = of(ladder, 200, 0.012);
        assert!(sizing.refusals.is_empty(), "{:?}", sizing.refusals);
        let knee = &sizing.knee;
        assert!((knee.limit_per_s.value - 300.0).abs() < 0.01, "{knee:?}");
        assert!((knee.users.value - 303.0).abs() < 0.01, "{knee:?}");
        let answer = sizing.answer.unwrap();
        let known = exact.throughput_per_s(200);
        assert!((answer.throughput_per_s.value / known - 1.0).abs() < 1e-6, "{answer:?}");
        let busy = (1.0 + 0.010 * known) / 4.0;
        assert!((answer.at.resources[0].share - busy).abs() < 1e-6, "{answer:?}");
        // one more than operations need of processors of their own
        let fits = |cores: &u32| {
            let own = Landscape { elements: vec![station(CORES, Servers::Shared(*cores), 0.010)] };
            Analysis::of(&own, 1.0, 200).unwrap().mean_s(200) <= 0.012
        };
        let own = (1..20).find(fits).unwrap();
        let needs = answer.needs.unwrap();
        assert!((needs[0].places.value - f64::from(own + 1)).abs() < 1e-9, "{needs:?} {own}");
        let within = exact.users_within(Figure::Mean, 0.012, &Tail::default()).unwrap();
        let found = answer.users_within.unwrap().value;
        let most = 2.0 * f64::from(*ladder.last().unwrap());
        assert!((found - count(within).min(most)).abs() <= 1.0, "{found} {within}");
    }
    let full = Setup { cores: 1, ..Setup::default() };
    let ladder = Ladder::of(beside_other_work(&[1, 20, 50, 80, 110])).unwrap();
    let error = size(ladder, &full, question(100, None)).unwrap_err();
    assert!(error.to_string().contains(" of 1 processor would be busy already"), "{error}");
    let a_part = Setup { cores: 1, quota: Some(0.5), ..Setup::default() };
    let ladder = Ladder::of(beside_other_work(&[1, 20, 50, 80, 110])).unwrap();
    let error = size(ladder, &a_part, question(100, None)).unwrap_err().to_string();
    let part = "1.00 of the 0.50 processors that a control group leaves would be busy already";
    assert!(error.contains(part), "{error}");
}
