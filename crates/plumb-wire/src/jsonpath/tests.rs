use proptest::prelude::*;

use super::*;

fn found(path: &str, document: &str) -> Vec<String> {
    let path = Path::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    path.find(document.as_bytes(), usize::MAX).unwrap_or_else(|error| panic!("{document}: {error}"))
}

/// A shop, to ask for each kind of selector.
const SHOP: &str = r#"{
  "shelf": {
    "books": [
      {"kind": "essay", "by": "Ida", "name": "Rivers", "costs": 8.95},
      {"kind": "novel", "by": "Olaf", "name": "Snow", "costs": 12.99},
      {"kind": "novel", "by": "Uwe", "name": "Fog", "code": "3-16", "costs": 8.99},
      {"kind": "novel", "by": "Eva", "name": "Salt", "code": "3-17", "costs": 22.99}
    ],
    "bike": {"hue": "red", "costs": 399}
  }
}"#;

#[test]
fn a_shop_is_searched() {
    for (path, expected) in [
        ("$.shelf.books[*].by", vec!["Ida", "Olaf", "Uwe", "Eva"]),
        ("$..by", vec!["Ida", "Olaf", "Uwe", "Eva"]),
        ("$.shelf..costs", vec!["8.95", "12.99", "8.99", "22.99", "399"]),
        ("$..books[2].name", vec!["Fog"]),
        ("$..books[-1].name", vec!["Salt"]),
        ("$..books[0,1].name", vec!["Rivers", "Snow"]),
        ("$..books[:2].name", vec!["Rivers", "Snow"]),
        ("$..books[?@.code].name", vec!["Fog", "Salt"]),
        ("$..books[?@.costs<10].name", vec!["Rivers", "Fog"]),
        ("$.shelf.bike.*", vec!["red", "399"]),
        (" $"[1..].trim(), vec![SHOP.trim()]),
    ] {
        assert_eq!(found(path, SHOP), expected, "{path}");
    }
    assert_eq!(found("$..*", SHOP).len(), 27);
}

#[test]
fn names_are_written_in_several_ways() {
    let document =
        r#"{"o p": {"'": 1, "k.k": 2, "\u00e9": 3, "\ud834\udd1e": 4, "": 5}, "ü_1": 6}"#;
    for (path, expected) in [
        ("$['o p']['\\'']", "1"),
        ("$[\"o p\"][\"'\"]", "1"),
        ("$['o p']['k.k']", "2"),
        ("$['o p'].é", "3"),
        ("$['o p']['\\u00E9']", "3"),
        ("$['o p']['\\uD834\\udd1e']", "4"),
        ("$['o p']['']", "5"),
        ("$ .ü_1", "6"),
        ("$ [ 'ü_1' ]", "6"),
    ] {
        assert_eq!(found(path, document), [expected], "{path}");
    }
}

