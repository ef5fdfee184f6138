//! Paths into documents of JSON find what another implementation of RFC 9535 finds, in its order.

use plumb_wire::jsonpath::Path;
use proptest::prelude::*;
use serde_json::Value;
use serde_json_path::JsonPath;

use crate::cases::cases;

const NAMES: [&str; 5] = ["a", "b", "c", "a b", "é"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&NAMES[..])
}

fn plain() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..4_i64).prop_map(Value::from),
        prop::sample::select(vec![-0.5, 0.5, 2.5]).prop_map(Value::from),
        prop::sample::select(vec!["", "a", "b", "x\"\\\n"]).prop_map(Value::from),
    ]
}

fn document() -> impl Strategy<Value = Value> {
    plain().prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..5).prop_map(|members| {
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            }),
        ]
    })
}

/// Selectors without a filter, as they stand in brackets.
fn selector() -> impl Strategy<Value = String> {
    let end = || prop::option::of(-4..5_i64);
    let shown = |number: Option<i64>| number.map_or(String::new(), |it| it.to_string());
    prop_oneof![
        name().prop_map(|name| format!("'{name}'")),
        (-4..5_i64).prop_map(|index| index.to_string()),
        Just("*".to_owned()),
        (end(), end(), end()).prop_map(move |(from, to, step)| {
            let step = step.map_or(String::new(), |step| format!(":{step}"));
            format!("{}:{}{step}", shown(from), shown(to))
        }),
    ]
}

/// One value of a node, or a value that is written down.
fn operand() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("@".to_owned()),
        name().prop_map(|name| format!("@['{name}']")),
        (0..3_i64).prop_map(|index| format!("@[{index}]")),
        (-3..4_i64).prop_map(|number| number.to_string()),
        prop::sample::select(vec!["'a'", "'b'", "''", "0.5", "true", "false", "null"])
            .prop_map(str::to_owned),
    ]
}

/// A comparison. The other implementation does not take what is equal for at most as large unless it is
/// a number or a text, as RFC 9535 does in section 2.3.5.3: that is not asked for.
fn comparison() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(vec!["==", "!=", "<", ">"]);
    let ordered = prop::sample::select(vec!["<=", ">="]);
    let value = prop::sample::select(vec!["-1", "0", "0.5", "2", "'a'", "''"]);
    prop_oneof![
        2 => (operand(), sign, operand())
            .prop_map(|(one, sign, other)| format!("{one} {sign} {other}")),
        1 => (operand(), ordered, value)
            .prop_map(|(one, sign, other)| format!("{one} {sign} {other}")),
    ]
}

fn filter() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        comparison(),
        name().prop_map(|name| format!("@['{name}']")),
        selector().prop_map(|selector| format!("@..[{selector}]")),
        Just("$.a".to_owned()),
    ];
    one.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("({one}) && ({other})")),
            (inner.clone(), inner.clone()).prop_map(|(one, other)| format!("{one} || {other}")),
            inner.prop_map(|inner| format!("!({inner})")),
        ]
    })
}

fn path() -> impl Strategy<Value = String> {
    let any = prop_oneof![4 => selector(), 1 => filter().prop_map(|filter| format!("?{filter}"))];
    let brackets = prop::collection::vec(any, 1..3)
        .prop_map(|selectors| format!("[{}]", selectors.join(", ")));
    let segment = prop_oneof![
        4 => brackets.clone(),
        1 => brackets.prop_map(|selectors| format!("..{selectors}")),
        1 => Just("..a".to_owned()),
        1 => Just(".b".to_owned()),
    ];
    prop::collection::vec(segment, 0..4).prop_map(|segments| format!("${}", segments.concat()))
}

/// A value as ours shows it: a string without its quotes.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn another_implementation_finds_the_same(document in document(), path in path()) {
        let theirs = JsonPath::parse(&path).expect("a path of the RFC").query(&document);
        let theirs: Vec<String> = theirs.into_iter().map(shown).collect();
        let ours = Path::parse(&path).expect("a path of the RFC");
        let ours = ours.find(document.to_string().as_bytes(), usize::MAX).expect("a document of JSON");
        prop_assert_eq!(ours, theirs, "{} in {}", path, document);
    }

    #[test]
    fn what_is_a_path_here_is_one_there(path in "\\$(\\.|\\[|\\]|'|a|\\*|\\?|@|=| |:|,|1|-){0,9}") {
        if Path::parse(&path).is_ok() {
            prop_assert!(JsonPath::parse(&path).is_ok(), "{}", path);
        }
    }
}
