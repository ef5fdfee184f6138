//! Ladders of which some figures are known badly, or not at all.

use super::*;

#[test]
fn processors_that_nobody_watched_answer_nothing() {
    let steps = measured(&truth(40, 0.05, 0.02), 1.0, &LADDER);
    let blind = steps.into_iter().map(|step| Step { busy_cores: None, ..step }).collect();
    let error = size(Ladder::of(blind).unwrap(), &setup(40), question(10, None)).unwrap_err();
    assert_eq!(error, SizingError::Model(ModelError::Processors));
}

#[test]
fn a_pool_of_a_server_that_tells_nothing_is_held_all_the_time() {
    let mut steps = measured(&truth(4, 0.002, 0.048), 1.0, &[1, 20, 40, 80, 160]);
    for step in &mut steps {
        step.parts.clear();
        step.server_s = Some(0.002);
    }
    let sized = size(Ladder::of(steps).unwrap(), &setup(4), question(100, None)).unwrap();
    assert_eq!(sized.knee.bottleneck, "work-processes");
    let known = truth(4, 0.002, 0.048).knee_users(1.0).unwrap();
    assert!((sized.knee.users.value / known - 1.0).abs() < 0.05, "{:?}", sized.knee);
}

#[test]
fn the_clock_of_the_server_stands_in_for_processors_that_few_steps_know() {
    let mut steps = measured(&truth(10, 0.020, 0.040), 1.0, &[1, 20, 40, 80, 120]);
    for (at, step) in steps.iter_mut().enumerate() {
        step.busy_cores = step.busy_cores.filter(|_| at > 2);
        step.server_s = (at > 2).then_some(0.020);
    }
    let sized = size(Ladder::of(steps).unwrap(), &setup(10), question(100, None)).unwrap();
    let demands = &sized.model.demands;
    assert!((demands.cores_s.value - 0.020).abs() < 1e-9, "{demands:?}");
    assert!(demands.cores_s.high - demands.cores_s.low >= 0.2 * 0.020 - 1e-9, "{demands:?}");
    assert_eq!(sized.knee.bottleneck, CORES);
}

#[test]
fn a_step_of_few_operations_refuses_nothing_by_chance() {
    let truth = truth(4, 0.005, 0.045);
    let mut steps = measured(&truth, 1.0, &[2, 20, 40, 60, 120, 160]);
    for step in &mut steps {
        step.operations = 5_000.0;
    }
    steps[0].operations = 40.0;
    steps[0].throughput_per_s *= 0.8;
    steps[0].p95_s *= 1.8;
    let sized = size(Ladder::of(steps.clone()).unwrap(), &setup(4), question(160, None)).unwrap();
    assert!(sized.refusals.is_empty(), "{:?}", sized.refusals);
    let mut known = steps;
    known[4].throughput_per_s *= 0.8;
    known[4].mean_s = 120.0 / known[4].throughput_per_s - 1.0;
    let sized = size(Ladder::of(known).unwrap(), &setup(4), question(160, None)).unwrap();
    assert!(sized.refusals.iter().any(|it| it.contains("with 120 users")), "{:?}", sized.refusals);
}

#[test]
fn a_server_that_does_more_than_the_model_is_limited_by_nothing_unknown() {
    let truth = truth(4, 0.002, 0.018);
    let mut steps = measured(&truth, 0.1, &[1, 2, 4, 8, 16, 32, 40]);
    // the few operations of one user were slow by chance
    steps[0].operations = 48.0;
    steps[0].mean_s *= 1.3;
    steps[0].mean_half_s = Some(0.25 * steps[0].mean_s);
    steps[0].throughput_per_s = 1.0 / (0.1 + steps[0].mean_s);
    for (_, part_s) in &mut steps[0].parts {
        *part_s *= 1.3;
    }
    let sized = size(Ladder::of(steps).unwrap(), &setup(4), question(40, None)).unwrap();
    let said = sized.refusals.iter().find(|it| it.contains("the model is")).expect("it is off");
    assert!(said.contains("% below the throughput") && !said.contains("limits it"), "{said}");
    assert!(said.contains("than the step with 1 user says"), "{said}");
    assert!(
        said.contains(&format!("(mean {:.2} ms +- ", sized.ladder.lowest().mean_s * 1e3)),
        "{said}"
    );
}