#[test]
fn slices_go_both_ways() {
    let document = r#"["a", "b", "c", "d", "e", "f", "g"]"#;
    for (slice, expected) in [
        ("1:3", "bc"),
        ("5:", "fg"),
        ("1:5:2", "bd"),
        ("5:1:-2", "fd"),
        ("::-1", "gfedcba"),
        (":", "abcdefg"),
        ("-2:", "fg"),
        (":-5", "ab"),
        ("-100:100", "abcdefg"),
        ("100::-3", "gda"),
        ("3:3", ""),
        ("4:1", ""),
        ("::0", ""),
        (" 1 : 3 : 1 ", "bc"),
        ("9007199254740991::9007199254740991", ""),
        ("::-9007199254740991", "g"),
    ] {
        assert_eq!(found(&format!("$[{slice}]"), document).concat(), expected, "{slice}");
    }
    assert!(found("$[0:1]", r#"{"0": 1}"#).is_empty() && found("$[0]", r#""text""#).is_empty());
    assert!(found("$[-8]", document).is_empty() && found("$[7]", document).is_empty());
    assert!(found("$[::-1]", "[]").is_empty());
}

#[test]
fn descent_is_in_the_order_of_the_document() {
    let document = r#"{"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]}"#;
    assert_eq!(found("$..j", document), ["1", "4"]);
    assert_eq!(found("$..[0]", document), ["5", r#"{"j": 4}"#]);
    assert_eq!(found("$.o..['k','j']", document), ["2", "1"]);
    assert_eq!(found("$.a..[0,1]", document), ["5", "3", r#"{"j": 4}"#, r#"{"k": 6}"#]);
}

#[test]
fn comparisons_follow_the_rfc() {
    let document = r#"[{"obj": {"x": "y"}, "arr": [2, 3], "n": 3, "t": "Ab\u0063", "no": null}]"#;
    for (filter, holds) in [
        ("@.absent1 == @.absent2", true),
        ("@.absent1 <= @.absent2", true),
        ("@.absent == 'g'", false),
        ("@.absent1 != @.absent2", false),
        ("@.absent != 'g'", true),
        ("1 <= 2", true),
        ("1 > 2", false),
        ("13 == '13'", false),
        ("'a' <= 'b'", true),
        ("'a' > 'b'", false),
        ("@.obj == @.arr", false),
        ("@.obj != @.arr", true),
        ("@.obj == @.obj", true),
        ("@.obj <= @.arr", false),
        ("1 <= @.arr", false),
        ("1 != @.arr", true),
        ("true <= true", true),
        ("true > true", false),
        ("@.n == 3.0", true),
        ("@.n == 30e-1", true),
        ("@.n >= 3 && @.n < 4", true),
        ("9007199254740993 > 9007199254740992", true),
        ("@.t == 'Abc'", true),
        ("@.t < 'Abd' && 'Abb' < @.t", true),
        ("@['no'] == null", true),
        ("@.no", true),
        ("@.absent == null", false),
        ("!@.absent", true),
        ("!(@.n == 3)", false),
        ("@.n == 4 || @.n == 3 && @.t == 'x'", false),
        ("(@.n == 4 || @.n == 3) && @.t == 'Abc'", true),
        ("@.arr[?@ > 2]", true),
        ("@.arr[?@ > 3]", false),
        ("@..x", true),
        ("$[0].n == @.n", true),
        ("-1 < @.arr[-2]", true),
    ] {
        assert_eq!(found(&format!("$[? {filter} ]"), document).len() == 1, holds, "{filter}");
    }
}

#[test]
fn values_are_given_as_text() {
    let document = r#"["a\"\\\/\b\f\n\r\té\u20AC\ud83d\ude00\ud800x\udc00", 1.50e+1, -0, true, null, {}, [ 1 ]]"#;
    let values = found("$[*]", document);
    assert_eq!(values[0], "a\"\\/\u{8}\u{c}\n\r\té€😀\u{fffd}x\u{fffd}");
    assert_eq!(values[1..], ["1.50e+1", "-0", "true", "null", "{}", "[ 1 ]"]);
    assert_eq!(found("$", " \"x\" "), ["x"]);
    let path = Path::parse("$[*]").unwrap().with_null("none");
    assert_eq!(path.find(br#"[null, "null", [null]]"#, 3).unwrap(), ["none", "null", "[null]"]);
    assert_eq!(
        Path::parse("$").unwrap().find(b"\xef\xbb\xbf[1]", usize::MAX),
        Ok(vec!["[1]".into()])
    );
    assert_eq!(found("$.a", r#"{"a": 1, "a": 2}"#), ["1"]);
}

#[test]
fn what_is_no_path_is_refused_with_its_place() {
    for (path, at) in [
        ("", 0),
        ("a", 0),
        (" $", 0),
        ("$ ", 1),
        ("$.", 2),
        ("$..", 3),
        ("$.1", 2),
        ("$.a-b", 3),
        ("$[", 2),
        ("$[]", 2),
        ("$[a]", 2),
        ("$[1", 3),
        ("$[01]", 2),
        ("$[-0]", 2),
        ("$[-]", 2),
        ("$[9007199254740992]", 2),
        ("$['a]", 5),
        ("$['a\\x']", 4),
        ("$['\\ud800']", 3),
        ("$['a\n']", 4),
        ("$[?]", 3),
        ("$[?@.a ==]", 9),
        ("$[?1]", 4),
        ("$[?@.* == 1]", 3),
        ("$[?@.a = 1]", 7),
        ("$[?@.a == 01]", 10),
        ("$[?count(@.*) == 1]", 3),
        ("$[?(@.a]", 7),
        ("$[?!1]", 4),
        ("$.a b", 3),
    ] {
        let error = Path::parse(path).unwrap_err();
        assert_eq!(error.at, at, "{path}: {error}");
    }
    assert!(Path::parse(&nested(200)).unwrap_err().expected.contains("simpler"));
    assert!(Path::parse(&format!("${}", ".a".repeat(65))).unwrap_err().expected.contains("steps"));
    assert!(Path::parse(&"$".repeat(5_000)).unwrap_err().expected.contains("at most"));
}

#[test]
fn what_is_no_json_is_refused() {
    let path = Path::parse("$").unwrap();
    for document in [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "01",
        "+1",
        "1.",
        ".5",
        "1e",
        "-",
        "tru",
        "nulll",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\n\"",
        "1 2",
        "[1]]",
        "<a/>",
    ] {
        let refused = path.find(document.as_bytes(), usize::MAX);
        assert!(matches!(refused, Err(FindError::Malformed { .. })), "{document}: {refused:?}");
    }
    assert_eq!(path.find(b"[\"\xff\"]", usize::MAX), Err(FindError::NotUtf8 { at: 2 }));
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(path.find(deep(128).as_bytes(), usize::MAX).is_ok());
    assert_eq!(path.find(deep(200).as_bytes(), usize::MAX), Err(FindError::TooDeep));
}

/// Filters within filters, each of which looks for `z` in the whole document.
fn nested(filters: usize) -> String {
    format!("$..z{}{}", "[?$..z".repeat(filters), "]".repeat(filters))
}

#[test]
fn the_deepest_filters_reach_the_end_of_the_deepest_document() {
    let most = (1..).take_while(|filters| Path::parse(&nested(*filters)).is_ok()).last();
    let path = nested(most.unwrap());
    // the text gives the search enough work to do
    let text = "x".repeat(20_000);
    let open = "{\"a\":".repeat(125);
    let close = "}".repeat(126);
    let deep = format!("{{\"text\":\"{text}\",\"a\":{open}{{\"z\":{{\"y\":1}}}}{close}");
    assert_eq!(found(&path, &deep), ["1"]);
}

#[test]
fn a_search_has_its_limits() {
    let deep = format!("{}{}", "[".repeat(120), "]".repeat(120));
    let wide = format!("[{}]", vec![deep; 200].join(","));
    let path = Path::parse("$..*..*..*..*..x").unwrap();
    assert_eq!(path.find(wide.as_bytes(), usize::MAX), Err(FindError::TooMuchWork));
    let many = format!("[{}1]", "1,".repeat(100_000));
    let path = Path::parse("$[*]").unwrap();
    assert_eq!(path.find(many.as_bytes(), 2), Ok(vec!["1".into(), "1".into()]));
    assert_eq!(path.find(b"[1]", 0), Ok(Vec::new()));
}

/// Documents that are right, with names that paths below ask for.
fn document() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?[1-9][0-9]{0,3}(\\.[0-9]{1,2})?",
        "\"[a-c ]{0,3}\"",
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4);
        let members = prop::collection::vec(("[a-c]", inner), 0..4);
        prop_oneof![
            list.prop_map(|values| format!("[ {} ]", values.join(" , "))),
            members.prop_map(|members| {
                let written: Vec<String> =
                    members.iter().map(|(name, value)| format!("\"{name}\" : {value}")).collect();
                format!("{{{}}}", written.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_searched_or_refused(bytes: Vec<u8>) {
        for path in ["$", "$..*", "$.a[?@.b == 1]", "$[-1:]"] {
            let _ = Path::parse(path).unwrap().find(&bytes, usize::MAX);
        }
    }

    #[test]
    fn bytes_that_look_like_json_are_searched_or_refused(text in "[\\[\\]{},:\"\\\\a1 .e-]{0,24}") {
        for path in ["$..*", "$..a", "$[?@.a < 'b']", "$[::-1]"] {
            let _ = Path::parse(path).unwrap().find(text.as_bytes(), usize::MAX);
        }
    }

    #[test]
    fn any_text_is_a_path_or_refused(text in "\\PC{0,20}", document in document()) {
        if let Ok(path) = Path::parse(&text) {
            path.find(document.as_bytes(), usize::MAX).ok();
        }
    }

    #[test]
    fn what_looks_like_a_path_is_one_or_refused(
        rest in "(\\.a|\\.b|\\.\\.|\\[|\\]|\\?|@|\\*|'|0|-|:|,|==|<|&&|\\|\\||!|\\(|\\)| |1){0,12}",
        document in document(),
    ) {
        match Path::parse(&format!("${rest}")) {
            Ok(path) => {
                path.find(document.as_bytes(), usize::MAX).ok();
            }
            Err(error) => prop_assert!(error.at <= rest.len() + 1),
        }
    }

    #[test]
    fn a_document_that_is_right_is_read_and_its_parts_too(document in document()) {
        let whole = found("$", &document);
        prop_assert_eq!(whole.len(), 1);
        let parts = found("$..*", &document);
        for part in parts.iter().filter(|part| part.starts_with(['[', '{'])) {
            prop_assert_eq!(found("$", part), [part.clone()]);
        }
        let first = Path::parse("$..*").unwrap().find(document.as_bytes(), 2).unwrap();
        prop_assert_eq!(&first[..], &parts[..parts.len().min(2)]);
        // a union of all is all
        prop_assert_eq!(found("$[*]", &document), found("$[?@ == @]", &document));
    }
}
