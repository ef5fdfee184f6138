use super::*;
use crate::analysis::Analysis;
use crate::landscape::{Element, Pool, Servers, Station};

fn station(name: &str, servers: Servers, service_s: f64, variation: f64) -> Element {
    let name = name.into();
    Element::Station(Station { name, servers, service_s, variation, background: 0.0 })
}

fn pool(size: u32, queue: Option<u32>, inside: Vec<Element>) -> Element {
    Element::Pool(Pool { name: "processes".into(), size, queue, inside })
}

fn plan(elements: Vec<Element>, load: Load, for_s: f64) -> Plan {
    Plan {
        landscape: Landscape { elements },
        load,
        for_s,
        warm_up_s: for_s / 10.0,
        patience: Patience::default(),
        sessions: None,
        bursts: None,
        seed: 20,
    }
}

fn open(rate_per_s: f64) -> Load {
    Load::Open { rate_per_s }
}

fn closed(users: u32, think_s: f64) -> Load {
    Load::Closed { users, think_s, variation: 1.0 }
}

/// The chance to wait in M/M/c with `load = rate * service`, Erlang's C.
fn erlang_c(load: f64, servers: u32) -> f64 {
    let mut blocked = 1.0; // Erlang's B, by its recursion
    for server in 1..=servers {
        blocked = load * blocked / (f64::from(server) + load * blocked);
    }
    let busy = load / f64::from(servers);
    blocked / (1.0 - busy * (1.0 - blocked))
}

/// Simulates `plan` with twenty seeds: the interval of each is one of 95 %, so nearly all must hold
/// what is `expected`; they say something; and together they are close to it.
fn in_intervals(plan: &Plan, expected: f64, figure: impl Fn(&Simulated) -> Option<Bounded>) {
    let (mut held, mut sum) = (0, 0.0);
    for seed in 1..=20 {
        let found = Plan { seed, ..plan.clone() }.simulate().unwrap();
        let found = figure(&found).expect("enough operations for an interval");
        assert!(found.high - found.low < 0.3 * expected, "it says nothing: {found:?} {expected}");
        held += u32::from(found.holds(expected));
        sum += found.value;
    }
    // fewer than 15 of 20 happen once in 3,000 times
    assert!(held >= 15, "{expected} is in {held} of 20 intervals");
    assert!((sum / 20.0 / expected - 1.0).abs() < 0.02, "{} is not {expected}", sum / 20.0);
}

#[test]
fn servers_with_one_queue_wait_as_erlang_says() {
    for (rate, servers) in [(8.0, 1), (35.0, 4), (140.0, 16)] {
        let elements = vec![station("cores", Servers::Queue(servers), 0.1, 1.0)];
        let plan = plan(elements, open(rate), 100_000.0 / rate);
        let free = f64::from(servers) / 0.1 - rate;
        in_intervals(&plan, 0.1 + erlang_c(rate * 0.1, servers) / free, |it| it.mean_s);
        in_intervals(&plan, rate, |it| it.throughput_per_s);
        let share = rate * 0.1 / f64::from(servers);
        let used = plan.simulate().unwrap().resources;
        assert!((used[0].share - share).abs() < 0.02, "{used:?}");
    }
}

#[test]
fn one_server_waits_as_pollaczek_and_khinchine_say() {
    for variation in [0.0, 0.25, 4.0] {
        let elements = vec![station("cores", Servers::Queue(1), 0.1, variation)];
        let wait = 7.0 * 0.01 * (1.0 + variation) / 2.0 / (1.0 - 0.7);
        in_intervals(&plan(elements, open(7.0), 20_000.0), 0.1 + wait, |it| it.mean_s);
    }
}

#[test]
fn shared_processors_do_not_care_how_work_varies() {
    for variation in [0.0, 4.0] {
        let elements = vec![station("cores", Servers::Shared(1), 0.1, variation)];
        in_intervals(&plan(elements, open(7.0), 20_000.0), 0.1 / 0.3, |it| it.mean_s);
    }
}

