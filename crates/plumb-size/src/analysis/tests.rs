use super::*;

fn station(name: &str, servers: Servers, service_s: f64) -> Element {
    let name = name.into();
    Element::Station(Station { name, servers, service_s, variation: 1.0, background: 0.0 })
}

fn pool(name: &str, size: u32, inside: Vec<Element>) -> Element {
    Element::Pool(Pool { name: name.into(), size, queue: None, inside })
}

#[test]
fn a_pool_of_one_delay_is_a_station_of_as_many_servers() {
    let inside = vec![station("wait", Servers::Delay, 0.05)];
    let pooled = Landscape { elements: vec![pool("processes", 4, inside)] };
    let plain = Landscape { elements: vec![station("processes", Servers::Queue(4), 0.05)] };
    let of = |landscape: &Landscape| Analysis::of(landscape, 1.0, 200).unwrap();
    let (pooled, plain) = (of(&pooled), of(&plain));
    for users in [1, 40, 80, 120, 200] {
        let (a, b) = (pooled.at(users), plain.at(users));
        assert!((a.throughput_per_s / b.throughput_per_s - 1.0).abs() < 1e-12);
        assert!((a.mean_s / b.mean_s - 1.0).abs() < 1e-9);
        assert!((a.resources[0].share / b.resources[0].share - 1.0).abs() < 1e-9);
    }
}

/// One station of four processors, of which other work keeps so many busy.
fn beside(background: f64) -> Landscape {
    let station = Station {
        name: "cores".into(),
        servers: Servers::Shared(4),
        service_s: 0.01,
        variation: 1.0,
        background,
    };
    Landscape { elements: vec![Element::Station(station)] }
}

#[test]
fn beside_other_work_there_are_so_many_processors_fewer() {
    let three = Landscape { elements: vec![station("cores", Servers::Shared(3), 0.01)] };
    let three = Analysis::of(&three, 1.0, 400).unwrap();
    let beside = Analysis::of(&beside(1.0), 1.0, 400).unwrap();
    for users in [1, 100, 303, 400] {
        let (a, b) = (beside.at(users), three.at(users));
        assert!((a.throughput_per_s / b.throughput_per_s - 1.0).abs() < 1e-12);
        assert!((a.mean_s / b.mean_s - 1.0).abs() < 1e-9);
        assert!((a.p95_s / b.p95_s - 1.0).abs() < 1e-9, "{a:?} {b:?}");
        assert!((a.resources[0].share - (b.resources[0].share * 3.0 + 1.0) / 4.0).abs() < 1e-12);
    }
}

#[test]
fn a_part_of_a_processor_is_as_births_and_deaths_say() {
    for background in [1.5, 3.2] {
        let free = 4.0 - background;
        let solved = Analysis::of(&beside(background), 1.0, 300).unwrap();
        for users in [1_u32, 50, 150, 300] {
            // k users have min(k, free) processors
            let (mut weight, mut all, mut done) = (1.0_f64, 1.0_f64, 0.0_f64);
            for k in 1..=users {
                let speed = f64::from(k).min(free) / 0.01;
                weight *= f64::from(users - k + 1) / 1.0 / speed;
                all += weight;
                done += weight * speed;
            }
            let found = solved.throughput_per_s(users as usize);
            assert!((found / (done / all) - 1.0).abs() < 1e-9, "{background} {users}: {found}");
        }
        let open = OpenAnalysis::of(&beside(background)).unwrap();
        assert_eq!(open.bottleneck().map(|it| it.0), Some("cores"));
        assert!((open.bottleneck().unwrap().1 - free / 0.01).abs() < 1e-9);
        let half = open.at(free / 0.02).unwrap();
        assert!((half.resources[0].share - (free / 2.0 + background) / 4.0).abs() < 1e-9);
    }
}

#[test]
fn a_pool_that_is_never_full_changes_nothing() {
    let inside = || {
        vec![station("cores", Servers::Shared(2), 0.02), station("disk", Servers::Queue(1), 0.005)]
    };
    let pooled = Landscape { elements: vec![pool("processes", 300, inside())] };
    let plain = Landscape { elements: inside() };
    let (a, b) = (Analysis::of(&pooled, 1.0, 150), Analysis::of(&plain, 1.0, 150));
    let (a, b) = (a.unwrap().at(150), b.unwrap().at(150));
    assert!((a.mean_s / b.mean_s - 1.0).abs() < 1e-9, "{a:?} {b:?}");
    assert!((a.throughput_per_s / b.throughput_per_s - 1.0).abs() < 1e-9);
}

