//! Documents of TOML as they reach types.

use std::collections::BTreeMap;

use plumb_wire::document;
use serde::Deserialize;
use toml::Spanned;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Way {
    Fixed,
    Named(String),
    Between { low: f64, high: f64 },
    Pair(u8, i64),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    way: Vec<Way>,
    place: Option<Spanned<u64>>,
    #[serde(default)]
    places: BTreeMap<String, Spanned<Section>>,
    section: Option<Section>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    on: bool,
}

fn problem(text: &str) -> (usize, usize, String) {
    let wrong = document::read::<File>(text).expect_err("it does not fit");
    (wrong.line, wrong.column, wrong.problem)
}

#[test]
fn every_kind_of_value_reaches_its_type() {
    let text = "way = [\"fixed\", { fixed = {} }, { named = \"a\" }, { between = { low = 1.5, high = inf } },
        { pair = [0x1f, -9_000] }]\nplace = 7\n[places.\"a b\"]\non = true\n";
    let file: File = document::read(text).expect("it fits");
    let [fixed, also, named, between, pair] = &file.way[..] else { panic!("{file:?}") };
    assert_eq!((fixed, also), (&Way::Fixed, &Way::Fixed));
    assert_eq!(named, &Way::Named("a".into()));
    assert_eq!(between, &Way::Between { low: 1.5, high: f64::INFINITY });
    assert_eq!(pair, &Way::Pair(31, -9_000));
    let place = file.place.expect("it is there");
    assert_eq!((*place.get_ref(), &text[place.span()]), (7, "7"));
    let section = &file.places["a b"];
    assert_eq!(section.get_ref(), &Section { on: true });
    assert!(text[section.span()].starts_with("[places."), "{:?}", section.span());
    assert!(file.section.is_none());
}

#[test]
fn what_does_not_fit_is_placed() {
    assert_eq!(problem("[section]\non = 1\n").0, 2);
    assert!(problem("section = [true]\n").2.starts_with("this is a list, expected "));
    assert!(problem("place = 1979-05-27\n").2.starts_with("this is a date or time, expected "));
    assert!(problem("place = 99999999999999999999\n").2.starts_with("integer number overflowed"));
    assert_eq!(problem("way = [{}]\n").2, "wanted exactly 1 element, found 0 elements");
    assert_eq!(problem("way = [\"named\"]\n").0, 1);
    assert_eq!(problem("way = [{ fixed = 1 }]\n").2, "expected table");
    let (line, column, problem) = problem("place = 1\n[section]\non = true\nof = 1\n");
    assert_eq!((line, column), (4, 1), "{problem}");
}
