use proptest::prelude::*;

use super::*;

fn found(path: &str, document: &str) -> Vec<String> {
    let path = Path::parse(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    path.find(document.as_bytes(), usize::MAX).unwrap_or_else(|error| panic!("{document}: {error}"))
}

const FEED: &str = r#"<?xml version="1.0"?>
<a:feed xmlns:a="urn:atom" xmlns="urn:none">
  <a:entry kind="x" a:n="1"><id>1</id><group><id>1.1</id><id>1.2</id></group></a:entry>
  <!-- between -->
  <a:entry kind="y"><id>2</id><name>A &lt;&#x42;&#67;<![CDATA[ & D]]></name></a:entry>
  <entry/>
</a:feed>"#;

#[test]
fn steps_lead_to_elements_attributes_and_texts() {
    for (path, expected) in [
        ("/a:feed/a:entry/id", vec!["1", "2"]),
        ("//id", vec!["1", "1.1", "1.2", "2"]),
        ("//group//id", vec!["1.1", "1.2"]),
        ("//a:entry/*/id", vec!["1.1", "1.2"]),
        ("/a:feed/a:entry/@kind", vec!["x", "y"]),
        ("//@*", vec!["x", "1", "y"]),
        ("//@a:n", vec!["1"]),
        ("//@*:n", vec!["1"]),
        ("//name/text()", vec!["A <BC & D"]),
        ("//entry", vec![""]),
        ("//*:entry[2]/id", vec!["2"]),
        ("/a:*/a:*[1]/@kind", vec!["x"]),
        ("/feed", vec![]),
        ("/a:feed/id", vec![]),
        (" / a:feed // name ", vec!["A <BC & D"]),
    ] {
        assert_eq!(found(path, FEED), expected, "{path}");
    }
}

#[test]
fn predicates_choose() {
    for (path, expected) in [
        ("//id[1]", vec!["1", "1.1", "2"]),
        ("//id[last()]", vec!["1", "1.2", "2"]),
        ("//id[ position() = 2 ]", vec!["1.2"]),
        ("//id[position()=last()]", vec!["1", "1.2", "2"]),
        ("//id[3]", vec![]),
        ("//a:entry[@kind='y']/id", vec!["2"]),
        ("//a:entry[@kind != \"y\"]/id", vec!["1"]),
        ("//a:entry[@a:n]/id", vec!["1"]),
        ("//*[@kind][2]/id", vec!["2"]),
        ("//a:entry[2][@kind='x']/id", vec![]),
        ("//a:entry[group]/id", vec!["1"]),
        ("//a:entry[id='2']/name", vec!["A <BC & D"]),
        ("//*[id!='1.1']/id[1]", vec!["1", "1.1", "2"]),
        ("//id[.='1.2']", vec!["1.2"]),
        ("//id[text()='1.1' and .!='x']", vec!["1.1"]),
        ("//*[name()='a:entry']/id", vec!["1", "2"]),
        ("//*[local-name()='entry' and @kind]/@kind", vec!["x", "y"]),
        ("//entry[text()]", vec![]),
    ] {
        assert_eq!(found(path, FEED), expected, "{path}");
    }
}

#[test]
fn nodes_come_once_and_in_order() {
    let document = "<a><a><b>1</b><a><b>2</b></a></a><b>3</b></a>";
    assert_eq!(found("//a//b", document), ["1", "2", "3"]);
    assert_eq!(found("//a/b", document), ["1", "2", "3"]);
    assert_eq!(found("//a//a//b", document), ["1", "2"]);
    let first = Path::parse("//a//b").unwrap().find(document.as_bytes(), 2).unwrap();
    assert_eq!(first, ["1", "2"]);
}

#[test]
fn text_is_given_as_it_is() {
    assert_eq!(found("/a", "<a> x\r\n<b>y</b> </a>"), [" x\ny "]);
    assert_eq!(found("/a/text()", "<a>x<b>y</b>z<!-- -->w</a>"), ["x", "z", "w"]);
    assert_eq!(found("/a/@b", "<a b=' 1&amp;&#233;\t2 '/>"), [" 1&é 2 "]);
    assert_eq!(found("/a", "\u{feff}<a>ü</a>\n<!-- end -->\n"), ["ü"]);
    assert_eq!(found("/a/@*", "<a xmlns='u' xmlns:p='v' p:c='1'/>"), ["1"]);
}

#[test]
fn what_is_no_path_is_refused_with_its_place() {
    for (path, at) in [
        ("", 0),
        ("a", 0),
        ("/", 1),
        ("//", 2),
        ("/a/", 3),
        ("/a/b/..", 5),
        ("/a/./b", 3),
        ("/a[", 3),
        ("/a[]", 3),
        ("/a[0]", 3),
        ("/a[1", 4),
        ("/a[position()]", 13),
        ("/a[@]", 4),
        ("/a[.]", 4),
        ("/a[b=1]", 5),
        ("/a[b='1]", 8),
        ("/a[b='1' or c='2']", 9),
        ("/a[b and 2]", 8),
        ("/a[contains(b,'1')]", 3),
        ("/a/@b/c", 5),
        ("/a/text()/c", 9),
        ("/a/@b[1]", 5),
        ("/count()", 1),
        ("/child::a", 6),
        ("/a | /b", 3),
        ("/1a", 1),
    ] {
        let error = Path::parse(path).unwrap_err();
        assert_eq!(error.at, at, "{path}: {error}");
    }
    assert!(Path::parse(&"/a".repeat(65)).unwrap_err().expected.contains("steps"));
}

#[test]
fn what_is_no_xml_is_refused() {
    let path = Path::parse("//a").unwrap();
    for document in [
        "",
        " ",
        "x",
        "<a>",
        "<a></b>",
        "</a>",
        "<a/><b/>",
        "<a/>x",
        "<a b/>",
        "<a b=c/>",
        "<a b='1' b='2'/>",
        "<a>&nbsp;</a>",
        "<a>&#0;</a>",
        "<a>&#1;</a>",
        "<a b='&nbsp;'/>",
        "<a",
        "<a>&",
        "<!-- ",
        "{\"a\":1}",
    ] {
        let refused = path.find(document.as_bytes(), usize::MAX);
        assert!(matches!(refused, Err(FindError::Malformed { .. })), "{document}: {refused:?}");
    }
    let bomb = "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>";
    assert_eq!(path.find(bomb.as_bytes(), usize::MAX), Err(FindError::Doctype));
    assert_eq!(path.find(b"<a>\xff</a>", usize::MAX), Err(FindError::NotUtf8 { at: 3 }));
}

#[test]
fn a_document_has_its_limits() {
    let path = Path::parse("//a").unwrap();
    let deep = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    assert_eq!(path.find(deep(128).as_bytes(), usize::MAX).map(|found| found.len()), Ok(128));
    assert_eq!(path.find(deep(129).as_bytes(), usize::MAX), Err(FindError::TooDeep));
    let many = format!("<b>{}</b>", "<a/>".repeat(100_000));
    assert_eq!(path.find(many.as_bytes(), 1), Ok(vec![String::new()]));
    let large = format!("<b>{}</b>", "<a/>".repeat(1_000_000));
    assert_eq!(
        path.find(large.as_bytes(), usize::MAX),
        Err(FindError::TooLarge { most: 1_000_000 })
    );
    let attributes: String = (0..300).map(|n| format!(" n{n}='1'")).collect();
    let wide = path.find(format!("<a{attributes}/>").as_bytes(), usize::MAX).unwrap_err();
    assert!(wide.to_string().contains("256 attributes"), "{wide}");
}

/// Documents that are right.
fn document() -> impl Strategy<Value = String> {
    let leaf = prop_oneof!["[x-z ]{0,3}", Just("&amp;".to_owned()), Just("<b k='1'/>".to_owned())];
    let content = leaf.prop_recursive(4, 24, 4, |inner| {
        ("[ab]", prop::collection::vec(inner, 0..4))
            .prop_map(|(name, parts)| format!("<{name} k='2'>{}</{name}>", parts.concat()))
    });
    content.prop_map(|content| format!("<a>{content}</a>"))
}

proptest! {
    #[test]
    fn any_bytes_are_searched_or_refused(bytes: Vec<u8>) {
        let _ = Path::parse("//*[@a]//text()").unwrap().find(&bytes, usize::MAX);
    }

    #[test]
    fn bytes_that_look_like_xml_are_searched_or_refused(
        text in "(<a>|</a>|<b/>|<a |b='|'|>|&lt;|&#|;|<!--|-->|<!\\[CDATA\\[|\\]\\]>|<\\?|\\?>|x| |\n){0,16}"
    ) {
        for path in ["//*", "//@*", "//a[b]/text()", "//*[last()][.='x']"] {
            let _ = Path::parse(path).unwrap().find(text.as_bytes(), usize::MAX);
        }
    }

    #[test]
    fn any_text_is_a_path_or_refused(text in "\\PC{0,20}", document in document()) {
        if let Ok(path) = Path::parse(&text) {
            prop_assert!(path.find(document.as_bytes(), usize::MAX).is_ok());
        }
    }

    #[test]
    fn what_looks_like_a_path_is_one_or_refused(
        text in "(/|//|a|b|\\*|:|@|k|\\[|\\]|1|=|!=|'|x|text\\(\\)|last\\(\\)|\\.| and | ){0,12}",
        document in document(),
    ) {
        match Path::parse(&text) {
            Ok(path) => prop_assert!(path.find(document.as_bytes(), usize::MAX).is_ok()),
            Err(error) => prop_assert!(error.at <= text.len()),
        }
    }

    #[test]
    fn descent_finds_what_steps_find(document in document()) {
        let all = found("//*", &document);
        prop_assert_eq!(all.len(), document.matches("<a").count() + document.matches("<b").count());
        prop_assert_eq!(found("//@k", &document).len(), all.len() - 1);
        let split = found("//*[@k]", &document).len() + found("/*", &document).len();
        prop_assert_eq!(split, all.len());
        prop_assert_eq!(found("//text()", &document).concat(), found("/a", &document)[0].clone());
    }
}