#[test]
fn the_distribution_of_one_exponential_server_is_known() {
    // M/M/1//N with few thoughts: nearly everybody waits, so the time is Erlang of N stages
    let plain = Landscape { elements: vec![station("cores", Servers::Queue(1), 0.1)] };
    let point = Analysis::of(&plain, 0.001, 20).unwrap().at(20);
    // chi-square at 95 % with 40 degrees of freedom is 55.758
    let expected = 55.758 / 2.0 * 0.1;
    assert!((point.p95_s / expected - 1.0).abs() < 0.01, "{point:?}");
}

#[test]
fn the_most_users_within_a_target_are_just_within() {
    let plain = Landscape { elements: vec![station("cores", Servers::Shared(4), 0.05)] };
    let solved = Analysis::of(&plain, 5.0, 2_000).unwrap();
    let tail = Tail::default();
    for figure in [Figure::Mean, Figure::P95] {
        let most = solved.users_within(figure, 0.2, &tail).unwrap();
        assert!(tail.figure_s(figure, &solved.at(most)) <= 0.2);
        assert!(tail.figure_s(figure, &solved.at(most + 1)) > 0.2);
    }
    assert_eq!(solved.users_within(Figure::Mean, 0.01, &tail), None);
    assert_eq!(solved.users_within(Figure::Mean, 1e6, &tail), Some(2_000));
}

#[test]
fn arrivals_find_servers_as_erlang_says() {
    // M/M/4 that is busy by 95 %: Erlang's C is 0.891
    let plain = Landscape { elements: vec![station("cores", Servers::Queue(4), 0.1)] };
    let open = OpenAnalysis::of(&plain).unwrap();
    assert_eq!(open.bottleneck(), Some(("cores", 40.0)));
    let found = open.at(38.0).unwrap();
    assert!((found.mean_s / (0.1 + 0.891_4 / (40.0 - 38.0)) - 1.0).abs() < 1e-3, "{found:?}");
    assert!((found.resources[0].share - 0.95).abs() < 1e-12);
    assert_eq!(open.at(40.0), None);
    // the time at one server is exponential
    let one = Landscape { elements: vec![station("cores", Servers::Queue(1), 0.1)] };
    let found = OpenAnalysis::of(&one).unwrap().at(9.9).unwrap();
    assert!((found.p95_s / (20.0_f64.ln() / (10.0 - 9.9)) - 1.0).abs() < 1e-6, "{found:?}");
}

#[test]
fn arrivals_are_a_crowd_that_thinks_very_long() {
    let inside = vec![
        station("cores", Servers::Shared(2), 0.010),
        station("disk", Servers::Queue(1), 0.004),
        station("wait", Servers::Delay, 0.030),
    ];
    let elements = vec![station("network", Servers::Delay, 0.002), pool("places", 6, inside)];
    let landscape = Landscape { elements };
    let (crowd, think_s) = (40_000, 400.0);
    let crowd = Analysis::of(&landscape, think_s, crowd).unwrap().at(crowd);
    let open = OpenAnalysis::of(&landscape).unwrap().at(crowd.throughput_per_s).unwrap();
    assert!((open.mean_s / crowd.mean_s - 1.0).abs() < 1e-3, "{open:?} {crowd:?}");
    assert!((open.p95_s / crowd.p95_s - 1.0).abs() < 1e-3, "{open:?} {crowd:?}");
    for (a, b) in open.resources.iter().zip(&crowd.resources) {
        assert!(a.name == b.name && (a.share - b.share).abs() < 1e-3, "{a:?} {b:?}");
    }
}

#[test]
fn fewer_users_are_answered_as_if_no_more_had_been_solved() {
    let inside = vec![
        station("cores", Servers::Shared(3), 0.004),
        station("disk", Servers::Queue(2), 0.003),
        station("waiting", Servers::Delay, 0.050),
    ];
    let elements = vec![station("net", Servers::Queue(1), 0.001), pool("pool", 5_000, inside)];
    let landscape = Landscape { elements };
    let many = Analysis::of(&landscape, 0.1, 300).unwrap();
    for users in [1, 2, 7, 40, 150, 299, 300] {
        let few = Analysis::of(&landscape, 0.1, users).unwrap().at(users);
        let of_many = many.at(users);
        for (one, other) in [
            (few.throughput_per_s, of_many.throughput_per_s),
            (few.mean_s, of_many.mean_s),
            (few.p95_s, of_many.p95_s),
            (few.resources[0].share, of_many.resources[0].share),
        ] {
            assert!((one / other - 1.0).abs() < 1e-9, "{users} users: {few:?} {of_many:?}");
        }
    }
}