#[test]
fn a_processor_demand_that_may_be_next_to_nothing_does_not_take_the_answer() {
    // the error of a slope through three points is known so badly that some draws are below nothing, and
    // nobody waits for anything else while a place is held
    let busy_of = [Some(0.25), Some(0.42), Some(0.65), None];
    for generator_s in [None, Some(0.008)] {
        let step = |(number, busy_cores): (u32, Option<f64>)| {
            let users = 10.0 * f64::from(number);
            let throughput_per_s = users / 1.019;
            Step {
                users,
                throughput_per_s,
                mean_s: 0.019,
                p95_s: 0.057,
                busy_cores,
                generator_s,
                parts: vec![("queue".into(), 0.0)],
                ..Step::default()
            }
        };
        let ladder = Ladder::of((1..).zip(busy_of).map(step).collect()).unwrap();
        let sizing = size(ladder, &setup(40), question(30, None)).unwrap();
        assert_eq!(sizing.refusals, Vec::<String>::new());
        let demand = sizing.model.demands.cores_s;
        assert!(demand.low <= 0.0 && sizing.model.demands.inside_s.value <= 0.0, "{demand:?}");
        let answer = sizing.answer.unwrap();
        assert!(answer.throughput_per_s.holds(30.0 / 1.019), "{:?}", answer.throughput_per_s);
        assert!(answer.mean_s.low > 0.0 && answer.mean_s.low < 0.019, "{:?}", answer.mean_s);
    }
}

#[test]
fn a_draw_that_nothing_keeps_within_the_target_does_not_take_the_answer() {
    let landscape = Landscape { elements: vec![station(CORES, Servers::Shared(8), 0.100)] };
    let solved = Analysis::of(&landscape, 1.0, 60).unwrap();
    let step = |(users, off): (u32, f64)| {
        let point = solved.at(users as usize);
        Step {
            users: f64::from(users),
            throughput_per_s: point.throughput_per_s,
            mean_s: point.mean_s,
            p95_s: point.p95_s * off,
            busy_cores: Some(0.100 * point.throughput_per_s),
            ..Step::default()
        }
    };
    let steps = [(2, 1.1), (10, 0.9), (20, 1.1), (30, 0.9), (40, 1.1), (50, 0.9), (60, 1.1)];
    let ladder = || Ladder::of(steps.map(step).into()).unwrap();
    let setup = Setup { cores: 8, ..Setup::default() };
    let of = |most_s| {
        let target = Some(Target { figure: Figure::P95, most_s });
        size(ladder(), &setup, Question { users: 20, think_s: None, target, seed: 5 }).unwrap()
    };
    let alone_s = of(10.0).answer.unwrap().p95_s.value;
    let answer = of(alone_s * 1.1).answer.unwrap();
    assert!(answer.p95_s.high > alone_s * 1.1, "some draws are beyond it: {answer:?}");
    let [need] = &answer.needs.unwrap()[..] else { panic!("one resource") };
    assert!((1..DRAWS_ENLARGED / 2).contains(&answer.needs_unmet), "{}", answer.needs_unmet);
    assert!(need.places.value <= 8.0 && (need.places.high - 16.0).abs() < 1e-9, "{need:?}");
    // what cannot be kept has no answer, whatever some draws say
    let never = of(alone_s * 0.9).answer.unwrap();
    assert_eq!((never.needs, never.needs_unmet), (None, 0));
}

#[test]
fn a_server_that_does_more_than_its_places_can_may_have_more_of_them() {
    let ladder = measured(&truth(8, 0.002, 0.018), 0.1, &[1, 2, 4, 8, 16, 32, 60]);
    let sized = size(Ladder::of(ladder.clone()).unwrap(), &setup(8), question(40, None)).unwrap();
    assert!(sized.refusals.is_empty(), "{:?}", sized.refusals);
    let sized = size(Ladder::of(ladder).unwrap(), &setup(4), question(40, None)).unwrap();
    let said = sized.refusals.iter().find(|it| it.contains("the model is")).expect("it is off");
    assert!(said.contains("all that 4 work-processes can do by the model"), "{said}");
    assert!(said.contains("more of that than was said or recorded (--pool,"), "{said}");
}

#[test]
fn a_lowest_step_that_is_off_is_not_held_against_itself() {
    let truth = truth(4, 0.002, 0.018);
    let mut sized = size(
        Ladder::of(measured(&truth, 0.1, &[1, 2, 4, 8])).unwrap(),
        &setup(4),
        question(8, None),
    )
    .unwrap();
    sized.model.worst = (sized.ladder.lowest().users, -0.3);
    let said = sized.departure();
    assert!(said.contains("measure steps of fewer users"), "{said}");
    assert!(!said.contains("needs less"), "{said}");
}
