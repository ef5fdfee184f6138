use proptest::prelude::*;

use super::*;

fn network(delay_s: f64, stations: &[(f64, u32)]) -> ClosedNetwork {
    let speed = |(demand_s, servers): &(f64, u32)| Speed::of_servers(*demand_s, *servers).unwrap();
    ClosedNetwork::new(delay_s, stations.iter().map(speed).collect()).unwrap()
}

fn close(found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() < within, "{found} is not {expected}");
}

/// Throughput of M/M/m//N by the balance of births and deaths: machines that run for `think_s`
/// and wait for one of `servers` repairers.
fn repairmen(think_s: f64, service_s: f64, servers: u32, users: u32) -> f64 {
    let (mut weights, mut last) = (vec![0.0_f64], 0.0_f64); // logarithms
    for k in 1..=users {
        let born = f64::from(users - k + 1) / think_s;
        let dies = f64::from(k.min(servers)) / service_s;
        last += (born / dies).ln();
        weights.push(last);
    }
    let most = weights.iter().copied().fold(f64::MIN, f64::max);
    let all: f64 = weights.iter().map(|w| (w - most).exp()).sum();
    let busy = |k: usize| f64::from(u32::try_from(k).unwrap().min(servers));
    let work: f64 = weights.iter().enumerate().map(|(k, w)| busy(k) * (w - most).exp()).sum();
    work / all / service_s
}

#[test]
fn several_repairers_have_the_closed_form() {
    for (think_s, service_s, servers, users) in
        [(10.0, 0.5, 4, 40), (1.0, 0.3, 1, 7), (10.0, 0.04, 8, 900), (0.5, 0.1, 16, 64)]
    {
        let network = network(think_s, &[(service_s, servers)]);
        let solved = network.solve(users as usize).unwrap();
        let expected = repairmen(think_s, service_s, servers, users);
        close(solved.throughput_per_s(users as usize), expected, 1e-9);
    }
}

#[test]
fn a_hundred_thousand_users_are_as_exact_as_forty() {
    // M/M/m//N: the closed form loses digits in its logarithms, so the bound and the balance tell
    let network = network(10.0, &[(0.008, 64), (0.0001, 1)]);
    let solved = network.solve(100_000).unwrap();
    let most = 64.0 / 0.008;
    close(solved.throughput_per_s(100_000), most, 1e-9);
    let light = solved.throughput_per_s(40_000);
    assert!(light < 40_000.0 / 10.008 && light > 0.999 * 40_000.0 / 10.0081, "{light}");
    let present = [0, 1].map(|at| solved.present(at, 100_000).mean());
    let balance = solved.throughput_per_s(100_000) * 10.0 + present[0] + present[1];
    close(balance, 100_000.0, 1e-9);
}

#[test]
fn where_the_recursion_of_the_textbooks_fails_this_does_not() {
    // the recursion gives 142.91 a second at 1,500 users, and at 2,500 more than the bound
    let network = network(10.0, &[(0.040, 8), (0.012, 2), (0.0055, 1)]);
    let solved = network.solve(2_500).unwrap();
    assert!((solved.throughput_per_s(1_500) - 148.07).abs() < 0.005);
    assert!((solved.response_s(1_500) - 0.130).abs() < 0.001);
    assert!(solved.throughput_per_s(2_500) <= 2.0 / 0.012 * (1.0 + 1e-12));
}

#[test]
fn of_many_users_only_numbers_that_are_likely_are_looked_at() {
    let network = network(0.030, &[(0.010, 16), (0.002, 4)]);
    let solved = network.solve(20_000).unwrap();
    let most = solved.presences(0).map(|presence| presence.shares().count()).max();
    assert!(most.is_some_and(|most| most < 2_000), "{most:?}");
    let all = solved.presences(0).last().unwrap().mean();
    close(all, solved.present(0, 20_000).mean(), 1e-10);
}

#[test]
fn the_textbook_example_is_met() {
    // Lazowska et al., Quantitative System Performance, chapter 6: Z 15 s, demands .605 2.1 1.35
    let network = network(15.0, &[(0.605, 1), (2.1, 1), (1.35, 1)]);
    let solved = network.solve(3).unwrap();
    assert!((solved.throughput_per_s(3) - 0.1515).abs() < 0.0005, "{}", solved.throughput_per_s(3));
}

