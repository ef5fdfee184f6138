use std::sync::Arc;

use plumb_measure::{LoadPart, Span};
use proptest::prelude::*;

use super::*;
use crate::generator::Generator;
use crate::variables::Value;

const PAGE: Answer<'_> = Answer {
    status: 200,
    address: "/flights/17",
    length: 21,
    took_ns: 5_000_000,
    head: b"",
    content: b"<p>flight LH 0400</p>",
};

fn failure(check: &file::Check, answer: Answer<'_>) -> Option<(&'static str, String)> {
    let mut names = Names::with_values(LoadPart::default());
    let checker = Checker::new(check, &mut names).unwrap();
    let mut variables = Variables::with(Arc::default(), Generator::default());
    for (name, value) in [("carrier", "LH"), ("other", "UA"), ("empty", "")] {
        variables.set(names.slot(name).unwrap(), Value::text(value));
    }
    let failed = checker.judge(&answer, &variables).err()?;
    Some((failed.name(), checker.words(failed, &answer, &names)))
}

fn refused(check: &file::Check) -> Option<String> {
    let mut names = Names::with_values(LoadPart::default());
    Checker::new(check, &mut names).err().map(|error| error.to_string())
}

#[test]
fn texts_are_templates() {
    let holds = |text: &str| {
        failure(&file::Check { contains: texts(text), ..file::Check::default() }, PAGE)
    };
    let lacks = |text: &str| {
        failure(&file::Check { contains_not: texts(text), ..file::Check::default() }, PAGE)
    };
    let wrong = |words: &str| Some(("wrong-content", words.to_owned()));
    assert_eq!(holds("flight ${carrier} 0400"), None);
    assert_eq!(holds("${other}"), wrong("the content does not hold `${other}`"));
    assert_eq!(lacks("${other}"), None);
    assert_eq!(lacks("${lower(${other})}"), None);
    assert_eq!(lacks("t ${carrier}"), wrong("the content holds `t ${carrier}`"));
    assert_eq!(holds("$${carrier}"), wrong("the content does not hold `${carrier}`"));
    let nobody = "nobody knows whether the content holds `${nobody}`: ${nobody} has no value";
    assert_eq!(lacks("${nobody}"), wrong(nobody));
    for text in ["${empty}", "${empty}${empty}"] {
        let (_, words) = holds(text).unwrap();
        assert!(words.ends_with("it is empty, which every content holds"), "{words}");
    }
}

#[test]
fn the_variables_of_texts_are_needed() {
    let check = file::Check {
        contains: vec!["${a}".into(), "b".into()],
        contains_not: texts("${c}"),
        ..file::Check::default()
    };
    let mut names = Names::default();
    let slots: Vec<_> = Checker::new(&check, &mut names).unwrap().slots().collect();
    assert_eq!(slots.iter().map(|slot| names.name(*slot)).collect::<Vec<_>>(), ["a", "c"]);
}

fn texts(text: &str) -> Vec<String> {
    vec![text.into()]
}

#[test]
fn an_answer_that_is_right_passes() {
    let all = file::Check {
        status: Some("200".into()),
        path: Some("/flights/*".into()),
        length: Some(21),
        contains: vec!["flight".into(), "</p>".into()],
        contains_not: texts("error"),
        matches: texts(r"LH \d{4}"),
        matches_not: texts("^error"),
        within: Some(Span::from_ms(5)),
        ..file::Check::default()
    };
    assert_eq!(failure(&all, PAGE), None);
    let redirect = failure(&file::Check::default(), Answer { status: 302, ..PAGE });
    assert_eq!(redirect.map(|(name, _)| name), Some("unexpected-status"));
    let followed = file::Check { status: Some("2xx,3xx".into()), ..file::Check::default() };
    assert_eq!(failure(&followed, Answer { status: 302, ..PAGE }), None);
    let needs =
        |check: &file::Check| Checker::new(check, &mut Names::default()).unwrap().needs_content();
    assert!(needs(&all));
    assert!(!needs(&file::Check::default()));
}

#[test]
fn what_failed_is_named() {
    let none = file::Check::default();
    let failed = |check, answer| failure(&check, answer).unwrap();
    assert_eq!(
        failed(none.clone(), Answer { status: 401, ..PAGE }),
        ("unexpected-status", "the status is 401, expected 2xx".into())
    );
    assert_eq!(
        failed(file::Check { path: Some("/flights".into()), ..none.clone() }, PAGE),
        ("wrong-address", "the answer is that of /flights/17, expected that of /flights".into())
    );
    for (check, words) in [
        (file::Check { length: Some(20), ..none.clone() }, "expected 20"),
        (file::Check { length_min: Some(22), ..none.clone() }, "expected at least 22"),
        (file::Check { length_max: Some(20), ..none.clone() }, "expected at most 20"),
        (
            file::Check { length_min: Some(1), length_max: Some(2), ..none.clone() },
            "expected 1 to 2",
        ),
    ] {
        let (name, failed) = failed(check, PAGE);
        assert_eq!(name, "wrong-length");
        assert_eq!(failed, format!("the content has 21 bytes, {words}"));
    }
    for (check, words) in [
        (file::Check { contains: texts("no"), ..none.clone() }, "does not hold `no`"),
        (file::Check { contains_not: texts("LH"), ..none.clone() }, "holds `LH`"),
        (file::Check { matches: texts("A+"), ..none.clone() }, "does not match `A+`"),
        (file::Check { matches_not: texts("L."), ..none.clone() }, "matches `L.`"),
    ] {
        assert_eq!(failed(check, PAGE), ("wrong-content", format!("the content {words}")));
    }
    let slow = file::Check { within: Some(Span::from_ms(4)), ..none };
    assert_eq!(
        failed(slow, PAGE),
        ("too-slow", "the answer took 5.00 ms, expected at most 4.00 ms".into())
    );
}

#[test]
fn what_cannot_hold_is_refused() {
    let none = file::Check::default();
    for check in [
        file::Check { status: Some("ok".into()), ..none.clone() },
        file::Check { path: Some("home".into()), ..none.clone() },
        file::Check { path: Some("/home?a".into()), ..none.clone() },
        file::Check { path: Some("/home;a".into()), ..none.clone() },
        file::Check { length: Some(1), length_min: Some(1), ..none.clone() },
        file::Check { length_min: Some(2), length_max: Some(1), ..none.clone() },
        file::Check { contains: texts(""), ..none.clone() },
        file::Check { contains: texts("${a"), ..none.clone() },
        file::Check { contains_not: texts("${md5(${uuid()})}"), ..none.clone() },
        file::Check { contains_not: texts("${time(ms)}"), ..none.clone() },
        file::Check { contains: texts("${sum(${time(s)}, 1)}"), ..none.clone() },
        file::Check { matches: texts("("), ..none },
    ] {
        assert!(refused(&check).is_some(), "{check:?}");
    }
}

proptest! {
    #[test]
    fn any_content_is_judged(content: Vec<u8>, text in "[^\\pC$]{1,3}") {
        let check = file::Check {
            contains: texts(&text),
            matches: texts(r"(\w+)\s*$"),
            ..file::Check::default()
        };
        let checker = Checker::new(&check, &mut Names::default()).unwrap();
        let answer = Answer { content: &content, ..PAGE };
        let holds = content.windows(text.len()).any(|window| window == text.as_bytes());
        let judged = checker.judge(&answer, &Variables::new(Arc::default()));
        prop_assert_eq!(judged == Err(CheckFailed::Content(0)), !holds);
    }
}
