use proptest::prelude::*;

use super::*;
use crate::analysis::Figure;
use crate::landscape::{Element, Pool, Servers, Station};
use crate::simulation::{Load, Patience, Plan};

/// A pool in which operations need a processor for so long, and wait.
fn landscape(pool: u32, cores: (u32, f64), wait_s: f64) -> Landscape {
    let station = |name: &str, servers, service_s| {
        let name = name.into();
        Element::Station(Station { name, servers, service_s, variation: 1.0, background: 0.0 })
    };
    let inside = vec![
        station(CORES, Servers::Shared(cores.0), cores.1),
        station("wait", Servers::Delay, wait_s),
    ];
    let pool = Pool { name: "places".into(), size: pool, queue: None, inside };
    Landscape { elements: vec![Element::Pool(pool)] }
}

fn asked(think_s: f64, users: usize, figure: Figure, most_s: f64) -> Asked {
    Asked { think_s, users, target: Target { figure, most_s } }
}

fn mean_s(landscape: &Landscape, users: u32, think_s: f64) -> f64 {
    let plan = Plan {
        landscape: landscape.clone(),
        load: Load::Closed { users, think_s, variation: 1.0 },
        for_s: 2_000.0,
        warm_up_s: 100.0,
        patience: Patience::default(),
        sessions: None,
        bursts: None,
        seed: 3,
    };
    plan.simulate().unwrap().mean_s.unwrap().value
}

#[test]
fn full_processors_are_enlarged_and_not_the_pool_that_they_fill() {
    // one processor of 10 ms does 100 a second, ten places of 50 ms 200
    let one = landscape(10, (1, 0.010), 0.040);
    for (users, most_s) in [(60_u32, 0.300), (100, 0.567), (40, 0.167)] {
        // of one processor the asymptotic bound N / X - Z is above the target, whatever the pool is
        assert!(f64::from(users) * 0.010 - 0.1 > most_s);
        let asked = asked(0.1, users as usize, Figure::Mean, most_s);
        let found = asked.places(&one, &Tail::default()).unwrap();
        assert_eq!(found, Some(vec![10, 2]), "{users} users");
        let simulated_s = mean_s(&landscape(10, (2, 0.010), 0.040), users, 0.1);
        assert!(simulated_s < most_s, "{simulated_s}");
    }
}

#[test]
fn a_pool_that_is_too_small_is_enlarged_and_its_processors_are_not() {
    let few = landscape(4, (4, 0.005), 0.095);
    // four places of 100 ms are 40 a second: N / X - Z is 1.5 s
    let asked = asked(1.0, 100, Figure::Mean, 0.55);
    let found = asked.places(&few, &Tail::default()).unwrap().unwrap();
    let [places, cores] = found[..] else { panic!("{found:?}") };
    assert!((7..=8).contains(&places) && cores == 1, "{found:?}");
    assert!(mean_s(&landscape(places, (cores, 0.005), 0.095), 100, 1.0) < 0.56);
    assert!(mean_s(&landscape(places - 1, (cores, 0.005), 0.095), 100, 1.0) > 0.54);
}

#[test]
fn what_no_number_of_places_keeps_is_not_answered() {
    let one = landscape(10, (1, 0.010), 0.040);
    let of = |most_s| asked(1.0, 5, Figure::Mean, most_s).places(&one, &Tail::default()).unwrap();
    assert_eq!(of(0.049), None, "an operation that is alone takes longer");
    assert_eq!(of(0.060), Some(vec![10, 1]));
    let bound = asked(0.0, 1_000, Figure::Mean, 2.4).places(&one, &Tail::default()).unwrap();
    assert_eq!(bound, None, "1,000 / 400 is 2.5 s");
}

#[test]
fn other_work_needs_its_processors_as_well() {
    let mut busy = landscape(10, (4, 0.010), 0.040);
    busy.station_mut(CORES).unwrap().background = 1.5;
    let of = |users, most_s| {
        asked(0.1, users, Figure::Mean, most_s).places(&busy, &Tail::default()).unwrap()
    };
    assert_eq!(of(1, 1.0), Some(vec![10, 2]), "one and a half of two are not its own");
    // 100 a second at most of one more, 200 of two: 20 users in 0.1 s need more than 100
    assert!(of(20, 0.090).is_some_and(|it| it[1] >= 3));
}

#[test]
fn many_places_are_looked_at_few_times() {
    let many = landscape(50_000, (40_000, 0.010), 0.040);
    let order = order(&many.resources());
    assert_eq!(order.len(), 90_000);
    assert_eq!(after(&many.resources(), &order), [100_000, 80_000]);
    let asked = asked(0.0, 2_000, Figure::Mean, 0.051);
    assert_eq!(asked.places(&many, &Tail::default()).unwrap().unwrap()[0], 50_000);
}

proptest! {
    #[test]
    fn no_place_of_an_answer_is_without_need(
        pool in 1..6_u32,
        cores in (1..4_u32, 0.001..0.1_f64),
        wait_s in 0.0..0.2_f64,
        users in 1..40_usize,
        most_s in 0.01..2.0_f64,
    ) {
        let landscape = landscape(pool, cores, wait_s);
        let asked = asked(0.5, users, Figure::Mean, most_s);
        let (tail, had) = (Tail::default(), landscape.resources());
        let met = |places: &[u32]| asked.met(&landscape, &tail, &had, places).unwrap();
        match asked.places(&landscape, &tail).unwrap() {
            None => prop_assert!(!met(&[2 * pool, 2 * cores.0])),
            Some(places) => {
                prop_assert!(met(&places), "{:?}", places);
                prop_assert!(places[0] >= pool && places[0] <= 2 * pool);
                prop_assert!(places[1] >= 1 && places[1] <= 2 * cores.0);
                prop_assert!(places[0] == pool || !met(&[places[0] - 1, places[1]]));
                prop_assert!(places[1] == 1 || !met(&[places[0], places[1] - 1]));
            }
        }
    }
}
