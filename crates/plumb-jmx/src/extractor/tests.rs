use super::*;
use crate::tree::read as tree;

fn of(kind: &str, properties: &[(&str, &str)]) -> (Vec<Extract>, Vec<String>) {
    let inside: String = properties
        .iter()
        .map(|(name, value)| format!("<stringProp name='{name}'>{value}</stringProp>"))
        .collect();
    let tree = tree(&format!("<hashTree><{kind} testname='e'>{inside}</{kind}></hashTree>"));
    let mut notes = Notes::default();
    let tree = tree.unwrap();
    let element = Element::of_tree(&tree)[0];
    let mut words = Words::default();
    words.define("field", "csrf");
    let found = read(&element, &mut notes);
    let found = found.into_iter();
    let found = found.filter_map(|it| resolved(it, &element, &words, &mut notes)).collect();
    (found, notes.sorted().iter().map(ToString::to_string).collect())
}

fn of_regex(regex: &str, headers: &str) -> (Vec<Extract>, Vec<String>) {
    of(
        "RegexExtractor",
        &[
            ("RegexExtractor.refname", "a.b"),
            ("RegexExtractor.regex", regex),
            ("RegexExtractor.useHeaders", headers),
            ("RegexExtractor.template", "$1$-$2$"),
            ("RegexExtractor.match_number", "2"),
            ("RegexExtractor.default", "NONE"),
        ],
    )
}

#[test]
fn expressions_look_at_the_content_or_a_header() {
    let extract = of_regex("x=(.+?),(.)", "false").0.remove(0);
    assert_eq!(extract.name, "a_b");
    assert_eq!(extract.regex.as_deref(), Some("x=(.+?),(.)"));
    assert_eq!(extract.template.as_deref(), Some("$1$-$2$"));
    assert_eq!((extract.pick, extract.default.as_deref()), (Pick::Number(2), Some("NONE")));
    let extract = of_regex("(?i)Location:\\s*(.+)", "true").0.remove(0);
    assert_eq!(extract.header.as_deref(), Some("Location"));
    assert_eq!(extract.regex.as_deref(), Some("(.+)"));
}

