use super::*;

/// A ladder of one processor second in a thousand an operation, whose server tells `parts` and whose load
/// generator takes a quarter of that.
fn ladder(parts: &[(&str, f64)], mean_s: f64) -> Ladder {
    let step = |users: f64| Step {
        users,
        throughput_per_s: users / (1.0 + mean_s),
        mean_s,
        p95_s: mean_s * 2.0,
        busy_cores: Some(0.004 * users / (1.0 + mean_s)),
        generator_s: Some(0.001),
        parts: parts.iter().map(|(name, s)| ((*name).to_owned(), *s)).collect(),
        ..Step::default()
    };
    Ladder::of([1.0, 2.0, 4.0, 8.0].map(step).into()).unwrap()
}

fn served(parts: &[(&str, f64)], mean_s: f64) -> Landscape {
    let setup = Setup { cores: 8, pool: Some(("places".into(), 10)), ..Setup::default() };
    Model::fit(&ladder(parts, mean_s), &setup).unwrap().served()
}

fn close(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} is not {expected}");
}

#[test]
fn a_place_is_held_for_as_long_as_the_server_says_whoever_asks() {
    // 4 ms of processor time with that of the generator, of which the server knows nothing
    for held_s in [0.003, 0.0035, 0.020] {
        let mut served = served(&[("queue", 0.0), ("work", held_s)], 0.030);
        close(served.resources()[0].held_s, held_s);
        close(served.alone_s(), 0.030);
        close(served.station_mut(CORES).unwrap().service_s, 0.003);
    }
}

#[test]
fn a_server_that_tells_of_its_queue_alone_holds_a_place_for_the_rest() {
    close(served(&[("queue", 0.010)], 0.030).resources()[0].held_s, 0.020);
    close(served(&[], 0.030).resources()[0].held_s, 0.030);
}

#[test]
fn a_load_generator_that_seems_to_take_all_leaves_the_server_some_work() {
    let mut model =
        Model::fit(&ladder(&[], 0.004), &Setup { cores: 8, ..Setup::default() }).unwrap();
    model.demands.generator_s = 0.005;
    let mut served = model.served();
    close(served.station_mut(CORES).unwrap().service_s, 0.004 * DRAWN_MIN);
    assert!(Analysis::of(&served, 0.0, 5).is_ok(), "users who do not think, either");
}

#[test]
fn a_quota_of_the_server_alone_bounds_what_others_have_and_not_what_was_measured() {
    for (quota, places, background) in [(2.5, 3, 0.5), (1.0, 1, 0.0), (0.4, 1, 0.6), (9.0, 4, 0.0)]
    {
        let setup = Setup { cores: 4, server_quota: Some(quota), ..Setup::default() };
        let model = Model::fit(&ladder(&[], 0.030), &setup).unwrap();
        close(model.landscape().bottleneck().unwrap().rate_max_per_s(), 4.0 / 0.004);
        let mut served = model.served();
        close(served.bottleneck().unwrap().rate_max_per_s(), f64::min(quota, 4.0) / 0.003);
        let cores = served.station_mut(CORES).unwrap();
        assert_eq!(cores.places(), places, "what else the machine has is no work of others");
        assert!((cores.background - background).abs() < 1e-9, "{cores:?}");
        let drawn = model.drawn(20, 1, Generator::LeftOut);
        assert!(drawn.iter().all(|(it, _)| it.check().is_ok()), "{drawn:?}");
    }
}

#[test]
fn operations_have_what_a_quota_leaves_of_the_processors() {
    for (cores, quota, processors) in
        [(2, None, 2.0), (2, Some(1.5), 1.5), (1, Some(0.5), 0.5), (2, Some(9.0), 2.0)]
    {
        let setup = Setup { cores, quota, ..Setup::default() };
        let model = Model::fit(&ladder(&[], 0.030), &setup).unwrap();
        let full = model.landscape().bottleneck().unwrap();
        close(full.rate_max_per_s(), processors / 0.004);
        let drawn = model.drawn(20, 1, Generator::Included);
        assert!(drawn.iter().all(|(it, _)| it.check().is_ok()), "{drawn:?}");
    }
}

#[test]
fn delays_that_are_drawn_short_are_none_and_not_less() {
    // alone, with a quota of less than one processor, the server's work would fill more than the whole
    // time of an operation: nothing is left of its delays
    let setup = Setup {
        cores: 4,
        server_quota: Some(0.1),
        pool: Some(("places".into(), 10)),
        ..Setup::default()
    };
    let mut model = Model::fit(&ladder(&[("work", 0.006)], 0.010), &setup).unwrap();
    model.misfit = 0.3;
    assert!(model.demands.without_generator.outside_s < 0.0, "{:?}", model.demands);
    let drawn = model.drawn(100, 1, Generator::LeftOut);
    let wrong = drawn.iter().find_map(|(it, _)| it.check().err());
    assert_eq!(wrong, None);
}