#[test]
fn what_cannot_be_a_network_is_refused() {
    assert_eq!(Speed::of_servers(f64::NAN, 1), Err(NetworkError::Time));
    assert_eq!(Speed::of_servers(-1.0, 1), Err(NetworkError::Time));
    assert_eq!(Speed::of_factors(1.0, vec![2.0, 1.0]), Err(NetworkError::Speed));
    assert_eq!(Speed::of_factors(1.0, vec![]), Err(NetworkError::Speed));
    assert_eq!(ClosedNetwork::new(0.0, vec![]).unwrap_err(), NetworkError::Empty);
    assert_eq!(ClosedNetwork::new(f64::INFINITY, vec![]).unwrap_err(), NetworkError::Time);
    let thinkers = ClosedNetwork::new(1.0, vec![]).unwrap();
    assert_eq!(thinkers.solve(USERS_MAX + 1).unwrap_err(), NetworkError::Users);
    close(thinkers.solve(5).unwrap().throughput_per_s(5), 5.0, 1e-12);
}

/// Shares of all states of two stations and a delay, by enumeration.
fn by_states(delay_s: f64, stations: [(f64, u32); 2], users: u32) -> (f64, f64) {
    let weight = |k: u32, demand: f64, servers: u32| {
        (1..=k).fold(1.0, |w, j| w * demand / f64::from(j.min(servers)))
    };
    let constant = |users: u32, first: &dyn Fn(u32) -> f64| {
        let mut sum = 0.0;
        for a in 0..=users {
            for b in 0..=users - a {
                let think = weight(users - a - b, delay_s, u32::MAX);
                let (d0, m0) = stations[0];
                let (d1, m1) = stations[1];
                sum += first(a) * weight(a, d0, m0) * weight(b, d1, m1) * think;
            }
        }
        sum
    };
    let all = constant(users, &|_| 1.0);
    (constant(users - 1, &|_| 1.0) / all, constant(users, &f64::from) / all)
}

proptest! {
    #[test]
    fn every_state_counted_gives_the_same(
        delay_s in 0.0..5.0_f64,
        demands in (0.01..2.0_f64, 0.01..2.0_f64),
        servers in (1..5_u32, 1..5_u32),
        users in 1..14_u32,
    ) {
        let stations = [(demands.0, servers.0), (demands.1, servers.1)];
        let network = network(delay_s, &stations);
        let solved = network.solve(users as usize).unwrap();
        let (throughput, present) = by_states(delay_s, stations, users);
        close(solved.throughput_per_s(users as usize), throughput, 1e-10);
        let presence = solved.present(0, users as usize);
        close(presence.mean(), present, 1e-10);
        close(presence.shares().map(|(_, share)| share).sum(), 1.0, 1e-10);
    }

    #[test]
    fn one_population_after_the_other_is_as_each_of_them(
        delay_s in prop_oneof![Just(0.0), 0.0..5.0_f64],
        demands in prop::collection::vec((prop_oneof![Just(0.0), 1e-4..2.0_f64], 1..40_u32), 1..4),
    ) {
        prop_assume!(delay_s + demands.iter().map(|(demand_s, _)| demand_s).sum::<f64>() > 0.0);
        let network = network(delay_s, &demands);
        let solved = network.solve(120).unwrap();
        for station in 0..demands.len() {
            let mut all = solved.presences(station);
            for users in 0..=120 {
                let (one, alone) = (all.next().unwrap(), solved.present(station, users));
                prop_assert!((one.mean() - alone.mean()).abs() <= 1e-10 * alone.mean().max(1e-10));
                let sum: f64 = one.shares().map(|(_, share)| share).sum();
                prop_assert!((sum - 1.0).abs() < 1e-10, "{}: {}", users, sum);
            }
            prop_assert_eq!(all.next(), None);
        }
    }

    #[test]
    fn more_users_are_never_slower_together(
        delay_s in 0.0..20.0_f64,
        demands in prop::collection::vec((1e-4..1.0_f64, 1..40_u32), 1..6),
    ) {
        let network = network(delay_s, &demands);
        let solved = network.solve(600).unwrap();
        let most = demands.iter().map(|(d, m)| f64::from(*m) / d).fold(f64::MAX, f64::min);
        for users in 2..=600 {
            let (before, after) = (solved.throughput_per_s(users - 1), solved.throughput_per_s(users));
            prop_assert!(after >= before * (1.0 - 1e-12) && after <= most * (1.0 + 1e-9));
        }
    }
}