#[test]
fn variables_stand_for_their_values_before_braces_are_plain() {
    let extract = of_regex(r#"name="${field}" value="{(.+?)}""#, "false").0.remove(0);
    assert_eq!(extract.regex.as_deref(), Some(r#"name="csrf" value="\{(.+?)}""#));
    let (found, _) = of(
        "BoundaryExtractor",
        &[
            ("BoundaryExtractor.refname", "x"),
            ("BoundaryExtractor.lboundary", "${field}-"),
            ("BoundaryExtractor.rboundary", "${field}"),
        ],
    );
    assert_eq!(found[0].between, Some(["csrf-".into(), "csrf".into()]));
}

#[test]
fn what_is_found_in_an_unescaped_body_is_decoded() {
    let of_boundary = |from: &str| {
        let properties = [
            ("BoundaryExtractor.refname", "x"),
            ("BoundaryExtractor.lboundary", "=["),
            ("BoundaryExtractor.useHeaders", from),
        ];
        of("BoundaryExtractor", &properties).0.remove(0)
    };
    for (extract, html, sought) in [
        (of_regex("href=\"([^\"]+)\"", "unescaped").0.remove(0), true, true),
        (of_regex("next=(.+?),", "unescaped").0.remove(0), true, false),
        (of_regex("href=\"([^\"]+)\"", "false").0.remove(0), false, false),
        (of_boundary("unescaped"), true, false),
        (of_boundary("false"), false, false),
    ] {
        assert_eq!((extract.html, is_sought_in_decoded(&extract)), (html, sought));
    }
}

#[test]
fn json_holds_several() {
    let (found, notes) = of(
        "JSONPostProcessor",
        &[
            ("JSONPostProcessor.referenceNames", "id;name"),
            ("JSONPostProcessor.jsonPathExprs", "$..id;name"),
            ("JSONPostProcessor.match_numbers", "-1;0"),
            ("JSONPostProcessor.defaultValues", "NONE; "),
        ],
    );
    assert_eq!(notes, [] as [String; 0]);
    assert_eq!((found[0].pick, found[1].pick), (Pick::All, Pick::Random));
    let paths: Vec<_> = found.iter().filter_map(|extract| extract.json.as_deref()).collect();
    assert_eq!(paths, ["$..id", "$.name"], "JMeter adds the root");
    assert_eq!((found[0].default.as_deref(), found[1].default.as_deref()), (Some(""), Some(" ")));
    let nulls = found.iter().filter_map(|extract| extract.null.as_deref());
    assert_eq!(nulls.collect::<Vec<_>>(), ["NONE", " "], "each element of a list, too");
}

#[test]
fn without_a_number_a_match_is_drawn() {
    let names = [
        ("JSONPostProcessor.referenceNames", "id;name"),
        ("JSONPostProcessor.jsonPathExprs", "$.a;$.b"),
    ];
    for (numbers, expected) in
        [("", [Pick::Random; 2]), (" ", [Pick::Random; 2]), ("1", [Pick::First, Pick::Random])]
    {
        let numbers = ("JSONPostProcessor.match_numbers", numbers);
        let (found, _) = of("JSONPostProcessor", &[names[0], names[1], numbers]);
        assert_eq!([found[0].pick, found[1].pick], expected);
        assert!(found.iter().all(|it| it.default.as_deref() == Some("")), "{found:?}");
    }
    let regex = [("RegexExtractor.refname", "x"), ("RegexExtractor.regex", "a")];
    assert_eq!(of("RegexExtractor", &regex).0[0].pick, Pick::Random);
    let own = [("XPathExtractor.refname", "x"), ("XPathExtractor.xpathQuery", "//a")];
    assert_eq!(of("XPathExtractor", &own).0[0].pick, Pick::First);
}

#[test]
fn xpath_and_boundaries() {
    let (found, notes) = of(
        "XPath2Extractor",
        &[
            ("XPathExtractor2.refname", "x"),
            ("XPathExtractor2.xpathQuery", "//a:id"),
            ("XPathExtractor2.matchNumber", "-1"),
            ("XPathExtractor2.namespaces", "a=urn:a"),
        ],
    );
    assert_eq!(found[0].xpath.as_deref(), Some("//a:id"));
    assert!(notes[0].contains("prefixes"), "{notes:?}");
    let (found, notes) = of(
        "XPathExtractor",
        &[
            ("XPathExtractor.refname", "y"),
            ("XPathExtractor.xpathQuery", "//id"),
            ("XPathExtractor.matchNumber", "2"),
            ("XPathExtractor.tolerant", "true"),
        ],
    );
    assert_eq!((found[0].xpath.as_deref(), found[0].pick), (Some("//id"), Pick::Number(2)));
    assert!(notes[0].contains("no XML"), "{notes:?}");
    let (found, _) = of(
        "BoundaryExtractor",
        &[
            ("BoundaryExtractor.refname", "x"),
            ("BoundaryExtractor.lboundary", "["),
            ("BoundaryExtractor.rboundary", "]"),
            ("BoundaryExtractor.default_empty_value", "true"),
        ],
    );
    assert_eq!(found[0].between, Some(["[".into(), "]".into()]));
    assert_eq!((found[0].pick, found[0].default.as_deref()), (Pick::Random, Some("")));
}

#[test]
fn what_cannot_be_taken_is_named() {
    for (found, notes) in [
        of_regex("a(?=b)", "false"),
        of_regex("(.+)", "true"),
        of_regex("x", "URL"),
        of_regex("${later}", "false"),
        of_regex("${__P(later,(}", "false"),
        of("RegexExtractor", &[("RegexExtractor.regex", "x")]),
        of("JSONPostProcessor", &[("JSONPostProcessor.referenceNames", "a;b")]),
        of("XPath2Extractor", &[("XPathExtractor2.fragment", "true")]),
        of("BoundaryExtractor", &[("BoundaryExtractor.refname", "x")]),
        of("RegexExtractor", &[("Sample.scope", "variable")]),
    ] {
        assert_eq!((found.len(), notes.len()), (0, 1), "{notes:?}");
    }
}
