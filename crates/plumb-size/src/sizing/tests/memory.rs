//! Ladders of a server whose memory is full first.

use super::*;
use crate::what_if::{WhatIfError, changes};

#[test]
fn memory_that_is_full_first_is_the_knee() {
    let steps = measured(&truth(10, 0.010, 0.040), 1.0, &[1, 10, 20, 40, 60]);
    let ladder = || Ladder::of(steps.clone()).unwrap();
    let of = |limit: u64, users| {
        let setup = Setup { memory_limit_bytes: Some(limit), ..setup(10) };
        size(ladder(), &setup, question(users, None)).unwrap()
    };
    // 1 GB and 2 MB a user
    let bounded = of(1_160_000_000, 100);
    assert_eq!(bounded.knee.bottleneck, MEMORY);
    assert!((bounded.knee.users.value - 80.0).abs() < 0.5, "{:?}", bounded.knee);
    assert!(!bounded.knee.shown, "60 users were measured");
    assert!(bounded.refusals.iter().any(|it| it.contains("holds 7") || it.contains("holds 80")));
    assert!(of(1_160_000_000, 70).refusals.is_empty());
    assert_ne!(of(64 << 30, 100).knee.bottleneck, MEMORY);
    let answer = of(1_160_000_000, 70).answer.unwrap();
    assert_eq!(answer.upgrades[0].bottleneck, MEMORY);
    let within = answer.users_within.unwrap().value;
    assert!(within <= 80.0, "memory holds no more, however fast they are: {within}");
    let more = answer.upgrades[1].enlarged.as_ref().unwrap();
    assert_eq!((more.name.as_str(), more.from), (MEMORY, 1_160_000_000));
    assert!(more.to > more.from && more.to <= 2 * more.from, "{more:?}");
}

#[test]
fn memory_that_is_full_first_changes_the_answer_and_nothing_else_does() {
    let steps = measured(&truth(10, 0.010, 0.040), 1.0, &[1, 10, 20, 40, 60]);
    let setup = Setup { memory_limit_bytes: Some(1_160_000_000), ..setup(10) };
    let of = |target: Option<Target>| {
        let question = Question { target, ..question(70, None) };
        size(Ladder::of(steps.clone()).unwrap(), &setup, question).unwrap()
    };
    for sized in [of(None), of(question(70, None).target)] {
        let [most, others @ ..] = &sized.answer.as_ref().unwrap().sensitivity[..] else {
            panic!("nothing is said: {sized:?}");
        };
        assert_eq!(most.name, "memory of a user");
        assert!((most.users - 80.0).abs() <= 1.0, "{most:?}");
        let ends = [most.users_less, most.users_more].map(|it| it.unwrap().round());
        assert!((88.0..=89.0).contains(&ends[0]) && (72.0..=73.0).contains(&ends[1]), "{most:?}");
        assert!(!others.is_empty() && others.iter().all(|it| it.change() < 1e-9), "{others:?}");
    }
}

#[test]
fn no_more_users_are_looked_at_than_memory_holds() {
    let steps = measured(&truth(10, 0.010, 0.040), 1.0, &[1, 10, 20, 40, 60]);
    let setup = Setup { memory_limit_bytes: Some(1_160_000_000), ..setup(10) };
    let sized = size(Ladder::of(steps).unwrap(), &setup, question(70, None)).unwrap();
    let what_if = |text: &str| crate::what_if::what_if(&sized, changes(text).unwrap());
    let error = what_if("users=110").unwrap_err();
    assert!(error.to_string().starts_with("110 users need 1"), "{error}");
    assert!(matches!(error, WhatIfError::Memory(_)));
    for held in ["users=75", "users=110, sessions=70/5", "arrivals=20/s"] {
        what_if(held).unwrap();
    }
}