#[test]
fn exponential_times_have_their_tail() {
    // M/M/1: the response is exponential of mean 1 / (10 - 7)
    let elements = vec![station("cores", Servers::Queue(1), 0.1, 1.0)];
    in_intervals(&plan(elements, open(7.0), 20_000.0), 20.0_f64.ln() / 3.0, |it| it.p95_s);
}

#[test]
fn repairmen_agree_with_the_exact_network() {
    let stations = [(Servers::Queue(4), 60), (Servers::Shared(4), 60), (Servers::Queue(4), 120)];
    for (servers, users) in stations {
        let elements = vec![station("cores", servers, 0.5, 1.0)];
        let landscape = Landscape { elements: elements.clone() };
        let exact = Analysis::of(&landscape, 10.0, users as usize).unwrap();
        let exact = exact.at(users as usize);
        let plan = plan(elements, closed(users, 10.0), 10_000.0);
        in_intervals(&plan, exact.throughput_per_s, |it| it.throughput_per_s);
        in_intervals(&plan, exact.mean_s, |it| it.mean_s);
    }
}

#[test]
fn a_pool_that_limits_is_approximated_well() {
    let inside = vec![
        station("cores", Servers::Shared(2), 0.010, 1.0),
        station("database", Servers::Delay, 0.050, 1.0),
    ];
    let elements = vec![station("network", Servers::Delay, 0.002, 1.0), pool(6, None, inside)];
    let landscape = Landscape { elements: elements.clone() };
    for users in [40_u32, 60, 80] {
        let model = Analysis::of(&landscape, 0.5, users as usize).unwrap();
        let model = model.at(users as usize);
        let found = plan(elements.clone(), closed(users, 0.5), 2_000.0).simulate().unwrap();
        let (x, r) = (found.throughput_per_s.unwrap(), found.mean_s.unwrap());
        assert!((model.throughput_per_s / x.value - 1.0).abs() < 0.02, "{model:?} {found:?}");
        assert!((model.mean_s / r.value - 1.0).abs() < 0.05, "{model:?} {found:?}");
        assert!(
            (model.p95_s / found.p95_s.unwrap().value - 1.0).abs() < 0.10,
            "{model:?} {found:?}"
        );
        for (a, b) in model.resources.iter().zip(&found.resources) {
            assert!(a.name == b.name && (a.share - b.share).abs() < 0.02, "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_full_queue_turns_away_as_erlangs_loss_says() {
    let inside = vec![station("database", Servers::Delay, 1.0, 1.0)];
    let found = plan(vec![pool(5, Some(0), inside)], open(4.0), 50_000.0).simulate().unwrap();
    let asked = 4.0 * 50_000.0;
    let mut blocked = 1.0;
    for server in 1..=5 {
        blocked = 4.0 * blocked / (f64::from(server) + 4.0 * blocked);
    }
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let share = found.turned_away as f64 / asked;
    assert!((share - blocked).abs() < 0.005, "{share} {blocked}");
    assert_eq!(found.turned_away, found.failed);
}

#[test]
fn what_is_given_up_still_costs() {
    let elements = vec![station("cores", Servers::Queue(1), 0.1, 1.0)];
    let mut impatient = plan(elements, open(20.0), 500.0);
    impatient.patience = Patience { time_out_s: Some(1.0), retries: 2, back_off_s: 0.1 };
    let found = impatient.simulate().unwrap();
    assert!(found.timed_out > 1_000 && found.retried > 0 && found.failed > 0);
    assert!(found.timed_out <= found.retried + found.failed + 5_000, "{found:?}");
    assert!(found.resources[0].share > 0.99, "work for nobody keeps the server busy: {found:?}");
    assert!(found.throughput_per_s.unwrap().value < 5.0, "little of it is in time: {found:?}");
}

#[test]
fn sessions_are_limited() {
    let elements = vec![station("cores", Servers::Queue(4), 0.01, 1.0)];
    let mut few = plan(elements, closed(100, 1.0), 500.0);
    few.sessions = Some(Sessions { most: 30, operations: 5 });
    let found = few.simulate().unwrap();
    assert_eq!(found.sessions_max, 30);
    assert!(found.refused_sessions > 0);
    // a session is five operations of 0.01 s with four thoughts between them, and then the next
    // user has to come
    let most = 30.0 * 5.0 / (5.0 * 0.01 + 4.0 * 1.0);
    let rate = found.throughput_per_s.unwrap();
    assert!(rate.value < most && rate.value > 0.97 * most, "{found:?}");
}

#[test]
fn bursts_ask_for_more_and_wait_longer() {
    let elements = vec![station("cores", Servers::Queue(1), 0.1, 1.0)];
    let mut even = plan(elements, open(3.0), 20_000.0);
    let without = even.simulate().unwrap();
    even.bursts = Some(Bursts { factor: 3.0, on_s: 20.0, off_s: 60.0 });
    let with = even.simulate().unwrap();
    let rate = with.throughput_per_s.unwrap();
    assert!((rate.value - 3.0 * (60.0 + 3.0 * 20.0) / 80.0).abs() < 0.2, "{rate:?}");
    assert!(with.mean_s.unwrap().low > 2.0 * without.mean_s.unwrap().high);
}

/// Throughput and mean response time of one exponential server and `users` who think, whose thoughts are
/// over `factor` times as fast in bursts: by the balance of all states, one sweep after the other.
fn one_server_with_bursts(users: u32, (think_s, service_s): (f64, f64), of: Bursts) -> (f64, f64) {
    let most = users as usize;
    let ask = |fast: usize, k: usize| {
        let thinking = f64::from(users - u32::try_from(k).unwrap());
        thinking / think_s * if fast == 1 { of.factor } else { 1.0 }
    };
    let turn = [1.0 / of.off_s, 1.0 / of.on_s];
    let mut p = [vec![1.0; most + 1], vec![1.0; most + 1]];
    for _ in 0..20_000 {
        for fast in [0, 1] {
            for k in 0..=most {
                let served = if k > 0 { 1.0 / service_s } else { 0.0 };
                let mut into = p[1 - fast][k] * turn[1 - fast];
                if k > 0 {
                    into += p[fast][k - 1] * ask(fast, k - 1);
                }
                if k < most {
                    into += p[fast][k + 1] / service_s;
                }
                p[fast][k] = into / (ask(fast, k) + served + turn[fast]);
            }
        }
    }
    let all: f64 = p.iter().flatten().sum();
    let share = |k: usize| (p[0][k] + p[1][k]) / all;
    let present: f64 = (0..).zip(0..=most).map(|(n, k)| f64::from(n) * share(k)).sum();
    let throughput_per_s = (1.0 - share(0)) / service_s;
    (throughput_per_s, present / throughput_per_s)
}

#[test]
fn in_bursts_users_ask_so_much_more_whether_they_think_already_or_not() {
    let long = Bursts { factor: 3.0, on_s: 10.0, off_s: 60.0 };
    let cases = [
        // hardly any service: all the time everybody thinks, and 3 times as much is asked in 10 of 70 s
        (30, (60.0, 1e-4), long, 20_000.0),
        (20, (10.0, 0.3), long, 40_000.0),
        (12, (5.0, 0.3), Bursts { factor: 0.2, on_s: 20.0, off_s: 20.0 }, 20_000.0),
    ];
    for (users, (think_s, service_s), bursts, for_s) in cases {
        let (throughput_per_s, mean_s) =
            one_server_with_bursts(users, (think_s, service_s), bursts);
        let elements = vec![station("cores", Servers::Queue(1), service_s, 1.0)];
        let mut plan = plan(elements, closed(users, think_s), for_s);
        plan.bursts = Some(bursts);
        in_intervals(&plan, throughput_per_s, |it| it.throughput_per_s);
        in_intervals(&plan, mean_s, |it| it.mean_s);
    }
    // the balance itself, where nobody ever waits
    let (rate, _) = one_server_with_bursts(30, (60.0, 1e-4), long);
    assert!((rate / (0.5 * (60.0 + 3.0 * 10.0) / 70.0) - 1.0).abs() < 1e-3, "{rate}");
}

#[test]
fn users_without_thoughts_have_none_to_hurry() {
    let elements = vec![station("cores", Servers::Queue(1), 0.1, 1.0)];
    let mut busy = plan(elements, closed(3, 0.0), 2_000.0);
    busy.bursts = Some(Bursts { factor: 3.0, on_s: 1.0, off_s: 1.0 });
    in_intervals(&busy, 10.0, |it| it.throughput_per_s);
    in_intervals(&busy, 0.3, |it| it.mean_s);
}

#[test]
fn other_work_leaves_as_much_as_the_model_says() {
    for background in [1.0, 1.5, 2.6] {
        let shared = Station {
            name: "cores".into(),
            servers: Servers::Shared(3),
            service_s: 0.5,
            variation: 1.0,
            background,
        };
        let elements = vec![Element::Station(shared)];
        let landscape = Landscape { elements: elements.clone() };
        let exact = Analysis::of(&landscape, 10.0, 40).unwrap().at(40);
        let plan = plan(elements, closed(40, 10.0), 10_000.0);
        in_intervals(&plan, exact.throughput_per_s, |it| it.throughput_per_s);
        in_intervals(&plan, exact.mean_s, |it| it.mean_s);
        let used = plan.simulate().unwrap().resources;
        assert!((used[0].share - exact.resources[0].share).abs() < 0.01, "{used:?} {exact:?}");
    }
}

#[test]
fn one_seed_gives_one_result() {
    let elements = vec![station("cores", Servers::Shared(2), 0.1, 0.5)];
    let one = plan(elements, closed(50, 2.0), 500.0);
    let other = Plan { seed: 21, ..one.clone() };
    assert_eq!(one.simulate().unwrap(), one.simulate().unwrap());
    assert_ne!(one.simulate().unwrap(), other.simulate().unwrap());
}

#[test]
fn users_who_are_refused_must_think() {
    let inside = || vec![station("cores", Servers::Shared(2), 0.01, 1.0)];
    let restless = |users| Err(SimulationError::Restless { users });
    for think_s in [0.0, 1e-9] {
        let mut few = plan(inside(), closed(20, think_s), 100.0);
        few.sessions = Some(Sessions { most: 10, operations: 20 });
        assert_eq!(few.simulate(), restless(20));
        few.sessions = Some(Sessions { most: 20, operations: 20 });
        assert_eq!(few.simulate().unwrap().refused_sessions, 0, "there is one for each");
        let mut full = plan(vec![pool(10, Some(5), inside())], closed(20, think_s), 100.0);
        assert_eq!(full.simulate(), restless(20));
        full.load = closed(15, think_s);
        assert_eq!(full.simulate().unwrap().turned_away, 0, "nobody finds the queue full");
        full.patience.time_out_s = Some(1.0);
        assert_eq!(full.simulate(), restless(15), "but for what was given up");
    }
    // what passes a delay first, or waits before it tries again, lets time pass
    let network = station("network", Servers::Delay, 0.01, 1.0);
    let elements = vec![network, pool(10, Some(5), inside())];
    let mut full = plan(elements, closed(20, 0.0), 100.0);
    assert!(full.simulate().unwrap().turned_away > 0);
    full.landscape.elements.remove(0);
    full.patience = Patience { retries: 3, back_off_s: 0.01, time_out_s: None };
    assert!(full.simulate().unwrap().turned_away > 0);
}

#[test]
fn what_cannot_be_simulated_is_refused() {
    let elements = || vec![station("cores", Servers::Queue(1), 0.1, 1.0)];
    let refused = |plan: Plan| plan.simulate().unwrap_err();
    assert_eq!(refused(plan(elements(), closed(0, 1.0), 1.0)), SimulationError::Users);
    assert!(matches!(refused(plan(elements(), open(0.0), 1.0)), SimulationError::Number(_)));
    assert!(matches!(refused(plan(elements(), open(1.0), f64::NAN)), SimulationError::Number(_)));
    assert!(matches!(refused(plan(vec![], open(1.0), 1.0)), SimulationError::Landscape(_)));
    let idle = vec![station("cores", Servers::Queue(1), 0.0, 1.0)];
    assert!(matches!(refused(plan(idle, closed(1, 0.0), 1.0)), SimulationError::Number(_)));
    let flood = vec![station("cores", Servers::Queue(1), 1e9, 1.0)];
    assert_eq!(refused(plan(flood, open(1e7), 10.0)), SimulationError::Overloaded);
}
